// Who held whom up: waiter, what it waited for, and who ended the wait or held the lock; with both stacks.
import { kindColours } from "./colours";
import { type Data, kindWords, type Wait } from "./data";
import { fill, h, section } from "./dom";
import { type Selection } from "./select";
import { base, number, share, time } from "./words";

const usual = 12, mostFrames = 60;
const evidenceWords: Record<string, string> = { owner: "holds it", waker: "ended the wait", none: "" };

interface Sampled { us: number; count: number; stacks: Map<number, number>; wakers: Map<number, number> }

// "pipe:[123]" and "any child" say what they are.
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

function stackList(data: Data, title: string, stacks: Map<number, number>, none: string): HTMLElement {
  const box = h("div", { class: "stack" }, h("h4", {}, title));
  const all = [...stacks.values()].reduce((sum, us) => sum + us, 0);
  const ranked = [...stacks].sort((a, b) => b[1] - a[1]);

  if (!ranked.length) box.append(h("p", { class: "soft" }, none));
  for (const [node, us] of ranked.slice(0, 3)) {
    const path = data.path(node).reverse();

    box.append(h("p", { class: "soft" }, `${share(us, all)} of ${time(all * 1000)} sampled`),
      h("ol", { class: "frames" }, ...path.slice(0, mostFrames).map((at) =>
        h("li", { class: data.functions.kernel[at] ? "kernel" : "" }, data.functions.name[at]!, h("span", { class: "soft" }, ` ${data.functions.kernel[at] ? "[kernel]" : base(data.functions.module[at]!)}`))),
      path.length > mostFrames ? h("li", { class: "soft" }, `… ${path.length - mostFrames} more callers`) : null));
  }
  if (ranked.length > 3) box.append(h("p", { class: "soft" }, `… ${number(ranked.length - 3)} more stacks`));
  return box;
}

export function waits(selection: Selection): HTMLElement {
  const { data } = selection;
  const list = h("div", { class: "waits" });
  const note = h("p", { class: "status" });
  const more = h("button", { type: "button", class: "more" });
  const open = new Set<number>();
  let shown = usual;

  const row = (i: number, ns: number, count: number, all: number, estimated: boolean, samples: Sampled): HTMLElement => {
    const wait = data.doc.waits[i]!;
    const state = data.doc.states[wait.state]!;
    const chain = h("span", { class: "chain" }, h("b", {}, wait.waiter), h("span", { class: "arrow", "aria-label": "waits for" }, "→"),
      h("span", { class: "object" }, objectWords(wait, state.cause)));
    if (wait.by) chain.append(h("span", { class: "arrow", "aria-label": "because of" }, "→"), h("b", {}, wait.by), h("span", { class: "soft" }, ` ${evidenceWords[wait.evidence] ?? wait.evidence}`));
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = kindColours[state.kind];
    const gauge = h("span", { class: "gauge", "aria-hidden": "true" }, h("span", {}));
    (gauge.firstChild as HTMLElement).style.width = `${all ? (100 * ns) / all : 0}%`;
    (gauge.firstChild as HTMLElement).style.background = kindColours[state.kind];
    const details = h("details", { class: "wait" }, h("summary", {},
      h("span", { class: "figure" }, estimated ? "≈ " : "", time(ns)), gauge, chain,
      h("span", { class: "tags" }, swatch, `${kindWords[state.kind]} · ${state.cause} · `, estimated ? `${number(count)} sample${Math.round(count) === 1 ? "" : "s"}` : count === 1 ? "once" : `${number(count)} waits, ${time(count ? ns / count : 0)} each`)));
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
    const exact = selection.isWhole && !selection.who;
    const rows = data.doc.waits.map((wait, i) => ({ i, ns: exact ? wait.ns : samples[i]!.us * 1000, count: exact ? wait.count : samples[i]!.count })).filter((one) => one.ns > 0);

    rows.sort((a, b) => b.ns - a.ns);
    const all = rows[0]?.ns ?? 0;
    note.textContent = !rows.length ? "Nobody was held up here." : exact ? `${number(rows.length)} waits, exact sums${data.doc.folded.waits ? `; ${number(data.doc.folded.waits)} smaller ones (${time(data.doc.folded.wait_ns ?? 0)}) are left out` : ""}. Open one for its stacks.`
      : "Estimated from samples: waits are summed up over the whole recording, samples know their time and thread.";
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
  return section("waits", "Who held whom up", "Waiter → what it waited for → who ended that. Idle waiting is left out.", note, list, more);
}
