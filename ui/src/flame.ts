// The flame graph of all wall time: one unit for running, ready and waiting, so one picture has everything.
//
// A box is a function called by the one below it; its width is the time of all samples through it. It has the colour of
// what most of that time was, and a stripe at its foot with the whole mixture.
import { classColours, classes, classOf, css, ink, kindColours, mix } from "./colours";
import { type Data, kinds, kindWords } from "./data";
import { choice, fill, h, hideTip, section, showTip, Surface } from "./dom";
import { type Selection } from "./select";
import { base, number, share, time } from "./words";

const rowHeight = 19, stripe = 3;
type Split = "process" | "thread" | "state" | "none";
type Colour = "state" | "cause";

// Nodes in an order in which parents come first. Labels below 0 are splits: ~label is their place in `names`.
interface Tree {
  count: number; parent: Int32Array; label: Int32Array; total: Float64Array; self: Float64Array; samples: Float64Array;
  mixture: Float32Array; // classes of each node
  first: Int32Array; next: Int32Array; depth: Int32Array; names: string[]; deepest: number;
}

class Grower {
  parent: number[] = [-1];
  label: number[] = [-1];
  private readonly known = new Map<number, number>();
  readonly names = ["all"];

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

  // Text: a split that stands above code.
  split(name: string, places: Map<string, number>): number {
    let place = places.get(name);

    if (place === undefined) {
      place = this.names.length;
      this.names.push(name);
      places.set(name, place);
    }
    return this.child(0, ~place);
  }
}

export class Flame {
  readonly element: HTMLElement;
  private readonly data: Data;
  private readonly surface: Surface;
  private readonly info = h("p", { class: "status", id: "flame-info", "aria-live": "polite" });
  private readonly trail = h("nav", { class: "trail", "aria-label": "zoom" });
  private readonly found = h("span", { class: "found", id: "flame-found", "aria-live": "polite" });
  private readonly legend = h("div", { class: "legend" });
  private readonly searchBox: HTMLInputElement;
  private tree!: Tree;
  private split: Split;
  private colour: Colour = "state";
  private inverted = false;
  private idle = false;
  private zoom = 0;
  private focus = 0;
  private hover = -1;
  private matches: Uint8Array | null = null;
  private boxes: { node: number; x: number; y: number; w: number }[] = [];
  private visible = false;
  private stale = true;

  constructor(private readonly selection: Selection) {
    const data = (this.data = selection.data);

    this.split = data.doc.measured_processes > 1 ? "process" : "none";
    this.surface = new Surface("Flame graph. Arrow keys move between boxes, Enter zooms, Escape goes back.", 300, () => this.draw(), "application");
    this.surface.canvas.tabIndex = 0;
    this.surface.canvas.id = "flame-chart";
    this.searchBox = h("input", { type: "search", id: "flame-search", placeholder: "function, module…", "aria-label": "search the flame graph", oninput: () => this.search() });
    const why = data.doc.sampling?.why_none ?? (data.samples.count ? null : "This recording has no samples.");
    this.element = section("flame", "Where in the code", "All wall time in one unit: running, ready and waiting. Width is time, from samples.",
      why ? h("p", { class: "status" }, why) : h("div", {}, this.controls(), this.legend, this.trail,
        h("div", { class: "flame-box" }, this.surface.canvas), this.info));
    this.listen();
    selection.onRest(() => this.rebuild());
    new IntersectionObserver((entries) => {
      this.visible = entries.some((entry) => entry.isIntersecting);
      if (this.visible && this.stale) this.rebuild();
    }, { rootMargin: "400px" }).observe(this.element);
  }

  repaint(): void {
    this.surface.paint();
  }

  // From a table: marks a function here.
  find(name: string): void {
    this.searchBox.value = name;
    this.element.scrollIntoView();
    this.search();
  }

  private controls(): HTMLElement {
    const again = (): void => {
      this.zoom = this.focus = 0;
      this.rebuild();
    };

    return h("div", { class: "controls" },
      h("label", { class: "control" }, h("span", { class: "label" }, "search"), this.searchBox, this.found),
      choice("split by", [["process", "process"], ["thread", "thread"], ["state", "state"], ["none", "nothing"]], this.split, (value) => {
        this.split = value as Split;
        again();
      }),
      choice("colour", [["state", "state"], ["cause", "cause"]], this.colour, (value) => {
        this.colour = value as Colour;
        this.paintLegend();
        this.surface.paint();
      }),
      choice("callers", [["below", "below"], ["above", "inverted"]], "below", (value) => {
        this.inverted = value === "above";
        again();
      }),
      choice("idle time", [["hide", "hide"], ["show", "show"]], "hide", (value) => {
        this.idle = value === "show";
        again();
      }));
  }

