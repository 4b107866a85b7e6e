/* SPDX-License-Identifier: GPL-2.0-or-later */
// Which threads held up which: the waiter, what it waited for, and the thread that ended the wait or held the lock,
// with both stacks.
import { paint } from "./colours";
import { type Data, type Wait } from "./data";
import { fill, h, section } from "./dom";
import { type Selection } from "./select";
import { waitGraph } from "./waitgraph";
import { count, number, share, time } from "./words";

const usual = 12, mostFrames = 60;
const evidenceWords: Record<string, string> = { owner: "held it", handed: "held it last", waker: "ended the wait", none: "" };

interface Sampled { us: number; count: number; stacks: Map<number, number>; wakers: Map<number, number> }

// "pipe:[123]" and "any child" already say what they are.
function objectWords(wait: Wait, cause: string): string {
  const { object_kind: kind, object } = wait;

  if (!object) return kind ?? cause;
  return kind && !object.includes(kind) ? `${kind} ${object}` : object;
}

function sampled(selection: Selection): Sampled[] {
  const { data } = selection;
  const rows = data.waitSamples;
  const result: Sampled[] = data.doc.waits.map(() => ({ us: 0, count: 0, stacks: new Map(), wakers: new Map() }));

  for (let i = 0; i < rows.count; i++) {
    const part = selection.hasThread(rows.key.thread![i]!) ? selection.part(rows, i) : 0;
    if (!part) continue;
    const one = result[rows.key.wait![i]!]!, us = rows.value.us![i]! * part;
    const node = rows.key.node![i]!, waker = rows.key.waker![i]!;

    one.us += us;
    one.count += rows.value.count![i]! * part;
    one.stacks.set(node, (one.stacks.get(node) ?? 0) + us);
    if (waker) one.wakers.set(waker, (one.wakers.get(waker) ?? 0) + us);
  }
  return result;
}

// The exact sums of each wait over the whole recording, for the selected threads.
function exactSums(selection: Selection): { ns: number; count: number }[] {
  const { data, who } = selection;
  const result = data.doc.waits.map((wait) => (who ? { ns: 0, count: 0 } : { ns: wait.ns, count: wait.count }));
  const { wait, thread, ns, count } = data.waitThreads;

  for (let i = 0; who && i < wait.length; i++) {
    if (!selection.hasThread(thread[i]!)) continue;
    result[wait[i]!]!.ns += ns[i]!;
    result[wait[i]!]!.count += count[i]!;
  }
  return result;
}

// The time that threads were held up or perhaps held up: exact for the whole recording, parts of slices for a range.
function waitedNs(selection: Selection): number {
  const { data } = selection;
  return selection.states().reduce((sum, ns, i) => (["delaying", "undecided"].includes(data.doc.states[i]!.kind) ? sum + ns : sum), 0);
}

// Describes the waits for which the page has no room. For selected threads, it is the difference between their states
// and the waits shown. With a cut, that difference is unknown: the states cover only the cut, the waits the whole
// recording.
function leftOutWords(selection: Selection, shownNs: number): string {
  const { cut, folded } = selection.data.doc;
  const all = folded.wait_ns ?? 0;

  if (!folded.waits) return "";
  const smaller = count(folded.waits, "smaller one"), are = folded.waits === 1 ? "is" : "are";
  if (!selection.who) return `; ${smaller} (${time(all)}) ${are} left out`;
  if (cut) return `; ${smaller} (${time(all)} of all threads) ${are} left out`;
  const rest = Math.min(all, waitedNs(selection) - shownNs);
  return rest >= 1 ? `; ${time(rest)} more in ${smaller}, which ${are} left out` : "";
}

function noteWords(selection: Selection, shown: number, shownNs: number, exact: boolean): string {
  const { cut, folded } = selection.data.doc;
  const waited = waitedNs(selection);

  if (!shown && waited < 1) return "Nobody was held up here.";
  if (!shown && exact && folded.waits) return `Threads waited for ${time(waited)} here, all of it in the ${count(folded.waits, "smaller wait")} that this page leaves out.`;
  if (!shown) return `Threads waited for ${time(waited)} here; no sample says for what, or because of whom.`;
  if (!exact) return `Estimated from samples, each over the time that its wait lasted; all waits here are ${selection.isWhole && !cut ? `${time(waited)}, exactly` : `about ${time(waited)}`}.`;
  return `${count(shown, "wait")}, exact sums${cut ? " in the whole recording: objects are not kept per slice" : ""}${leftOutWords(selection, shownNs)}. Open one for its stacks.`;
}

