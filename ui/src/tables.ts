// The tables: threads, functions, syscalls, and whatever signals counted. All follow the range; those that can, the threads.
import { type Data, flagExited, flagKernel, flagOwn, kinds, kindWords, type Series, type Signal, type Syscall } from "./data";
import { h, section } from "./dom";
import { bucketStart } from "./heat";
import { type Selection } from "./select";
import { type Column, Table, tabs } from "./table";
import { amount, base, errno, number, seconds, share, time } from "./words";

function threadTable(selection: Selection): HTMLElement {
  interface Row { at: number; ns: Float64Array; all: number }
  const { data } = selection;
  const { threads } = data;
  const notes = (flags: number): string => [flags & flagOwn ? "gapless" : "", flags & flagKernel ? "kernel" : "", flags & flagExited ? "ended" : ""].filter(Boolean).join(", ");
  const columns: Column<Row>[] = [
    { name: "thread", text: (row) => threads.comm[row.at]!, pick: (row) => {
      const mask = new Uint8Array(threads.count);
      mask[row.at] = 1;
      selection.setWho({ label: `${threads.comm[row.at]} (tid ${threads.tid[row.at]})`, key: `thread ${row.at}`, threads: mask });
    } },
    { name: "process", text: (row) => threads.processComm[row.at]! },
    { name: "pid", text: (row) => String(threads.pid[row.at]), value: (row) => threads.pid[row.at]! },
    { name: "tid", text: (row) => String(threads.tid[row.at]), value: (row) => threads.tid[row.at]! },
    ...kinds.filter((kind) => kind !== "unseen").map((kind): Column<Row> => {
      const k = kinds.indexOf(kind);
      return { name: kindWords[kind], text: (row) => (row.ns[k] ? `${time(row.ns[k]!)}  ${share(row.ns[k]!, row.all)}` : "–"), value: (row) => row.ns[k]!, bar: (row) => (row.all ? row.ns[k]! / row.all : 0) };
    }),
    { name: "notes", text: (row) => notes(threads.flags[row.at]!) },
    { name: "cgroup", text: (row) => threads.cgroup[row.at]! },
  ];
  const table = new Table("threads", columns, 4);
  const update = (): void => table.set(selection.byThread().map((ns, at) => ({ at, ns, all: ns.reduce((sum, one) => sum + one, 0) })).filter((row) => row.all > 0 && selection.hasThread(row.at)));

  selection.onRest(update);
  update();
  return table.element;
}

interface Code { at: number; selfRun: number; totalRun: number; selfWait: number; totalWait: number; samples: number }

// As the text report: of waiting, self is the innermost function of user space, since below that all waits look alike.
function functionRows(selection: Selection): Code[] {
  const { data } = selection;
  const { samples, functions, nodeParent, nodeFunction } = data;
  const found = new Map<number, Code>();
  const of = (at: number): Code => {
    const row = functions.row[at]!;
    let one = found.get(row);
    if (!one) found.set(row, (one = { at: row, selfRun: 0, totalRun: 0, selfWait: 0, totalWait: 0, samples: 0 }));
    return one;
  };
  const run = new Float64Array(data.nodes), wait = new Float64Array(data.nodes), counts = new Float64Array(data.nodes);

  for (let i = 0; i < samples.count; i++) {
    const kind = data.doc.states[samples.key.state![i]!]!.kind, node = samples.key.node![i]!;
    if (kind !== "run" && kind !== "delaying" && kind !== "undecided") continue;
    const part = selection.hasThread(samples.key.thread![i]!) ? selection.part(samples, i) : 0;
    if (!part) continue;
    (kind === "run" ? run : wait)[node]! += samples.value.us![i]! * 1000 * part;
    counts[node]! += samples.value.count![i]! * part;
  }
  for (let node = 1; node < data.nodes; node++) {
    if (!run[node] && !wait[node]) continue;
    const seen = new Set<Code>();
    let user = node;

    of(nodeFunction[node]!).selfRun += run[node]!;
    while (user > 0 && functions.kernel[nodeFunction[user]!]) user = nodeParent[user]!;
    of(nodeFunction[user > 0 ? user : node]!).selfWait += wait[node]!;
    for (let at = node; at > 0; at = nodeParent[at]!) {
      const one = of(nodeFunction[at]!);
      if (seen.has(one)) continue;
      seen.add(one);
      one.totalRun += run[node]!;
      one.totalWait += wait[node]!;
      one.samples += counts[node]!;
    }
  }
  return [...found.values()];
}

