/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_cpus.h"

#include "base/json.h"
#include "model/by_cpu.h"

static json_t *lines_json(const struct by_cpu *by_cpu)
{
	json_t *list = json_array();

	for (size_t i = 0; i < by_cpu->line_count; i++) {
		const struct by_cpu_line *line = &by_cpu->lines[i];

		json_array_append_new(list, json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
						      "name", json__text(line->name), "run_ns",
						      (json_int_t)line->run_ns, "ready_ns",
						      (json_int_t)line->ready_ns, "spare_ns",
						      (json_int_t)line->spare_ns, "pinned_ns",
						      (json_int_t)line->pinned_ns, "confined_ns",
						      (json_int_t)line->confined_ns, "idle_ns",
						      (json_int_t)line->idle_ns, "steal_ns",
						      (json_int_t)line->steal_ns));
	}
	return list;
}

static json_t *group_json(const struct model_group *group)
{
	return group ? json_pack("{s:o, s:o}", "process", json__text(group->process_comm),
				 "threads", json__text(group->name))
		     : json_null();
}

static json_t *pairs_json(const struct by_cpu *by_cpu)
{
	json_t *list = json_array();

	for (size_t i = 0; i < by_cpu->pair_count; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:I}", "ready",
						      group_json(by_cpu->pairs[i].group), "by",
						      group_json(by_cpu->pairs[i].by), "ns",
						      (json_int_t)by_cpu->pairs[i].ns));
	return list;
}

static json_t *pressures_json(const struct model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; i < model->pressure_count; i++) {
		const struct model_pressure *pressure = &model->pressures[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:I, s:I}", "cgroup",
						      json__text(pressure->cgroup), "kind",
						      json__text(pressure->kind), "some_ns",
						      (json_int_t)pressure->some_ns, "full_ns",
						      (json_int_t)pressure->full_ns, "of_ns",
						      (json_int_t)pressure->of_ns));
	}
	return list;
}

json_t *json_cpus__all(const struct model *model)
{
	struct by_cpu by_cpu;
	json_t *all;

	if (by_cpu__find(model, NULL, &by_cpu))
		return NULL;
	all = json_pack("{s:o, s:o, s:o}", "cpus", lines_json(&by_cpu), "occupants",
			pairs_json(&by_cpu), "pressures", pressures_json(model));
	by_cpu__release(&by_cpu);
	return all;
}
