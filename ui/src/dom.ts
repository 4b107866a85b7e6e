/* SPDX-License-Identifier: GPL-2.0-or-later */
// Creates elements from text only. Names in a recording are untrusted, so nothing here parses HTML.

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);

  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as unknown as EventListener);
    else if (name === "class") element.className = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, ...children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number>, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);

  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  add(element, ...children);
  return element;
}

export function add(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

export function section(id: string, title: string, about: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` },
    h("div", { class: "heading" }, h("h2", { id: `${id}-title` }, title), h("p", { class: "about" }, about)), ...children);
}

// A group of buttons to choose one of a few words.
export function choice(label: string, words: [string, string][], value: string, pick: (value: string) => void): HTMLElement {
  const group = h("div", { class: "choice", role: "group", "aria-label": label });

  for (const [key, text] of words) {
    const button = h("button", { type: "button", "data-value": key, "aria-pressed": String(key === value), onclick: () => {
      for (const other of group.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      pick(key);
    } }, text);
    group.append(button);
  }
  return h("div", { class: "control" }, h("span", { class: "label" }, label), group);
}

// A canvas as large as its container, sharp on any screen. `draw` uses CSS pixels.
export class Surface {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  private asked = false;
  private static readonly all = new Set<Surface>();

  // Draws at once, because no animation frame runs while a page is being printed.
  static paintAll(): void {
    for (const surface of Surface.all) if (surface.canvas.isConnected) surface.paintNow();
  }

  constructor(label: string, height: number, private readonly draw: () => void, role = "img") {
    this.canvas = h("canvas", { role, "aria-label": label });
    this.context = this.canvas.getContext("2d", { alpha: true })!;
    this.resize(height);
    Surface.all.add(this);
    new ResizeObserver(() => this.fit()).observe(this.canvas);
  }

  resize(height: number): void {
    this.height = height;
    this.canvas.style.height = `${height}px`;
    this.fit();
  }

  private fit(): void {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;

    if (!width) return;
    this.width = width;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.paint();
  }

  // Repaints at most once per frame.
  paint(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paintNow();
    });
  }

  private paintNow(): void {
    const ratio = window.devicePixelRatio || 1;

    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    if (this.width) this.draw();
  }
}

let tip: HTMLElement | undefined;

// A tooltip beside the pointer. It repeats what can be read elsewhere, so screen readers do not announce it.
export function showTip(x: number, y: number, ...lines: Child[]): void {
  if (!tip) {
    tip = h("div", { class: "tip", "aria-hidden": "true" });
    document.body.append(tip);
  }
  fill(tip, ...lines.map((line) => (line instanceof Node ? line : h("div", {}, line))));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8))}px`;
  tip.style.top = `${Math.max(4, y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18)}px`;
}

export function hideTip(): void {
  if (tip) tip.hidden = true;
}
