/* SPDX-License-Identifier: GPL-2.0-or-later */
// The page of `diff --html`: DIFF.html of make_diff's recordings, PAIR.html of one on each side, and what --json says of both.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findNothingSerious, folder, open, page, settle, shots, test, text, time } from "./drive.mjs";

const json = JSON.parse(readFileSync(join(folder, "DIFF.json"), "utf8"));
const pair = JSON.parse(readFileSync(join(folder, "PAIR.json"), "utf8"));
const hostile = "<img src=x onerror=alert(3)>";
const rowHeight = 19;

const show = async (name = "DIFF", width, scheme) => {
  await open(name, width, scheme);
  await page.locator("#diff-code").scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.getElementById("diff-code-info")?.textContent);
  await settle();
};
const rows = () => page.locator("#diff-changes tbody tr").evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.innerText)));
const pick = (group, name) => page.locator(group).getByRole("button", { name, exact: true }).click();
const sortBy = (name) => page.locator("#diff-changes thead").getByRole("button", { name }).click();
const more = async () => {
  const button = page.locator("#diff-changes button.more");
  while (await button.isVisible()) await button.click();
};
const search = async (words) => {
  await page.fill("#diff-code-search", words);
  return text("#diff-code-found");
};

// As src/diff/verdict.c has them.
const plain = (change) => (["function", "syscall"].includes(change.class) ? change.name.slice(change.name.indexOf(":") + 1) : change.name);
function value(amount, unit) {
  if (unit === "ns") return Math.round(amount) ? time(Math.round(amount)) : "0 s";
  return `${amount >= 1000 ? Math.round(amount).toLocaleString("en-US") : Number(amount.toPrecision(3))} ${unit}`;
}
function ratio(change) {
  if (change.base.mean === change.new.mean) return "+0.0 %";
  if (change.ratio === null) return "new";
  const percent = change.ratio * 100;
  if (percent <= -100) return "gone";
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(Math.abs(percent) < 100 ? 1 : 0)} %`;
}

test("diff: verdict, warnings, gates and recordings are those of the JSON", async () => {
  await show();
  assert.deepEqual(await page.locator(".verdict p, .verdict li").allInnerTexts(), json.verdict);
  assert.deepEqual(await page.locator(".warnings li").allInnerTexts(), json.warnings.map((line) => `⚠ warning: ${line}`));
  assert.ok(json.warnings.some((line) => line.includes("has losses")));
  const gates = await page.locator(".gates li").allInnerTexts();
  assert.deepEqual(json.gates.map((gate) => gate.crossed), [true, false]);
  json.gates.forEach((gate, i) => assert.ok(gates[i].startsWith(`${gate.crossed ? "✗ crossed" : "✓ kept"}: ${gate.condition}`), gates[i]));
  await page.locator(".sides summary").nth(1).click();
  assert.deepEqual((await page.locator(".sides details").nth(1).locator("li").allInnerTexts()).map((line) => line.split(" · ")[0]), json.recordings.filter((run) => run.side === "new").map((run) => run.path));
  assert.ok((await text("#rest")).endsWith(`the report on the first new recording alone, ${json.recordings.find((run) => run.side === "new").path}.`));
  assert.equal(await page.locator("main > :first-child").getAttribute("id"), "diff");
});

test("diff: every comparison has the numbers of the JSON, and a mark for each recording", async () => {
  await show();
  await more();
  const list = await rows();
  assert.equal(list.length, json.changes.length);
  for (const change of json.changes) {
    const row = list.find((cells) => cells[1].split("\n")[0] === `${change.measure} ${plain(change)}` && cells[7].replace("as a ", "") === change.class);
    const off = change.new.mean - change.base.mean;
    assert.ok(row, `${change.class} ${change.measure} ${change.name}`);
    assert.deepEqual(row.slice(2, 7), [value(change.base.mean, change.unit), value(change.new.mean, change.unit), `${off < 0 ? "−" : "+"}${value(Math.abs(off), change.unit)}`, ratio(change), change.chance < 0.001 ? "<0.001" : change.chance.toFixed(3)]);
    assert.equal(row[0], change.certain ? "● yes" : "○ no");
    if (change.about) assert.equal(row[1].split("\n")[1], `from ${change.about}`);
  }
  assert.ok(list.some((row) => row[2].endsWith(" requests")));
  const plot = page.locator("#diff-changes tbody tr", { hasText: "compute (app)" }).locator("svg");
  assert.equal(await plot.locator("circle").count(), 5);
  assert.equal(await plot.locator("path").count(), 5);
});

test("diff: certain changes come first, and the table sorts and filters", async () => {
  await show();
  const marks = (await rows()).map((row) => row[0]);
  assert.ok(json.certain > 0 && marks.slice(0, json.certain).every((mark) => mark === "● yes"));
  assert.ok(marks.slice(json.certain).every((mark) => mark === "○ no"));
  await sortBy("%");
  assert.equal((await rows())[0][5], "new");
  await sortBy("%");
  assert.equal((await rows())[0][5], "gone");
  await page.locator("#diff-changes input").fill("MUTEX");
  const found = await rows();
  assert.ok(found.length >= 2 && found.every((row) => row[1].includes("pthread_mutex_lock")));
  await page.locator("#diff-changes input").fill("");
  await pick("#diff-changes", "function");
  assert.equal((await rows()).length, json.changes.filter((change) => change.class === "function").length);
});

test("diff: a function that grew has base, new and change where it is pointed at", async () => {
  await show();
  const grown = json.changes.find((change) => change.name === "function:compute (app)");
  const chart = page.locator("#diff-code-chart");
  const box = await chart.boundingBox();
  // The widest child of the widest child of the root.
  await chart.hover({ position: { x: 30, y: 2.5 * rowHeight } });
  const tip = await text(".tip");
  const numbers = `base ${time(grown.base.mean)}, new ${time(grown.new.mean)}, +${time(grown.new.mean - grown.base.mean)}, ${ratio(grown)}`;
  assert.ok(tip.startsWith(`compute (app)\nper run: ${numbers}\n`), tip);
  assert.match(tip, /● wherever it is called: runs .* more than noise \(chance <0\.001\)/);
  assert.equal(ratio(grown), "+25.3 %");
  assert.equal(await search("compute"), numbers);
});

test("diff: search, zoom, keys, widths, running and waiting, inverted", async () => {
  await show();
  const buttons = () => page.locator("#diff-code .trail button").count();
  assert.equal(await search("no such function"), "not found");
  assert.match(await search("pthread_mutex"), /^base 0 s, new 5\.01 s, \+5\.01 s, new$/);
  assert.match(await search("old_cache"), /^base 3\.00 s, new 0 s, −3\.00 s, gone$/);
  await search("");
  await page.locator("#diff-code-chart").focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await text("#diff-code-info"), /^main \(app\) — per run: base 19\.0 s/);
  await page.keyboard.press("ArrowRight");
  assert.match(await text("#diff-code-info"), /^work \(app\) — per run: base 0 s/);
  await page.keyboard.press("Enter");
  assert.equal(await buttons(), 2);
  await page.keyboard.press("Escape");
  assert.equal(await buttons(), 1);
  await page.locator("#diff-code-chart").click({ position: { x: 30, y: 2.5 * rowHeight } });
  assert.equal(await buttons(), 3);
  await page.locator("#diff-code-reset").click();
  await pick("#diff-code", "waiting");
  assert.match(await text("#diff-code-info"), /^all — per run: base 0 s, new 5\.01 s/);
  await pick("#diff-code", "running");
  assert.match(await text("#diff-code-info"), /^all — per run: base 19\.0 s, new 18\.0 s, −976 ms, −5\.1 %/);
  await pick("#diff-code", "inverted");
  await page.locator("#diff-code-chart").focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await text("#diff-code-info"), /^compute \(app\) — per run: base 8\.00 s/);
  for (const name of ["base", "new", "ratio", "both", "above"]) await pick("#diff-code", name);
  assert.match(await text("#diff-code-info"), /^all —/);
});

// How often the colour changes along a line through a box.
const changes = (x, y, w) => page.locator("#diff-code-chart").evaluate((canvas, at) => {
  const ratio = canvas.width / canvas.clientWidth;
  const copy = new OffscreenCanvas(Math.floor(at.w * ratio), 1).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, -Math.round(at.x * ratio), -Math.round(at.y * ratio));
  const { data } = copy.getImageData(0, 0, copy.canvas.width, 1);
  let count = 0;
  for (let i = 4; i < data.length; i += 4) if (Math.abs(data[i] - data[i - 4]) + Math.abs(data[i + 1] - data[i - 3]) + Math.abs(data[i + 2] - data[i - 2]) > 24) count++;
  return count;
}, { x, y, w });

test("diff: what is new and what is gone can be told without colour", async () => {
  await show();
  const box = await page.locator("#diff-code-chart").boundingBox();
  const mean = (name) => json.changes.find((change) => change.name === `function:${name}`);
  const larger = ["compute (app)", "parse (app)", "old_cache (app)", `${hostile} (app)`].map((name) => Math.max(mean(name).base.mean, mean(name).new.mean));
  const main = larger.reduce((sum, ns) => sum + ns, 0), all = main + mean("pthread_mutex_lock (app)").new.mean;
  const x = (ns) => (box.width * ns) / all;
  const top = (depth) => depth * rowHeight + 1;
  assert.equal(await changes(5, top(2), x(larger[0]) - 10), 0, "grown");
  assert.ok((await changes(x(main) + 5, top(1), x(all - main) - 10)) > 20, "new");
  assert.ok((await changes(x(larger[0] + larger[1]) + 5, top(2), x(larger[2]) - 10)) > 20, "gone");
});

test("diff: a function in the table is found in the graph", async () => {
  await show();
  await page.locator("#diff-changes tbody tr", { hasText: "compute (app)" }).getByRole("button").click();
  assert.equal(await page.locator("#diff-code-search").inputValue(), "compute (app)");
  assert.match(await text("#diff-code-found"), /\+25\.3 %$/);
});

test("diff: hostile names show as text", async () => {
  await show();
  assert.ok((await text("#diff-changes")).includes(`${hostile} (app)`));
  assert.match(await search(hostile), /^base 2\./);
  assert.equal(await page.locator("main script, main img").count(), 0);
});

test("diff: a pair claims nothing", async () => {
  await show("PAIR");
  assert.deepEqual(await page.locator(".verdict p").allInnerTexts(), pair.verdict);
  assert.match(await text(".verdict"), /within-run only/);
  assert.ok((await rows()).every((row) => row[0] === "? unknown"));
  assert.equal(await page.locator("#diff-changes thead th", { hasText: "chance" }).count(), 0);
  assert.equal(await page.locator("#diff-changes svg").count(), 0);
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
  test(`diff: no serious finding of axe at ${width} px, ${scheme}, and nothing wider than the screen`, async () => {
    await show("DIFF", width, scheme);
    await findNothingSerious(width, scheme);
    await page.screenshot({ path: join(shots, `diff-${width}-${scheme}.png`), fullPage: true });
  });
}