  private takes(state: number): boolean {
    return this.idle || this.data.doc.states[state]!.kind !== "idle";
  }

  private splitName(thread: number, state: number): string {
    const { threads } = this.data;

    if (this.split === "state") return this.data.stateName(state) + (this.data.doc.states[state]!.kind === "undecided" ? " (undecided)" : "");
    if (thread < 0) return "other threads";
    return this.split === "process" ? threads.processComm[thread]! : `${threads.comm[thread]} (tid ${threads.tid[thread]})`;
  }

  private build(): Tree {
    const { data, selection } = this;
    const { samples } = data;
    const grower = new Grower();
    const places = new Map<string, number>();
    const leaves: number[] = [], rows: number[] = [];
    const memory = new Map<number, number>();
    const roots = new Map<number, number>();

    for (let i = 0; i < samples.count; i++) {
      const thread = samples.key.thread![i]!, state = samples.key.state![i]!;

      if (!this.takes(state) || !selection.hasThread(thread) || !selection.part(samples, i)) continue;
      let root = 0;
      if (this.split !== "none") {
        const key = this.split === "state" ? state : thread;
        root = roots.get(key) ?? -1;
        if (root < 0) roots.set(key, (root = grower.split(this.splitName(thread, state), places)));
      }
      leaves.push(this.inverted ? this.descend(grower, root, samples.key.node![i]!) : this.climb(grower, memory, root, samples.key.node![i]!));
      rows.push(i);
    }
    return this.weigh(grower, leaves, rows);
  }

  // The box of a node whose callers are below it.
  private climb(grower: Grower, memory: Map<number, number>, root: number, node: number): number {
    const { nodeParent, nodeFunction, nodes } = this.data;
    const way: number[] = [];
    let at: number | undefined;

    for (; node > 0; node = nodeParent[node]!) {
      at = memory.get(root * nodes + node);
      if (at !== undefined) break;
      way.push(node);
    }
    let box = at ?? root;
    while (way.length) {
      const next = way.pop()!;
      box = grower.child(box, nodeFunction[next]!);
      memory.set(root * nodes + next, box);
    }
    return box;
  }

  private descend(grower: Grower, root: number, node: number): number {
    let box = root;

    for (; node > 0; node = this.data.nodeParent[node]!) box = grower.child(box, this.data.nodeFunction[node]!);
    return box;
  }

  private weigh(grower: Grower, leaves: number[], rows: number[]): Tree {
    const { data, selection } = this;
    const { samples } = data;
    const count = grower.parent.length, wide = classes.length;
    const tree: Tree = {
      count, parent: Int32Array.from(grower.parent), label: Int32Array.from(grower.label), total: new Float64Array(count),
      self: new Float64Array(count), samples: new Float64Array(count), mixture: new Float32Array(count * wide), first: new Int32Array(count).fill(-1),
      next: new Int32Array(count).fill(-1), depth: new Int32Array(count), names: grower.names, deepest: 0,
    };
    const classOfState = data.doc.states.map((_state, i) => classOf(data, i));

    rows.forEach((row, i) => {
      const part = selection.part(samples, row), us = samples.value.us![row]! * part, leaf = leaves[i]!;
      const state = samples.key.state![row]!;

      tree.self[leaf]! += us;
      tree.samples[leaf]! += samples.value.count![row]! * part;
      tree.mixture[leaf * wide + classOfState[state]!]! += us;
    });
    tree.total.set(tree.self);
    for (let node = count - 1; node > 0; node--) {
      const parent = tree.parent[node]!;
      tree.total[parent]! += tree.total[node]!;
      tree.samples[parent]! += tree.samples[node]!;
      for (let i = 0; i < wide; i++) tree.mixture[parent * wide + i]! += tree.mixture[node * wide + i]!;
    }
    this.order(tree);
    return tree;
  }

