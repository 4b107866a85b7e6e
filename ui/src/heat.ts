/* SPDX-License-Identifier: GPL-2.0-or-later */
// Latencies: how long things took, over time (heat map) and in total (histogram), on a logarithmic axis.
import { css, mix } from "./colours";
import { type Data, type Histogram, type PercentileKey } from "./data";
import { fill, h, hideTip, section, showTip, Surface } from "./dom";
import { type Selection } from "./select";
import { type Column } from "./table";
import { amount, count, number, seconds, time } from "./words";

const buckets = 289, height = 170, axis = 20;

export function bucketStart(bucket: number): number {
  if (bucket < 16) return bucket;
  return (8 + (bucket % 8)) * 2 ** (Math.floor(bucket / 8) - 1);
}

function title(doc: Data, data: Histogram): string {
  if (data.name) return data.of === "syscall" ? `syscall ${data.name}` : `${data.name}${data.kind ? ` (${doc.kind(data.kind).brief})` : ""}`;
  const what = [data.operation, data.place].filter(Boolean).join(" ");
  const measure = data.measure && data.unit && data.unit !== "ns" && data.unit !== data.measure ? `${data.measure} (${data.unit})` : data.measure;
  return [data.of, what, measure].filter(Boolean).join(" · ");
}

// The same as in src/vocabulary/percentiles.h. `least` is the number of values that a percentile needs.
export interface Percentile { name: string; key: PercentileKey; perMille: number; least: number }
export const percentiles: Percentile[] = [
  { name: "p50", key: "p50", perMille: 500, least: 2 }, { name: "p90", key: "p90", perMille: 900, least: 10 },
  { name: "p95", key: "p95", perMille: 950, least: 20 }, { name: "p99", key: "p99", perMille: 990, least: 100 },
  { name: "p99.9", key: "p999", perMille: 999, least: 1000 },
];

// The bucket that contains a percentile; -1: too few values. Parts of slices are fractions, so sums have small rounding
// errors.
function bucketOf(counts: Float64Array, which: Percentile): number {
  let all = 0, seen = 0;

  for (const n of counts) all += n;
  if (all < which.least - 1e-6) return -1;
  return counts.findIndex((n) => (seen += n) > 0 && seen * 1000 >= all * which.perMille - 1e-5);
}

// The middle of that bucket, at most the largest value, if that is known; null: too few values.
export function percentile(counts: Float64Array, which: Percentile, max: number): number | null {
  const bucket = bucketOf(counts, which);
  if (bucket < 0) return null;
  const middle = bucketStart(bucket) + Math.floor((bucketStart(bucket + 1) - bucketStart(bucket)) / 2);
  return max > 0 && middle > max ? max : middle;
}

export function percentileColumn<Row>(which: Percentile, of: (row: Row) => number | null): Column<Row> {
  const text = (row: Row): string => {
    const ns = of(row);
    return ns === null ? "–" : time(ns);
  };
  return { name: which.name, about: `to 6 %; of ${which.least} or more`, text, value: (row) => of(row) ?? -1 };
}

class Panel {
  readonly element: HTMLElement;
  private readonly map: Surface;
  private readonly side: Surface;
  private readonly words = h("p", { class: "status" });
  private counts = new Float64Array(buckets + 1);
  private low = 0;
  private high = 1;

  constructor(private readonly selection: Selection, private readonly at: number, private readonly rows: number[]) {
    const name = title(selection.data, this.info);

    this.map = new Surface(`${name}: how long, over time`, height, () => this.drawMap());
    this.side = new Surface(`${name}: histogram`, height, () => this.drawSide());
    this.element = h("article", { class: "heat" }, h("h3", {}, name), h("div", { class: "maps" }, h("div", { class: "map" }, this.map.canvas), h("div", { class: "side" }, this.side.canvas)), this.words);
    this.map.canvas.addEventListener("pointermove", (event) => this.tip(event, true));
    this.side.canvas.addEventListener("pointermove", (event) => this.tip(event, false));
    for (const canvas of [this.map.canvas, this.side.canvas]) canvas.addEventListener("pointerleave", hideTip);
    this.update();
  }

