/* SPDX-License-Identifier: GPL-2.0-or-later */
// What all flame graphs share: layout, search, zoom, keys, details of a box. Subclasses define what the boxes mean and
// their colours.
import { css, ink, mix } from "./colours";
import { choice, fill, h, hideTip, showTip, Surface } from "./dom";

const rowHeight = 19, stripe = 3;
const found = "#e030c0";

// Nodes in an order in which parents come first. Node 0 is the root and has no label.
export interface Tree {
  count: number; parent: Int32Array; label: Int32Array; total: Float64Array; // total: the width
  first: Int32Array; next: Int32Array; depth: Int32Array;
}

export class Grower {
  readonly parent: number[] = [-1];
  readonly label: number[] = [-1];
  private readonly known = new Map<number, number>();

  child(parent: number, label: number): number {
    const key = parent * 0x200000 + (label + 0x100000);
    let node = this.known.get(key);

    if (node === undefined) {
      node = this.parent.length;
      this.parent.push(parent);
      this.label.push(label);
      this.known.set(key, node);
    }
    return node;
  }

  // `self` is each node's own width.
  tree(self: Float64Array): Tree {
    const count = this.parent.length;
    const tree: Tree = {
      count, parent: Int32Array.from(this.parent), label: Int32Array.from(this.label), total: Float64Array.from(self),
      first: new Int32Array(count).fill(-1), next: new Int32Array(count).fill(-1), depth: new Int32Array(count),
    };

    sumUp(tree, tree.total);
    order(tree);
    return tree;
  }
}

// Adds each node's values to its callers.
export function sumUp(tree: { count: number; parent: Int32Array }, values: Float64Array | Float32Array, wide = 1): void {
  for (let node = tree.count - 1; node > 0; node--) {
    const parent = tree.parent[node]!;
    for (let i = 0; i < wide; i++) values[parent * wide + i]! += values[node * wide + i]!;
  }
}

// Sorts children, the widest first.
function order(tree: Tree): void {
  const children: number[][] = [];

  for (let node = 1; node < tree.count; node++) {
    const parent = tree.parent[node]!;
    tree.depth[node] = tree.depth[parent]! + 1;
    (children[parent] ??= []).push(node);
  }
  children.forEach((list, parent) => {
    list.sort((a, b) => tree.total[b]! - tree.total[a]!);
    let last = -1;
    for (const node of list) {
      if (last < 0) tree.first[parent] = node;
      else tree.next[last] = node;
      last = node;
    }
  });
}

export interface Box { x: number; y: number; w: number; h: number }

export abstract class Graph<T extends Tree> {
  protected tree: T | undefined;
  protected inverted = false;
  protected zoom = 0;
  protected readonly surface: Surface;
  protected readonly legend = h("div", { class: "legend" });
  protected readonly searchBox: HTMLInputElement;
  private readonly info: HTMLElement;
  private readonly trail = h("nav", { class: "trail" });
  private readonly found: HTMLElement;
  private focus = 0;
  private hover = -1;
  private matches: Map<number, boolean> | null = null;
  private boxes: { node: number; x: number; y: number; w: number }[] = [];
  protected panel = "";
  private visible = false;
  private stale = true;

  protected constructor(private readonly id: string, title: string) {
    this.surface = new Surface(`${title}. Arrow keys move between boxes, Enter zooms, Escape goes back.`, 300, () => this.draw(), "application");
    this.surface.canvas.tabIndex = 0;
    this.surface.canvas.id = `${id}-chart`;
    this.info = h("p", { class: "status", id: `${id}-info`, "aria-live": "polite" });
    this.found = h("span", { class: "found", id: `${id}-found`, "aria-live": "polite" });
    this.trail.setAttribute("aria-label", `zoom of ${title.toLowerCase()}`);
    this.searchBox = h("input", { type: "search", id: `${id}-search`, placeholder: "function, module…", "aria-label": `search ${title.toLowerCase()}`, oninput: () => this.search() });
    this.listen();
  }

  protected abstract build(): T;
  protected abstract name(label: number): string;
  protected abstract colour(node: number): string;
  // Parts of a box with their colours, for the stripe at its foot.
  protected abstract parts(node: number): [number, string][];
  protected abstract lines(node: number): string[];
  // Describes the sum of the boxes that a search found.
  protected abstract sum(nodes: number[]): string;
  protected paintLegend(): void {}
  protected decorate(_c: CanvasRenderingContext2D, _node: number, _box: Box): void {}

  protected matchesWords(label: number, words: string): boolean {
    return this.name(label).toLowerCase().includes(words);
  }

  protected boxText(node: number): string {
    return this.nodeName(node);
  }

