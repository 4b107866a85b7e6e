/* SPDX-License-Identifier: GPL-2.0-or-later */
// What signals counted: by operation, by thread group and object, and the parts that only some signals have.
import { type Data, type Measure, type Operation, type PercentileKey, type Program, type Series, type Service, type Signal } from "./data";
import { choice, fill, h } from "./dom";
import { percentile, percentileColumn, percentiles } from "./heat";
import { type Selection } from "./select";
import { type Column, Table } from "./table";
import { amount, bytes, count, errno, number, seconds, share, time } from "./words";

// The place, operation or error of a series that was merged from several.
const any = -1;

// For columns: the column's name says what is counted.
function cell(value: number, unit: string): string {
  if (!value) return "–";
  return unit === "ns" || unit === "bytes" ? amount(value, unit) : number(value);
}

function seriesRows(selection: Selection, at: number): Series[] {
  const { data } = selection;
  const mine = (data.doc.series ?? []).map((row, i) => ({ row, i })).filter((one) => one.row.signal === at);

  if (selection.isWhole) return mine.map((one) => one.row);
  const sums = new Map(mine.map((one) => [one.i, { ...one.row, count: 0, sum: [0, 0, 0, 0, 0, 0] }]));
  const cells = data.seriesCells;
  for (let i = 0; i < cells.count; i++) {
    const row = sums.get(cells.key.series![i]!), part = row ? selection.part(cells, i) : 0;
    if (!row || !part) continue;
    row.count += cells.value.count![i]! * part;
    for (let m = 0; m < 6; m++) row.sum[m]! += cells.value[`sum${m}`]![i]! * part;
  }
  return [...sums.values()].filter((row) => row.count > 0);
}

const countOf = (rows: { count: number }[]): number => rows.reduce((sum, row) => sum + row.count, 0);
// A slice that is half inside a range contributes half of its events.
const isShown = (row: { count: number }): boolean => row.count >= 0.5;

// Says how many of a signal's events are not in the table. `all` is their total; `rows` are those that are known by
// operation.
function sayRest(place: HTMLElement, signal: Signal, all: number, rows: { count: number }[]): void {
  const unplaced = Math.round(all - countOf(rows)), hidden = Math.round(countOf(rows.filter((row) => !isShown(row))));
  const words = [unplaced > 0 ? `${amount(unplaced, signal.events)} for whose operation this page has no room` : "", hidden ? `${amount(hidden, signal.events)} of rows that round to 0 in this range` : ""].filter(Boolean);

  place.hidden = !words.length;
  place.textContent = `In no row: ${words.join(", ")}.`;
}

function noPercentiles(row: Operation): Pick<Operation, PercentileKey> {
  const none = (): null[] => row.sum.map(() => null);
  return { p50: none(), p90: none(), p95: none(), p99: none(), p999: none() };
}

// In a range, sums come from the series and percentiles from the buckets in it. `all` counts every event of the signal,
// in a row or not.
function operationRows(selection: Selection, signal: Signal, at: number): { rows: Operation[]; all: number } {
  const { data } = selection;
  let all = 0;

  if (selection.isWhole) return { rows: signal.rows, all: signal.count };
  const name = (place: string | null | undefined, operation: string | null | undefined): string => `${operation ?? "?"}\n${place ?? "?"}`;
  const rows = new Map(signal.rows.map((row) => [name(row.place, row.operation), { ...row, count: 0, errors: 0, sum: row.sum.map(() => 0), timed: row.sum.map(() => 0), ...noPercentiles(row) }]));
  for (const series of seriesRows(selection, at)) {
    const row = series.place === any ? undefined : rows.get(name(data.text(series.place), data.text(series.operation)));
    all += series.count;
    if (!row) continue;
    row.count += series.count;
    if (series.errno) row.errors += series.count;
    row.sum = row.sum.map((sum, m) => sum + series.sum[m]!);
  }
  const counts = new Map<number, Float64Array>();
  data.doc.histograms.forEach((info, i) => {
    if (info.of === signal.name && info.name === undefined) counts.set(i, new Float64Array(290));
  });
  for (let i = 0; i < data.heat.count; i++) {
    const list = counts.get(data.heat.key.histogram![i]!);
    if (list) list[data.heat.key.bucket![i]!]! += data.heat.value.count![i]! * selection.part(data.heat, i);
  }
  counts.forEach((list, i) => {
    const info = data.doc.histograms[i]!;
    const row = rows.get(name(info.place, info.operation)), m = signal.measures.find((one) => one.name === info.measure)?.id;
    if (!row || m === undefined) return;
    row.timed[m] = list.reduce((sum, n) => sum + n, 0);
    for (const which of percentiles) row[which.key][m] = percentile(list, which, row.max[m]!);
  });
  return { rows: [...rows.values()], all };
}

