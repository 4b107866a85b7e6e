/* SPDX-License-Identifier: GPL-2.0-or-later */
// The browser, what every test of the page needs of it, and the list of tests.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const [, , folder, shots] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const tests = [];
export const test = (name, run) => tests.push({ name, run });
const profile = mkdtempSync(join(tmpdir(), "gapless-ui-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
export const page = context.pages()[0] ?? (await context.newPage());
let complaints = [];

// In CI the browser shares two CPUs with two VMs.
page.setDefaultTimeout(120_000);

page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("dialog", (dialog) => {
  complaints.push(`dialog: ${dialog.message()}`);
  dialog.dismiss();
});
page.on("request", (request) => !request.url().startsWith("file:") && complaints.push(`request: ${request.url()}`));

export async function open(name, width = 1280, scheme = "light") {
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  const start = Date.now();
  await page.goto(`file://${join(folder, `${name}.html`)}`, { waitUntil: "load" });
  await page.waitForSelector("#about");
  return Date.now() - start;
}

// A change is drawn in the next frame, or when the brush rests.
export const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200)))));
export const text = (selector) => page.locator(selector).first().innerText();

// As src/base/words.c has it.
export function time(ns) {
  const units = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];
  let i = 0;
  if (!ns) return "–";
  while (i < 3 && ns / units[i][0] >= 999.5) i++;
  const scaled = ns / units[i][0];
  return `${scaled.toFixed(i === 0 || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2)} ${units[i][1]}`;
}

export async function findNothingSerious(width, scheme) {
  await page.evaluate(() => scrollTo(0, 0));
  await settle();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
  assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 150)).join(" | ")}`), []);
}

export async function run() {
  let failed = 0;

  console.log(`1..${tests.length}`);
  for (const { name, run } of tests) {
    complaints = [];
    try {
      await run();
      assert.deepEqual(complaints, []);
      console.log(`ok - ${name}`);
    } catch (error) {
      failed++;
      console.log(String(error.stack ?? error).replace(/^/gm, "# "));
      console.log(`not ok - ${name}`);
    }
  }
  await context.close();
  rmSync(profile, { recursive: true, force: true });
  return failed;
}
