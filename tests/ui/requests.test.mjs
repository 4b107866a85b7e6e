/* SPDX-License-Identifier: GPL-2.0-or-later */
// The part about requests: REQUESTS.html has 2,000 of them, of which 1,000 take 100 µs, 880 200 µs, 100 1 ms and 20 20 ms.
import assert from "node:assert/strict";
import { join } from "node:path";
import { findNothingSerious, open, page, settle, shots, test, text } from "./drive.mjs";

const cells = (selector) => page.locator(`${selector} tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim())));
const band = async (name) => {
  await page.locator("#requests").getByRole("button", { name }).click();
  await settle();
};
// Drags over the part of the chart from (x, y) on, as parts of it.
const drag = async (from, to) => {
  await page.locator("#requests-chart").scrollIntoViewIfNeeded();
  const box = await page.locator("#requests-chart").boundingBox();
  const at = ([x, y]) => [box.x + 66 + (box.width - 70) * x, box.y + 6 + (box.height - 26) * y];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps: 5 });
  await page.mouse.up();
  await settle();
};

test("a page without requests has no part about them", async () => {
  await open("FEATURES");
  assert.equal(await page.locator("#requests").count(), 0);
  assert.equal(await page.locator('nav.links a[href="#requests"]').count(), 0);
});

test("means of fast and slow requests are exact and add up", async () => {
  await open("REQUESTS");
  assert.equal(await text("#requests-head h3"), "Requests to app (HTTP, 127.0.0.1:8080)");
  assert.match(await text("#requests-head .status"), /^2,000 requests · p50 102 µs · .* · 30 refused \(4xx\)$/);
  const rows = await cells("#requests-sums");
  assert.deepEqual(rows[0].slice(0, 4), ["own: wait.lock", "–", "–", "15.0 ms"]);
  assert.deepEqual(rows.at(-1).slice(0, 5), ["all", "100 µs", "282 µs", "20.0 ms", "19.9 ms"]);
  assert.ok(rows.some((row) => row[0] === "two threads at once" && row[3] === "−80.0 µs" && row[4] === "−80.0 µs"));
  assert.equal(await page.locator("#requests-sums .chosen").count(), 0);
});

test("a band shows what its requests waited for, and the flame graph their samples alone", async () => {
  await open("REQUESTS");
  await page.locator("#flame").scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.getElementById("flame-info")?.textContent);
  const whole = await text("#flame-info");
  await page.locator("#requests").scrollIntoViewIfNeeded();
  await band(/^slowest/);
  assert.match(await text("#requests-waits"), /15\.0 ms\s*own: wait\.lock · futex 0x7f0000001000 · held by logger \(tid 1004\)/);
  assert.match(await text("#chip"), /^code: the slowest 1\.0 % of the requests to app/);
  await band(/^fastest/);
  assert.equal(await page.locator("#requests-waits li").count(), 0);
  await page.locator("#flame").scrollIntoViewIfNeeded();
  await settle();
  assert.match(await text("#flame-only"), /^Only samples of threads while they worked for the fastest 50\.0 % of the requests to app/);
  assert.notEqual(await text("#flame-info"), whole);
  await page.locator("#chip").click();
  await settle();
  assert.equal(await page.locator("#flame-only").isHidden(), true);
  assert.equal(await page.locator("#requests").getByRole("button", { name: "all", exact: true }).getAttribute("aria-pressed"), "true");
});

test("a rectangle estimates the same means from the dots in it", async () => {
  await open("REQUESTS");
  await drag([0.6, 0], [1, 0.3]);
  const rows = await cells("#requests-sums");
  assert.equal(rows[0].at(-1), "15.0 ms");
  assert.equal(rows.at(-1).at(-1), "20.0 ms");
  assert.match(await text("#requests-sums .status"), /The rectangle is an estimate from 10 dots, which stand for 20\./);
  await drag([0, 0.3], [0.1, 0.4]);
  assert.match(await text("#requests-sums .status"), /There is no dot in the rectangle\./);
});

test("a single request is a line of its parts, and leads to what was made for it", async () => {
  await open("REQUESTS");
  await page.locator("#requests summary", { hasText: "Single requests" }).click();
  await page.locator("#requests").getByRole("button", { name: "GET /orders/17" }).first().click();
  assert.match(await text("#requests-one h4"), /^GET \/orders\/17: 20\.5 ms at 21\.1 s in worker-1/);
  const parts = await page.locator("#requests-one .key").allInnerTexts();
  assert.deepEqual(parts, ["queued: busy with other requests 3.00 ms", "own: wait.lock 15.5 ms", "waiting for another server's answer 2.00 ms", "own: running 80.0 µs", "two threads at once −80.0 µs"]);
  await page.locator("#requests-service").selectOption("1");
  await page.locator("#requests").getByRole("button", { name: "SELECT" }).first().click();
  await page.locator("#requests-one").getByRole("button", { name: /^made for GET \/orders\/17/ }).click();
  assert.match(await text("#requests-one h4"), /window 400$/);
});

test("a request that is called a script shows as text", async () => {
  await open("REQUESTS");
  await page.locator("#requests summary", { hasText: "Single requests" }).click();
  await page.locator("#requests summary", { hasText: "By kind" }).click();
  assert.ok((await text("#requests")).includes("GET /<script>alert(1)</script>"));
  assert.ok((await text("#requests")).includes("GET /<img src=x>"));
  assert.equal(await page.locator("main script, main img").count(), 0);
});

test("the part about requests can be used by everybody, and on a phone", async () => {
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [400, "light"]]) {
    await open("REQUESTS", width, scheme);
    await band(/^slowest/);
    await page.locator("#requests summary", { hasText: "Single requests" }).click();
    await page.locator("#requests").getByRole("button", { name: "GET /orders/17" }).first().click();
    await findNothingSerious(width, scheme);
    await page.locator("#requests").screenshot({ path: join(shots, `requests-${width}-${scheme}.png`) });
  }
});
