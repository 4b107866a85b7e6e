/* SPDX-License-Identifier: GPL-2.0-or-later */
// The document that the program put into the page (src/page/html.c), decoded into typed arrays.
import { base } from "./words";

export type Kind = "run" | "ready" | "delaying" | "undecided" | "idle" | "unseen";
export interface Look { light: string; dark: string }
// A language of functions; `runtime`: of a runtime, and neither native nor the kernel's.
export interface Language extends Look { key: string; name: string; runtime: boolean }
// A kind of state: its key, and the words that users see.
export interface KindWords extends Look { key: Kind; words: string; brief: string; about: string }
export interface State extends Look { state: string; cause: string; kind: Kind; about: string; ns: number; count: number }
export interface Wait {
  waiter: string; process: string; thread: number; state: number; object_kind: string | null; object: string | null;
  by: string; by_thread: number; evidence: string; first: string; ns: number; count: number;
}
export type PercentileKey = "p50" | "p90" | "p95" | "p99" | "p999";
// A percentile is null if there are too few values for it.
export interface Syscall extends Record<`${PercentileKey}_ns`, number | null> {
  name: string; count: number; errors: number; total_ns: number; run_ns: number; timed: number; max_ns: number; errno: number;
}
export interface Histogram {
  of: string; name?: string; kind?: Kind | null; by_choice?: boolean; calls?: boolean; place?: string | null; operation?: string | null; measure?: string | null;
  unit: string | null; count?: number; max: number;
}
export interface Measure { id: number; name: string; unit: string }
// All events of one operation at one place. Arrays of numbers are indexed by measure.
export interface Operation extends Record<PercentileKey, (number | null)[]> {
  place: string; operation: string; count: number; errors: number; who: string | null; hump: string | null;
  sum: number[]; max: number[]; timed: number[];
}
export interface Service {
  name: string; accepts: boolean; connections: number; opened: number; ended: number; lifetime_ns: number; bytes: number;
  segments: number; sent_again: number; resets: number; overflows: number; zero_windows: number; who: string | null;
}
export interface Program { file: string; parent: string | null; count: number; ended: number; lifetime_ns: number; max_ns: number; failed: number }
export interface Signal {
  name: string; about: string | null; events: string; main: number; count: number; errors: number; event_count: number;
  measures: Measure[]; rows: Operation[]; services?: Service[]; programs?: Program[];
}
export interface Series {
  signal: number; other: boolean; who: string | null; object: string | null; place: number; operation: number; errno: number;
  count: number; sum: number[]; max: number[];
}
export interface Event_ {
  signal: number; us: number; duration_ns: number; who: string | null; tid: number; object: string | null; place: string | null;
  operation: string | null; errno: number; fields: string | null; in: string | null;
}
// `gapless diff`: one side's values of a metric, one for each recording, and their statistics.
export interface Side { mean: number | null; deviation: number | null; values: (number | null)[] }
export interface Change {
  class: string; name: string; measure: string; unit: string; normalised: boolean; base: Side; new: Side; ratio: number | null;
  chance: number | null; certain: boolean; about?: string;
}
export interface Comparison {
  verdict: string[]; recordings: { path: string; side: "base" | "new"; target: string; losses: string | null }[]; per: string;
  enough: boolean; compared: number; certain: number; alpha: number; changes: Change[]; warnings: string[];
  gates: { condition: string; crossed: boolean; chance: number | null }[];
  // Call paths, parents first. Node 0 is the root. Times are each node's own, in ns per unit of work.
  paths: { names: string[]; parent: number[]; name: number[]; base_run: number[]; base_wait: number[]; new_run: number[]; new_wait: number[]; left_out: number };
}
// Windows: requests and calls. What they spent time on, over all of them; overlap counts twice in the other reasons.
export interface Reason extends Look { part: string; words: string; about: string; overlap: boolean }
// From bucket `from` up to bucket `to`.
export interface WindowBand { from: number; to: number; count: number; n: number; length_ns: number; kept: number }
export interface WindowRow { reason: number; ns: number; band_ns: number[]; more_ns: number; claimed: boolean }
type WindowPercentiles = Record<`${PercentileKey}_ns`, number | null>;
// `bands`: the fastest, those from p90 to the slowest, the slowest.
export interface WindowService extends WindowPercentiles {
  title: string; counted: string; kind: string | null; pid: number; count: number; n: number; length_ns: number;
  statuses: { words: string; count: number }[]; compared: boolean; bands: WindowBand[]; rows: WindowRow[];
}
export interface WindowClass extends WindowPercentiles { service: number; name: string | null; status: string; count: number; length_ns: number }
export interface WindowWait { reason: number; object_kind: string | null; object: string | null; by: string | null; by_tid: number; evidence: string | null }
export interface Windows_ {
  least: number; remainder: number | null; services: WindowService[]; classes: WindowClass[]; kept: Columns; parts: Columns; window_waits: Columns;
  waits: WindowWait[]; reasons: Reason[];
}
export interface Figure { name: string; value: number | null; words: string | null; remedy?: string }
export type Columns = Record<string, number[]>;
interface Packed { width: number; rows: Columns }
// A row for each thread: text columns are numbers of `texts`. `folded` threads have no row of their own.
export interface ThreadRows {
  pid: number[]; tid: number[]; process: number[]; comm: number[]; process_comm: number[]; group: number[]; cgroup: number[]; flags: number[];
  lifetime_ns: number[]; unexplained_ns: number[]; folded: number;
}