// How to show measures with a known name. Of other measures, times show their mean and the rest their sum.
const known: Record<string, { title?: string; as: "share of time" | "share of count" | "mean" | "sum" | "no" }> = {
  queue: { title: "queued", as: "share of time" }, service: { as: "mean" }, running: { as: "share of time" }, size: { title: "bytes", as: "sum" },
  depth: { title: "depth", as: "mean" }, sequential: { title: "in a row", as: "share of count" }, asked: { as: "sum" }, rtt: { as: "mean" },
};

function measureColumn(signal: Signal, measure: Measure): Column<Operation> {
  const { id, unit } = measure, how = known[measure.name] ?? { as: unit === "ns" ? "mean" : "sum" };
  const sum = (row: Operation): number => row.sum[id]!, title = how.title ?? measure.name;
  const mean = (row: Operation): number => (row.count ? sum(row) / row.count : 0);

  if (how.as === "share of time" && signal.main >= 0)
    return { name: title, about: `${measure.name}: part of ${signal.measures.find((one) => one.id === signal.main)?.name}`, text: (row) => (row.sum[signal.main] ? share(sum(row), row.sum[signal.main]!) : "–"), value: (row) => sum(row) / (row.sum[signal.main] || 1) };
  if (how.as === "share of count") return { name: title, about: `part of the ${signal.events}`, text: (row) => share(sum(row), row.count), value: mean };
  if (how.as === "mean") return { name: `${title}, mean`, about: unit, text: (row) => (sum(row) ? (unit === "ns" || unit === "bytes" ? amount(mean(row), unit) : mean(row).toFixed(1)) : "–"), value: mean };
  return { name: title, about: unit, text: (row) => cell(sum(row), unit), value: sum };
}

function operationTable(selection: Selection, signal: Signal, at: number): HTMLElement {
  const all = signal.rows, { main } = signal;
  const columns: Column<Operation>[] = [];
  const humps = h("div", { class: "humps" }), rest = h("p", { class: "status missing" });

  if (all.some((row) => row.operation)) columns.push({ name: "operation", text: (row) => row.operation });
  if (all.some((row) => row.place)) columns.push({ name: "where", text: (row) => row.place });
  if (!columns.length) columns.push({ name: "what", text: () => signal.events });
  columns.push({ name: "count", about: signal.events, text: (row) => number(row.count), value: (row) => row.count });
  let by = columns.length - 1;
  if (main >= 0 && all.some((row) => row.sum[main])) {
    by = columns.length;
    columns.push({ name: "total", text: (row) => cell(row.sum[main]!, "ns"), value: (row) => row.sum[main]! });
    if (all.some((row) => row.timed[main])) columns.push(
      ...percentiles.map((which) => percentileColumn<Operation>(which, (row) => row[which.key][main]!)),
      { name: "of", about: "how many the percentiles are of", text: (row) => (row.timed[main] ? number(row.timed[main]!) : "–"), value: (row) => row.timed[main]! });
    columns.push({ name: "max", about: "of the whole recording", text: (row) => cell(row.max[main]!, "ns"), value: (row) => row.max[main]! });
  }
  for (const measure of signal.measures) if (measure.id !== main && all.some((row) => row.sum[measure.id])) columns.push(measureColumn(signal, measure));
  if (signal.errors) columns.push({ name: "failed", text: (row) => (row.errors ? share(row.errors, row.count) : "–"), value: (row) => row.errors });
  columns.push({ name: "most by", about: `of ${selection.data.extent}`, text: (row) => row.who ?? "?" });
  const table = new Table(`${signal.name} by operation`, columns, by);
  const update = (): void => {
    const { rows, all: counted } = operationRows(selection, signal, at);
    table.set(selection.isWhole ? rows : rows.filter(isShown));
    sayRest(rest, signal, counted, rows);
    fill(humps, ...(selection.isWhole ? all.filter((row) => row.hump && row.sum[main]! * 100 >= selection.data.doc.wall_ns).slice(0, 5).map((row) => h("p", {}, `${row.hump}.`)) : []));
  };

  selection.onRest(update);
  update();
  return h("div", {}, table.element, rest, humps);
}

