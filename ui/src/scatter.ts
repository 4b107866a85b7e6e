/* SPDX-License-Identifier: GPL-2.0-or-later */
// Single requests over time: a dot for each one that was kept, as high as its length on a logarithmic axis.
import { colour, css } from "./colours";
import { type Kept, type Reason, type WindowBand } from "./data";
import { Surface } from "./dom";
import { bucketStart } from "./heat";
import { type Selection } from "./select";
import { seconds, time } from "./words";

const height = 260, axis = 20, left = 62, top = 6, near = 9, bandsOfMark = 3;

export interface Rectangle { fromUs: number; toUs: number; fromNs: number; toNs: number }

export class Scatter {
  readonly element: HTMLElement;
  private readonly surface: Surface;
  private readonly kept: Kept;
  private service = 0;
  private bands: WindowBand[] = [];
  private band = -1;
  private list: number[] = [];
  private low = 1;
  private high = 10;
  private rectangle: Rectangle | null = null;
  private picked = -1;

  constructor(private readonly selection: Selection, private readonly reason: (at: number) => Reason | undefined, private readonly onRectangle: (rectangle: Rectangle | null) => void,
    private readonly onPick: (at: number) => void, private readonly onHover: (at: number, x: number, y: number) => void) {
    this.kept = selection.data.kept;
    this.surface = new Surface("Length of single requests over time; the table 'single requests' has the same", height, () => this.draw());
    this.surface.canvas.id = "requests-chart";
    this.element = this.surface.canvas;
    this.listen();
  }

  repaint(): void {
    this.surface.paint();
  }

  inService(): number[] {
    return this.list;
  }

  setService(service: number, bands: WindowBand[]): void {
    this.service = service;
    this.bands = bands;
    this.rectangle = null;
    this.picked = -1;
    this.list = [];
    for (let i = 0; i < this.kept.count; i++) if (Math.floor((this.kept.mark[i]! - 1) / bandsOfMark) === service) this.list.push(i);
    const lengths = this.list.map((i) => Math.max(1, this.kept.length[i]!));
    this.low = lengths.reduce((a, b) => Math.min(a, b), Infinity) / 1.5;
    this.high = lengths.reduce((a, b) => Math.max(a, b), 1) * 1.5;
    if (!Number.isFinite(this.low)) this.low = 1;
    this.repaint();
  }

  setBand(band: number): void {
    this.band = band;
    this.repaint();
  }

  setPicked(at: number): void {
    this.picked = at;
    this.repaint();
  }

  isInside(i: number): boolean {
    const area = this.rectangle, begin = this.kept.begin[i]!, length = this.kept.length[i]!;

    return !area || (begin >= area.fromUs && begin <= area.toUs && length >= area.fromNs && length <= area.toNs);
  }

  private get span(): [number, number] {
    const { edges, bins } = this.selection.data;
    return [edges[0]!, edges[bins]! - edges[0]! || 1];
  }

  // A request that began before the part in this page is at its edge.
  private x(us: number): number {
    const [first, span] = this.span;
    return left + 4 + (Math.min(span, Math.max(0, us - first)) / span) * (this.surface.width - left - 8);
  }

  private y(ns: number): number {
    return height - axis - (Math.log(Math.max(1, ns) / this.low) / Math.log(this.high / this.low)) * (height - axis - top);
  }

  private usAt(x: number): number {
    const [first, span] = this.span;
    return first + ((x - left - 4) / (this.surface.width - left - 8)) * span;
  }

  private nsAt(y: number): number {
    return this.low * (this.high / this.low) ** ((height - axis - y) / (height - axis - top));
  }

  private nearest(x: number, y: number): number {
    let best = -1, least = near * near;

    for (const i of this.list) {
      const dx = this.x(this.kept.begin[i]!) - x, dy = this.y(this.kept.length[i]!) - y;
      if (dx * dx + dy * dy >= least) continue;
      least = dx * dx + dy * dy;
      best = i;
    }
    return best;
  }

