import "./style.css";
import { aboutSection } from "./about";
import { bar, findings } from "./bar";
import { Data, type Document_ } from "./data";
import { add, fill, h } from "./dom";
import { Flame } from "./flame";
import { latencies } from "./heat";
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
    chip.hidden = selection.isWhole && !selection.who;
    fill(chip, selection.isWhole ? "" : `${seconds(selection.fromUs)} – ${seconds(selection.toUs)}`, selection.who && !selection.isWhole ? " · " : "", selection.who?.label, " ✕");
  };
  selection.onChange(update);
  update();
  document.title = `gapless: ${doc.target ?? "report"}`;
  return h("header", {}, h("div", { class: "bar" }, h("h1", {}, "gapless"), h("span", { class: "target" }, doc.target ?? ""),
    h("span", { class: "soft facts" }, `${time(doc.wall_ns)} · ${count(doc.measured_threads, "thread")} in ${count(doc.measured_processes, "process", "processes")} · ${count(doc.cpus, "CPU")} · Linux ${doc.kernel ?? "?"}`),
    h("span", { class: "gap" }), chip, theme));
}

function links(): HTMLElement {
  const list: [string, string][] = [["findings", "findings"], ["time", "time"], ["timeline", "timeline"], ["flame", "code"], ["waits", "waits"], ["latency", "latency"], ["tables", "tables"], ["about", "quality"]];

  return h("nav", { class: "links", "aria-label": "sections" }, ...list.map(([id, words]) => h("a", { href: `#${id}` }, words)));
}

function start(): void {
  const page = document.getElementById("page")!;
  const doc = JSON.parse(document.getElementById("data")!.textContent!) as Document_;
  const data = new Data(doc);
  const selection = new Selection(data);
  const timeline = new Timeline(selection);
  const flame = new Flame(selection);
  const latency = latencies(selection);
  const repaint = (): void => {
    timeline.repaint();
    flame.repaint();
    latency.repaint();
  };
  const find = (name: string): void => flame.find(name);

  add(page, h("a", { class: "skip", href: "#findings" }, "to the findings"), header(data, selection, repaint), links(),
    h("main", {}, findings(data), bar(selection), timeline.element, flame.element, waits(selection), latency.element, tables(selection, find), aboutSection(data)));
}

start();