  protected nodeName(node: number): string {
    return node ? this.name(this.tree!.label[node]!) : "all";
  }

  repaint(): void {
    this.paintLegend();
    this.surface.paint();
  }

  // Called from a table: marks a function in the graph.
  find(name: string): void {
    this.searchBox.value = name;
    this.surface.canvas.closest("section")?.scrollIntoView();
    this.search();
  }

  // The graph is built when it scrolls into view.
  protected body(...controls: Node[]): HTMLElement {
    const body = h("div", {}, h("div", { class: "controls" }, h("label", { class: "control" }, h("span", { class: "label" }, "search"), this.searchBox, this.found), ...controls,
      choice("callers", [["above", "above"], ["below", "inverted"]], "above", (value) => {
        this.inverted = value === "below";
        this.again();
      })), this.legend, this.trail, h("div", { class: "flame-box" }, this.surface.canvas), this.info);

    new IntersectionObserver((entries) => {
      this.visible = entries.some((entry) => entry.isIntersecting);
      if (this.visible && this.stale) this.rebuild();
    }, { rootMargin: "400px" }).observe(body);
    return body;
  }

  protected again(): void {
    this.zoom = this.focus = 0;
    this.rebuild();
  }

  protected rebuild(): void {
    if (!this.visible) {
      this.stale = true;
      return;
    }
    const kept = this.zoom ? this.names(this.zoom) : [];

    this.stale = false;
    this.tree = this.build();
    this.zoom = this.focus = this.lookUp(this.tree, kept);
    this.hover = -1;
    this.paintLegend();
    this.search();
    this.show(this.tree);
  }

  private names(node: number): string[] {
    const list: string[] = [];

    for (; node > 0; node = this.tree!.parent[node]!) list.push(this.nodeName(node));
    return list.reverse();
  }

  private lookUp(tree: T, names: string[]): number {
    let node = 0;

    for (const name of names) {
      let child = tree.first[node]!;
      while (child >= 0 && this.nodeName(child) !== name) child = tree.next[child]!;
      if (child < 0) return node;
      node = child;
    }
    return node;
  }

  // Returns which nodes are part of the current view.
  protected shown(tree: T): Uint8Array {
    const shown = new Uint8Array(tree.count);

    shown[this.zoom] = 1;
    for (let node = this.zoom + 1; node < tree.count; node++) shown[node] = shown[tree.parent[node]!]!;
    return shown;
  }

  private show(tree: T): void {
    const parts: Node[] = [];
    const shown = this.shown(tree);

    for (let node = this.zoom; node > 0; node = tree.parent[node]!) {
      const at = node;
      parts.unshift(h("button", { type: "button", onclick: () => this.zoomTo(at) }, this.nodeName(at)));
    }
    const trail = parts.length > 6 ? [parts[0]!, h("span", {}, "…"), ...parts.slice(-4)] : parts;
    fill(this.trail, h("button", { type: "button", id: `${this.id}-reset`, onclick: () => this.zoomTo(0), disabled: this.zoom === 0 }, "all"), ...trail);
    let deepest = tree.depth[this.zoom]!;
    const least = tree.total[this.zoom]! / Math.max(400, this.surface.width) / 3;
    for (let node = 0; node < tree.count; node++)
      if (shown[node] && tree.total[node]! > least && tree.depth[node]! > deepest) deepest = tree.depth[node]!;
    this.surface.resize(Math.max(120, (deepest + 1) * rowHeight + 4));
    this.tell(this.focus);
    this.surface.paint();
  }

  protected zoomTo(node: number): void {
    this.zoom = this.focus = node;
    if (this.tree) this.show(this.tree);
  }

  private search(): void {
    const words = this.searchBox.value.trim().toLowerCase();
    const { tree } = this;

    if (!tree) return;
    this.matches = null;
    if (words) {
      this.matches = new Map();
      for (let node = 1; node < tree.count; node++) {
        const label = tree.label[node]!;
        if (!this.matches.has(label)) this.matches.set(label, this.matchesWords(label, words));
      }
    }
    this.found.textContent = this.matches ? this.sumMatches(tree) : "";
    this.surface.paint();
  }

  // Counts each sample once: a match below another match does not count.
  private sumMatches(tree: T): string {
    const inside = new Uint8Array(tree.count);
    const outermost: number[] = [];

    for (let node = 1; node < tree.count; node++) {
      inside[node] = inside[tree.parent[node]!]!;
      if (inside[node] || !this.isMatch(node)) continue;
      inside[node] = 1;
      outermost.push(node);
    }
    return outermost.length ? this.sum(outermost) : "not found";
  }