function seriesTable(selection: Selection, signal: Signal, at: number): HTMLElement {
  const { data } = selection;
  const all = (data.doc.series ?? []).filter((row) => row.signal === at);
  const has = (value: (row: Series) => unknown): boolean => all.some((row) => value(row));
  const columns: Column<Series>[] = [{ name: "who", text: (row) => (row.other ? "all others" : (row.who ?? "?")) }];

  if (has((row) => data.text(row.operation))) columns.push({ name: "operation", text: (row) => (row.operation === any ? "any" : data.text(row.operation)) });
  if (has((row) => data.text(row.place))) columns.push({ name: "where", text: (row) => (row.place === any ? "any" : data.text(row.place)) });
  if (has((row) => row.object)) columns.push({ name: "object", text: (row) => row.object ?? "" });
  if (has((row) => row.errno)) columns.push({ name: "error", text: (row) => (row.errno === any ? "any" : errno(row.errno)) });
  columns.push({ name: "count", about: signal.events, text: (row) => number(row.count), value: (row) => row.count });
  let by = columns.length - 1;
  for (const { id, name, unit } of signal.measures) {
    if (!has((row) => row.sum[id])) continue;
    if (id === signal.main) by = columns.length;
    columns.push({ name, about: unit, text: (row) => cell(row.sum[id]!, unit), value: (row) => row.sum[id]! });
    if (id === signal.main) columns.push({ name: "each", about: "on average", text: (row) => cell(row.count ? row.sum[id]! / row.count : 0, unit), value: (row) => (row.count ? row.sum[id]! / row.count : 0) },
      { name: "max", about: "of the whole recording", text: (row) => cell(row.max[id]!, unit), value: (row) => row.max[id]! });
  }
  const table = new Table(`${signal.name} by whom`, columns, by);
  const rest = h("p", { class: "status missing" });
  const update = (): void => {
    const rows = seriesRows(selection, at);
    table.set(rows.filter(isShown));
    sayRest(rest, signal, countOf(rows), rows);
  };

  selection.onRest(update);
  update();
  return h("div", {}, table.element, rest);
}

const whole = (data: Data): HTMLElement => h("p", { class: "status" }, `Of ${data.extent}.`);

function serviceTable(data: Data, signal: Signal): HTMLElement {
  const plain = (name: string, about: string, value: (row: Service) => number): Column<Service> => ({ name, about, text: (row) => (value(row) ? number(value(row)) : "–"), value });
  const table = new Table<Service>("services", [
    { name: "service", text: (row) => `${row.accepts ? "at" : "to"} ${row.name}` },
    { name: "bytes", text: (row) => bytes(row.bytes), value: (row) => row.bytes },
    plain("connected", "connections seen", (row) => row.connections),
    plain("opened", "of them, in the recording", (row) => row.opened),
    { name: "lives", about: "on average, of those that ended", text: (row) => (row.ended ? time(row.lifetime_ns / row.ended) : "–"), value: (row) => (row.ended ? row.lifetime_ns / row.ended : 0) },
    plain("ended", "whose lifetime is known", (row) => row.ended),
    plain("segments", "sent", (row) => row.segments),
    { name: "sent again", text: (row) => (row.sent_again ? `${number(row.sent_again)}${row.segments ? ` (${share(row.sent_again, row.segments)})` : ""}` : "–"), value: (row) => row.sent_again },
    plain("resets", "connections reset", (row) => row.resets),
    plain("queue full", "the accept queue had no room", (row) => row.overflows),
    plain("zero windows", "the receiver had no room", (row) => row.zero_windows),
    { name: "most by", text: (row) => row.who ?? "?" },
  ], 1);

  table.set(signal.services ?? []);
  return h("div", {}, table.element, whole(data));
}

function programTable(data: Data, signal: Signal): HTMLElement {
  const table = new Table<Program>("programs", [
    { name: "program", text: (row) => row.file },
    { name: "started by", text: (row) => row.parent ?? "?" },
    { name: "count", text: (row) => number(row.count), value: (row) => row.count },
    { name: "ended", about: "whose lifetime is known", text: (row) => number(row.ended), value: (row) => row.ended },
    { name: "lives", about: "on average, of those that ended", text: (row) => (row.ended ? time(row.lifetime_ns / row.ended) : "–"), value: (row) => (row.ended ? row.lifetime_ns / row.ended : 0) },
    { name: "longest", text: (row) => (row.ended ? time(row.max_ns) : "–"), value: (row) => row.max_ns },
    { name: "failed", text: (row) => (row.failed ? number(row.failed) : "–"), value: (row) => row.failed },
  ], 2);

  table.set(signal.programs ?? []);
  return h("div", {}, table.element, whole(data));
}