  // The widest first.
  private order(tree: Tree): void {
    const children: number[][] = [];

    for (let node = 1; node < tree.count; node++) {
      const parent = tree.parent[node]!;
      tree.depth[node] = tree.depth[parent]! + 1;
      if (tree.depth[node]! > tree.deepest) tree.deepest = tree.depth[node]!;
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

  private rebuild(): void {
    if (!this.visible) {
      this.stale = true;
      return;
    }
    const kept = this.zoom ? this.names(this.zoom) : [];

    this.stale = false;
    this.tree = this.build();
    this.zoom = this.focus = this.lookUp(kept);
    this.hover = -1;
    this.paintLegend();
    this.search();
    this.show();
  }

  private names(node: number): string[] {
    const list: string[] = [];

    for (; node > 0; node = this.tree.parent[node]!) list.push(this.name(node));
    return list.reverse();
  }

  private lookUp(names: string[]): number {
    let node = 0;

    for (const name of names) {
      let child = this.tree.first[node]!;
      while (child >= 0 && this.name(child) !== name) child = this.tree.next[child]!;
      if (child < 0) return node;
      node = child;
    }
    return node;
  }

  private name(node: number): string {
    const label = this.tree.label[node]!;
    return label < 0 ? this.tree.names[~label]! : this.data.functions.name[label]!;
  }

  private show(): void {
    const parts: Node[] = [];

    for (let node = this.zoom; node > 0; node = this.tree.parent[node]!) {
      const at = node;
      parts.unshift(h("button", { type: "button", onclick: () => this.zoomTo(at) }, this.name(at)));
    }
    const shown = parts.length > 6 ? [parts[0]!, h("span", {}, "…"), ...parts.slice(-4)] : parts;
    fill(this.trail, h("button", { type: "button", id: "flame-reset", onclick: () => this.zoomTo(0), disabled: this.zoom === 0 }, "all"), ...shown);
    let deepest = this.tree.depth[this.zoom]!;
    const least = this.tree.total[this.zoom]! / Math.max(400, this.surface.width) / 3;
    for (let node = 0; node < this.tree.count; node++)
      if (this.tree.total[node]! > least && this.tree.depth[node]! > deepest && this.isBelow(node, this.zoom)) deepest = this.tree.depth[node]!;
    this.surface.resize(Math.max(120, (deepest + 1) * rowHeight + 4));
    this.tell(this.focus);
    this.surface.paint();
  }

  private isBelow(node: number, root: number): boolean {
    if (!root) return true;
    while (node > root) node = this.tree.parent[node]!;
    return node === root;
  }

  private zoomTo(node: number): void {
    this.zoom = this.focus = node;
    this.show();
  }

  private search(): void {
    const words = this.searchBox.value.trim().toLowerCase();
    const { functions } = this.data;

    if (!this.tree) return;
    this.matches = null;
    if (words) {
      this.matches = new Uint8Array(functions.count);
      for (let i = 0; i < functions.count; i++)
        if (functions.name[i]!.toLowerCase().includes(words) || functions.module[i]!.toLowerCase().includes(words)) this.matches[i] = 1;
    }
    this.found.textContent = this.matches ? this.countMatches() : "";
    this.surface.paint();
  }

  // Each sample once: below a match another does not count.
  private countMatches(): string {
    const { tree } = this;
    const inside = new Uint8Array(tree.count);
    let us = 0, boxes = 0;

    for (let node = 1; node < tree.count; node++) {
      inside[node] = inside[tree.parent[node]!]!;
      if (inside[node] || !this.isMatch(node)) continue;
      inside[node] = 1;
      us += tree.total[node]!;
      boxes++;
    }
    return boxes ? `${time(us * 1000)}, ${share(us, tree.total[0]!)} of what is shown` : "not found";
  }

  private isMatch(node: number): boolean {
    const label = this.tree.label[node]!;

    if (!this.matches) return false;
    return label >= 0 ? this.matches[label] === 1 : node > 0 && this.tree.names[~label]!.toLowerCase().includes(this.searchBox.value.trim().toLowerCase());
  }

  // What a node is painted with: kinds come from their classes, so one mixture serves both.
  private palette(): string[] {
    if (this.colour === "cause") return classes.map((name) => classColours[name]);
    return classes.map((name) =>
      name.startsWith("run") ? kindColours.run : name === "ready" ? kindColours.ready : name === "idle" ? kindColours.idle
        : name === "unseen" ? kindColours.unseen : name === "undecided" ? kindColours.undecided : kindColours.delaying);
  }

  private paintLegend(): void {
    const states = new Set<string>();
    const items: Node[] = [];
    const item = (colour: string, words: string): void => {
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = colour;
      items.push(h("span", { class: "key" }, swatch, words));
    };

    this.data.doc.states.forEach((state, i) => {
      if (state.ns > this.data.doc.threads_ns / 10000 && this.takes(i)) states.add(this.colour === "cause" ? classes[classOf(this.data, i)]! : state.kind);
    });
    if (this.colour === "cause") for (const name of classes) states.has(name) && item(classColours[name], name);
    else for (const kind of kinds) states.has(kind) && item(kindColours[kind], kindWords[kind]);
    fill(this.legend, ...items);
  }

  private draw(): void {
    const { context: c, width } = this.surface;
    const tree = this.tree;

    if (!tree) return;
    this.boxes = [];
    c.font = css("--canvas-font");
    c.textBaseline = "middle";
    const palette = this.palette();
    const ancestors: number[] = [];
    for (let node = tree.parent[this.zoom]!; node >= 0; node = tree.parent[node]!) ancestors.unshift(node);
    ancestors.forEach((node) => this.drawBox(c, palette, node, 0, width, true));
    const stack: [number, number, number][] = [[this.zoom, 0, width]];
    while (stack.length) {
      const [node, x, w] = stack.pop()!;
      this.drawBox(c, palette, node, x, w, false);
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
    const depth = this.tree.depth[node]!;
    return this.inverted ? depth * rowHeight : this.surface.height - (depth + 1) * rowHeight;
  }

  private drawBox(c: CanvasRenderingContext2D, palette: string[], node: number, x: number, w: number, faded: boolean): void {
    const { tree } = this;
    const y = this.row(node), wide = classes.length;
    const gap = w > 3 ? 1 : 0;
    let best = 0;

    this.boxes.push({ node, x, y, w });
    for (let i = 1; i < wide; i++) if (tree.mixture[node * wide + i]! > tree.mixture[node * wide + best]!) best = i;
    const panel = css("--panel");
    const matched = this.isMatch(node);
    // Neighbours of one colour are told apart by a little lightness.
    let fillColour = mix(palette[best]!, panel, (node ? 0.3 : 0.6) + (tree.label[node]! & 3) * 0.07);
    if (this.matches && !matched) fillColour = mix(fillColour, panel, 0.55);
    if (matched) fillColour = "#e030c0";
    if (faded) fillColour = mix(fillColour, panel, 0.5);
    c.fillStyle = fillColour;
    c.fillRect(x, y, w - gap, rowHeight - 1);
    if (w > 4 && tree.total[node]) {
      let at = x;
      for (let i = 0; i < wide; i++) {
        const part = ((w - gap) * tree.mixture[node * wide + i]!) / tree.total[node]!;
        if (part <= 0) continue;
        c.fillStyle = palette[i]!;
        c.fillRect(at, y + rowHeight - 1 - stripe, part, stripe);
        at += part;
      }
    }
    if (w > 28) {
      c.save();
      c.beginPath();
      c.rect(x, y, w - 4, rowHeight);
      c.clip();
      c.fillStyle = ink(fillColour);
      c.fillText(this.name(node), x + 4, y + (rowHeight - stripe) / 2 + 0.5);
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
    const out = this.inverted ? "ArrowUp" : "ArrowDown", into = this.inverted ? "ArrowDown" : "ArrowUp";
    let node = this.focus;

    if (!tree) return;
    if (event.key === "Escape") return this.zoomTo(this.zoom ? tree.parent[this.zoom]! : 0);
    if (event.key === "Enter" || event.key === " ") this.zoomTo(node);
    else if (event.key === into && tree.first[node]! >= 0) node = tree.first[node]!;
    else if (event.key === out && node > 0) node = tree.parent[node]!;
    else if (event.key === "ArrowRight" && tree.next[node]! >= 0) node = tree.next[node]!;
    else if (event.key === "ArrowLeft" && node > 0) {
      for (let at = tree.first[tree.parent[node]!]!; at >= 0 && at !== this.focus; at = tree.next[at]!) node = at;
    } else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    this.focus = node;
    this.tell(node);
    this.surface.paint();
  }

  private lines(node: number): string[] {
    const { tree, data } = this;
    const label = tree.label[node]!;
    const total = tree.total[node]!;
    const list = [this.name(node)];

    if (label >= 0 && data.functions.module[label]) {
      const { file, line, module } = data.functions;
      list.push(base(module[label]!) + (file[label] ? ` · ${base(file[label]!)}${line[label] ? `:${line[label]}` : ""}` : ""));
    }
    list.push(`total ${time(total * 1000)}, ${share(total, tree.total[0]!)} · self ${time(tree.self[node]! * 1000)} · ${number(tree.samples[node]!)} samples`);
    const parts = classes.map((name, i) => ({ name, us: tree.mixture[node * classes.length + i]! })).filter((part) => part.us > total / 200);
    list.push(parts.sort((a, b) => b.us - a.us).slice(0, 5).map((part) => `${part.name} ${share(part.us, total)}`).join(", "));
    return list;
  }

  private tell(node: number): void {
    this.info.textContent = this.lines(node).join(" — ");
  }
}
