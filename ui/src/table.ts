/* SPDX-License-Identifier: GPL-2.0-or-later */
// A table that can be sorted by any column and filtered by any word in it.
import { fill, h } from "./dom";
import { number } from "./words";

export interface Column<Row> {
  name: string;
  about?: string;
  text: (row: Row) => string;
  // The sort key; without it, the text is the key.
  value?: (row: Row) => number;
  // 0…1, for a bar behind the number.
  bar?: (row: Row) => number;
  pick?: (row: Row) => void;
  // Draws something instead of the text.
  draw?: (row: Row) => Node;
  // Sorted by a number, but shows words.
  words?: boolean;
  unsorted?: boolean;
}

const usual = 25;

function align<Row>(column: Column<Row>): string {
  return column.value && !column.words ? "number" : "";
}

export class Table<Row> {
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly head = h("tr");
  private readonly note = h("p", { class: "status", "aria-live": "polite" });
  private readonly more = h("button", { type: "button", class: "more" });
  private rows: Row[] = [];
  private words = "";
  private shown = usual;

  constructor(label: string, private readonly columns: Column<Row>[], private by: number, private down = true) {
    const filter = h("input", { type: "search", placeholder: "filter", "aria-label": `filter ${label}`, oninput: () => {
      this.words = filter.value.trim().toLowerCase();
      this.shown = usual;
      this.update();
    } });

    columns.forEach((column, i) => {
      const button = h("button", { type: "button", onclick: () => {
        if (this.by === i) this.down = !this.down;
        else {
          this.by = i;
          this.down = column.value !== undefined;
        }
        this.update();
      } }, column.name);
      this.head.append(h("th", { scope: "col", class: align(column), title: column.about }, column.unsorted ? column.name : button));
    });
    this.more.addEventListener("click", () => {
      this.shown += 200;
      this.update();
    });
    this.element = h("div", { class: "table" }, h("div", { class: "controls" }, h("label", { class: "control" }, h("span", { class: "label" }, "filter"), filter), this.note),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", {}, h("caption", { class: "hidden" }, label), h("thead", {}, this.head), this.body)), this.more);
  }

  set(rows: Row[]): void {
    this.rows = rows;
    this.update();
  }

  private update(): void {
    const column = this.columns[this.by]!;
    const sign = this.down ? -1 : 1;
    const chosen = this.words ? this.rows.filter((row) => this.columns.some((one) => one.text(row).toLowerCase().includes(this.words))) : [...this.rows];

    chosen.sort((a, b) => sign * (column.value ? column.value(a) - column.value(b) : column.text(a).localeCompare(column.text(b))));
    [...this.head.children].forEach((cell, i) => !this.columns[i]!.unsorted && cell.setAttribute("aria-sort", i !== this.by ? "none" : this.down ? "descending" : "ascending"));
    fill(this.body, ...chosen.slice(0, this.shown).map((row) => h("tr", {}, ...this.columns.map((one) => this.cell(one, row)))));
    this.note.textContent = this.words ? `${number(chosen.length)} of ${number(this.rows.length)}` : number(this.rows.length);
    this.more.hidden = chosen.length <= this.shown;
    this.more.textContent = `${number(chosen.length - this.shown)} more`;
  }

  private cell(column: Column<Row>, row: Row): HTMLElement {
    const text = column.text(row);
    const cell = h("td", { class: align(column), title: text.length > 40 ? text : undefined });

    if (column.bar) {
      const bar = h("span", { class: "behind", "aria-hidden": "true" });
      bar.style.width = `${Math.min(100, 100 * column.bar(row))}%`;
      cell.append(bar);
    }
    cell.append(column.draw ? column.draw(row) : column.pick ? h("button", { type: "button", class: "link", onclick: () => column.pick!(row) }, text) : h("span", {}, text));
    return cell;
  }
}

// Several tables, one visible at a time.
export function tabs(label: string, list: { name: string; make: () => HTMLElement }[]): HTMLElement {
  const bar = h("div", { class: "tabs", role: "tablist", "aria-label": label });
  const panel = h("div", { role: "tabpanel", id: `${label}-panel`, tabindex: "-1" });
  const made = new Map<number, HTMLElement>();
  const show = (at: number, focus: boolean): void => {
    [...bar.children].forEach((button, i) => {
      button.setAttribute("aria-selected", String(i === at));
      (button as HTMLElement).tabIndex = i === at ? 0 : -1;
    });
    if (!made.has(at)) made.set(at, list[at]!.make());
    panel.setAttribute("aria-label", list[at]!.name);
    fill(panel, made.get(at));
    if (focus) (bar.children[at] as HTMLElement).focus();
  };

  list.forEach((one, i) => bar.append(h("button", { type: "button", role: "tab", "aria-controls": `${label}-panel`, onclick: () => show(i, false), onkeydown: (event: KeyboardEvent) => {
    if (event.key === "ArrowRight") show((i + 1) % list.length, true);
    if (event.key === "ArrowLeft") show((i + list.length - 1) % list.length, true);
  } }, one.name)));
  show(0, false);
  return h("div", {}, bar, panel);
}