  private get info(): Histogram {
    return this.selection.data.doc.histograms[this.at]!;
  }

  // All rows are one column: the program left out the time axis.
  private get isFlat(): boolean {
    const { heat, bins } = this.selection.data;
    return bins > 1 && this.rows.every((i) => heat.to[i]! - heat.from[i]! === bins);
  }

  private get unit(): string {
    return this.info.unit ?? "";
  }

  // Requests, pages and so on; the title says which.
  private get isCount(): boolean {
    return this.unit !== "ns" && this.unit !== "bytes";
  }

  update(): void {
    const { data } = this.selection;
    const whole = new Float64Array(buckets + 1);

    this.counts.fill(0);
    for (const i of this.rows) {
      whole[data.heat.key.bucket![i]!]! += 1;
      this.counts[data.heat.key.bucket![i]!]! += data.heat.value.count![i]! * this.selection.part(data.heat, i);
    }
    this.low = Math.max(0, whole.findIndex((n) => n > 0) - 2);
    this.high = Math.min(buckets, whole.length - [...whole].reverse().findIndex((n) => n > 0) + 2);
    const all = this.counts.reduce((sum, n) => sum + n, 0);
    const carried = percentiles.flatMap((which) => {
      const value = percentile(this.counts, which, this.info.max);
      return value === null ? [] : [` · ${which.name} ${amount(value, this.unit)}`];
    });
    this.words.textContent = all ? `${count(Math.round(all), "value")}${carried.join("")}${carried.length ? " (to 6 %)" : ""}${this.isFlat ? "; when they were had no room in this page, so a range has its share of all" : ""}` : "nothing in this range";
    this.map.paint();
    this.side.paint();
  }

  repaint(): void {
    this.map.paint();
    this.side.paint();
  }

  private y(bucket: number): number {
    return height - axis - ((bucket - this.low) / Math.max(1, this.high - this.low)) * (height - axis - 6);
  }

  // Draws a line for each power of ten.
  private ticks(c: CanvasRenderingContext2D, left: number, width: number, words: boolean): void {
    c.font = css("--canvas-font");
    c.textBaseline = "middle";
    c.textAlign = "right";
    let last = Infinity;
    for (let power = 0; power < 12; power++) {
      const value = 10 ** power;
      let bucket = 0;
      while (bucket < buckets && bucketStart(bucket + 1) <= value) bucket++;
      const span = bucketStart(bucket + 1) - bucketStart(bucket) || 1;
      const y = this.y(bucket + (value - bucketStart(bucket)) / span);

      if (bucket < this.low || bucket > this.high || last - y < 12) continue;
      last = y;
      c.strokeStyle = css("--line");
      c.beginPath();
      c.moveTo(left, Math.round(y) + 0.5);
      c.lineTo(width, Math.round(y) + 0.5);
      c.stroke();
      c.fillStyle = css("--soft");
      if (words) c.fillText((this.isCount ? number(value) : amount(value, this.unit)).replace(/\.0+ /, " "), left - 5, y);
    }
  }

