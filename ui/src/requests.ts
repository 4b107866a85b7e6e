/* SPDX-License-Identifier: GPL-2.0-or-later */
// Requests and calls: what fast and slow ones spend time on, and single ones over time.
//
// Sums of a service and its bands are exact. Single windows are a sample: those in a rectangle give estimates, and say so.
import { paint } from "./colours";
import { type Data, type Kept, type Reason, type WindowClass, type WindowService, type WindowWait, type Windows_ } from "./data";
import { choice, fill, h, hideTip, section, showTip } from "./dom";
import { percentileColumn, percentiles } from "./heat";
import { type Rectangle, Scatter } from "./scatter";
import { type Selection } from "./select";
import { type Column, Table } from "./table";
import { count, number, seconds, share, time } from "./words";

const fast = 0, slow = 2, bandsOfMark = 3, mostWaits = 12;
const evidenceWords: Record<string, string> = { owner: "held by", handed: "held last by", waker: "ended by" };

// The fastest, those in between, the slowest: exact sums.
interface Band { label: string; words: string; count: number; length: number; kept: number }

function bandsOf(service: WindowService): Band[] {
  const { bands } = service;
  const low = bands[0]!, high = bands[2]!;
  const between = service.count - low.count - high.count;
  const band = (name: string, count_: number, length: number, kept: number): Band => ({
    label: `${name} ${share(count_, service.count)}`, words: `the ${name} ${share(count_, service.count)} of the ${service.title}`, count: count_, length, kept,
  });

  return [band("fastest", low.count, low.length_ns, low.kept), { ...band("middle", between, service.length_ns - low.length_ns - high.length_ns, 0), label: `between, ${share(between, service.count)}` }, band("slowest", high.count, high.length_ns, high.kept)];
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function swatch(reason: Reason): HTMLElement {
  const element = h("span", { class: "swatch" });

  paint(element, reason);
  return element;
}

function waitWords(data: Windows_, wait: WindowWait): string {
  const object = wait.object ? `${wait.object_kind && !wait.object.includes(wait.object_kind) ? `${wait.object_kind} ` : ""}${wait.object}` : (wait.object_kind ?? "");
  const by = wait.by ? `${evidenceWords[wait.evidence ?? ""] ?? "by"} ${wait.by} (tid ${wait.by_tid})` : "";

  return [data.reasons[wait.reason]!.words, object, by].filter(Boolean).join(" · ");
}

// A line of parts, each as wide as its time.
function line(parts: [Reason, number][], label: string): HTMLElement {
  const strip = h("div", { class: "strip window-line", role: "img", "aria-label": label });

  for (const [reason, ns] of parts) {
    if (reason.overlap || ns <= 0) continue;
    const part = h("div", { class: "part", title: `${reason.words}: ${time(ns)}` });
    part.style.flexGrow = String(ns);
    paint(part, reason);
    strip.append(part);
  }
  return strip;
}

export class Requests {
  readonly element: HTMLElement;
  private service = 0;
  private band = -1;
  private rectangle: Rectangle | null = null;
  private readonly kept: Kept;
  private readonly scatter: Scatter;
  private readonly head = h("div", { id: "requests-head" });
  private readonly bandChoice = h("div");
  private readonly sums = h("div", { id: "requests-sums" });
  private readonly waitBox = h("div", { id: "requests-waits" });
  private readonly one = h("div", { id: "requests-one" });
  private readonly legend = h("div", { class: "legend" });
  private readonly slowest: Table<number>;
  private readonly classes: Table<WindowClass>;

  constructor(private readonly selection: Selection, private readonly windows: Windows_) {
    const { kept } = selection.data;

    this.kept = kept;
    this.scatter = new Scatter(selection, (reason) => windows.reasons[reason], (rectangle) => this.setRectangle(rectangle), (at) => this.show(at), (at, x, y) => this.tip(at, x, y));
    this.slowest = new Table("single requests", this.oneColumns(), 0);
    this.classes = new Table("kinds of requests", this.classColumns(), 2);
    const list = h("select", { id: "requests-service", "aria-label": "requests of", onchange: () => this.setService(Number(list.value)) },
      ...windows.services.map((service, i) => h("option", { value: i }, `${capital(service.title)}: ${service.counted}`)));
    this.element = section("requests", "Requests", "What fast and slow ones spend time on. Tables are exact: all are counted. Dots are a sample; drag a rectangle, or pick one.",
      h("div", { class: "controls" }, h("label", { class: "control" }, h("span", { class: "label" }, "of"), list), this.bandChoice), this.head, this.legend, this.scatter.element,
      this.one, this.sums, this.waitBox, h("details", {}, h("summary", {}, "Single requests"), this.slowest.element), h("details", {}, h("summary", {}, "By kind"), this.classes.element));
    selection.onChange(() => {
      if (!selection.requests && this.band >= 0) this.setBand(-1);
    });
    selection.onRest(() => this.scatter.repaint());
    this.setService(0);
  }

  private get data(): Data {
    return this.selection.data;
  }

  private get info(): WindowService {
    return this.windows.services[this.service]!;
  }

  repaint(): void {
    this.scatter.repaint();
  }

  private setService(at: number): void {
    this.service = at;
    this.rectangle = null;
    fill(this.one);
    this.classes.set(this.windows.classes.filter((one) => one.service === at));
    this.scatter.setService(at, this.windows.services[at]!.bands);
    this.paintLegend();
    fill(this.bandChoice, choice("which", [["-1", "all"], ...bandsOf(this.info).map((one, i): [string, string] => [String(i), one.label])], "-1", (value) => this.setBand(Number(value))));
    this.setBand(-1);
  }

  // The flame graph follows a band: samples know the band of their window.
  private setBand(band: number): void {
    const bands = bandsOf(this.info);

    this.band = band;
    this.scatter.setBand(band);
    this.selection.setRequests(band < 0 ? null : { label: bands[band]!.words, mark: 1 + this.service * bandsOfMark + band });
    for (const button of this.bandChoice.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.value === String(band)));
    this.update();
  }

  private setRectangle(rectangle: Rectangle | null): void {
    this.rectangle = rectangle;
    this.update();
  }

  // The windows that are chosen by rectangle, else by band.
  private chosen(): number[] {
    return this.scatter.inService().filter((i) => (this.rectangle ? this.scatter.isInside(i) : this.band < 0 || (this.kept.mark[i]! - 1) % bandsOfMark === this.band));
  }

  private update(): void {
    const chosen = this.chosen();

    this.paintHead();
    this.paintSums(chosen);
    this.paintWaits(chosen);
    this.slowest.set(chosen);
  }

  private paintHead(): void {
    const { info } = this;
    const found = percentiles.flatMap((which) => {
      const ns = info[`${which.key}_ns`];
      return ns === null ? [] : [`${which.name} ${time(ns)}`];
    });

    fill(this.head, h("h3", {}, capital(info.title)), h("p", { class: "status" }, [info.counted, found.length ? `${found.join(" · ")} (to 6 %)` : "", ...info.statuses.map((one) => `${number(one.count)} ${one.words}`)].filter(Boolean).join(" · ")));
  }

  private paintLegend(): void {
    const seen = new Map<number, number>();

    for (const i of this.scatter.inService()) if (this.kept.main[i]! >= 0) seen.set(this.kept.main[i]!, (seen.get(this.kept.main[i]!) ?? 0) + 1);
    fill(this.legend, ...[...seen].sort((a, b) => b[1] - a[1]).slice(0, 10).map(([at]) => h("span", { class: "key" }, swatch(this.windows.reasons[at]!), this.windows.reasons[at]!.words)));
  }

  // --- what they spend time on ----------------------------------------------------------------------------------

  // Mean ns by reason of the windows in the rectangle, by what each of them stands for.
  private estimate(chosen: number[]): { means: Float64Array; all: number; weight: number } | null {
    const { kept } = this;
    const means = new Float64Array(this.windows.reasons.length);
    const weighted = chosen.some((i) => kept.weight[i]! > 0);
    let weight = 0, all = 0;

    if (!this.rectangle || !chosen.length) return null;
    for (const i of chosen) {
      const w = weighted ? kept.weight[i]! : 1;
      weight += w;
      all += w * kept.length[i]!;
      for (let j = kept.partsFrom[i]!; j < kept.partsFrom[i + 1]!; j++) means[kept.partReason[j]!]! += w * kept.partNs[j]!;
    }
    return { means: means.map((ns) => ns / weight), all: all / weight, weight: weighted ? weight : 0 };
  }

  private paintSums(chosen: number[]): void {
    const { info, windows } = this;
    const bands = bandsOf(info);
    const mean = (ns: number, band: Band): number => (band.count ? ns / band.count : 0);
    const part = (row: WindowService["rows"][number], band: number): number => (band === fast ? row.band_ns[0]! : band === slow ? row.band_ns[2]! : row.ns - row.band_ns[0]! - row.band_ns[2]!);
    const estimate = this.estimate(chosen);
    const more = mean(bands[slow]!.length, bands[slow]!) - mean(bands[fast]!.length, bands[fast]!);
    const head = ["time spent on", ...bands.map((band) => band.label), ...(info.compared ? ["more in slow ones", "of that"] : []), ...(estimate ? ["in the rectangle"] : [])];
    const cells = (row: WindowService["rows"][number]): string[] => {
      const sign = windows.reasons[row.reason]!.overlap ? "−" : "";
      const text = (ns: number): string => (ns ? sign + time(Math.round(ns)) : "–");
      const extra = Math.round(mean(part(row, slow), bands[slow]!) - mean(part(row, fast), bands[fast]!));
      const signed = extra < 0 && sign ? time(-extra) : text(extra);
      return [...bands.map((band, i) => text(mean(part(row, i), band))), ...(info.compared ? [signed, row.claimed && more > 0 && extra > 0 ? sign + share(extra, more) : "–"] : []), ...(estimate ? [text(estimate.means[row.reason]!)] : [])];
    };
    const shown = info.rows.filter((row) => row.ns > 0);

    fill(this.sums, ...[fast, slow].flatMap((band) => this.strip(bands[band]!, shown.map((row) => [windows.reasons[row.reason]!, part(row, band)]))),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "reasons" }, h("table", {}, h("caption", { class: "hidden" }, "mean time of a request by reason"),
        h("thead", {}, h("tr", {}, ...head.map((words, i) => h("th", { scope: "col", class: `${i ? "number" : ""}${i && i - 1 === this.band ? " chosen" : ""}` }, words)))),
        h("tbody", {}, ...shown.map((row) => h("tr", {}, h("th", { scope: "row", title: windows.reasons[row.reason]!.about || undefined }, swatch(windows.reasons[row.reason]!), windows.reasons[row.reason]!.words), ...cells(row).map((text, i) => h("td", { class: `number${i === this.band ? " chosen" : ""}` }, text)))),
          h("tr", { class: "all" }, h("th", { scope: "row" }, "all"), ...[...bands.map((band) => time(Math.round(mean(band.length, band)))), ...(info.compared ? [time(Math.round(more)), ""] : []), ...(estimate ? [time(Math.round(estimate.all))] : [])].map((text) => h("td", { class: "number" }, text)))))),
      h("p", { class: "status" }, this.note(bands, estimate, chosen)));
  }

  private note(bands: Band[], estimate: { weight: number } | null, chosen: number[]): string {
    const { windows, info } = this;
    const list = [`Means of a request, exact for ${this.data.extent}: ${bands.map((band) => number(band.count)).join(", ")} of them.`];

    if (info.compared && info.rows.some((row) => row.ns && !row.claimed)) list.push("A difference without a share is not above two standard errors.");
    if (!info.compared) list.push(`Nothing is compared: with fewer than ${windows.least} of the fastest or slowest, a difference says nothing.`);
    if (estimate) list.push(`The rectangle is an estimate from ${count(chosen.length, "dot")}${estimate.weight ? `, which stand for ${number(estimate.weight)}` : ", which stand for no others"}.`);
    if (this.rectangle && !chosen.length) list.push("There is no dot in the rectangle.");
    return list.join(" ");
  }

  private strip(band: Band, parts: [Reason, number][]): HTMLElement[] {
    if (!band.count) return [];
    return [h("p", { class: "strip-title" }, `${capital(band.label)}: ${time(Math.round(band.length / band.count))} each`), line(parts, `${band.label}: ${parts.filter(([, ns]) => ns > band.length / 100).map(([reason, ns]) => `${reason.words} ${share(ns, band.length)}`).join(", ")}`)];
  }

  // --- what they waited for -------------------------------------------------------------------------------------

  private paintWaits(chosen: number[]): void {
    const { kept, windows } = this;
    const sums = new Map<number, number>();
    let weight = 0, from = 0;

    for (const i of chosen) {
      if (!(kept.weight[i]! > 0)) continue;
      weight += kept.weight[i]!;
      from++;
      for (let j = kept.waitsFrom[i]!; j < kept.waitsFrom[i + 1]!; j++) sums.set(kept.wait[j]!, (sums.get(kept.wait[j]!) ?? 0) + kept.weight[i]! * kept.waitNs[j]!);
    }
    const list = [...sums].sort((a, b) => b[1] - a[1]);
    if (!list.length) return fill(this.waitBox);
    const which = this.rectangle ? "those in the rectangle" : this.band < 0 ? "all" : bandsOf(this.info)[this.band]!.label;
    fill(this.waitBox, h("h4", {}, `What their threads waited for: ${which}`),
      h("ul", { class: "window-waits" }, ...list.slice(0, mostWaits).map(([at, ns]) => h("li", {}, h("span", { class: "figure" }, time(Math.round(ns / weight))), swatch(windows.reasons[windows.waits[at]!.reason]!), h("span", {}, waitWords(windows, windows.waits[at]!))))),
      h("p", { class: "status" }, `Means of a request, estimated from ${count(from, "dot")}; only the longest waits of each are known.${list.length > mostWaits ? ` ${count(list.length - mostWaits, "smaller one")} not shown.` : ""}`));
  }

  // --- single ones ----------------------------------------------------------------------------------------------

  private nameOf(i: number): string {
    return this.kept.text[i] || this.windows.classes[this.kept.class[i]!]?.name || (this.info.kind === "call" ? "call" : "request");
  }

  private parts(i: number): [Reason, number][] {
    const { kept } = this;
    const list: [Reason, number][] = [];

    for (let j = kept.partsFrom[i]!; j < kept.partsFrom[i + 1]!; j++) list.push([this.windows.reasons[kept.partReason[j]!]!, kept.partNs[j]!]);
    const queued = ([reason]: [Reason, number]): number => (reason.part.startsWith("queued") ? 0 : 1);
    return list.sort((a, b) => queued(a) - queued(b) || b[1] - a[1]);
  }

  private tip(i: number, x: number, y: number): void {
    if (i < 0) return hideTip();
    showTip(x, y, h("strong", {}, `${this.nameOf(i)}: ${time(this.kept.length[i]!)}`), ...this.parts(i).slice(0, 5).map(([reason, ns]) => `${reason.words} ${reason.overlap ? "−" : ""}${time(ns)}`));
  }

  private link(i: number, words: string): HTMLElement {
    return h("button", { type: "button", class: "link", onclick: () => this.show(i) }, `${words} ${this.nameOf(i)}, ${time(this.kept.length[i]!)}`);
  }

  private relatives(i: number): HTMLElement[] {
    const { kept } = this;
    const parent = kept.parent[i]!;
    const list = parent >= 0 ? [this.link(parent, "made for")] : parent < -1 ? [h("span", {}, "made for a request that is not on this page")] : [];

    for (let j = 0; j < kept.count && list.length < 12; j++) if (kept.parent[j] === i) list.push(this.link(j, "made"));
    return list;
  }

  private show(i: number): void {
    const { kept, data, windows } = this;
    const waits: string[] = [];

    if (i < 0) return fill(this.one);
    const thread = kept.thread[i]!, parts = this.parts(i);
    this.scatter.setPicked(i);
    for (let j = kept.waitsFrom[i]!; j < kept.waitsFrom[i + 1]!; j++) waits.push(`${time(kept.waitNs[j]!)} ${waitWords(windows, windows.waits[kept.wait[j]!]!)}`);
    const status = windows.classes[kept.class[i]!]?.status;
    fill(this.one, h("h4", {}, `${this.nameOf(i)}: ${time(kept.length[i]!)}`, h("span", { class: "soft" }, ` at ${seconds(kept.begin[i]!)}${thread >= 0 ? ` in ${data.threads.comm[thread]} (tid ${data.threads.tid[thread]})` : ""}${kept.ends[i] ? ` · ${kept.ends[i]}` : ""}${status ? ` · ${status}` : ""} · window ${kept.id[i]}`)),
      line(parts, "its parts"),
      h("div", { class: "legend" }, ...parts.map(([reason, ns]) => h("span", { class: "key" }, swatch(reason), `${reason.words} ${reason.overlap ? "−" : ""}${time(ns)}`))),
      waits.length ? h("ul", { class: "window-waits" }, ...waits.map((text) => h("li", {}, text))) : null,
      ...this.relatives(i).map((one) => h("p", { class: "relative" }, one)));
  }

  private oneColumns(): Column<number>[] {
    const { kept, data } = this;

    return [
      { name: "length", text: (i) => time(kept.length[i]!), value: (i) => kept.length[i]! },
      { name: "what", text: (i) => this.nameOf(i), pick: (i) => {
        this.show(i);
        this.one.scrollIntoView({ block: "nearest" });
      } },
      { name: "at", text: (i) => seconds(kept.begin[i]!), value: (i) => kept.begin[i]! },
      { name: "mostly", text: (i) => this.windows.reasons[kept.main[i]!]?.words ?? "–" },
      { name: "thread", text: (i) => (kept.thread[i]! >= 0 ? `${data.threads.comm[kept.thread[i]!]} (tid ${data.threads.tid[kept.thread[i]!]})` : "–") },
      { name: "stands for", text: (i) => (kept.weight[i] ? number(kept.weight[i]!) : "–"), value: (i) => kept.weight[i]!, about: "how many requests of about its length; –: an example" },
    ];
  }

  private classColumns(): Column<WindowClass>[] {
    return [
      { name: "kind", text: (one) => one.name || "any" },
      { name: "ended", text: (one) => one.status || "ok" },
      { name: "time", text: (one) => time(one.length_ns), value: (one) => one.length_ns, bar: (one) => one.length_ns / (this.info.length_ns || 1) },
      { name: "number", text: (one) => number(one.count), value: (one) => one.count },
      ...percentiles.map((which) => percentileColumn<WindowClass>(which, (one) => one[`${which.key}_ns`])),
    ];
  }
}
