/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node types.mjs DASHBOARD.json...: prints TypeScript that compiles only if the dashboards have the types of
 * @grafana/schema, and the options and fields of each panel those of its kind.
 */
import fs from "node:fs";

const kinds = { timeseries: "TimeSeries", stat: "Stat", table: "Table", heatmap: "Heatmap" };

console.log('import type { Dashboard } from "@grafana/schema";');
for (const [kind, name] of Object.entries(kinds))
	console.log(`import type * as ${kind} from "@grafana/schema/dist/esm/raw/composable/${kind}/panelcfg/x/${name}PanelCfg_types.gen";`);
/* JSON has the values of enums, not their names. */
console.log(`
type Plain<T> = unknown extends T ? T : T extends string ? \`\${T}\` : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Fields = { timeseries: timeseries.FieldConfig; stat: {}; table: table.FieldConfig; heatmap: heatmap.FieldConfig };`);

process.argv.slice(2).forEach((file, n) => {
	const dashboard = JSON.parse(fs.readFileSync(file, "utf8"));

	console.log(`export const dashboard${n}: Plain<Dashboard> = ${JSON.stringify(dashboard)};`);
	for (const panel of dashboard.panels.filter(({ type }) => type !== "row")) {
		if (!kinds[panel.type]) throw new Error(`${file}: panel '${panel.title}' has the unknown type '${panel.type}'`);
		console.log(`export const options${n}_${panel.id}: Plain<Partial<${panel.type}.Options>> = ${JSON.stringify(panel.options)};`);
		console.log(
			`export const fields${n}_${panel.id}: Plain<Partial<Fields["${panel.type}"]>> = ${JSON.stringify(panel.fieldConfig.defaults.custom)};`,
		);
	}
});
