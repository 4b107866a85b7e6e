/* SPDX-License-Identifier: GPL-2.0-or-later */
// States stacked over time, with optional lanes below. Dragging selects the range that everything below shows.
import { colour, css, mix, paint } from "./colours";
import { type Data, flagOwn, type KindWords } from "./data";
import { add, choice, fill, h, hideTip, section, showTip, Surface } from "./dom";
import { type Selection, type Who } from "./select";
import { count, seconds, time } from "./words";

const chartHeight = 190, axisHeight = 22, top = 8, laneHeight = 20, labelWidth = 180, mostLanes = 400;

interface Lane { who: Who; about: string; kinds: Float64Array; busy: number; us: Float32Array[] }
type By = "none" | "process" | "group" | "thread";

// What can be selected: processes, groups of threads, or threads.
export function everybody(data: Data, by: By): Who[] {
  const { threads } = data;
  const found = new Map<string, Who>();

  for (let i = 0; i < threads.count; i++) {
    const process = `${threads.processComm[i]} (pid ${threads.pid[i]})`;
    const group = threads.group[i] === threads.processComm[i] ? threads.group[i]! : `${threads.group[i]} in ${threads.processComm[i]}`;
    const label = by === "process" ? process : by === "group" ? group : `${threads.comm[i]} (tid ${threads.tid[i]})`;
    const key = by === "process" ? `process ${threads.process[i]} ${threads.pid[i]}` : by === "group" ? `group ${group}` : `thread ${i}`;
    let who = found.get(key);

    if (!who) {
      who = { label, key, threads: new Uint8Array(threads.count) };
      found.set(key, who);
    }
    who.threads[i] = 1;
  }
  return [...found.values()];
}

function makeLanes(data: Data, by: By): Lane[] {
  const laneOf = new Int32Array(data.threads.count).fill(-1);
  const lanes: Lane[] = everybody(data, by).map((who, i) => {
    let members = 0;

    who.threads.forEach((inside, thread) => {
      if (!inside) return;
      laneOf[thread] = i;
      members++;
    });
    const without = who.threads.reduce((sum, inside, thread) => sum + (inside && !data.hasAxis[thread] ? 1 : 0), 0);
    return { who, about: `${members > 1 ? `${members} threads` : "one thread"}${without ? `, ${members > 1 ? without : "it is"} without a time axis in this page` : ""}`, kinds: new Float64Array(data.doc.kinds.length), busy: 0, us: [] };
  });
  const { thread, state, ns } = data.threadStates;

  for (let i = 0; i < thread.length; i++) lanes[laneOf[thread[i]!]!]!.kinds[data.kindOf[state[i]!]!]! += ns[i]!;
  for (const lane of lanes) lane.busy = lane.kinds[0]! * 4 + lane.kinds[1]! * 2 + lane.kinds[2]! + lane.kinds[3]!;
  const order = lanes.map((_lane, i) => i).sort((a, b) => lanes[b]!.busy - lanes[a]!.busy).slice(0, mostLanes);
  const shown = new Set(order);
  const { cells, edges } = data;

  for (const i of order) lanes[i]!.us = data.doc.kinds.map(() => new Float32Array(data.bins));
  for (let i = 0; i < cells.count; i++) {
    const at = cells.key.thread![i]! >= 0 ? laneOf[cells.key.thread![i]!]! : -1;

    if (at < 0 || !shown.has(at)) continue;
    const list = lanes[at]!.us[data.kindOf[cells.key.state![i]!]!]!;
    const from = cells.from[i]!, to = cells.to[i]!;
    const each = cells.value.us![i]! / Math.max(1, edges[to]! - edges[from]!);
    for (let bin = from; bin < to; bin++) list[bin]! += each * (edges[bin + 1]! - edges[bin]!);
  }
  return order.map((i) => lanes[i]!);
}

function niceStep(span: number, most: number): number {
  const rough = span / most;
  const power = 10 ** Math.floor(Math.log10(rough || 1));

  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) ?? rough;
}

export class Timeline {
  readonly element: HTMLElement;
  private readonly data: Data;
  private readonly chart: Surface;
  private readonly laneSurface: Surface;
  private readonly laneBox: HTMLElement;
  private readonly status = h("p", { class: "status", "aria-live": "polite" });
  private readonly stacked: Float64Array[]; // by kind: average number of threads
  private idle = false;
  private lanes: Lane[] = [];
  private cursor = -1;