  private drawMap(): void {
    const { context: c, width } = this.map;
    const { data } = this.selection;
    const { heat, edges } = data;
    const left = 62, first = edges[0]!, span = edges[data.bins]! - first || 1;
    const x = (bin: number): number => left + ((edges[bin]! - first) / span) * (width - left);
    const panel = css("--panel"), hot = css("--hot");
    let most = 1;

    this.ticks(c, left, width, true);
    if (this.isFlat) return this.drawNoMap(c, left, width);
    for (const i of this.rows) most = Math.max(most, heat.value.count![i]! / (heat.to[i]! - heat.from[i]!));
    for (const i of this.rows) {
      const per = heat.value.count![i]! / (heat.to[i]! - heat.from[i]!);
      const from = x(heat.from[i]!), to = x(heat.to[i]!), bucket = heat.key.bucket![i]!;
      const high = this.y(bucket + 1), low = this.y(bucket);

      c.fillStyle = mix(panel, hot, 0.18 + 0.82 * (Math.log1p(per * 8) / Math.log1p(most * 8)));
      c.fillRect(from, high, Math.max(1, to - from - 0.3), Math.max(1, low - high));
    }
    if (!this.selection.isWhole) {
      c.fillStyle = css("--veil");
      c.fillRect(left, 0, x(this.selection.from) - left, height - axis);
      c.fillRect(x(this.selection.to), 0, width - x(this.selection.to), height - axis);
    }
    c.fillStyle = css("--soft");
    c.textAlign = "left";
    c.fillText(seconds(first), left, height - axis / 2);
    c.textAlign = "right";
    c.fillText(seconds(edges[data.bins]!), width, height - axis / 2);
  }

  // Without a time axis, a bar over all the time would look like a constant load.
  private drawNoMap(c: CanvasRenderingContext2D, left: number, width: number): void {
    c.fillStyle = css("--soft");
    c.textAlign = "center";
    c.fillText("when: only in the recording", (left + width) / 2, (height - axis) / 2);
  }

  private drawSide(): void {
    const { context: c, width } = this.side;
    const all = this.counts.reduce((sum, n) => sum + n, 0), most = Math.max(...this.counts, 1e-9);

    this.ticks(c, 0, width, false);
    c.fillStyle = css("--hot");
    for (let bucket = this.low; bucket < this.high; bucket++) {
      const count = this.counts[bucket]!;
      if (count) c.fillRect(0, this.y(bucket + 1), Math.max(1, (count / most) * (width - 40)), Math.max(1, this.y(bucket) - this.y(bucket + 1) - 0.4));
    }
    if (!all) return;
    c.textAlign = "right";
    let above = Infinity;
    for (const which of percentiles.filter(({ key }) => key === "p50" || key === "p99")) {
      const bucket = bucketOf(this.counts, which);
      if (bucket < 0) continue;
      const y = this.y(bucket + 0.5);
      c.strokeStyle = css("--ink");
      c.setLineDash([3, 3]);
      c.beginPath();
      c.moveTo(0, y);
      c.lineTo(width - 30, y);
      c.stroke();
      c.setLineDash([]);
      c.fillStyle = css("--ink");
      c.fillText(which.name, width - 2, Math.min(y, above - 11));
      above = Math.min(y, above - 11);
    }
    c.fillStyle = css("--soft");
    c.textAlign = "left";
    c.fillText(`${number(most)} at most`, 0, height - axis / 2);
  }

  private tip(event: PointerEvent, timed: boolean): void {
    const { data } = this.selection;
    const bucket = Math.floor(this.low + ((height - axis - event.offsetY) / (height - axis - 6)) * (this.high - this.low));

    if (bucket < this.low || bucket >= this.high) return hideTip();
    const range = `${amount(bucketStart(bucket), this.unit)} – ${amount(bucketStart(bucket + 1), this.unit)}`;
    if (!timed) return showTip(event.clientX, event.clientY, h("strong", {}, range), count(Math.round(this.counts[bucket]!), "value"));
    const { heat, edges } = data;
    const us = edges[0]! + ((event.offsetX - 62) / (this.map.width - 62)) * (edges[data.bins]! - edges[0]!);
    const row = this.rows.find((i) => heat.key.bucket![i] === bucket && edges[heat.from[i]!]! <= us && edges[heat.to[i]!]! > us);
    showTip(event.clientX, event.clientY, h("strong", {}, range), row === undefined ? "none" : `${count(heat.value.count![row]!, "value")}, ${seconds(edges[heat.from[row]!]!)} – ${seconds(edges[heat.to[row]!]!)}`);
  }
}