function functionTable(selection: Selection, find: (name: string) => void): HTMLElement {
  const { data } = selection;
  const { functions } = data;
  let run = 0, wait = 0;
  const ns = (name: string, about: string, value: (row: Code) => number, all: () => number): Column<Code> => ({ name, about, text: (row) => (value(row) ? `${time(value(row))}  ${share(value(row), all())}` : "–"), value, bar: (row) => (all() ? value(row) / all() : 0) });
  const table = new Table<Code>("functions", [
    { name: "function", text: (row) => (functions.named[row.at] || !functions.module[row.at] ? functions.name[row.at]! : "(no symbols)"), pick: (row) => find(functions.name[row.at]!) },
    { name: "self running", about: "it is the innermost function", ...pickColumn(ns("", "", (row) => row.selfRun, () => run)) },
    { name: "total running", about: "it is anywhere in the stack", ...pickColumn(ns("", "", (row) => row.totalRun, () => run)) },
    { name: "self waiting", about: "the innermost function of user space", ...pickColumn(ns("", "", (row) => row.selfWait, () => wait)) },
    { name: "total waiting", about: "it is anywhere in the stack", ...pickColumn(ns("", "", (row) => row.totalWait, () => wait)) },
    { name: "samples", text: (row) => number(row.samples), value: (row) => row.samples },
    { name: "where", text: (row) => (functions.kernel[row.at] ? "[kernel]" : base(functions.module[row.at]!)) + (functions.file[row.at] ? ` · ${base(functions.file[row.at]!)}` : "") },
  ], 1);
  const update = (): void => {
    const rows = functionRows(selection);
    run = rows.reduce((sum, row) => sum + row.selfRun, 0);
    wait = rows.reduce((sum, row) => sum + row.selfWait, 0);
    table.set(rows);
  };

  selection.onRest(update);
  update();
  return table.element;
}

function pickColumn<Row>(column: Column<Row>): Pick<Column<Row>, "text" | "value" | "bar"> {
  return { text: column.text, value: column.value, bar: column.bar };
}

// Percentiles of a range come from the buckets in it.
function syscallRows(selection: Selection): Syscall[] {
  const { data } = selection;

  if (selection.isWhole) return data.doc.syscalls;
  const rows = data.doc.syscalls.map((call) => ({ ...call, count: 0, errors: 0, total_ns: 0, run_ns: 0, timed: 0, p50_ns: 0, p99_ns: 0 }));
  const cells = data.syscallCells;
  const names = new Map(rows.map((row, i) => [row.name, i]));
  const ofHistogram = data.doc.histograms.map((info) => (info.of === "syscall" && info.name !== undefined ? (names.get(info.name) ?? -1) : -1));
  const counts = rows.map(() => new Float64Array(290));

  for (let i = 0; i < cells.count; i++) {
    const part = selection.part(cells, i), row = rows[cells.key.syscall![i]!]!;
    if (!part) continue;
    row.count += cells.value.count![i]! * part;
    row.errors += cells.value.errors![i]! * part;
    row.total_ns += cells.value.total_us![i]! * 1000 * part;
    row.run_ns += cells.value.run_us![i]! * 1000 * part;
  }
  for (let i = 0; i < data.heat.count; i++) {
    const at = ofHistogram[data.heat.key.histogram![i]!]!;
    if (at >= 0) counts[at]![data.heat.key.bucket![i]!]! += data.heat.value.count![i]! * selection.part(data.heat, i);
  }
  rows.forEach((row, i) => {
    row.timed = counts[i]!.reduce((sum, n) => sum + n, 0);
    let seen = 0;
    counts[i]!.forEach((n, bucket) => {
      const middle = Math.min(row.max_ns || Infinity, bucketStart(bucket) + (bucketStart(bucket + 1) - bucketStart(bucket)) / 2);
      if (seen < row.timed * 0.5 && seen + n >= row.timed * 0.5) row.p50_ns = middle;
      if (seen < row.timed * 0.99 && seen + n >= row.timed * 0.99) row.p99_ns = middle;
      seen += n;
    });
  });
  return rows.filter((row) => row.count >= 0.5);
}

