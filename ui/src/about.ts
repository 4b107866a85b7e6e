/* SPDX-License-Identifier: GPL-2.0-or-later */
// How reliable the recording is, what it cost, how it was made and how to repeat it.
import { type Data, type Kind, type Figure } from "./data";
import { h, section } from "./dom";
import { bytes, count, number, share, time } from "./words";

function figure(one: Figure): string {
  if (one.value === null) return "?";
  if (one.name.endsWith("_ns") || one.words === "ns") return time(one.value);
  if (one.words === "bytes") return bytes(one.value);
  return Number.isInteger(one.value) ? number(one.value) : String(one.value);
}

function pairs(list: [string, string | Node][]): HTMLElement {
  return h("dl", {}, ...list.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

// "rows of samples are stood for" becomes "row of samples is stood for".
function singular(words: string): string {
  const verbs: Record<string, string> = { are: "is", have: "has", had: "had", belong: "belongs", refer: "refers" };

  return words.replace(/^(\w+ )?(\w+?)s( .*?)? (are|have|had|belong|refer)\b/, (_all, first: string | undefined, noun: string, rest: string | undefined, verb: string) => `${first ?? ""}${noun === "serie" ? "series" : noun}${rest ?? ""} ${verbs[verb]}`);
}

function quality(data: Data): HTMLElement {
  const { doc } = data;
  const bad = doc.quality.filter((one) => one.value), good = doc.quality.length - bad.length;
  const folded = Object.entries(doc.folded).filter(([name, value]) => value && name !== "wait_ns");
  const words: Record<string, string> = {
    threads: "threads are one", nodes: "call paths are in [folded]", samples: "rows of samples are stood for by others", histograms: "histograms have no time axis", waits: "waits are left out", operations: "operations of signals are left out", services: "services are left out", series: "series are in 'all others'", events: "events are left out",
    axes: "threads have no time axis", wait_samples: "rows of samples of waits are stood for by others", loose_samples: "samples of waits belong to no wait that is shown", distributions: "distributions of signals are left out", signals: "signals are left out",
    windows: "single requests are stood for by others", window_services: "services of requests are left out", window_classes: "kinds of requests are left out", window_waits: "waits of single requests are left out",
    wait_threads: "sums of single threads had no room", accounts: "rows belong to nobody", torn: "rows refer to slices that are not there", names: "names had no room",
  };

  return h("article", {}, h("h3", {}, "Does it add up?"), pairs([
    ["unexplained", `${time(doc.unexplained_ns)}, ${share(doc.unexplained_ns, doc.threads_ns)} of the thread time`],
    ["remainder", doc.remainder_ns ? `${time(doc.remainder_ns)}: some states do not add up to their thread's lifetime` : "0: every thread's states add up to its lifetime"],
    ["recording", doc.complete ? "complete" : "not finished: it ends where the recorder did"],
    ...bad.map((one): [string, string] => [one.name, `${figure(one)}${one.words ? `: ${one.words}` : ""}${one.remedy ? ` [${one.remedy}]` : ""}`]),
    ["all else", `${count(good, "counter of losses is 0", "counters of losses are 0")}`],
    ["in this page", folded.length ? folded.map(([name, value]) => `${number(value)} ${value === 1 ? singular(words[name] ?? name) : (words[name] ?? name)}`).join("; ") : "nothing was folded or left out"],
  ]));
}

function sampling(data: Data): HTMLElement | null {
  const info = data.doc.sampling;

  if (!info?.count) return null;
  const list = (info.kinds as { kind: Kind; samples: number; weight_ns: number; error_ns: number; ledger_ns: number }[]) ?? [];
  return h("article", {}, h("h3", {}, "Do the samples agree with the ledger?"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "samples and ledger" }, h("table", {},
    h("thead", {}, h("tr", {}, ...["", "samples", "sampled", "±", "exact"].map((name) => h("th", { scope: "col", class: "number" }, name || h("span", { class: "hidden" }, "kind"))))),
    h("tbody", {}, ...list.map((one) => h("tr", {}, h("th", { scope: "row" }, data.kind(one.kind).words), ...[number(one.samples), time(one.weight_ns), time(one.error_ns), time(one.ledger_ns)].map((text) => h("td", { class: "number" }, text))))))),
    h("p", { class: "about" }, `${number(info.whole)} of ${count(info.count, "stack is", "stacks are")} whole.`));
}

// "tp_btf: sched_switch, sched_waking; iterator: tcp"
function hookWords(hooks: unknown): string {
  const kinds = new Map<string, Set<string>>();

  for (const one of Array.isArray(hooks) ? (hooks as Record<string, unknown>[]) : []) {
    const kind = String(one.kind);
    kinds.set(kind, (kinds.get(kind) ?? new Set()).add(String(one.event)));
  }
  return [...kinds].map(([kind, events]) => `${kind}: ${[...events].join(", ")}`).join("; ") || "?";
}

export function aboutSection(data: Data): HTMLElement {
  const { doc } = data;
  const start = doc.start_unix_ms ? new Date(doc.start_unix_ms).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC") : "?";

  return section("about", "Quality, cost, configuration", "", h("div", { class: "columns" },
    quality(data), sampling(data),
    h("article", {}, h("h3", {}, "What it cost"), pairs(doc.cost.map((one) => [one.name, figure(one)]))),
    h("article", {}, h("h3", {}, "How it was made"), pairs([
      ["target", doc.target ?? "?"], ["from", start], ["length", time(doc.wall_ns)], ["level", doc.level ?? "?"], ["kernel", doc.kernel ?? "?"], ["CPUs", number(doc.cpus)],
      ["gapless", doc.version ?? "?"],
      ["hooks", hookWords(doc.hooks)],
    ])),
    h("article", {}, h("h3", {}, "Again"), h("p", {}, "The same recording:"), h("pre", { tabindex: "0" }, doc.command_line ?? "sudo gapless record -d 10s"),
      h("p", {}, "This page, the same as text, as numbers, in SQL:"), h("pre", { tabindex: "0" }, "gapless report --html report.html run.gapless\ngapless report run.gapless\ngapless report --json run.gapless\ngapless query run.gapless 'SELECT * FROM time_by_state'"))));
}