  constructor(private readonly selection: Selection) {
    const data = (this.data = selection.data);

    this.stacked = data.doc.kinds.map((_kind, k) => {
      const sums = new Float64Array(data.bins);
      data.doc.totals_us.forEach((list, state) => {
        if (data.kindOf[state] === k) list.forEach((us, bin) => (sums[bin]! += us));
      });
      return sums.map((us, bin) => us / Math.max(1, data.edges[bin + 1]! - data.edges[bin]!));
    });
    this.chart = new Surface("Threads by state over time. Drag, or use the arrow keys, to choose a range; Escape for all.", chartHeight, () => this.draw(), "application");
    this.chart.canvas.tabIndex = 0;
    this.chart.canvas.id = "timeline-chart";
    this.laneSurface = new Surface("A lane for each, busiest first. The list above chooses one of them too.", 10, () => this.drawLanes());
    this.laneBox = h("div", { class: "lanes", tabindex: "0", role: "region", "aria-label": "lanes" }, this.laneSurface.canvas);
    this.laneBox.hidden = true;
    this.element = section("timeline", "Over time", "Threads in each state, on average. Drag over a range: everything below follows.",
      h("div", { class: "controls" },
        choice("lanes", [["none", "none"], ["process", "processes"], ["group", "thread groups"], ["thread", "threads"]], "none", (by) => this.setLanes(by as By)),
        choice("idle time", [["hide", "hide"], ["show", "show"]], "hide", (value) => {
          this.idle = value === "show";
          this.chart.paint();
        }),
        this.whoControl()),
      h("div", { class: "legend" }, ...data.doc.kinds.filter((kind) => data.doc.states.some((state) => state.kind === kind.key && state.ns > (kind.key === "unseen" ? data.doc.threads_ns / 1000 : 0))).map((kind) => swatchLine(kind, kind.words))),
      this.chart.canvas, this.laneBox, this.status);
    this.listen(this.chart.canvas, () => this.left(), (x, y, bin) => this.tipChart(x, y, bin));
    this.listen(this.laneSurface.canvas, () => this.laneLabel(), (x, y, bin) => this.tipLane(x, y, bin));
    this.chart.canvas.addEventListener("keydown", (event) => this.key(event));
    this.laneSurface.canvas.addEventListener("click", (event) => {
      if (event.offsetX < this.laneLabel()) this.pickLane(this.lanes[Math.floor(event.offsetY / laneHeight)]);
    });
    selection.onChange(() => this.update());
    this.update();
  }

  repaint(): void {
    this.chart.paint();
    this.laneSurface.paint();
  }

  private whoControl(): HTMLElement {
    const list = h("select", { id: "who", "aria-label": "whose time" }, h("option", { value: "" }, "all threads"));
    const known = new Map<string, Who>();
    const names: [By, string][] = [["group", "thread groups"], ["process", "processes"], ["thread", "threads"]];
    const busy = this.selection.byThread().map((sums) => sums[0]! * 4 + sums[1]! * 2 + sums[2]! + sums[3]!);
    const weight = (who: Who): number => who.threads.reduce((sum, inside, i) => sum + (inside ? busy[i]! : 0), 0);

    for (const [by, words] of names) {
      const group = h("optgroup", { label: words });
      // A list of 1,000 threads would be useless here. The lanes and the table have all of them.
      const ranked = everybody(this.data, by).map((who) => ({ who, weight: weight(who) })).sort((a, b) => b.weight - a.weight).slice(0, 200);
      for (const { who } of ranked) {
        known.set(who.key, who);
        group.append(h("option", { value: who.key }, who.label));
      }
      list.append(group);
    }
    list.addEventListener("change", () => this.selection.setWho(known.get(list.value) ?? null));
    this.selection.onChange(() => {
      const { who } = this.selection;
      if (who && !known.has(who.key)) {
        known.set(who.key, who);
        list.append(h("option", { value: who.key }, who.label));
      }
      list.value = who?.key ?? "";
    });
    return h("label", { class: "control" }, h("span", { class: "label" }, "whose"), list);
  }

  private setLanes(by: By): void {
    this.lanes = by === "none" ? [] : makeLanes(this.data, by);
    this.laneBox.hidden = by === "none";
    this.laneSurface.resize(Math.max(10, this.lanes.length * laneHeight));
    this.chart.paint();
  }

  private pickLane(lane: Lane | undefined): void {
    if (lane) this.selection.setWho(this.selection.who?.key === lane.who.key ? null : lane.who);
  }

  // Where the time axis begins. Lanes and chart share it.
  private left(): number {
    return this.lanes.length ? this.laneLabel() : 44;
  }

  private laneLabel(): number {
    return this.chart.width < 600 ? 110 : labelWidth;
  }

  private x(bin: number, left: number, width: number): number {
    const { edges, bins } = this.data;
    const first = edges[0]!, span = edges[bins]! - first || 1;
    return left + ((edges[bin]! - first) / span) * (width - left);
  }

