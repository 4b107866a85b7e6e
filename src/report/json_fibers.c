/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_fibers.h"

#include "base/json.h"
#include "report/json_hot.h"

static json_t *text_or_null(const char *text)
{
	return text ? json__text(text) : json_null();
}

static json_t *wait_json(const struct model *model, const struct fibers_wait *wait)
{
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:o}", "state",
			 runtime__fiber_state(wait->state), "reason", text_or_null(wait->reason),
			 "object", text_or_null(wait->object_name), "fibers",
			 (json_int_t)wait->fibers, "ns", (json_int_t)wait->sum.ns, "error_ns",
			 (json_int_t)hot__error_ns(&wait->sum), "samples",
			 (json_int_t)wait->sum.samples, "stack",
			 json_hot__functions(&model->hot, wait->node));
}

/* null: changes were not recorded. */
static json_t *exact_json(const struct fibers_group *group)
{
	json_t *list = group->exact_count ? json_array() : json_null();

	for (size_t i = 0; i < group->exact_count; i++) {
		const struct fibers_exact *exact = &group->exact[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:I}", "state",
						      runtime__fiber_state(exact->state), "reason",
						      text_or_null(exact->reason), "ns",
						      (json_int_t)exact->ns, "changes",
						      (json_int_t)exact->changes));
	}
	return list;
}

json_t *json_fibers__group(const struct model *model, size_t i)
{
	const struct fibers_group *group = &model->fibers.groups[i];
	json_t *states = json_object(), *waits = json_array();

	for (int state = 0; state < FIBER_STATES; state++)
		json_object_set_new(states, runtime__fiber_state((enum fiber_state)state),
				    json_integer(group->sums[state].ns));
	for (size_t j = 0; j < group->wait_count; j++)
		json_array_append_new(waits, wait_json(model, &group->waits[j]));
	return json_pack("{s:o, s:o, s:b, s:I, s:I, s:I, s:o, s:o, s:o}", "start",
			 text_or_null(group->start), "process", json__text(group->process_comm),
			 "of_runtime", group->is_internal, "fibers", (json_int_t)group->fibers,
			 "run_ns", (json_int_t)group->run.ns, "run_error_ns",
			 (json_int_t)hot__error_ns(&group->run), "states_ns", states, "waits",
			 waits, "exact", exact_json(group));
}
