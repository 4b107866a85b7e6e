/* SPDX-License-Identifier: GPL-2.0-or-later */
// The part of the recording that everything below the timeline shows: a range of bins, and some threads.
import { type Data, type Rows } from "./data";

export interface Who { label: string; key: string; threads: Uint8Array }

// Windows of one service and band, see Kept.mark. Only samples know their window, so only the flame graph follows.
export interface Requests { label: string; mark: number }

export class Selection {
  from = 0;
  to: number;
  who: Who | null = null;
  requests: Requests | null = null;
  private readonly listeners: (() => void)[] = [];
  private readonly later: (() => void)[] = [];
  private asked = 0;
  private timer = 0;

  constructor(readonly data: Data) {
    this.to = data.bins;
  }

  get isWhole(): boolean {
    return this.from === 0 && this.to === this.data.bins;
  }

  get fromUs(): number {
    return this.data.edges[this.from]!;
  }

  get toUs(): number {
    return this.data.edges[this.to]!;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  // For listeners that take longer than a frame: called when the brush stops moving.
  onRest(listener: () => void): void {
    this.later.push(listener);
  }

  setRange(from: number, to: number): void {
    const low = Math.max(0, Math.min(from, to, this.data.bins - 1));
    const high = Math.min(this.data.bins, Math.max(from, to, low + 1));

    if (low === this.from && high === this.to) return;
    this.from = low;
    this.to = high;
    this.changed();
  }

  setWho(who: Who | null): void {
    this.who = who;
    this.changed();
  }

  setRequests(requests: Requests | null): void {
    if (this.requests?.mark === requests?.mark) return;
    this.requests = requests;
    this.changed();
  }

  clear(): void {
    this.from = 0;
    this.to = this.data.bins;
    this.who = null;
    this.requests = null;
    this.changed();
  }

  // While the brush moves, there are more changes than can be drawn.
  private changed(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.later.forEach((listener) => listener()), 70);
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      for (const listener of this.listeners) listener();
    });
  }

  // The share of a row that is inside the range.
  part(rows: Rows, i: number): number {
    const from = rows.from[i]!, to = rows.to[i]!;

    if (from >= this.from && to <= this.to) return 1;
    if (to <= this.from || from >= this.to) return 0;
    const edges = this.data.edges;
    const begin = edges[from]!, end = edges[to]!;
    const inside = Math.min(end, edges[this.to]!) - Math.max(begin, edges[this.from]!);
    return end > begin ? inside / (end - begin) : 0;
  }

  hasThread(thread: number): boolean {
    return !this.who || (thread >= 0 && this.who.threads[thread] === 1);
  }

  hasMark(mark: number | undefined): boolean {
    return !this.requests || this.requests.mark === mark;
  }

  // ns by state: exact for the whole recording, parts of slices for a range.
  states(): Float64Array {
    const { data } = this;
    const result = new Float64Array(data.doc.states.length);

    if (this.isWhole && !this.who) {
      data.doc.states.forEach((state, i) => (result[i] = state.ns));
    } else if (this.isWhole) {
      const { thread, state, ns } = data.threadStates;
      for (let i = 0; i < thread.length; i++) if (this.hasThread(thread[i]!)) result[state[i]!]! += ns[i]!;
    } else if (!this.who) {
      data.doc.totals_us.forEach((list, i) => {
        for (let bin = this.from; bin < this.to; bin++) result[i]! += list[bin]! * 1000;
      });
    } else {
      const { cells } = data;
      for (let i = 0; i < cells.count; i++) {
        if (!this.hasThread(cells.key.thread![i]!)) continue;
        result[cells.key.state![i]!]! += cells.value.us![i]! * 1000 * this.part(cells, i);
      }
    }
    return result;
  }

  // How many threads have no times for a range, because the page had no room for them. They are in no sum by thread.
  get withoutAxis(): number {
    const { data, who } = this;

    if (this.isWhole || !data.doc.folded.axes) return 0;
    return who ? who.threads.reduce((sum, inside, i) => sum + (inside && !data.hasAxis[i] ? 1 : 0), 0) : data.doc.folded.axes;
  }

  // The time of all those threads together, in ns. How it divides among them is not known.
  sumWithoutAxis(): number {
    const { cells } = this.data;
    let ns = 0;

    for (let i = 0; i < cells.count; i++) if (cells.key.thread![i]! < 0) ns += cells.value.us![i]! * 1000 * this.part(cells, i);
    return ns;
  }

  // ns by thread and kind, for the current range.
  byThread(): Float64Array[] {
    const { data } = this;
    const result = Array.from({ length: data.threads.count }, () => new Float64Array(6));

    if (this.isWhole) {
      const { thread, state, ns } = data.threadStates;
      for (let i = 0; i < thread.length; i++) result[thread[i]!]![data.kindOf[state[i]!]!]! += ns[i]!;
    } else {
      const { cells } = data;
      for (let i = 0; i < cells.count; i++) {
        const at = cells.key.thread![i]!;
        if (at >= 0) result[at]![data.kindOf[cells.key.state![i]!]!]! += cells.value.us![i]! * 1000 * this.part(cells, i);
      }
    }
    return result;
  }
}
