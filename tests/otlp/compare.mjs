/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node compare.mjs PAGES requests FOLDER | victoria-metrics URL: pages that were scraped from the agent against what a
 * receiver has of the same steps. Fails unless at least three steps were seen by both and agree in every series.
 */
import fs from "node:fs";
import path from "node:path";

import { differences, numbersOfPage, numbersOfRequest, stepSeries } from "./otlp.mjs";

const LEAST_STEPS = 3;
const [, , pages, kind, where] = process.argv;

function readFiles(folder, ending) {
	return fs
		.readdirSync(folder)
		.filter((name) => name.endsWith(ending))
		.map((name) => fs.readFileSync(path.join(folder, name), "utf8"));
}

function stepsOf(list) {
	return new Map(list.map((numbers) => [numbers.get(stepSeries), numbers]));
}

/* Samples by their time: one time is one step. */
async function readVictoriaMetrics(url) {
	const match = encodeURIComponent('{__name__=~"gapless_.*",le="",vmrange=""}');
	const answer = await fetch(`${url}/api/v1/export?match[]=${match}`);
	const steps = new Map();

	for (const line of (await answer.text()).split("\n").filter(Boolean)) {
		const { metric, values, timestamps } = JSON.parse(line);
		const { __name__: name, ...labels } = metric;
		/* Labels of the resource have dots, or underscores after the translation of names. */
		for (const key of Object.keys(labels)) if (/^(service|host|k8s|scope|otel|job|instance)[._]?/.test(key) && key !== "service") delete labels[key];
		const key = `${name}{${Object.keys(labels).sort().map((k) => `${k}=${JSON.stringify(labels[k])}`)}}`;
		timestamps.forEach((time, i) => {
			if (!steps.has(time)) steps.set(time, new Map());
			steps.get(time).set(key, values[i]);
		});
	}
	return [...steps.values()];
}

const wanted = stepsOf(readFiles(pages, ".txt").map(numbersOfPage));
const isExact = kind === "requests";
const found = stepsOf(
	isExact ? readFiles(where, ".json").map((text) => numbersOfRequest(JSON.parse(text))) : await readVictoriaMetrics(where),
);
/* VictoriaMetrics keeps numbers as decimals of 15 digits or so. */
const most = isExact ? 0 : 1e-12;
let steps = 0;
let series = 0;

for (const [step, numbers] of wanted) {
	const other = isExact ? found.get(step) : [...found].find(([k]) => Math.abs(k - step) <= most * step)?.[1];
	if (!other) continue;
	const wrong = differences(numbers, other, most);

	if (wrong.length) {
		console.log(wrong.slice(0, 20).join("\n"));
		console.log(`${wrong.length} of ${numbers.size} series differ`);
		process.exit(1);
	}
	steps++;
	series = numbers.size;
}
console.log(`${steps} steps of ${series} series agree (${wanted.size} pages, ${found.size} received)`);
process.exit(steps >= LEAST_STEPS ? 0 : 1);