// A sentence, and what it is about: the threads of a group, what they waited for. "": none in particular.
export interface Subject { text: string; process: string; threads: string; cause: string }
export interface Finding extends Subject { ns: number; of_ns: number; function: string }

// `format` is 1. Under one number keys may be added, but none goes or changes its type or meaning.
export interface Document_ {
  format: number; version: string | null; target: string | null; level: string | null; kernel: string | null;
  command_line: string | null; complete: boolean; start_unix_ms: number; cut: boolean; wall_ns: number; threads_ns: number;
  unexplained_ns: number; remainder_ns: number; cpus: number; idle_ns: number | null; measured_threads: number;
  measured_processes: number; hooks: unknown; findings: Finding[]; change?: Subject & { from_us: number; to_us: number }; why_empty: string; idle: string; outside?: string;
  kinds: KindWords[]; states: State[]; threads: ThreadRows; thread_states: Columns; bins_us: number[]; totals_us: number[][];
  cells: Packed; waits: Wait[]; wait_threads: Columns; nodes?: Columns; functions?: Columns; languages?: Language[]; samples?: Packed; wait_samples?: Packed;
  sampling?: { count: number; why_none: string | null; whole: number; torn: number; [key: string]: unknown };
  syscalls: Syscall[]; syscall_cells: Packed; histograms: Histogram[]; heat: Packed; signals?: Signal[]; series?: Series[];
  series_cells?: Packed; events?: Event_[]; windows?: Windows_; quality: Figure[]; cost: Figure[]; folded: Record<string, number>; texts: (string | null)[];
  diff?: Comparison;
}

// Keys are stored as differences from the row before.
function key(column: number[]): Int32Array {
  const result = new Int32Array(column.length);
  let sum = 0;

  for (let i = 0; i < column.length; i++) result[i] = sum += column[i]!;
  return result;
}

// Rows that cover a range of the page's bins.
export interface Rows {
  count: number;
  from: Int32Array;
  to: Int32Array;
  key: Record<string, Int32Array>;
  value: Record<string, Float64Array>;
}

function rows(packed: Packed | undefined, keys: string[], values: string[], bins: number): Rows {
  const columns: Columns = packed?.rows ?? {};
  const width = packed?.width ?? 1;
  const bin = key(columns.bin ?? []);
  const count = bin.length;
  const result: Rows = { count, from: new Int32Array(count), to: new Int32Array(count), key: {}, value: {} };
  const length = columns.bins ? key(columns.bins) : undefined;

  for (let i = 0; i < count; i++) {
    result.from[i] = Math.min(bin[i]! * width, bins - 1);
    result.to[i] = Math.min((bin[i]! + (length ? length[i]! : 1)) * width, bins);
  }
  for (const name of keys) result.key[name] = key(columns[name] ?? []);
  for (const name of values) result.value[name] = Float64Array.from(columns[name] ?? []);
  return result;
}

export interface Threads {
  count: number; pid: number[]; tid: number[]; process: number[]; comm: string[]; processComm: string[]; group: string[];
  cgroup: string[]; flags: number[]; lifetime: number[]; unexplained: number[];
}
// Single windows. `mark` tells service and band: 1 + service × 3 + band. Parts of window i are those from partsFrom[i] to
// partsFrom[i + 1]; waits likewise.
export interface Kept {
  count: number; begin: Float64Array; length: number[]; mark: number[]; class: number[]; thread: number[]; parent: number[]; id: number[]; n: number[];
  text: string[]; ends: string[]; weight: number[]; main: Int32Array; partsFrom: Int32Array; partReason: Int32Array; partNs: number[];
  waitsFrom: Int32Array; wait: Int32Array; waitNs: number[];
}

