/* SPDX-License-Identifier: GPL-2.0-or-later */
// Functions of runtimes in the flame graph and in the table of functions.
import assert from "node:assert/strict";
import { open, page, settle, test, text } from "./drive.mjs";

const choose = async (group, key) => {
  await page.locator(`#flame [aria-label="${group}"] [data-value="${key}"]`).click();
  await settle();
};

// The names of the boxes from the outermost one on, where the first child of each is the widest.
async function widest() {
  const names = [];
  await page.locator("#flame-chart").focus();
  for (let i = 0; i < 10; i++) {
    const name = (await text("#flame-info")).split(" — ")[0];
    if (names.at(-1) === name) break;
    names.push(name);
    await page.keyboard.press("ArrowDown");
  }
  return names;
}

async function show() {
  await page.locator("#flame-chart").scrollIntoViewIfNeeded();
  await settle();
}

test("native frames can be hidden, and functions of a runtime then follow each other", async () => {
  await open("RUNTIMES");
  await show();
  assert.deepEqual(await widest(), ["all", "Py_BytesMain", "_PyEval_EvalFrameDefault", "main", "burn", "long_add"]);
  await choose("frames", "native");
  assert.deepEqual(await widest(), ["all", "main", "burn"]);
  assert.match(await text("#flame-info"), /^burn — web\.py:12 · Python — total 900 ms, 90\.0 % · self 900 ms/);
  // A stack without a function of a runtime keeps its native frames.
  await page.locator("#flame-chart").focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowRight");
  assert.match(await text("#flame-info"), /^Py_BytesMain — /);
});

test("functions of runtimes can be hidden", async () => {
  await open("RUNTIMES");
  await show();
  await choose("frames", "runtime");
  assert.deepEqual(await widest(), ["all", "Py_BytesMain", "_PyEval_EvalFrameDefault", "long_add"]);
});

for (const scheme of ["light", "dark"])
  test(`the colours of languages have a legend (${scheme})`, async () => {
    await open("RUNTIMES", 1280, scheme);
    await show();
    await choose("colour", "language");
    assert.deepEqual(await page.locator("#flame .legend .key").allInnerTexts(), ["native code", "Python"]);
  });

test("a page without runtimes has no choice of languages", async () => {
  await open("FEATURES");
  await show();
  assert.equal(await page.locator('#flame [aria-label="frames"]').count(), 0);
  assert.equal(await page.locator('#flame [data-value="language"]').count(), 0);
});