export function signalTables(selection: Selection, signal: Signal, at: number): HTMLElement {
  const views: [string, string, () => HTMLElement][] = [];
  const place = h("div"), made = new Map<string, HTMLElement>();
  const show = (key: string): void => {
    if (!made.has(key)) made.set(key, views.find((view) => view[0] === key)![2]());
    fill(place, made.get(key));
  };

  if (signal.services?.length) views.push(["services", "services", () => serviceTable(selection.data, signal)]);
  if (signal.programs?.length) views.push(["programs", "programs", () => programTable(selection.data, signal)]);
  if (signal.rows.length) views.unshift(["operations", "operations", () => operationTable(selection, signal, at)]);
  if (signal.rows.length) views.push(["whom", "by whom", () => seriesTable(selection, signal, at)]);
  const first = views[0]![0];
  show(first);
  return h("div", {}, h("p", { class: "about" }, `${signal.about ?? ""}${signal.about ? ": " : ""}${amount(signal.count, signal.events)}${signal.errors ? `, ${number(signal.errors)} failed` : ""}`),
    views.length > 1 ? h("div", { class: "controls" }, choice("show", views.map(([key, words]) => [key, words]), first, show)) : null, place);
}

// A number with its unit, known from its name or from the signal's measure of that name.
function field(signal: Signal | undefined, name: string, value: unknown): string {
  const unit = name.endsWith("_ns") ? "ns" : name === "bytes" || name === "sent" || name === "received" ? "bytes" : signal?.measures.find((one) => one.name === name)?.unit;

  if (typeof value === "number" && unit) return `${name.replace(/_ns$/, "")} ${amount(value, unit)}`;
  return `${name.replace(/_/g, " ")} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
}

// "openat(AT_FDCWD, …)" if the signal has that, then all other fields: "status 1, forked 0".
function details(signal: Signal | undefined, fields: string | null): { args: string; rest: string } {
  let known: Record<string, unknown> = {};

  try {
    const parsed: unknown = JSON.parse(fields ?? "{}");
    if (parsed && typeof parsed === "object") known = parsed as Record<string, unknown>;
  } catch {
    return { args: "", rest: fields ?? "" };
  }
  const { args, ...others } = known;
  const rest = Object.entries(others).filter(([, value]) => value !== null && value !== "").map(([name, value]) => field(signal, name, value));
  return { args: typeof args === "string" ? args : "", rest: rest.join(", ") };
}

export function eventTable(selection: Selection): HTMLElement {
  const { data } = selection;
  type Row = NonNullable<typeof data.doc.events>[number] & { what: string; rest: string };
  const rows = (data.doc.events ?? []).map((event): Row => {
    const { args, rest } = details(data.doc.signals?.[event.signal], event.fields);
    const object = event.object && !args.includes(event.object) ? event.object : null;
    return { ...event, what: [args || event.operation, event.place, object, errno(event.errno)].filter(Boolean).join(" "), rest };
  });
  const table = new Table<Row>("events", [
    { name: "at", text: (row) => seconds(row.us), value: (row) => row.us },
    { name: "signal", text: (row) => data.doc.signals?.[row.signal]?.name ?? "" },
    { name: "took", text: (row) => (row.duration_ns > 0 ? time(row.duration_ns) : "–"), value: (row) => row.duration_ns },
    { name: "who", text: (row) => (row.who ? `${row.who}${row.tid ? ` (tid ${row.tid})` : ""}` : "?") },
    { name: "what", text: (row) => row.what },
    { name: "details", text: (row) => [row.rest, row.in ? `in ${row.in}` : ""].filter(Boolean).join(", ") },
  ], 2);
  const kinds = [...new Set(rows.map((row) => row.signal))].sort((a, b) => a - b);
  const left = data.doc.folded.events ?? 0;
  let of = kinds[0] ?? 0;
  const update = (): void => table.set(rows.filter((row) => row.signal === of && (selection.isWhole || (row.us >= selection.fromUs && row.us < selection.toUs))));

  selection.onRest(update);
  update();
  return h("div", {}, kinds.length > 1 ? h("div", { class: "controls" }, choice("of", kinds.map((at) => [String(at), data.doc.signals![at]!.name]), String(of), (key) => {
    of = Number(key);
    update();
  })) : null, table.element, left ? h("p", { class: "status" }, `The slowest of each signal; ${count(left, "more event")} are in the recording alone.`) : null);
}