function syscallTable(selection: Selection): HTMLElement {
  const table = new Table<Syscall>("syscalls", [
    { name: "syscall", text: (row) => row.name },
    { name: "count", text: (row) => number(row.count), value: (row) => row.count },
    { name: "per s", text: (row) => number(row.count / Math.max(1e-9, (selection.toUs - selection.fromUs) / 1e6)), value: (row) => row.count },
    { name: "total", text: (row) => time(row.total_ns), value: (row) => row.total_ns },
    { name: "running", text: (row) => time(row.run_ns), value: (row) => row.run_ns },
    { name: "p50", text: (row) => (row.timed ? time(row.p50_ns) : "–"), value: (row) => row.p50_ns },
    { name: "p99", text: (row) => (row.timed ? time(row.p99_ns) : "–"), value: (row) => row.p99_ns },
    { name: "of", about: "how many calls p50 and p99 stand on", text: (row) => number(row.timed), value: (row) => row.timed },
    { name: "max", about: "of the whole recording", text: (row) => time(row.max_ns), value: (row) => row.max_ns },
    { name: "failed", text: (row) => (row.errors ? `${share(row.errors, row.count)} ${errno(row.errno)}` : ""), value: (row) => row.errors },
  ], 4);
  const update = (): void => table.set(syscallRows(selection));

  selection.onRest(update);
  update();
  return table.element;
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
  return [...sums.values()].filter((row) => row.count >= 0.5);
}

function signalTable(selection: Selection, signal: Signal, at: number): HTMLElement {
  const { data } = selection;
  const all = seriesRows(selection, at);
  const has = (value: (row: Series) => unknown): boolean => all.some((row) => value(row));
  const columns: Column<Series>[] = [{ name: "who", text: (row) => (row.other ? "all others" : (row.who ?? "?")) }];

  if (has((row) => row.operation)) columns.push({ name: "operation", text: (row) => data.text(row.operation) });
  if (has((row) => row.place)) columns.push({ name: "place", text: (row) => data.text(row.place) });
  if (has((row) => row.object)) columns.push({ name: "object", text: (row) => row.object ?? "" });
  if (has((row) => row.errno)) columns.push({ name: "error", text: (row) => errno(row.errno) });
  columns.push({ name: signal.events ?? "events", text: (row) => number(row.count), value: (row) => row.count });
  const first = columns.length;
  for (const measure of signal.measures) {
    columns.push({ name: measure.name, about: measure.unit, text: (row) => amount(row.sum[measure.id]!, measure.unit), value: (row) => row.sum[measure.id]! });
    if (measure.unit === "ns") columns.push({ name: `${measure.name} each`, text: (row) => amount(row.count ? row.sum[measure.id]! / row.count : 0, measure.unit), value: (row) => (row.count ? row.sum[measure.id]! / row.count : 0) },
      { name: "max", about: "of the whole recording", text: (row) => amount(row.max[measure.id]!, measure.unit), value: (row) => row.max[measure.id]! });
  }
  const table = new Table(signal.name, columns, Math.min(first, columns.length - 1));
  const update = (): void => table.set(seriesRows(selection, at));

  selection.onRest(update);
  update();
  return h("div", {}, h("p", { class: "about" }, signal.about), table.element);
}

function eventTable(selection: Selection): HTMLElement {
  const { data } = selection;
  type Row = NonNullable<typeof data.doc.events>[number];
  const table = new Table<Row>("events", [
    { name: "at", text: (row) => seconds(row.us), value: (row) => row.us },
    { name: "signal", text: (row) => data.doc.signals?.[row.signal]?.name ?? "" },
    { name: "took", text: (row) => (row.duration_ns ? time(row.duration_ns) : "–"), value: (row) => row.duration_ns },
    { name: "who", text: (row) => `${row.who ?? "?"}${row.tid ? ` (tid ${row.tid})` : ""}` },
    { name: "what", text: (row) => [row.operation, row.place, row.object, errno(row.errno)].filter(Boolean).join(" ") },
    { name: "details", text: (row) => row.fields ?? "" },
  ], 2);
  const update = (): void => table.set((data.doc.events ?? []).filter((row) => selection.isWhole || (row.us >= selection.fromUs && row.us < selection.toUs)));

  selection.onRest(update);
  update();
  return table.element;
}

export function tables(selection: Selection, find: (name: string) => void): HTMLElement {
  const { data } = selection;
  const list: { name: string; make: () => HTMLElement }[] = [{ name: "threads", make: () => threadTable(selection) }];

  if (data.samples.count) list.push({ name: "functions", make: () => functionTable(selection, find) });
  if (data.doc.syscalls.length) list.push({ name: "syscalls", make: () => syscallTable(selection) });
  (data.doc.signals ?? []).forEach((signal, at) => {
    if (data.doc.series?.some((row) => row.signal === at)) list.push({ name: `signal ${signal.name}`, make: () => signalTable(selection, signal, at) });
  });
  if (data.doc.events?.length) list.push({ name: "events", make: () => eventTable(selection) });
  return section("tables", "Everything, in tables", "They follow the range. Syscalls, signals and events are of all threads.", tabs("tables", list));
}

export type { Data };
