/* SPDX-License-Identifier: GPL-2.0-or-later */
// Who waits for whom because of locks, as a graph: threads and locks in columns from left to right, a line from each
// waiter to its lock and on to whoever held it or ended the wait. A line that goes back closes a circle: threads that wait
// for each other, or hand a lock to each other.
import { type Data } from "./data";
import { h, svg } from "./dom";
import { count, time } from "./words";

const mostLines = 24, boxWidth = 210, boxHeight = 26, gapX = 90, gapY = 12, widest = 14, nameLength = 30, mostSteps = 20000;

export interface Waited { i: number; ns: number }
interface Box { name: string; lock: boolean; column: number; row: number; to: Set<string> }
interface Line { from: string; to: string; ns: number; words: string }

const cut = (name: string): string => (name.length > nameLength ? `${name.slice(0, nameLength - 1)}…` : name);

export function isLock(data: Data, i: number): boolean {
  const wait = data.doc.waits[i]!;
  return Boolean(wait.object) && (data.doc.states[wait.state]!.cause === "lock" || wait.object_kind === "kernel lock");
}

// The column of each box is one more than that of the boxes that lead to it, except along lines that go back.
function arrange(boxes: Map<string, Box>): void {
  const open = new Set<string>(), rows: number[] = [];
  let steps = 0; // circles have very many paths

  const visit = (key: string, column: number): void => {
    const box = boxes.get(key)!;

    if (open.has(key) || box.column >= column || (box.column >= 0 && ++steps > mostSteps)) return;
    box.column = column;
    open.add(key);
    for (const next of box.to) visit(next, column + 1);
    open.delete(key);
  };
  const led = new Set([...boxes.values()].flatMap((box) => [...box.to]));

  for (const key of boxes.keys()) if (!led.has(key)) visit(key, 0);
  for (const [key, box] of boxes) if (box.column < 0) visit(key, 0);
  for (const box of boxes.values()) box.row = rows[box.column] = (rows[box.column] ?? -1) + 1;
}

function collect(data: Data, waited: Waited[]): { boxes: Map<string, Box>; lines: Map<string, Line> } {
  const boxes = new Map<string, Box>(), lines = new Map<string, Line>();
  const box = (name: string, lock: boolean): string => {
    const key = `${lock ? "lock" : "thread"} ${name}`;
    if (!boxes.has(key)) boxes.set(key, { name, lock, column: -1, row: 0, to: new Set() });
    return key;
  };
  const line = (from: string, to: string, ns: number, words: string): void => {
    const key = JSON.stringify([from, to, words]), one = lines.get(key) ?? { from, to, ns: 0, words };

    one.ns += ns;
    lines.set(key, one);
    boxes.get(from)!.to.add(to);
  };

  for (const { i, ns } of waited) {
    const wait = data.doc.waits[i]!, lock = box(wait.object!, true);

    line(box(wait.waiter, false), lock, ns, "waiting for");
    if (wait.by && wait.evidence !== "timeout") line(lock, box(wait.by, false), ns, wait.evidence === "waker" ? "wait ended by" : "held by");
  }
  return { boxes, lines };
}

function drawLine(line: Line, from: Box, to: Box, most: number): SVGElement {
  const x1 = from.column * (boxWidth + gapX) + boxWidth, y1 = from.row * (boxHeight + gapY) + boxHeight / 2 + 1;
  const x2 = to.column * (boxWidth + gapX), y2 = to.row * (boxHeight + gapY) + boxHeight / 2 + 1;
  const bend = x2 > x1 ? (x2 - x1) / 2 : gapX * 0.9;

  return svg("path", {
    d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`, class: line.words === "wait ended by" ? "line woken" : "line",
    "stroke-width": Math.max(1, (widest * line.ns) / most).toFixed(1),
  }, svg("title", {}, `${from.name} ${line.words} ${to.name}: ${time(line.ns)}`));
}

function drawBox(box: Box): SVGElement {
  const x = box.column * (boxWidth + gapX), y = box.row * (boxHeight + gapY) + 1;

  return svg("g", { class: box.lock ? "box lock" : "box" }, svg("title", {}, box.name),
    svg("rect", { x, y, width: boxWidth, height: boxHeight, rx: box.lock ? 0 : 12 }),
    svg("text", { x: x + 10, y: y + boxHeight / 2 + 4 }, cut(box.name)));
}

// null: no thread waited for a lock.
export function waitGraph(data: Data, waited: Waited[]): HTMLElement | null {
  const locks = waited.filter((one) => isLock(data, one.i)), shown = locks.slice(0, mostLines);
  if (!shown.length) return null;
  const { boxes, lines } = collect(data, shown);

  arrange(boxes);
  const most = Math.max(...[...lines.values()].map((line) => line.ns), 1);
  const columns = Math.max(...[...boxes.values()].map((box) => box.column)) + 1, rows = Math.max(...[...boxes.values()].map((box) => box.row)) + 1;
  const width = columns * (boxWidth + gapX), height = rows * (boxHeight + gapY);
  const words = `${count(shown.length, "wait")} for locks as a graph${locks.length > shown.length ? `, the longest of ${locks.length}` : ""}`;

  return h("div", { class: "waitgraph" }, svg("svg", { viewBox: `${-gapX} 0 ${width + gapX} ${height}`, width: width + gapX, height, role: "img", "aria-label": words },
    ...[...lines.values()].map((line) => drawLine(line, boxes.get(line.from)!, boxes.get(line.to)!, most)), ...[...boxes.values()].map(drawBox)));
}
