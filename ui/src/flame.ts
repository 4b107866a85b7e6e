/* SPDX-License-Identifier: GPL-2.0-or-later */
// The flame graph of all wall time. Running, ready and waiting have the same unit, so one picture shows everything.
//
// A box is a function called by the one above it. Its width is the time of all samples through it. Its colour shows
// what most of that time was, and a stripe at its foot shows the whole mixture.
import { type Class, classesOf, colour, css, mix, paint } from "./colours";
import { type Data, type Language, type Look } from "./data";
import { choice, fill, h, section } from "./dom";
import { Graph, Grower, sumUp, type Tree } from "./graph";
import { type Selection } from "./select";
import { count, share, time } from "./words";

type Split = "process" | "thread" | "state" | "none";
type Colour = "state" | "cause" | "language";
type Hidden = "none" | "native" | "runtime";

interface Flames extends Tree { self: Float64Array; samples: Float64Array; mixture: Float32Array } // mixture: time by node and class

export class Flame extends Graph<Flames> {
  readonly element: HTMLElement;
  private readonly data: Data;
  private readonly classes: Class[];
  private readonly classOfState: number[];
  private split: Split;
  private colouring: Colour = "state";
  private idle = false;
  private hidden: Hidden = "none";
  // Negative labels are splits: ~label is their index here.
  private splits: string[] = [];

  constructor(private readonly selection: Selection) {
    super("flame", "Flame graph");
    const data = (this.data = selection.data);
    const { list, ofState } = classesOf(data);

    this.classes = list;
    this.classOfState = ofState;
    this.split = data.doc.measured_processes > 1 ? "process" : "none";
    const why = data.doc.sampling?.why_none ?? (data.samples.count ? null : "This recording has no samples.");
    const only = h("p", { class: "status", id: "flame-only", hidden: true });
    this.element = section("flame", "Where in the code", "All wall time in one unit: running, ready and waiting. Width is time, from samples.", only,
      why ? h("p", { class: "status" }, why) : this.body(...this.controls()));
    selection.onRest(() => {
      only.hidden = !selection.requests;
      only.textContent = selection.requests ? `Only samples of threads while they worked for ${selection.requests.label}, up to the answer.` : "";
      this.rebuild();
    });
  }

  private controls(): Node[] {
    return [
      choice("split by", [["process", "process"], ["thread", "thread"], ["state", "state"], ["none", "nothing"]], this.split, (value) => {
        this.split = value as Split;
        this.again();
      }),
      choice("colour", [["state", "state"], ["cause", "cause"], ...(this.data.doc.languages ? [["language", "language"] as [string, string]] : [])], this.colouring, (value) => {
        this.colouring = value as Colour;
        this.repaint();
      }),
      ...(this.data.doc.languages ? [this.hideControl()] : []),
      choice("idle time", [["hide", "hide"], ["show", "show"]], "hide", (value) => {
        this.idle = value === "show";
        this.again();
      }),
    ];
  }

  // Without native frames, a function is next to the function of the same runtime that called it.
  private hideControl(): Node {
    return choice("frames", [["none", "all"], ["native", "hide native"], ["runtime", "hide runtimes"]], this.hidden, (value) => {
      this.hidden = value as Hidden;
      this.again();
    });
  }

  // Native frames are hidden only in stacks with a function of a runtime: other threads have nothing else.
  private isHidden(of: number, hasRuntime: boolean): boolean {
    const language = this.data.doc.languages?.[this.data.functions.language[of]!];

    if (!language || this.hidden === "none") return false;
    return this.hidden === "native" ? hasRuntime && language.key === "native" : language.runtime || language.key === "generated";
  }

  private takes(state: number): boolean {
    return this.idle || this.data.doc.states[state]!.kind !== "idle";
  }

  private splitName(thread: number, state: number): string {
    const { threads } = this.data;

    if (this.split === "state") return this.data.longName(state);
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
    const memories = [new Map<number, number>(), new Map<number, number>()];
    const roots = new Map<number, number>();

    this.splits = [];
    for (let i = 0; i < samples.count; i++) {
      const thread = samples.key.thread![i]!, state = samples.key.state![i]!;

      if (!this.takes(state) || !selection.hasThread(thread) || !selection.hasMark(samples.key.mark![i]) || !selection.part(samples, i)) continue;
      let root = 0;
      if (this.split !== "none") {
        const key = this.split === "state" ? state : thread;
        root = roots.get(key) ?? -1;
        if (root < 0) roots.set(key, (root = grower.child(0, this.splitLabel(thread, state))));
      }
      leaves.push(this.inverted ? this.descend(grower, root, samples.key.node![i]!) : this.climb(grower, memories[data.nodeHasRuntime[samples.key.node![i]!]!]!, root, samples.key.node![i]!));
      rows.push(i);
    }
    return this.weigh(grower, leaves, rows);
  }

