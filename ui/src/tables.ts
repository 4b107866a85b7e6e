/* SPDX-License-Identifier: GPL-2.0-or-later */
// The tables: threads, functions, syscalls, and what signals counted. All follow the selected range. Those that can
// also follow the selected threads.
import { flagExited, flagKernel, flagOwn, type Syscall } from "./data";
import { h, section } from "./dom";
import { percentile, percentileColumn, percentiles } from "./heat";
import { type Selection } from "./select";
import { eventTable, signalTables } from "./signals";
import { type Column, Table, tabs } from "./table";
import { base, count, errno, number, share, time } from "./words";

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
    ...data.doc.kinds.filter((kind) => kind.key !== "unseen").map((kind): Column<Row> => {
      const k = data.doc.kinds.indexOf(kind);
      return { name: kind.brief, text: (row) => (row.ns[k] ? `${time(row.ns[k]!)}  ${share(row.ns[k]!, row.all)}` : "–"), value: (row) => row.ns[k]!, bar: (row) => (row.all ? row.ns[k]! / row.all : 0) };
    }),
    { name: "notes", text: (row) => notes(threads.flags[row.at]!) },
    { name: "cgroup", text: (row) => threads.cgroup[row.at]! },
  ];
  const table = new Table("threads", columns, 4), rest = h("p", { class: "status missing" });
  const update = (): void => {
    table.set(selection.byThread().map((ns, at) => ({ at, ns, all: ns.reduce((sum, one) => sum + one, 0) })).filter((row) => row.all > 0 && selection.hasThread(row.at)));
    rest.hidden = !selection.withoutAxis;
    rest.textContent = `In no row: ${count(selection.withoutAxis, "thread")} whose time axis this page has no room for${selection.who ? "" : `, ${time(selection.sumWithoutAxis())} of this range`}.`;
  };

  selection.onRest(update);
  update();
  return h("div", {}, table.element, rest);
}

interface Code { at: number; selfRun: number; totalRun: number; selfWait: number; totalWait: number; samples: number }

// As in the text report, self time while waiting counts for the innermost user-space function, because the kernel part
// of all waits looks alike, and what an interpreter does for a function is self time of that function.
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

    of(nodeFunction[data.nodeOwn[node]!]!).selfRun += run[node]!;
    while (user > 0 && functions.kernel[nodeFunction[user]!]) user = nodeParent[user]!;
    of(nodeFunction[data.nodeOwn[user > 0 ? user : node]!]!).selfWait += wait[node]!;
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
    { name: "where", text: (row) => data.where(row.at) + (functions.file[row.at] && !data.where(row.at).startsWith(base(functions.file[row.at]!)) ? ` · ${base(functions.file[row.at]!)}` : "") },
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

// In a range, percentiles come from the buckets in it.
function syscallRows(selection: Selection): Syscall[] {
  const { data } = selection;

  if (selection.isWhole) return data.doc.syscalls;
  const rows = data.doc.syscalls.map((call) => ({ ...call, count: 0, errors: 0, total_ns: 0, run_ns: 0, timed: 0 }));
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
    for (const which of percentiles) row[`${which.key}_ns`] = percentile(counts[i]!, which, row.max_ns);
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
    ...percentiles.map((which) => percentileColumn<Syscall>(which, (row) => row[`${which.key}_ns`])),
    { name: "of", about: "how many calls the percentiles are of", text: (row) => number(row.timed), value: (row) => row.timed },
    { name: "max", about: "of the whole recording", text: (row) => time(row.max_ns), value: (row) => row.max_ns },
    { name: "failed", text: (row) => (row.errors ? `${share(row.errors, row.count)} ${errno(row.errno)}` : ""), value: (row) => row.errors },
  ], 4);
  const update = (): void => table.set(syscallRows(selection));

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
    if (signal.count || signal.programs) list.push({ name: `signal ${signal.name}`, make: () => signalTables(selection, signal, at) });
  });
  if (data.doc.events?.length) list.push({ name: "events", make: () => eventTable(selection) });
  return section("tables", "Everything, in tables", "They follow the range. Syscalls, signals and events are of all threads.", tabs("tables", list));
}
