/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_resident.h"

static json_t *point_json(const struct model *model, const struct resident_point *point)
{
	json_t *object = json_pack("{s:I}", "at_ns", (json_int_t)(point->time_ns - model->from_ns));

	for (int i = 0; i < RESIDENT_KINDS; i++)
		json_object_set_new(object, resident__name(i), json_integer(point->bytes[i]));
	return object;
}

json_t *json_resident__process(const struct model *model, size_t i)
{
	const struct resident_process *process = &model->resident.list[i];
	json_t *points = json_array();

	for (size_t j = 0; j < process->point_count; j++)
		json_array_append_new(points, point_json(model, &process->points[j]));
	return json_pack("{s:I, s:s, s:I, s:o, s:o}", "pid", (json_int_t)process->pid, "comm",
			 process->comm, "readings", (json_int_t)process->readings, "peak",
			 point_json(model, &process->peak), "points", points);
}

json_t *json_resident__allocated(const struct model *model, size_t i)
{
	const struct allocated_thread *allocated = &model->allocated.list[i];
	const struct model_thread *thread = allocated->thread;

	return json_pack("{s:I, s:I, s:s, s:I, s:I}", "pid", (json_int_t)thread->pid, "tid",
			 (json_int_t)thread->tid, "comm", thread->comm, "bytes",
			 (json_int_t)allocated->bytes, "of_ns", (json_int_t)allocated->of_ns);
}