  private isMatch(node: number): boolean {
    return node > 0 && this.matches?.get(this.tree!.label[node]!) === true;
  }

  private draw(): void {
    const { context: c, width } = this.surface;
    const { tree } = this;

    if (!tree) return;
    this.boxes = [];
    this.panel = css("--panel");
    c.font = css("--canvas-font");
    c.textBaseline = "middle";
    const ancestors: number[] = [];
    for (let node = tree.parent[this.zoom]!; node >= 0; node = tree.parent[node]!) ancestors.unshift(node);
    ancestors.forEach((node) => this.drawBox(c, node, 0, width, true));
    const stack: [number, number, number][] = [[this.zoom, 0, width]];
    while (stack.length) {
      const [node, x, w] = stack.pop()!;
      this.drawBox(c, node, x, w, false);
      let at = x;
      for (let child = tree.first[node]!; child >= 0; child = tree.next[child]!) {
        const wide = tree.total[node]! ? (w * tree.total[child]!) / tree.total[node]! : 0;
        if (wide < 0.4) break;
        stack.push([child, at, wide]);
        at += wide;
      }
    }
  }

  private row(node: number): number {
    return this.tree!.depth[node]! * rowHeight;
  }

  private drawBox(c: CanvasRenderingContext2D, node: number, x: number, w: number, faded: boolean): void {
    const y = this.row(node), gap = w > 3 ? 1 : 0;
    const box: Box = { x, y, w: w - gap, h: rowHeight - 1 };
    const matched = this.isMatch(node);
    let colour = matched ? found : this.colour(node);

    this.boxes.push({ node, x, y, w });
    if (this.matches && !matched) colour = mix(colour, this.panel, 0.55);
    if (faded) colour = mix(colour, this.panel, 0.5);
    c.fillStyle = colour;
    c.fillRect(box.x, box.y, box.w, box.h);
    this.decorate(c, node, box);
    if (w > 4) {
      let at = x;
      for (const [part, stripeColour] of this.parts(node)) {
        c.fillStyle = stripeColour;
        c.fillRect(at, y + box.h - stripe, box.w * part, stripe);
        at += box.w * part;
      }
    }
    if (w > 28) {
      c.save();
      c.beginPath();
      c.rect(x, y, w - 4, rowHeight);
      c.clip();
      c.fillStyle = ink(colour);
      c.fillText(this.boxText(node), x + 4, y + (rowHeight - stripe) / 2 + 0.5);
      c.restore();
    }
    if (node === this.hover || (node === this.focus && document.activeElement === this.surface.canvas)) {
      c.strokeStyle = css("--ink");
      c.lineWidth = 2;
      c.strokeRect(x + 1, y + 1, Math.max(1, w - 2 - gap), rowHeight - 3);
      c.lineWidth = 1;
    }
  }

  private at(event: MouseEvent): number {
    const box = this.surface.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;

    return this.boxes.find((one) => x >= one.x && x < one.x + one.w && y >= one.y && y < one.y + rowHeight)?.node ?? -1;
  }

  private listen(): void {
    const { canvas } = this.surface;

    canvas.addEventListener("pointermove", (event) => {
      const node = this.at(event);

      if (node !== this.hover) {
        this.hover = node;
        this.surface.paint();
      }
      if (node >= 0) showTip(event.clientX, event.clientY, ...this.lines(node));
      else hideTip();
    });
    canvas.addEventListener("pointerleave", () => {
      this.hover = -1;
      hideTip();
      this.surface.paint();
    });
    canvas.addEventListener("click", (event) => {
      const node = this.at(event);
      if (node >= 0) this.zoomTo(node);
    });
    canvas.addEventListener("focus", () => this.surface.paint());
    canvas.addEventListener("blur", () => this.surface.paint());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    const { tree } = this;
    let node = this.focus;

    if (!tree) return;
    if (event.key === "Escape") return this.zoomTo(this.zoom ? tree.parent[this.zoom]! : 0);
    if (event.key === "Enter" || event.key === " ") this.zoomTo(node);
    else if (event.key === "ArrowDown" && tree.first[node]! >= 0) node = tree.first[node]!;
    else if (event.key === "ArrowUp" && node > 0) node = tree.parent[node]!;
    else if (event.key === "ArrowRight" && tree.next[node]! >= 0) node = tree.next[node]!;
    else if (event.key === "ArrowLeft" && node > 0) {
      for (let at = tree.first[tree.parent[node]!]!; at >= 0 && at !== this.focus; at = tree.next[at]!) node = at;
    } else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    this.focus = node;
    this.tell(node);
    this.surface.paint();
  }

  private tell(node: number): void {
    this.info.textContent = this.lines(node).join(" — ");
  }
}