  private listen(): void {
    const { canvas } = this.surface;
    let start: [number, number] | null = null, dragged = false;

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = [event.offsetX, event.offsetY];
      dragged = false;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!start) return this.onHover(this.nearest(event.offsetX, event.offsetY), event.clientX, event.clientY);
      dragged ||= Math.abs(event.offsetX - start[0]) + Math.abs(event.offsetY - start[1]) > 6;
      if (dragged) this.drag(start, [event.offsetX, event.offsetY]);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (start && dragged) this.onRectangle(this.rectangle);
      else if (start) this.click(this.nearest(event.offsetX, event.offsetY));
      start = null;
    });
    canvas.addEventListener("pointerleave", () => this.onHover(-1, 0, 0));
  }

  private drag(from: [number, number], to: [number, number]): void {
    const us = [this.usAt(from[0]), this.usAt(to[0])].sort((a, b) => a - b), ns = [this.nsAt(from[1]), this.nsAt(to[1])].sort((a, b) => a - b);

    this.rectangle = { fromUs: us[0]!, toUs: us[1]!, fromNs: ns[0]!, toNs: ns[1]! };
    this.repaint();
  }

  // A click beside all dots takes the rectangle away.
  private click(at: number): void {
    if (at >= 0) return this.onPick(at);
    this.picked = -1;
    this.onPick(-1);
    if (!this.rectangle) return this.repaint();
    this.rectangle = null;
    this.repaint();
    this.onRectangle(null);
  }

  private isLit(i: number): boolean {
    return this.rectangle ? this.isInside(i) : this.band < 0 || (this.kept.mark[i]! - 1) % bandsOfMark === this.band;
  }

  private draw(): void {
    const { context: c, width } = this.surface;

    c.font = css("--canvas-font");
    this.drawAxes(c, width);
    if (!this.list.length) {
      c.textAlign = "center";
      c.fillText("none was kept", (left + width) / 2, height / 2);
    }
    for (const lit of [false, true]) this.drawDots(c, lit);
    this.drawEdges(c, width);
    this.drawRectangle(c);
    if (this.picked >= 0 && Math.floor((this.kept.mark[this.picked]! - 1) / bandsOfMark) === this.service) this.ring(c, this.picked);
    if (this.selection.isWhole) return;
    const { edges } = this.selection.data;
    c.fillStyle = css("--veil");
    c.fillRect(left, 0, this.x(edges[this.selection.from]!) - left, height - axis);
    c.fillRect(this.x(edges[this.selection.to]!), 0, width, height - axis);
  }

  private drawDots(c: CanvasRenderingContext2D, lit: boolean): void {
    const soft = css("--soft");

    c.globalAlpha = lit ? 0.85 : 0.13;
    for (const i of this.list) {
      if (this.isLit(i) !== lit) continue;
      const reason = this.reason(this.kept.main[i]!);
      c.fillStyle = reason ? colour(reason) : soft;
      c.beginPath();
      c.arc(this.x(this.kept.begin[i]!), this.y(this.kept.length[i]!), 2.6, 0, 2 * Math.PI);
      c.fill();
    }
    c.globalAlpha = 1;
  }

  private ring(c: CanvasRenderingContext2D, i: number): void {
    c.strokeStyle = css("--ink");
    c.lineWidth = 2;
    c.beginPath();
    c.arc(this.x(this.kept.begin[i]!), this.y(this.kept.length[i]!), 6, 0, 2 * Math.PI);
    c.stroke();
    c.lineWidth = 1;
  }

  private drawRectangle(c: CanvasRenderingContext2D): void {
    const area = this.rectangle;

    if (!area) return;
    c.strokeStyle = css("--ink");
    c.setLineDash([4, 3]);
    c.strokeRect(this.x(area.fromUs), this.y(area.toNs), this.x(area.toUs) - this.x(area.fromUs), this.y(area.fromNs) - this.y(area.toNs));
    c.setLineDash([]);
  }

  private across(c: CanvasRenderingContext2D, width: number, ns: number): number {
    const y = Math.round(this.y(ns)) + 0.5;

    c.beginPath();
    c.moveTo(left, y);
    c.lineTo(width, y);
    c.stroke();
    return y;
  }

  // Where the fastest end and the slowest begin. The words are above the dots.
  private drawEdges(c: CanvasRenderingContext2D, width: number): void {
    c.setLineDash([6, 4]);
    c.textAlign = "right";
    for (const [ns, words] of [[bucketStart(this.bands[0]!.to), "fastest ↓"], [bucketStart(this.bands[2]!.from), "slowest ↑"]] as [number, string][]) {
      if (ns <= this.low || ns >= this.high) continue;
      c.strokeStyle = css("--soft");
      const y = this.across(c, width, ns) + (words === "fastest ↓" ? 10 : -10), wide = c.measureText(words).width;
      c.fillStyle = css("--veil");
      c.fillRect(width - wide - 6, y - 8, wide + 6, 16);
      c.fillStyle = css("--ink");
      c.fillText(words, width - 2, y);
    }
    c.setLineDash([]);
  }

  // A line for each power of ten.
  private drawAxes(c: CanvasRenderingContext2D, width: number): void {
    const [first, span] = this.span;

    c.textBaseline = "middle";
    c.textAlign = "right";
    c.fillStyle = css("--soft");
    c.strokeStyle = css("--line");
    for (let value = 1; value < this.high; value *= 10) {
      if (value < this.low) continue;
      c.fillText(time(value).replace(/\.0+ /, " "), left - 5, this.across(c, width, value));
    }
    c.textAlign = "left";
    c.fillText(seconds(first), left, height - axis / 2);
    c.textAlign = "right";
    c.fillText(seconds(first + span), width, height - axis / 2);
  }
}
