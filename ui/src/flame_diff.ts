/* SPDX-License-Identifier: GPL-2.0-or-later */
// The differential flame graph: the call paths of both sides in one tree.
//
// A box is as wide as the larger of its two sides. This applies to each path separately, so that a path that is gone
// keeps its place beside a new one. The colour of a box shows how much it changed: follow the strongest colour to the
// function to look at. The stripe at its foot is dark for the part that both sides have, and coloured for the part that
// only one side has.
import { css, mix } from "./colours";
import { type Change, type Comparison } from "./data";
import { choice, fill, h, section } from "./dom";
import { type Box, Graph, Grower, sumUp, type Tree } from "./graph";
import { chance, less, more, perWords, ratio, signed } from "./words_diff";
import { count, time } from "./words";

type Kind = "both" | "run" | "wait";
type Width = "larger" | "base" | "new";

interface Changes extends Tree { self: [Float64Array, Float64Array]; all: [Float64Array, Float64Array] } // base, new

const base = 0, now = 1;

export class FlameDiff extends Graph<Changes> {
  readonly element: HTMLElement;
  private kind: Kind = "both";
  private width: Width = "larger";
  private byRatio = false;
  private largest = 0;
  private readonly certain = new Map<string, Change[]>(); // by function

  constructor(private readonly diff: Comparison) {
    super("diff-code", "Differential flame graph");
    const { paths } = diff;
    const empty = paths.parent.length < 2;

    for (const change of diff.changes) {
      if (change.class !== "function" || !change.certain) continue;
      const name = change.name.slice(change.name.indexOf(":") + 1);
      this.certain.set(name, [...(this.certain.get(name) ?? []), change]);
    }
    this.element = section("diff-code", "Where in the code it changed",
      `Running and waiting, without idle and ready time; the mean of each side ${perWords(diff)}, from samples.`,
      empty ? h("p", { class: "status" }, "These recordings have no samples.") : this.body(...this.controls()),
      paths.left_out > 0 && h("p", { class: "status" }, `${count(paths.left_out, "of the smallest call paths is", "of the smallest call paths are")} counted in their callers.`));
  }

  private controls(): Node[] {
    return [
      choice("time", [["both", "both"], ["run", "running"], ["wait", "waiting"]], this.kind, (value) => {
        this.kind = value as Kind;
        this.rebuild();
      }),
      choice("width", [["larger", "the larger"], ["base", "base"], ["new", "new"]], this.width, (value) => {
        this.width = value as Width;
        this.rebuild();
      }),
      choice("colour by", [["amount", "amount"], ["ratio", "ratio"]], "amount", (value) => {
        this.byRatio = value === "ratio";
        this.repaint();
      }),
    ];
  }

  protected build(): Changes {
    const { paths } = this.diff;
    const grower = new Grower();
    const boxes = paths.parent.map((parent, i) => (i === 0 ? 0 : this.inverted ? -1 : parent));
    const weight = (run: number[], wait: number[], i: number): number => (this.kind === "wait" ? 0 : run[i]!) + (this.kind === "run" ? 0 : wait[i]!);
    const rows: [number, number, number][] = [];

    for (let i = 0; i < boxes.length; i++) {
      const before = weight(paths.base_run, paths.base_wait, i), after = weight(paths.new_run, paths.new_wait, i);
      if (i && !this.inverted) boxes[i] = grower.child(boxes[paths.parent[i]!]!, paths.name[i]!);
      if (before || after) rows.push([this.inverted ? this.descend(grower, i) : boxes[i]!, before, after]);
    }
    const size = grower.parent.length;
    const self: Changes["self"] = [new Float64Array(size), new Float64Array(size)], wide = new Float64Array(size);
    for (const [box, before, after] of rows) {
      self[base][box]! += before;
      self[now][box]! += after;
      wide[box]! += this.width === "base" ? before : this.width === "new" ? after : Math.max(before, after);
    }
    const tree = grower.tree(wide);
    const all: Changes["all"] = [Float64Array.from(self[base]), Float64Array.from(self[now])];
    for (const side of all) sumUp(tree, side);
    return { ...tree, self, all };
  }

  private descend(grower: Grower, node: number): number {
    const { parent, name } = this.diff.paths;
    let box = 0;

    for (; node > 0; node = parent[node]!) box = grower.child(box, name[node]!);
    return box;
  }

