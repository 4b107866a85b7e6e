// Colours that stay apart for everybody: Okabe and Ito's, with greys for what does not hurt.
import { type Data, type Kind } from "./data";

export const kindColours: Record<Kind, string> = {
  run: "#0072b2", ready: "#e69f00", delaying: "#d55e00", undecided: "#cc79a7", idle: "#a9b1bd", unseen: "#5c6370",
};

export const classes = ["run.user", "run.kernel", "ready", "undecided", "lock", "disk", "net", "pipe", "child", "kernel", "idle", "other", "unseen"] as const;
export type Class = (typeof classes)[number];

export const classColours: Record<Class, string> = {
  "run.user": "#0072b2", "run.kernel": "#56b4e9", ready: "#e69f00", undecided: "#cc79a7", lock: "#882255", disk: "#d55e00", net: "#009e73", pipe: "#b8a800",
  child: "#7b5ea7", kernel: "#117733", idle: "#a9b1bd", other: "#8c6d31", unseen: "#5c6370",
};

export function classOf(data: Data, state: number): number {
  const { state: word, cause, kind } = data.doc.states[state]!;
  let name: Class = "other";

  if (word === "run") name = cause === "kernel" ? "run.kernel" : "run.user";
  else if (word === "ready") name = "ready";
  else if (kind === "idle") name = "idle";
  else if (kind === "unseen") name = "unseen";
  else if (kind === "undecided") name = "undecided";
  else if ((classes as readonly string[]).includes(cause)) name = cause as Class;
  else if (cause === "fault") name = "disk";
  return classes.indexOf(name);
}

export function isDark(): boolean {
  return document.documentElement.dataset.theme === "dark";
}

export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function channels(colour: string): [number, number, number] {
  const value = parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// `share` of the way from one colour to another.
export function mix(a: string, b: string, share: number): string {
  const x = channels(a), y = channels(b);
  const part = (i: 0 | 1 | 2): number => Math.round(x[i] + (y[i] - x[i]) * share);
  return `#${((part(0) << 16) | (part(1) << 8) | part(2)).toString(16).padStart(6, "0")}`;
}

// Black or white, whichever is easier to read on it.
export function ink(colour: string): string {
  const [r, g, b] = channels(colour).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#101418" : "#ffffff";
}