// Where the rows of each window begin. Rows are sorted by window.
function begins(of: Int32Array, count: number): Int32Array {
  const result = new Int32Array(count + 1);

  for (const at of of) result[at + 1]!++;
  for (let i = 0; i < count; i++) result[i + 1]! += result[i]!;
  return result;
}

function keptOf(windows: Windows_ | undefined, text: (i: number) => string): Kept {
  const column = (name: string): number[] => windows?.kept[name] ?? [];
  const count = column("mark").length;
  const rows = windows?.parts ?? {}, waits = windows?.window_waits ?? {};
  const kept: Kept = {
    count, begin: Float64Array.from(key(column("begin_us"))), length: column("length_ns"), mark: column("mark"), class: column("class"), thread: column("thread"),
    parent: column("parent"), id: column("id"), n: column("n"), text: column("text").map(text), ends: column("ends").map(text), weight: column("weight"),
    main: new Int32Array(count).fill(-1), partsFrom: begins(key(rows.window ?? []), count), partReason: key(rows.reason ?? []), partNs: rows.ns ?? [],
    waitsFrom: begins(key(waits.window ?? []), count), wait: key(waits.wait ?? []), waitNs: waits.ns ?? [],
  };

  for (let i = 0; i < count; i++) {
    let most = 0;
    for (let j = kept.partsFrom[i]!; j < kept.partsFrom[i + 1]!; j++) {
      if (windows!.reasons[kept.partReason[j]!]!.overlap || kept.partNs[j]! <= most) continue;
      most = kept.partNs[j]!;
      kept.main[i] = kept.partReason[j]!;
    }
  }
  return kept;
}
export const flagExited = 1, flagKernel = 2, flagOwn = 4;
const flagManaged = 4, flagInternal = 8; // of functions

export class Data {
  readonly doc: Document_;
  readonly bins: number;
  readonly edges: Float64Array; // µs after the start of the recording
  readonly threads: Threads;
  readonly threadStates: { thread: Int32Array; state: Int32Array; ns: number[]; count: number[] };
  readonly waitThreads: { wait: Int32Array; thread: Int32Array; ns: number[]; count: number[] };
  readonly cells: Rows;
  readonly samples: Rows;
  readonly waitSamples: Rows;
  readonly syscallCells: Rows;
  readonly heat: Rows;
  readonly seriesCells: Rows;
  readonly kept: Kept;
  readonly nodeParent: Int32Array;
  readonly nodeFunction: Int32Array;
  readonly nodes: number;
  readonly functions: { count: number; name: string[]; module: string[]; file: string[]; line: number[]; kernel: Uint8Array; named: Uint8Array; row: number[]; language: number[] };
  // The node whose self time a node has: what a runtime does itself counts for the function that it does it for.
  readonly nodeOwn: Int32Array;
  // Whether a function of a runtime is on the stack that ends in a node.
  readonly nodeHasRuntime: Uint8Array;
  readonly kindOf: Uint8Array; // by state
  readonly hasAxis: Uint8Array; // by thread: it has cells of its own