function stackList(data: Data, title: string, stacks: Map<number, number>, none: string): HTMLElement {
  const box = h("div", { class: "stack" }, h("h4", {}, title));
  const all = [...stacks.values()].reduce((sum, us) => sum + us, 0);
  const ranked = [...stacks].sort((a, b) => b[1] - a[1]);

  if (!ranked.length) box.append(h("p", { class: "soft" }, none));
  for (const [node, us] of ranked.slice(0, 3)) {
    const path = data.path(node).reverse();

    box.append(h("p", { class: "soft" }, `${share(us, all)} of ${time(all * 1000)} sampled`),
      h("ol", { class: "frames" }, ...path.slice(0, mostFrames).map((at) =>
        h("li", { class: data.functions.kernel[at] ? "kernel" : "" }, data.functions.name[at]!, h("span", { class: "soft" }, ` ${data.where(at)}`))),
      path.length > mostFrames ? h("li", { class: "soft" }, `… ${count(path.length - mostFrames, "more caller")}`) : null));
  }
  if (ranked.length > 3) box.append(h("p", { class: "soft" }, `… ${count(ranked.length - 3, "more stack")}`));
  return box;
}

export function waits(selection: Selection): HTMLElement {
  const { data } = selection;
  const list = h("div", { class: "waits" });
  const note = h("p", { class: "status" });
  const drawn = h("details", { class: "locks" });
  const more = h("button", { type: "button", class: "more" });
  const open = new Set<number>();
  let shown = usual;

  const row = (i: number, ns: number, waits: number, all: number, estimated: boolean, samples: Sampled): HTMLElement => {
    const wait = data.doc.waits[i]!;
    const state = data.doc.states[wait.state]!;
    const chain = h("span", { class: "chain" }, h("b", {}, wait.waiter), h("span", { class: "arrow", "aria-label": "waits for" }, "→"),
      h("span", { class: "object" }, objectWords(wait, state.cause)));
    if (wait.first) chain.append(h("span", { class: "arrow", "aria-label": "because of" }, "→"), h("b", {}, wait.first), h("span", { class: "soft" }, " held it first"));
    if (wait.evidence === "timeout") chain.append(h("span", { class: "arrow", "aria-label": "ended because it" }, "→"), h("span", { class: "soft" }, "timed out"));
    else if (wait.by) chain.append(h("span", { class: "arrow", "aria-label": "because of" }, "→"), h("b", {}, wait.by), h("span", { class: "soft" }, ` ${evidenceWords[wait.evidence] ?? wait.evidence}`));
    const swatch = h("span", { class: "swatch" });
    paint(swatch, data.kind(state.kind));
    const gauge = h("span", { class: "gauge", "aria-hidden": "true" }, h("span", {}));
    (gauge.firstChild as HTMLElement).style.width = `${all ? (100 * ns) / all : 0}%`;
    paint(gauge.firstChild as HTMLElement, data.kind(state.kind));
    const details = h("details", { class: "wait" }, h("summary", {},
      h("span", { class: "figure" }, estimated ? "≈ " : "", time(ns)), gauge, chain,
      h("span", { class: "tags" }, swatch, `${data.kind(state.kind).words} · ${state.cause} · `, estimated ? count(Math.round(waits), "sample") : waits === 1 ? "once" : `${number(waits)} waits, ${time(waits ? ns / waits : 0)} each`)));
    const body = h("div", { class: "pair" });
    const build = (): void => fill(body, stackList(data, "where it waited", samples.stacks, "no stack was sampled"),
      stackList(data, "where it was woken from", samples.wakers, "no stack of the waker was sampled"));

    details.append(body);
    details.addEventListener("toggle", () => {
      if (details.open) {
        open.add(i);
        build();
      } else open.delete(i);
    });
    if (open.has(i)) details.open = true;
    return details;
  };

  const update = (): void => {
    const samples = sampled(selection);
    const exact = selection.isWhole && !(selection.who && data.doc.folded.wait_threads);
    const sums = exact ? exactSums(selection) : samples.map((one) => ({ ns: one.us * 1000, count: one.count }));
    const rows = sums.map((one, i) => ({ i, ...one })).filter((one) => one.ns > 0);

    rows.sort((a, b) => b.ns - a.ns);
    const all = rows[0]?.ns ?? 0;
    note.textContent = noteWords(selection, rows.length, rows.reduce((sum, one) => sum + one.ns, 0), exact);
    const picture = waitGraph(data, rows);
    drawn.hidden = !picture;
    fill(drawn, h("summary", {}, "Locks as a graph"), picture,
      h("p", { class: "soft" }, "Waiter → lock → who held it, or (dashed) who ended the wait; the width is the time."));
    fill(list, ...rows.slice(0, shown).map((one) => row(one.i, one.ns, one.count, all, !exact, samples[one.i]!)));
    more.hidden = rows.length <= shown;
    more.textContent = `${number(rows.length - shown)} more`;
  };

  more.addEventListener("click", () => {
    shown += 50;
    update();
  });
  selection.onRest(update);
  update();
  return section("waits", "Who held whom up", "Waiter → what it waited for → who ended that. Idle waiting is left out.", note, drawn, list, more);
}