  // Returns the box of a node, with its callers above it.
  private climb(grower: Grower, memory: Map<number, number>, root: number, node: number): number {
    const { nodeParent, nodeFunction, nodes } = this.data;
    const way: number[] = [];
    const hasRuntime = this.data.nodeHasRuntime[node] === 1;
    let at: number | undefined;

    for (; node > 0; node = nodeParent[node]!) {
      at = memory.get(root * nodes + node);
      if (at !== undefined) break;
      way.push(node);
    }
    let box = at ?? root;
    while (way.length) {
      const next = way.pop()!;
      if (!this.isHidden(nodeFunction[next]!, hasRuntime)) box = grower.child(box, nodeFunction[next]!);
      memory.set(root * nodes + next, box);
    }
    return box;
  }

  private descend(grower: Grower, root: number, node: number): number {
    const { nodeFunction, nodeHasRuntime, nodeParent } = this.data;
    const hasRuntime = nodeHasRuntime[node] === 1;
    let box = root;

    for (; node > 0; node = nodeParent[node]!)
      if (!this.isHidden(nodeFunction[node]!, hasRuntime)) box = grower.child(box, nodeFunction[node]!);
    return box;
  }

  private weigh(grower: Grower, leaves: number[], rows: number[]): Flames {
    const { data, selection } = this;
    const { samples } = data;
    const count = grower.parent.length, wide = this.classes.length;
    const self = new Float64Array(count), counts = new Float64Array(count), mixture = new Float32Array(count * wide);

    rows.forEach((row, i) => {
      const part = selection.part(samples, row), us = samples.value.us![row]! * part, leaf = leaves[i]!;
      const state = samples.key.state![row]!;

      self[leaf]! += us;
      counts[leaf]! += samples.value.count![row]! * part;
      mixture[leaf * wide + this.classOfState[state]!]! += us;
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

  // The colour of a class. Kinds are derived from classes, so one mixture serves both.
  private colourOf(at: number): string {
    const { kind, look } = this.classes[at]!;

    return colour(this.colouring === "cause" ? look : this.data.kind(kind));
  }

  protected colour(node: number): string {
    const { mixture, label } = this.tree!;
    const wide = this.classes.length;
    const language = this.colouring === "language" ? this.data.doc.languages?.[this.data.functions.language[label[node]!]!] : undefined;
    let best = 0;

    if (language) return mix(colour(language), this.panel, 0.2 + (label[node]! & 3) * 0.07);
    if (this.colouring === "language") return mix(css("--soft"), this.panel, 0.6);

    for (let i = 1; i < wide; i++) if (mixture[node * wide + i]! > mixture[node * wide + best]!) best = i;
    // Vary the lightness a little, so that neighbours of one colour can be told apart.
    return mix(this.colourOf(best), this.panel, (node ? 0.3 : 0.6) + (label[node]! & 3) * 0.07);
  }

  protected parts(node: number): [number, string][] {
    const { mixture, total } = this.tree!;
    const parts: [number, string][] = [], wide = this.classes.length;

    if (total[node]) for (let i = 0; i < wide; i++) if (mixture[node * wide + i]! > 0) parts.push([mixture[node * wide + i]! / total[node]!, this.colourOf(i)]);
    return parts;
  }

  protected override paintLegend(): void {
    const seen = new Set<number>();
    const items: Node[] = [];
    const item = (look: Look, words: string): void => {
      const swatch = h("span", { class: "swatch" });
      paint(swatch, look);
      items.push(h("span", { class: "key" }, swatch, words));
    };

    this.data.doc.states.forEach((state, i) => {
      if (state.ns > this.data.doc.threads_ns / 10000 && this.takes(i)) seen.add(this.colouring === "cause" ? this.classOfState[i]! : this.data.kindOf[i]!);
    });
    if (this.colouring === "language") this.seenLanguages().forEach((one) => item(one, one.name));
    else if (this.colouring === "cause") this.classes.forEach((one, i) => seen.has(i) && item(one.look, one.name));
    else this.data.doc.kinds.forEach((kind, i) => seen.has(i) && item(kind, kind.words));
    fill(this.legend, ...items);
  }

  private seenLanguages(): Language[] {
    const { languages } = this.data.doc, { language } = this.data.functions;
    const seen = new Set<number>();

    this.tree?.label.forEach((label) => label >= 0 && seen.add(language[label]!));
    return languages?.filter((_, i) => seen.has(i)) ?? [];
  }

  protected lines(node: number): string[] {
    const { data } = this;
    const { label, total, self, samples, mixture } = this.tree!;
    const of = label[node]!;
    const list = [this.nodeName(node)];

    if (node && of >= 0 && data.functions.module[of]) {
      const language = data.doc.languages?.[data.functions.language[of]!];
      const where = data.where(of), line = data.line(of);
      list.push([where, line === where ? "" : line, language?.runtime ? language.name : ""].filter(Boolean).join(" · "));
    }
    list.push(`total ${time(total[node]! * 1000)}, ${share(total[node]!, total[0]!)} · self ${time(self[node]! * 1000)} · ${count(Math.round(samples[node]!), "sample")}`);
    const parts = this.classes.map(({ name }, i) => ({ name, us: mixture[node * this.classes.length + i]! })).filter((part) => part.us > total[node]! / 200);
    list.push(parts.sort((a, b) => b.us - a.us).slice(0, 5).map((part) => `${part.name} ${share(part.us, total[node]!)}`).join(", "));
    return list;
  }
}