  constructor(doc: Document_) {
    const text = (i: number): string => doc.texts[i] ?? "";
    const column = (name: Exclude<keyof ThreadRows, "folded">): number[] => doc.threads[name];
    const folded = doc.threads.folded;

    this.doc = doc;
    this.bins = doc.bins_us.length - 1;
    this.edges = Float64Array.from(doc.bins_us);
    const count = column("pid").length;
    this.threads = {
      count, pid: column("pid"), tid: column("tid"), process: column("process"),
      comm: column("comm").map(text), processComm: column("process_comm").map(text), group: column("group").map(text),
      cgroup: column("cgroup").map(text), flags: column("flags"), lifetime: column("lifetime_ns"), unexplained: column("unexplained_ns"),
    };
    if (folded) {
      const name = `${folded} other thread${folded === 1 ? "" : "s"}`;
      for (const list of [this.threads.comm, this.threads.processComm, this.threads.group]) list[count - 1] = name;
      this.threads.process[count - 1] = -1;
    }
    this.threadStates = {
      thread: key(doc.thread_states.thread!), state: key(doc.thread_states.state!), ns: doc.thread_states.ns!, count: doc.thread_states.count!,
    };
    this.cells = rows(doc.cells, ["thread", "state"], ["us"], this.bins);
    this.hasAxis = new Uint8Array(count).fill(doc.folded.axes ? 0 : 1);
    for (const thread of this.cells.key.thread!) if (thread >= 0) this.hasAxis[thread] = 1;
    this.kept = keptOf(doc.windows, text);
    this.samples = rows(doc.samples, ["node", "thread", "state", "mark"], ["us", "count"], this.bins);
    this.waitThreads = {
      wait: key(doc.wait_threads.wait!), thread: key(doc.wait_threads.thread!), ns: doc.wait_threads.ns!, count: doc.wait_threads.count!,
    };
    this.waitSamples = rows(doc.wait_samples, ["wait", "thread", "node", "waker"], ["us", "count"], this.bins);
    this.syscallCells = rows(doc.syscall_cells, ["syscall"], ["count", "errors", "total_us", "run_us"], this.bins);
    this.heat = rows(doc.heat, ["histogram", "bucket"], ["count"], this.bins);
    this.seriesCells = rows(doc.series_cells, ["series"], ["count", "sum0", "sum1", "sum2", "sum3", "sum4", "sum5"], this.bins);

    const up = doc.nodes?.up ?? [0];
    this.nodes = up.length;
    this.nodeParent = Int32Array.from(up, (distance, i) => i - distance);
    this.nodeFunction = Int32Array.from(doc.nodes?.function ?? [0]);
    const functions = doc.functions ?? { name: [0], module: [0], file: [0], line: [0], flags: [0], row: [0] };
    this.functions = {
      count: functions.name!.length, name: functions.name!.map(text), module: functions.module!.map(text), file: functions.file!.map(text),
      line: functions.line!, kernel: Uint8Array.from(functions.flags!, (flags) => flags & 1),
      named: Uint8Array.from(functions.flags!, (flags) => (flags & 2) >> 1), row: functions.row!, language: functions.language ?? [],
    };
    this.nodeOwn = Int32Array.from(up, (_, node) => node);
    this.nodeHasRuntime = new Uint8Array(this.nodes);
    for (let node = 1; node < this.nodes; node++) {
      const at = this.nodeFunction[node]!, parent = this.nodeParent[node]!, caller = this.nodeOwn[parent]!;

      if (functions.flags![at]! & flagInternal && functions.flags![this.nodeFunction[caller]!]! & flagManaged) this.nodeOwn[node] = caller;
      this.nodeHasRuntime[node] = this.nodeHasRuntime[parent]! | Number(this.isRuntime(at));
    }
    this.kindOf = Uint8Array.from(doc.states, (state) => doc.kinds.indexOf(this.kind(state.kind)));
  }

  // What the page contains without a selection. --from and --to leave only a part of the recording.
  get extent(): string {
    return this.doc.cut ? "the part of the recording in this page" : "the whole recording";
  }

  isRuntime(of: number): boolean {
    return this.doc.languages?.[this.functions.language[of]!]?.runtime === true;
  }

  private isManaged(of: number): boolean {
    return (this.doc.functions!.flags![of]! & flagManaged) !== 0;
  }

  // "web.py:12"
  line(of: number): string {
    const { file, line } = this.functions;
    return file[of] ? `${base(file[of]!)}${line[of] ? `:${line[of]}` : ""}` : "";
  }

  // The line of a function of a runtime, the module of others.
  where(of: number): string {
    if (this.isManaged(of) && this.functions.file[of]) return this.line(of);
    return this.functions.kernel[of] ? "[kernel]" : base(this.functions.module[of]!);
  }

  // The edge of a bin that is nearest to a time.
  binAt(us: number): number {
    let best = 0;

    this.edges.forEach((edge, i) => {
      if (Math.abs(edge - us) < Math.abs(this.edges[best]! - us)) best = i;
    });
    return best;
  }

  text(i: number): string {
    return this.doc.texts[i] ?? "";
  }

  stateName(i: number): string {
    const state = this.doc.states[i]!;
    return `${state.state}.${state.cause}`;
  }

  // One cause can belong to several kinds.
  longName(i: number): string {
    const { kind } = this.doc.states[i]!;
    return this.stateName(i) + (kind === "undecided" || kind === "idle" ? ` (${this.kind(kind).brief})` : "");
  }

  kind(key: Kind): KindWords {
    return this.doc.kinds.find((one) => one.key === key)!;
  }

  // The functions of a node, outermost first.
  path(node: number): number[] {
    const list: number[] = [];

    for (; node > 0; node = this.nodeParent[node]!) list.push(this.nodeFunction[node]!);
    return list.reverse();
  }
}