  private binAt(x: number, left: number, width: number): number {
    const { edges, bins } = this.data;
    const us = edges[0]! + (Math.max(0, x - left) / (width - left)) * (edges[bins]! - edges[0]!);
    let low = 0, high = bins;

    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (edges[middle]! <= us) low = middle;
      else high = middle;
    }
    return low;
  }

  private listen(canvas: HTMLCanvasElement, left: () => number, tip: (x: number, y: number, bin: number) => void): void {
    let start = -1, startX = 0, dragged = false;
    const bin = (event: PointerEvent): number => this.binAt(event.clientX - canvas.getBoundingClientRect().left, left(), canvas.clientWidth);

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.offsetX < left()) return;
      start = bin(event);
      startX = event.clientX;
      dragged = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = bin(event);

      this.cursor = at;
      dragged ||= start >= 0 && Math.abs(event.clientX - startX) > 4;
      if (start >= 0 && dragged) this.selection.setRange(Math.min(start, at), Math.max(start, at) + 1);
      tip(event.clientX, event.clientY, at);
      this.chart.paint();
    });
    canvas.addEventListener("pointerup", () => {
      // A click without dragging resets the range.
      if (start >= 0 && !dragged) this.selection.setRange(0, this.data.bins);
      start = -1;
    });
    canvas.addEventListener("pointerleave", () => {
      this.cursor = -1;
      hideTip();
      this.chart.paint();
    });
  }

  private key(event: KeyboardEvent): void {
    const { selection } = this;
    const step = Math.max(1, Math.round(this.data.bins / 50));
    let { from, to } = selection;

    if (event.key === "Escape") selection.clear();
    else if (event.key === "Home") selection.setRange(0, selection.isWhole ? step * 5 : to - from);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const by = event.key === "ArrowLeft" ? -step : step;
      if (selection.isWhole) {
        from = Math.floor(this.data.bins * 0.4);
        to = Math.ceil(this.data.bins * 0.6);
      } else if (event.shiftKey) to = Math.max(from + 1, to + by);
      else if (from + by >= 0 && to + by <= this.data.bins) {
        from += by;
        to += by;
      }
      selection.setRange(from, to);
    } else return;
    event.preventDefault();
  }

  private shownKinds(): number[] {
    const { kinds } = this.data.doc;
    return kinds.map((_kind, i) => i).filter((i) => this.idle || kinds[i]!.key !== "idle");
  }

  private draw(): void {
    const { context: c, width } = this.chart;
    const { kinds } = this.data.doc;
    const left = this.left(), bottom = chartHeight - axisHeight, shown = this.shownKinds();
    let most = 0;

    for (let bin = 0; bin < this.data.bins; bin++) most = Math.max(most, shown.reduce((sum, k) => sum + this.stacked[k]![bin]!, 0));
    most = most || 1;
    const y = (value: number): number => bottom - (value / most) * (bottom - top);
    this.axes(c, left, width, bottom, most, y);
    for (let bin = 0; bin < this.data.bins; bin++) {
      const x = this.x(bin, left, width), w = Math.max(0.6, this.x(bin + 1, left, width) - x - (width / this.data.bins > 5 ? 0.6 : -0.3));
      let base = 0;

      for (const k of shown) {
        const value = this.stacked[k]![bin]!;
        c.fillStyle = colour(kinds[k]!);
        c.fillRect(x, y(base + value), w, y(base) - y(base + value));
        base += value;
      }
    }
    this.shade(c, left, width, top, bottom);
    if (this.cursor >= 0) {
      c.fillStyle = css("--ink");
      c.fillRect(this.x(this.cursor, left, width), top, 1, bottom - top);
    }
  }

  private axes(c: CanvasRenderingContext2D, left: number, width: number, bottom: number, most: number, y: (value: number) => number): void {
    const { edges, bins } = this.data;
    const first = edges[0]!, span = edges[bins]! - first;

    c.font = css("--canvas-font");
    c.fillStyle = css("--soft");
    c.strokeStyle = css("--line");
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (let value = 0, step = niceStep(most, 4); value <= most; value += step) {
      c.beginPath();
      c.moveTo(left, Math.round(y(value)) + 0.5);
      c.lineTo(width, Math.round(y(value)) + 0.5);
      c.stroke();
      c.fillText(String(+value.toFixed(3)), left - 6, y(value));
    }
    c.textAlign = "center";
    for (let us = 0, step = niceStep(span, Math.max(3, width / 110)); us <= span; us += step) {
      const x = left + (us / (span || 1)) * (width - left);
      if (x > width - 24) break;
      c.fillText(`${+((first + us) / 1e6).toFixed(3)} s`, Math.max(x, left + 8), bottom + axisHeight / 2 + 2);
    }
  }

  private shade(c: CanvasRenderingContext2D, left: number, width: number, above: number, below: number): void {
    if (this.selection.isWhole) return;
    const from = this.x(this.selection.from, left, width), to = this.x(this.selection.to, left, width);

    c.fillStyle = css("--veil");
    c.fillRect(left, above, from - left, below - above);
    c.fillRect(to, above, width - to, below - above);
    c.strokeStyle = css("--accent");
    c.lineWidth = 2;
    c.strokeRect(from, above, to - from, below - above);
    c.lineWidth = 1;
  }

  private drawLanes(): void {
    const { context: c, width } = this.laneSurface;
    const left = this.laneLabel();
    const background = css("--panel");

    c.font = css("--canvas-font");
    c.textBaseline = "middle";
    c.textAlign = "left";
    for (let i = 0; i < this.lanes.length; i++) this.drawLane(c, this.lanes[i]!, i * laneHeight, left, width, background);
    this.shade(c, left, width, 0, this.lanes.length * laneHeight);
  }

  private drawLane(c: CanvasRenderingContext2D, lane: Lane, y: number, left: number, width: number, background: string): void {
    const members = lane.who.threads.reduce((sum, inside) => sum + inside, 0);
    const chosen = this.selection.who?.key === lane.who.key;

    c.save();
    c.beginPath();
    c.rect(0, y, left - 8, laneHeight);
    c.clip();
    c.fillStyle = chosen ? css("--accent") : css("--ink");
    c.fillText(`${chosen ? "● " : ""}${lane.who.label}`, 4, y + laneHeight / 2);
    c.restore();
    const { kinds } = this.data.doc;
    for (let bin = 0; bin < this.data.bins; bin++) {
      const x = this.x(bin, left, width), w = this.x(bin + 1, left, width) - x + 0.3;
      const whole = members * (this.data.edges[bin + 1]! - this.data.edges[bin]!) || 1;
      let at = y + laneHeight - 2;

      for (let k = 0; k < kinds.length; k++) {
        const us = lane.us[k]![bin]!;
        if (!us) continue;
        const size = Math.min(1, us / whole) * (laneHeight - 4);
        c.fillStyle = kinds[k]!.key === "idle" ? mix(colour(kinds[k]!), background, 0.65) : colour(kinds[k]!);
        c.fillRect(x, at - size, w, size);
        at -= size;
      }
    }
  }

  private tipChart(x: number, y: number, bin: number): void {
    const { edges } = this.data;
    const lines: Node[] = [h("strong", {}, `${seconds(edges[bin]!)} – ${seconds(edges[bin + 1]!)}`)];

    for (const k of [...this.shownKinds()].reverse()) {
      const value = this.stacked[k]![bin]!;
      if (value >= 0.005) lines.push(swatchLine(this.data.doc.kinds[k]!, `${this.data.doc.kinds[k]!.words}: ${value.toFixed(2)} threads`));
    }
    showTip(x, y, ...lines);
  }

  private tipLane(x: number, y: number, bin: number): void {
    const box = this.laneSurface.canvas.getBoundingClientRect();
    const lane = this.lanes[Math.floor((y - box.top) / laneHeight)];

    if (!lane) return hideTip();
    const lines: Node[] = [h("strong", {}, lane.who.label), h("div", {}, lane.about)];
    if (x - box.left >= this.laneLabel()) {
      lines.push(h("div", {}, `${seconds(this.data.edges[bin]!)} – ${seconds(this.data.edges[bin + 1]!)}`));
      this.data.doc.kinds.forEach((kind, k) => {
        const us = lane.us[k]![bin]!;
        if (us) lines.push(swatchLine(kind, `${kind.words}: ${time(us * 1000)}`));
      });
    } else {
      this.data.doc.kinds.forEach((kind, k) => {
        if (lane.kinds[k]) lines.push(swatchLine(kind, `${kind.words}: ${time(lane.kinds[k]!)}`));
      });
      lines.push(h("div", { class: "soft" }, "click: only this one"));
    }
    showTip(x, y, ...lines);
  }

  private update(): void {
    const { selection, data } = this;
    const words = selection.isWhole ? `all of ${seconds(data.edges[data.bins]! - data.edges[0]!)}` : `${seconds(selection.fromUs)} to ${seconds(selection.toUs)}`;
    const own = data.threads.flags.filter((flags) => flags & flagOwn).length;

    fill(this.status);
    add(this.status, `Shown below: ${words}, ${selection.who ? selection.who.label : "all threads"}.`,
      selection.isWhole && !selection.who ? ` ${count(data.doc.measured_threads, "thread")}${own ? `, ${own} of them gapless itself` : ""}.` : "");
    this.repaint();
  }
}

export function swatchLine(kind: KindWords, text: string): HTMLElement {
  const swatch = h("span", { class: "swatch" });

  paint(swatch, kind);
  return h("div", { class: "key" }, swatch, text);
}
