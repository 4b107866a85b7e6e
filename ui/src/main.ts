/* SPDX-License-Identifier: GPL-2.0-or-later */
import "./style.css";
import { aboutSection } from "./about";
import { bar, findings } from "./bar";
import { Data, type Document_ } from "./data";
import { restOf, whatChanged } from "./diff";
import { add, fill, h, Surface } from "./dom";
import { Flame } from "./flame";
import { FlameDiff } from "./flame_diff";
import { latencies } from "./heat";
import { Requests } from "./requests";
import { Selection } from "./select";
import { tables } from "./tables";
import { Timeline } from "./timeline";
import { waits } from "./waits";
import { count, seconds, time } from "./words";

function header(data: Data, selection: Selection, repaint: () => void): HTMLElement {
  const { doc } = data;
  const chip = h("button", { type: "button", class: "chip", id: "chip", title: "show everything again", onclick: () => selection.clear() });
  const root = document.documentElement;
  const theme = h("button", { type: "button", id: "theme", "aria-label": "dark or light", onclick: () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    repaint();
  } }, "◐");

  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const update = (): void => {
    const range = selection.isWhole ? "" : `${seconds(selection.fromUs)} – ${seconds(selection.toUs)}`;
    const code = selection.requests ? `code: ${selection.requests.label}` : "";
    chip.hidden = selection.isWhole && !selection.who && !selection.requests;
    fill(chip, [range, selection.who?.label ?? "", code].filter(Boolean).join(" · "), " ✕");
  };
  selection.onChange(update);
  update();
  document.title = `gapless${doc.diff ? " diff" : ""}: ${doc.target ?? "report"}`;
  return h("header", {}, h("div", { class: "bar" }, h("h1", {}, "gapless"), h("span", { class: "target" }, doc.target ?? ""),
    h("span", { class: "soft facts" }, `${time(doc.wall_ns)} · ${count(doc.measured_threads, "thread")} in ${count(doc.measured_processes, "process", "processes")} · ${count(doc.cpus, "CPU")} · Linux ${doc.kernel ?? "?"}`),
    h("span", { class: "gap" }), chip, theme));
}

// Paper is white, whatever the theme of the screen is.
function printLight(): void {
  const root = document.documentElement;
  let before: string | undefined;

  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    Surface.paintAll();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    Surface.paintAll();
  });
}

function links(data: Data): HTMLElement {
  const changes: [string, string][] = data.doc.diff ? [["diff", "changes"], ["diff-code", "changed code"]] : [];
  const list: [string, string][] = [...changes, ["findings", "findings"], ["time", "time"], ["timeline", "timeline"], ...(data.doc.windows ? [["requests", "requests"] as [string, string]] : []), ["flame", "code"], ["waits", "waits"], ["latency", "latency"], ["tables", "tables"], ["about", "quality"]];

  return h("nav", { class: "links", "aria-label": "sections" }, ...list.map(([id, words]) => h("a", { href: `#${id}` }, words)));
}

function start(): void {
  const page = document.getElementById("page")!;
  const doc = JSON.parse(document.getElementById("data")!.textContent!) as Document_;
  const data = new Data(doc);
  const selection = new Selection(data);
  const timeline = new Timeline(selection);
  const requests = data.doc.windows && new Requests(selection, data.doc.windows);
  const flame = new Flame(selection);
  const latency = latencies(selection);
  const changed = doc.diff && new FlameDiff(doc.diff);
  const repaint = (): void => {
    timeline.repaint();
    requests?.repaint();
    flame.repaint();
    changed?.repaint();
    latency.repaint();
  };
  const find = (name: string): void => flame.find(name);

  add(page, h("a", { class: "skip", href: doc.diff ? "#diff" : "#findings" }, doc.diff ? "to what changed" : "to the findings"), header(data, selection, repaint), links(data),
    h("main", {}, ...(doc.diff && changed ? [whatChanged(doc.diff, (name) => changed.find(name)), changed.element, restOf(doc.diff)] : []), findings(selection, find), bar(selection), timeline.element, ...(requests ? [requests.element] : []), flame.element, waits(selection), latency.element, tables(selection, find), aboutSection(data)));
}

printLight();
start();
