/* SPDX-License-Identifier: GPL-2.0-or-later */
// The conclusions: the findings, and one bar for where the time went.
import { mix, paint, write } from "./colours";
import { type KindWords, type Subject } from "./data";
import { fill, h, section } from "./dom";
import { type Selection } from "./select";
import { count, share, time } from "./words";

// A sentence that selects the threads it is about, and then shows where they are.
function door(subject: Subject, selection: Selection, show: () => void): HTMLElement {
  const { threads } = selection.data;
  const mask = Uint8Array.from({ length: threads.count }, (_, i) => (threads.group[i] === subject.threads && threads.processComm[i] === subject.process ? 1 : 0));

  if (!subject.threads || !mask.includes(1)) return h("p", {}, subject.text);
  return h("p", {}, h("button", { type: "button", class: "door", title: "show only this", onclick: () => {
    selection.clear();
    selection.setWho({ label: subject.threads, key: `group ${subject.process} ${subject.threads}`, threads: mask });
    show();
  } }, subject.text));
}

function goTo(section: string): void {
  document.getElementById(section)?.scrollIntoView();
}

export function findings(selection: Selection, find: (name: string) => void): HTMLElement {
  const { data } = selection;
  const { doc } = data;
  const list = h("ol", { class: "findings" });

  doc.findings.forEach((finding) => {
    const meter = h("span", { class: "meter", "aria-hidden": "true" }, h("span", {}));
    (meter.firstChild as HTMLElement).style.width = `${finding.of_ns ? Math.min(100, (100 * finding.ns) / finding.of_ns) : 0}%`;
    list.append(h("li", {}, door(finding, selection, () => {
      if (finding.function) find(finding.function);
      goTo(finding.cause ? "waits" : "flame");
    }), finding.of_ns ? meter : null));
  });
  if (doc.why_empty) list.append(h("li", {}, h("p", {}, doc.why_empty)));
  const { change } = doc;
  const changed = change && door(change, selection, () => {
    selection.setRange(data.binAt(change.from_us), data.binAt(change.to_us));
    goTo("timeline");
  });
  changed?.classList.add("change");
  return section("findings", "What it comes to", `For ${data.extent}.`, list, changed ?? null, doc.idle ? h("p", {}, doc.idle) : null);
}

export function bar(selection: Selection): HTMLElement {
  const { data } = selection;
  const { kinds } = data.doc;
  const strip = h("div", { class: "strip", role: "img" });
  const keys = h("div", { class: "keys" });
  const note = h("p", { class: "status" });

  const update = (): void => {
    const states = selection.states();
    const byKind = new Float64Array(kinds.length);

    states.forEach((ns, i) => (byKind[data.kindOf[i]!]! += ns));
    const all = byKind.reduce((sum, ns) => sum + ns, 0);
    strip.setAttribute("aria-label", kinds.map((kind, k) => `${kind.words} ${share(byKind[k]!, all)}`).join(", "));
    fill(strip, ...kinds.map((kind, k) => {
      const part = h("div", { class: "part", title: `${kind.words}: ${time(byKind[k]!)}, ${share(byKind[k]!, all)}` },
        h("span", {}, `${kind.words} ${share(byKind[k]!, all)}`));
      part.style.flexGrow = String(all ? byKind[k]! / all : 0);
      paint(part, kind);
      write(part, kind);
      return part;
    }));
    trim();
    fill(keys, ...kinds.filter((kind, k) => byKind[k]! > (kind.key === "unseen" ? all / 1000 : 0)).map((kind) => card(kind, states, byKind[kinds.indexOf(kind)]!, all)));
    note.textContent = `of ${time(all)} of thread time${selection.isWhole && !selection.who ? ` (${count(data.doc.measured_threads, "thread")} over ${time(data.doc.wall_ns)})` : ""}${byKind[5] && byKind[5] <= all / 1000 ? `; ${time(byKind[5])} of it before the first look at a thread` : ""}${selection.who && selection.withoutAxis ? `; without ${count(selection.withoutAxis, "thread")} whose time axis this page has no room for` : ""}`;
  };

  // Hides words that do not fit, because they would be cut off.
  const trim = (): void => {
    for (const part of strip.children) {
      const words = part.firstElementChild as HTMLElement;
      words.hidden = false;
      words.hidden = words.scrollWidth + 4 > part.clientWidth;
    }
  };
  new ResizeObserver(trim).observe(strip);

  const card = (kind: KindWords, states: Float64Array, ns: number, all: number): HTMLElement => {
    const rows = data.doc.states.map((state, i) => ({ state, ns: states[i]! })).filter((row) => row.state.kind === kind.key && row.ns > 0).sort((a, b) => b.ns - a.ns);
    const swatch = h("span", { class: "swatch" });

    paint(swatch, kind);
    const list = h("ul", {}, ...rows.map((row) => {
      const fillBar = h("span", { class: "mini", "aria-hidden": "true" });
      fillBar.style.width = `${ns ? (100 * row.ns) / ns : 0}%`;
      paint(fillBar, { light: mix(kind.light, "#808080", 0.15), dark: mix(kind.dark, "#808080", 0.15) });
      return h("li", {}, h("span", { class: "name", title: row.state.about }, `${row.state.state}.${row.state.cause}`), h("span", { class: "figure" }, `${time(row.ns)} · ${share(row.ns, all)}`), fillBar);
    }));
    return h("div", { class: "card" }, h("h3", {}, swatch, kind.words), h("p", { class: "soft" }, kind.about), h("p", { class: "big" }, time(ns), h("small", {}, ` ${share(ns, all)}`)), list);
  };

  // Samples divide the time outside syscalls only for the whole page, not for a selection.
  const outside = data.doc.outside ? h("p", { class: "soft" }, `For ${data.extent}: ${data.doc.outside}.`) : null;

  selection.onChange(update);
  update();
  return section("time", "Where the time went", "Every nanosecond of every thread is in exactly one of these.", strip, note, keys, outside);
}
