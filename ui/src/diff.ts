/* SPDX-License-Identifier: GPL-2.0-or-later */
// What changed: the verdict, the numbers behind it, and every comparison in a table.
import { type Change, type Comparison } from "./data";
import { choice, h, section, svg } from "./dom";
import { type Column, Table } from "./table";
import { chance, perWords, ratio, signed, value } from "./words_diff";
import { base, count } from "./words";

const classWords: Record<string, string> = {
  whole: "as a whole", state: "state", cause: "cause", syscall: "syscall", function: "function", wait: "wait", signal: "signal",
};
const plotWidth = 150, plotHeight = 26;

// Beside the class "function", the name "burn (prog)" is enough.
function plain(change: Change): string {
  return change.class === "function" || change.class === "syscall" ? change.name.slice(change.name.indexOf(":") + 1) : change.name;
}

function named(change: Change, find: (name: string) => void): Node {
  const name = change.class === "function" ? h("button", { type: "button", class: "link", onclick: () => find(plain(change)) }, plain(change)) : plain(change);

  return h("span", { class: "what" }, h("span", { class: "measure soft" }, change.measure), " ", name, change.about && h("span", { class: "way soft" }, `from ${change.about}`));
}

// The single values on one axis: base above it, new below it. If the two sides do not overlap, the change is more than
// noise.
function plot(change: Change): SVGElement {
  const values = [...change.base.values, ...change.new.values].filter((one) => one !== null);
  const least = Math.min(...values), most = Math.max(...values);
  const x = (one: number): number => Math.round(10 * (6 + (most > least ? (one - least) / (most - least) : 0.5) * (plotWidth - 12))) / 10;
  const say = (list: (number | null)[]): string => list.map((one) => value(one, change.unit)).join(", ");
  const words = `base ${say(change.base.values)}; new ${say(change.new.values)}`;
  const picture = svg("svg", { class: "plot", role: "img", "aria-label": words, viewBox: `0 0 ${plotWidth} ${plotHeight}`, width: plotWidth, height: plotHeight },
    svg("title", {}, words), svg("line", { class: "axis", x1: 2, x2: plotWidth - 2, y1: 13, y2: 13 }));

  for (const one of change.base.values) if (one !== null) picture.append(svg("circle", { class: "before", cx: x(one), cy: 7, r: 3.2 }));
  for (const one of change.new.values) if (one !== null) picture.append(svg("path", { class: "after", d: `M${x(one)} 15l4.2 4.2l-4.2 4.2l-4.2 -4.2z` }));
  return picture;
}

function sides(diff: Comparison): HTMLElement {
  const list = h("div", { class: "sides" });

  for (const side of ["base", "new"] as const) {
    const runs = diff.recordings.filter((run) => run.side === side);
    const first = runs[0]!, last = runs[runs.length - 1]!;
    list.append(h("details", {}, h("summary", {}, h("b", {}, side), `: ${count(runs.length, "recording")}, `, first.path, runs.length > 1 && ` to ${base(last.path)}`,
      h("span", { class: "soft" }, ` · ${first.target}`)),
    h("ul", {}, ...runs.map((run) => h("li", {}, run.path, run.losses && h("span", {}, ` · has losses: ${run.losses}`))))));
  }
  return list;
}

function gates(diff: Comparison): HTMLElement | null {
  if (!diff.gates.length) return null;
  return h("ul", { class: "gates" }, ...diff.gates.map((gate) => h("li", { class: gate.crossed ? "crossed" : "kept" },
    h("b", {}, gate.crossed ? "✗ crossed" : "✓ kept"), ": ", h("code", {}, gate.condition), gate.chance !== null && h("span", { class: "soft" }, ` · chance ${Number(gate.chance.toPrecision(2))}`))));
}

function changes(diff: Comparison, find: (name: string) => void): HTMLElement {
  const places = new Map(diff.changes.map((change, i) => [change, i]));
  const before = (change: Change): number => change.base.mean ?? 0, after = (change: Change): number => change.new.mean ?? 0;
  // Certain changes in the order of the report, then the others, the least probable first. Without repeated recordings,
  // the order of the report.
  const rank = (change: Change): number => (change.certain || change.chance === null ? 2 - places.get(change)! / diff.changes.length : 1 - change.chance);
  const columns: Column<Change>[] = [
    { name: "sure", about: diff.enough ? `more than noise: chance below ${diff.alpha}, corrected for ${diff.compared} comparisons` : "takes repeated recordings", text: (row) => (!diff.enough ? "? unknown" : row.certain ? "● yes" : "○ no"), value: rank, words: true },
    { name: "what", text: (row) => `${row.measure} ${plain(row)}${row.about ? ` from ${row.about}` : ""}`, draw: (row) => named(row, find) },
    { name: "base", about: "mean of its recordings", text: (row) => value(row.base.mean, row.unit), value: before },
    { name: "new", about: "mean of its recordings", text: (row) => value(row.new.mean, row.unit), value: after },
    { name: "change", text: (row) => signed(after(row) - before(row), row.unit), value: (row) => after(row) - before(row) },
    { name: "%", text: (row) => ratio(before(row), after(row)), value: (row) => (before(row) === after(row) ? 0 : row.ratio ?? Infinity) },
    { name: "chance", about: "that both sides are alike", text: (row) => chance(row.chance), value: (row) => row.chance ?? 1 },
    { name: "of", text: (row) => classWords[row.class] ?? row.class },
    { name: "each recording", about: "from the least to the largest value; circles above: base, diamonds below: new", text: () => "", draw: plot, unsorted: true },
  ];
  // With one value on each side, a plot always looks like a large change.
  const repeated = diff.recordings.length > 2;
  const table = new Table<Change>("changes", columns.filter((column) => (diff.enough || column.name !== "chance") && (repeated || column.name !== "each recording")), 0);
  const classes = [...new Set(diff.changes.map((change) => change.class))];

  table.set(diff.changes);
  return h("div", { id: "diff-changes" }, h("h3", {}, `Every comparison, ${perWords(diff)}`),
    h("p", { class: "soft" }, diff.enough ? "● is more than noise. " : "", "Means and percentiles are those of single events.", repeated && " Each recording by itself: ○ base, ◆ new, from the least value to the largest."),
    classes.length > 1 && h("div", { class: "controls" }, choice("of", [["", "all"], ...classes.map((name): [string, string] => [name, classWords[name] ?? name])], "", (name) => table.set(diff.changes.filter((change) => !name || change.class === name)))),
    table.element);
}

export function whatChanged(diff: Comparison, find: (name: string) => void): HTMLElement {
  const [first, ...rest] = diff.verdict;

  return section("diff", "What changed", diff.enough ? "More than noise is what repeated recordings prove." : "Nothing here is known to be more than noise.",
    h("div", { class: "verdict" }, h("p", {}, first), rest.length > 0 && h("ul", {}, ...rest.map((line) => h("li", {}, line)))),
    diff.warnings.length > 0 && h("ul", { class: "warnings" }, ...diff.warnings.map((line) => h("li", {}, h("b", {}, "⚠ warning"), `: ${line}`))),
    gates(diff), sides(diff), changes(diff, find));
}

// The sections below the comparison are about one recording only.
export function restOf(diff: Comparison): HTMLElement {
  const first = diff.recordings.find((run) => run.side === "new");

  return h("p", { id: "rest", class: "rest" }, "From here on: the report on the first new recording alone, ", h("b", {}, first?.path ?? "?"), ".");
}
