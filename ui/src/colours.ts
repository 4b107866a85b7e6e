/* SPDX-License-Identifier: GPL-2.0-or-later */
// Colours come with the document, from the tables of the program: a light and a dark one for each kind and state.
import { type Data, type Kind, type Look, type State } from "./data";

// For a canvas, which is repainted when the theme changes.
export function colour(look: Look): string {
  return isDark() ? look.dark : look.light;
}

// For an element, which follows the theme by itself. Browsers without light-dark() keep the light colour.
export function paint(element: HTMLElement, look: Look): void {
  element.style.background = look.light;
  element.style.background = `light-dark(${look.light}, ${look.dark})`;
}

export function write(element: HTMLElement, look: Look): void {
  element.style.color = ink(look.light);
  element.style.color = `light-dark(${ink(look.light)}, ${ink(look.dark)})`;
}

// The classes of the flame graph: one for each state, but one for all idle states and one for all unseen ones.
export interface Class { name: string; kind: Kind; look: Look }

export function classesOf(data: Data): { list: Class[]; ofState: number[] } {
  const list: Class[] = [];
  const nameOf = (state: State, i: number): string => (state.kind === "idle" || state.kind === "unseen" ? data.kind(state.kind).words : data.longName(i));
  const ofState = data.doc.states.map((state, i) => {
    const name = nameOf(state, i), known = list.findIndex((one) => one.name === name);

    if (known >= 0) return known;
    return list.push({ name, kind: state.kind, look: state.kind === "idle" ? data.kind("idle") : state }) - 1;
  });

  return { list, ofState };
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

// Mixes two colours. `share` 0 is `a`, 1 is `b`.
export function mix(a: string, b: string, share: number): string {
  const x = channels(a), y = channels(b);
  const part = (i: 0 | 1 | 2): number => Math.round(x[i] + (y[i] - x[i]) * share);
  return `#${((part(0) << 16) | (part(1) << 8) | part(2)).toString(16).padStart(6, "0")}`;
}

// Black or white, whichever is easier to read on the colour.
export function ink(colour: string): string {
  const [r, g, b] = channels(colour).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#101418" : "#ffffff";
}