// Ranks histograms by how interesting they are: by time rather than by frequency, alternating between sources.
function rank(data: Data, rowsOf: number[][]): number[] {
  const { histograms } = data.doc;
  const turns = new Map<string, number>();
  const weight = histograms.map((info, at) => {
    let sum = 0;
    for (const i of rowsOf[at]!) sum += data.heat.value.count![i]! * bucketStart(data.heat.key.bucket![i]!);
    // Lifetimes are not delays.
    const idle = info.kind === "idle" || info.name === "run.any" || info.measure === "lifetime" || info.operation === "lifetime" || info.by_choice;
    return info.unit === "ns" && !idle ? sum : sum / 1e9;
  });
  // The signal has everything that the ledger knows about a syscall, and more.
  const told = new Set(histograms.filter((info) => info.calls).map((info) => info.operation));
  const order = weight.map((_sum, i) => i).filter((i) => rowsOf[i]!.length && !(histograms[i]!.of === "syscall" && told.has(histograms[i]!.name))).sort((a, b) => weight[b]! - weight[a]!);
  const turn = new Map(order.map((i) => {
    const place = turns.get(histograms[i]!.of) ?? 0;
    turns.set(histograms[i]!.of, place + 1);
    return [i, place];
  }));

  return order.sort((a, b) => turn.get(a)! - turn.get(b)! || weight[b]! - weight[a]!);
}

export function latencies(selection: Selection): { element: HTMLElement; repaint: () => void } {
  const { data } = selection;
  const rowsOf: number[][] = data.doc.histograms.map(() => []);
  const grid = h("div", { class: "heats" });
  const search = h("input", { type: "search", id: "heat-search", placeholder: "fsync, disk, tcp…", "aria-label": "choose latencies" });
  const left = data.doc.folded.distributions ?? 0;
  const more = h("button", { type: "button", class: "more" });
  let panels: Panel[] = [], shown = 6;

  for (let i = 0; i < data.heat.count; i++) rowsOf[data.heat.key.histogram![i]!]?.push(i);
  const ranked = rank(data, rowsOf);
  const sources = [...new Set(ranked.map((i) => data.doc.histograms[i]!.of))].sort();
  const from = h("select", { "aria-label": "of what" }, h("option", { value: "" }, "everything"), ...sources.map((name) => h("option", { value: name }, name === "state" ? "waits and queues" : name === "syscall" ? "other syscalls" : name)));
  const build = (): void => {
    const words = search.value.trim().toLowerCase();
    const chosen = ranked.filter((i) => (!from.value || data.doc.histograms[i]!.of === from.value) && title(data, data.doc.histograms[i]!).toLowerCase().includes(words));

    panels = chosen.slice(0, shown).map((i) => new Panel(selection, i, rowsOf[i]!));
    fill(grid, ...panels.map((panel) => panel.element), chosen.length ? null : h("p", { class: "status" }, ranked.length ? "Nothing of that name." : "No latencies were recorded [--level full, --signals]."));
    more.hidden = chosen.length <= shown;
    more.textContent = `${number(chosen.length - shown)} more`;
  };

  search.addEventListener("input", build);
  from.addEventListener("change", build);
  more.addEventListener("click", () => {
    shown += 12;
    build();
  });
  selection.onRest(() => panels.forEach((panel) => panel.update()));
  build();
  return {
    element: section("latency", "How long things took", "Stronger colour is more. All threads: histograms do not know whose a value was.",
      h("div", { class: "controls" }, h("label", { class: "control" }, h("span", { class: "label" }, "show"), from), h("label", { class: "control" }, h("span", { class: "label" }, "find"), search)), grid, more,
      left ? h("p", { class: "status" }, `${count(left, "more distribution")} of signals are in the recording alone.`) : null),
    repaint: () => panels.forEach((panel) => panel.repaint()),
  };
}
