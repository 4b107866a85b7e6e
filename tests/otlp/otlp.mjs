/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of OTLP and pages of Prometheus as maps from a series to its number, by which both can be compared. */
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

/* Packages are below the folder in which the test runs. */
const protobuf = createRequire(path.join(process.cwd(), "x.js"))("protobufjs");
const here = path.dirname(fileURLToPath(import.meta.url));
const request = protobuf.loadSync(path.join(here, "metrics.proto")).lookupType("otlp.Request");

export function decode(bytes) {
	return request.toObject(request.decode(bytes), { longs: String, arrays: true, defaults: true });
}

/* "name{a="b",c="d"}", with the labels in their order. */
function series(name, labels) {
	return `${name}{${Object.keys(labels).sort().map((key) => `${key}=${JSON.stringify(labels[key])}`)}}`;
}

function attributes(list) {
	return Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue]));
}

function addHistogram(name, point, numbers) {
	const labels = attributes(point.attributes);
	const counted = (point.positive?.bucketCounts ?? []).reduce((sum, n) => sum + BigInt(n), BigInt(point.zeroCount));

	if (point.scale !== 3 || counted !== BigInt(point.count)) throw new Error(`${name}: buckets do not add up`);
	numbers.set(series(`${name}_count`, labels), Number(point.count));
	numbers.set(series(`${name}_sum`, labels), point.sum);
}

function addMetric(metric, numbers) {
	const name = metric.name.replaceAll(".", "_");

	for (const point of metric.exponentialHistogram?.dataPoints ?? []) addHistogram(name, point, numbers);
	for (const data of [metric.sum, metric.gauge])
		for (const point of data?.dataPoints ?? []) {
			const value = point.value === "asInt" || point.asDouble === undefined ? Number(point.asInt) : point.asDouble;

			numbers.set(series(metric.sum ? `${name}_total` : name, attributes(point.attributes)), value);
		}
}

/* The numbers of a decoded request, under the names that Prometheus has for them. */
export function numbersOfRequest(decoded) {
	const numbers = new Map();

	for (const resource of decoded.resourceMetrics)
		for (const scope of resource.scopeMetrics) for (const metric of scope.metrics) addMetric(metric, numbers);
	return numbers;
}

/* The numbers of a page in the text format, without the classic buckets. */
export function numbersOfPage(text) {
	const numbers = new Map();

	for (const line of text.split("\n")) {
		const found = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);

		if (!found || found[1].endsWith("_bucket")) continue;
		const labels = {};
		for (const [, key, value] of (found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
			labels[key] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
		numbers.set(series(found[1], labels), Number(found[3]));
	}
	return numbers;
}

/* A double has nanoseconds of 104 days; of larger numbers, such as times, the last digit may differ. */
const EXACT_SECONDS = 2 ** 53 / 1e9;

/* Every series of both, and no other, with the same number. `most` is the relative error that is allowed. */
export function differences(wanted, found, most = 0) {
	const wrong = [];

	for (const [name, number] of wanted) {
		const other = found.get(name);
		const error = Math.max(most, number > EXACT_SECONDS ? Number.EPSILON : 0) * Math.abs(number);

		if (other === undefined) wrong.push(`${name}: missing`);
		else if (Math.abs(other - number) > error) wrong.push(`${name}: ${number}, but ${other}`);
	}
	for (const name of found.keys()) if (!wanted.has(name)) wrong.push(`${name}: not on the page`);
	return wrong;
}

/* What is different in every step, and so tells which request belongs to which page. */
export const stepSeries = series("gapless_agent_cpu_seconds_total", {});