  // The strength of a colour is relative to the largest change in sight.
  protected override shown(tree: Changes): Uint8Array {
    const shown = super.shown(tree);

    this.largest = 0;
    for (let node = 0; node < tree.count; node++)
      if (shown[node]) this.largest = Math.max(this.largest, Math.abs(tree.all[now][node]! - tree.all[base][node]!));
    return shown;
  }

  protected name(label: number): string {
    return this.diff.paths.names[label]!;
  }

  private isNew(node: number): boolean {
    return node > 0 && !this.tree!.all[base][node] && this.tree!.all[now][node]! > 0;
  }

  private isGone(node: number): boolean {
    return node > 0 && !this.tree!.all[now][node] && this.tree!.all[base][node]! > 0;
  }

  // Only the topmost box says "new" or "gone": everything below it is new or gone as well.
  protected override boxText(node: number): string {
    const parent = this.tree!.parent[node]!;
    const word = this.isNew(node) && !this.isNew(parent) ? "new: " : this.isGone(node) && !this.isGone(parent) ? "gone: " : "";

    return `${node && this.certain.has(this.nodeName(node)) ? "● " : ""}${word}${this.nodeName(node)}`;
  }

  protected colour(node: number): string {
    const { all } = this.tree!;
    const before = all[base][node]!, after = all[now][node]!;
    const strength = !this.byRatio ? Math.sqrt(Math.abs(after - before) / (this.largest || 1))
      : !before || !after ? 1 : Math.min(1, Math.abs(Math.log2(after / before)));
    const grey = mix(css("--soft"), this.panel, 0.72);

    return mix(grey, mix(after > before ? more : less, this.panel, this.isGone(node) ? 0.75 : 0.12), before === after ? 0 : strength);
  }

  protected parts(node: number): [number, string][] {
    const { all } = this.tree!;
    const before = all[base][node]!, after = all[now][node]!, larger = Math.max(before, after);

    return larger ? [[Math.min(before, after) / larger, mix(css("--ink"), this.panel, 0.45)], [Math.abs(after - before) / larger, after > before ? more : less]] : [];
  }

  // Readable without colour: hatching on what is new, a dashed frame around what is gone.
  protected override decorate(c: CanvasRenderingContext2D, node: number, box: Box): void {
    if (box.w < 4 || (!this.isNew(node) && !this.isGone(node))) return;
    c.save();
    c.beginPath();
    c.rect(box.x, box.y, box.w, box.h);
    c.clip();
    c.beginPath();
    if (this.isNew(node)) {
      c.strokeStyle = "rgb(255 255 255 / 28%)";
      c.lineWidth = 2;
      for (let x = -box.h; x < box.w; x += 8) {
        c.moveTo(box.x + x, box.y + box.h);
        c.lineTo(box.x + x + box.h, box.y);
      }
    } else {
      c.strokeStyle = less;
      c.lineWidth = 2;
      c.setLineDash([5, 3]);
      c.rect(box.x + 1, box.y + 1, box.w - 2, box.h - 2);
    }
    c.stroke();
    c.restore();
  }

  protected override paintLegend(): void {
    const key = (name: string, words: string): Node => h("span", { class: "key" }, h("span", { class: `swatch ${name}` }), words);

    fill(this.legend, key("less", "less"), key("same", "the same"), key("grew", "more"), key("came", "only in new"), key("gone", "only in base"),
      this.certain.size > 0 && h("span", { class: "key" }, "● a function that changed by more than noise"),
      h("span", { class: "key soft" }, this.byRatio ? "full colour: twice or half" : "full colour: the largest change in sight"));
  }

  private words(before: number, after: number): string {
    return `base ${time(before)}, new ${time(after)}, ${signed(after - before, "ns")}${before || after ? `, ${ratio(before, after)}` : ""}`;
  }

  protected sum(nodes: number[]): string {
    const { all } = this.tree!;
    const of = (side: 0 | 1): number => nodes.reduce((sum, node) => sum + all[side][node]!, 0);

    return this.words(of(base), of(now));
  }

  protected lines(node: number): string[] {
    const { all, self } = this.tree!;
    const list = [this.nodeName(node), `${perWords(this.diff)}: ${this.words(all[base][node]!, all[now][node]!)}`];

    if (self[base][node] || self[now][node]) list.push(`of that itself: ${this.words(self[base][node]!, self[now][node]!)}`);
    for (const change of (node && this.certain.get(this.nodeName(node))) || [])
      list.push(`● wherever it is called: ${change.measure === "self" ? "runs" : "waits"} ${time(change.new.mean ?? 0)} instead of ${time(change.base.mean ?? 0)}, more than noise (chance ${chance(change.chance)})`);
    return list;
  }
}
