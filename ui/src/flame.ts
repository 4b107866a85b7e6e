// The flame graph of all wall time: one unit for running, ready and waiting, so one picture has everything.
//
// A box is a function called by the one below it; its width is the time of all samples through it. It has the colour of
// what most of that time was, and a stripe at its foot with the whole mixture.
import { classColours, classes, classOf, kindColours, mix } from "./colours";
import { type Data, kinds, kindWords } from "./data";
import { choice, fill, h, section } from "./dom";
import { Graph, Grower, sumUp, type Tree } from "./graph";
import { type Selection } from "./select";
import { base, count, share, time } from "./words";

type Split = "process" | "thread" | "state" | "none";
type Colour = "state" | "cause";

interface Flames extends Tree { self: Float64Array; samples: Float64Array; mixture: Float32Array } // mixture: classes of each node

export class Flame extends Graph<Flames> {
  readonly element: HTMLElement;
  private readonly data: Data;
  private split: Split;
  private colouring: Colour = "state";
  private idle = false;
  // Labels below 0 are splits: ~label is their place here.
  private splits: string[] = [];

  constructor(private readonly selection: Selection) {
    super("flame", "Flame graph");
    const data = (this.data = selection.data);

    this.split = data.doc.measured_processes > 1 ? "process" : "none";
    const why = data.doc.sampling?.why_none ?? (data.samples.count ? null : "This recording has no samples.");
    this.element = section("flame", "Where in the code", "All wall time in one unit: running, ready and waiting. Width is time, from samples.",
      why ? h("p", { class: "status" }, why) : this.body(...this.controls()));
    selection.onRest(() => this.rebuild());
  }

  private controls(): Node[] {
    return [
      choice("split by", [["process", "process"], ["thread", "thread"], ["state", "state"], ["none", "nothing"]], this.split, (value) => {
        this.split = value as Split;
        this.again();
      }),
      choice("colour", [["state", "state"], ["cause", "cause"]], this.colouring, (value) => {
        this.colouring = value as Colour;
        this.repaint();
      }),
      choice("idle time", [["hide", "hide"], ["show", "show"]], "hide", (value) => {
        this.idle = value === "show";
        this.again();
      }),
    ];
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

  private splitLabel(thread: number, state: number): number {
    const name = this.splitName(thread, state), known = this.splits.indexOf(name);

    return ~(known < 0 ? this.splits.push(name) - 1 : known);
  }

  protected build(): Flames {
    const { data, selection } = this;
    const { samples } = data;
    const grower = new Grower();
    const leaves: number[] = [], rows: number[] = [];
    const memory = new Map<number, number>();
    const roots = new Map<number, number>();

    this.splits = [];
    for (let i = 0; i < samples.count; i++) {
      const thread = samples.key.thread![i]!, state = samples.key.state![i]!;

      if (!this.takes(state) || !selection.hasThread(thread) || !selection.part(samples, i)) continue;
      let root = 0;
      if (this.split !== "none") {
        const key = this.split === "state" ? state : thread;
        root = roots.get(key) ?? -1;
        if (root < 0) roots.set(key, (root = grower.child(0, this.splitLabel(thread, state))));
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

  private weigh(grower: Grower, leaves: number[], rows: number[]): Flames {
    const { data, selection } = this;
    const { samples } = data;
    const count = grower.parent.length, wide = classes.length;
    const self = new Float64Array(count), counts = new Float64Array(count), mixture = new Float32Array(count * wide);
    const classOfState = data.doc.states.map((_state, i) => classOf(data, i));

    rows.forEach((row, i) => {
      const part = selection.part(samples, row), us = samples.value.us![row]! * part, leaf = leaves[i]!;
      const state = samples.key.state![row]!;

      self[leaf]! += us;
      counts[leaf]! += samples.value.count![row]! * part;
      mixture[leaf * wide + classOfState[state]!]! += us;
    });
    const tree = grower.tree(self);
    sumUp(tree, counts);
    sumUp(tree, mixture, wide);
    return { ...tree, self, samples: counts, mixture };
  }

  protected name(label: number): string {
    return label < 0 ? this.splits[~label]! : this.data.functions.name[label]!;
  }

  protected override matchesWords(label: number, words: string): boolean {
    return super.matchesWords(label, words) || (label >= 0 && this.data.functions.module[label]!.toLowerCase().includes(words));
  }

  protected sum(nodes: number[]): string {
    const { total } = this.tree!;
    const us = nodes.reduce((sum, node) => sum + total[node]!, 0);

    return `${time(us * 1000)}, ${share(us, total[0]!)} of what is shown`;
  }

  // What a node is painted with: kinds come from their classes, so one mixture serves both.
  private paint(at: number): string {
    const name = classes[at]!;

    if (this.colouring === "cause") return classColours[name];
    return name.startsWith("run") ? kindColours.run : name === "ready" ? kindColours.ready : name === "idle" ? kindColours.idle
      : name === "unseen" ? kindColours.unseen : name === "undecided" ? kindColours.undecided : kindColours.delaying;
  }

  protected colour(node: number): string {
    const { mixture, label } = this.tree!;
    const wide = classes.length;
    let best = 0;

    for (let i = 1; i < wide; i++) if (mixture[node * wide + i]! > mixture[node * wide + best]!) best = i;
    // Neighbours of one colour are told apart by a little lightness.
    return mix(this.paint(best), this.panel, (node ? 0.3 : 0.6) + (label[node]! & 3) * 0.07);
  }

  protected parts(node: number): [number, string][] {
    const { mixture, total } = this.tree!;
    const parts: [number, string][] = [];

    if (total[node]) for (let i = 0; i < classes.length; i++) if (mixture[node * classes.length + i]! > 0) parts.push([mixture[node * classes.length + i]! / total[node]!, this.paint(i)]);
    return parts;
  }

  protected override paintLegend(): void {
    const states = new Set<string>();
    const items: Node[] = [];
    const item = (colour: string, words: string): void => {
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = colour;
      items.push(h("span", { class: "key" }, swatch, words));
    };

    this.data.doc.states.forEach((state, i) => {
      if (state.ns > this.data.doc.threads_ns / 10000 && this.takes(i)) states.add(this.colouring === "cause" ? classes[classOf(this.data, i)]! : state.kind);
    });
    if (this.colouring === "cause") for (const name of classes) states.has(name) && item(classColours[name], name);
    else for (const kind of kinds) states.has(kind) && item(kindColours[kind], kindWords[kind]);
    fill(this.legend, ...items);
  }

  protected lines(node: number): string[] {
    const { data } = this;
    const { label, total, self, samples, mixture } = this.tree!;
    const of = label[node]!;
    const list = [this.nodeName(node)];

    if (node && of >= 0 && data.functions.module[of]) {
      const { file, line, module } = data.functions;
      list.push(base(module[of]!) + (file[of] ? ` · ${base(file[of]!)}${line[of] ? `:${line[of]}` : ""}` : ""));
    }
    list.push(`total ${time(total[node]! * 1000)}, ${share(total[node]!, total[0]!)} · self ${time(self[node]! * 1000)} · ${count(Math.round(samples[node]!), "sample")}`);
    const parts = classes.map((name, i) => ({ name, us: mixture[node * classes.length + i]! })).filter((part) => part.us > total[node]! / 200);
    list.push(parts.sort((a, b) => b.us - a.us).slice(0, 5).map((part) => `${part.name} ${share(part.us, total[node]!)}`).join(", "));
    return list;
  }
}
