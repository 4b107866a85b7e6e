/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node queries.mjs URL DASHBOARD.json...: prints TAP of every query of the dashboards and of the rules that this
 * Prometheus has loaded. Queries of dashboards and recording rules must have a result; alerts must be evaluated.
 */
import fs from "node:fs";
import path from "node:path";

const [, , url, ...files] = process.argv;
/* What Grafana puts in. */
const variables = { __rate_interval: "30s", instance: ".*", namespace: ".*", service: ".*", cause: ".*" };
let count = 0;

function report(isOk, name, why) {
	count++;
	console.log(`${isOk ? "ok" : "not ok"} ${count} - ${name}`);
	if (!isOk) console.log(`# ${why}`);
}

function fillIn(text) {
	return text.replace(/\$(\w+)/g, (_, name) => {
		if (!(name in variables)) throw new Error(`no variable '${name}'`);
		return variables[name];
	});
}

async function ask(call, parameters) {
	const answer = await fetch(`${url}/api/v1/${call}?${new URLSearchParams(parameters)}`);
	const { status, data, error } = await answer.json();

	if (status !== "success") throw new Error(error);
	return data;
}

/* A number that is not one (0/0) is no result. */
function hasNumber({ result }) {
	return result.some(({ value }) => Number.isFinite(Number(value[1])));
}

async function checkQuery(name, query, mayBeEmpty) {
	try {
		const data = await ask("query", { query: fillIn(query) });

		report(mayBeEmpty || hasNumber(data), name, `no result: ${query}`);
	} catch (error) {
		report(false, name, `${error.message}: ${query}`);
	}
}

/* label_values(METRIC, LABEL), which Grafana asks by itself. */
async function checkVariable(name, query) {
	const [, metric, label] = /^label_values\((.*), (\w+)\)$/.exec(query);
	const values = await ask(`label/${label}/values`, { "match[]": fillIn(metric) });

	report(values.length > 0, name, `no values: ${query}`);
}

async function checkDashboard(file) {
	const { panels, templating } = JSON.parse(fs.readFileSync(file, "utf8"));
	const board = path.basename(file, ".json");

	for (const variable of templating.list.filter(({ type }) => type === "query"))
		/* A machine without Kubernetes has no namespaces. */
		if (variable.name !== "namespace") await checkVariable(`${board}: variable ${variable.name}`, variable.query.query);
	for (const panel of panels)
		for (const target of panel.targets ?? []) await checkQuery(`${board}: ${panel.title} ${target.refId}`, target.expr, false);
}

for (const file of files) await checkDashboard(file);
for (const group of (await ask("rules", {})).groups)
	for (const rule of group.rules) {
		report(rule.health === "ok", `rule ${rule.name} is evaluated`, `${rule.health} ${rule.lastError}`);
		await checkQuery(`rule ${rule.name} ${rule.type}`, rule.query.replaceAll("$", ""), rule.type === "alerting");
	}
console.log(`1..${count}`);
