/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_signals.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "findings/lock_sites.h"
#include "findings/locks.h"
#include "findings/signal_words.h"
#include "report/json_heap.h"
#include "report/json_hot.h"
#include "report/json_percentiles.h"
#include "vocabulary/histogram.h"

/* Limit on lists that can be long. The recording has all entries. */
#define LIST_MOST 100

static json_t *number(int64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text ? json__text(text) : json_null();
}

static json_t *who_json(const struct model_group *group, const struct model_thread *thread)
{
	if (!group)
		return json_null();
	if (!thread && group->members == 1)
		thread = group->first;
	return json_pack("{s:o, s:o, s:o, s:o}", "name",
			 json__text(thread ? thread->comm : group->name), "process",
			 json__text(group->process_comm), "pid",
			 thread ? number(thread->pid) : json_null(), "tid",
			 thread ? number(thread->tid) : json_null());
}

static json_t *object_json(const struct signals_object *object)
{
	return object ? json_pack("{s:o, s:o}", "kind", json__text(object->kind), "name",
				  json__text(object->name))
		      : json_null();
}

static json_t *buckets_json(const struct bucket *list, size_t count)
{
	json_t *buckets = json_array();

	for (size_t i = 0; i < count; i++) {
		__u64 start = histogram_bucket_start((__u32)list[i].number);

		json_array_append_new(
			buckets, json_pack("[I, I]", (json_int_t)start, (json_int_t)list[i].count));
	}
	return buckets;
}

/* Values by the names of their measures; with percentiles if there is a histogram. */
static json_t *values_json(const struct signals_signal *signal, const struct signals_sum *sum,
			   const struct signals_row *row)
{
	json_t *values = json_object();

	for (int i = 0; i < signal->measure_count; i++) {
		const struct model_histogram *histogram = row ? &row->histograms[i] : NULL;
		json_t *name, *value;

		if (!signal->measures[i].name)
			continue;
		value = json_pack("{s:o, s:I, s:I}", "unit", json__text(signal->measures[i].unit),
				  "sum", (json_int_t)sum->sum[i], "max", (json_int_t)sum->max[i]);
		if (histogram && histogram->count) {
			json_percentiles__put(value, "", row->percentiles[i]);
			json_object_set_new(value, "count", number(histogram->count));
			json_object_set_new(
				value, "buckets",
				buckets_json(histogram->buckets, histogram->bucket_count));
		}
		name = json__text(signal->measures[i].name);
		json_object_set_new(values, json_string_value(name), value);
		json_decref(name);
	}
	return values;
}

static json_t *humps_json(const struct signals_signal *signal, const struct signals_row *row)
{
	struct hump hump;

	if (!signal_words__hump(signal, row, &hump))
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I}", "low_count", (json_int_t)hump.low_count, "low_ns",
			 (json_int_t)hump.low, "high_count", (json_int_t)hump.high_count, "high_ns",
			 (json_int_t)hump.high);
}

static json_t *owners_json(const struct signals_row *row)
{
	json_t *list = json_array();

	for (size_t i = 0; i < row->owner_count; i++) {
		const struct signals_owner *owner = &row->owners[i];
		json_t *one = json_pack("{s:o, s:o, s:I}", "pid",
					owner->pid ? number(owner->pid) : json_null(), "comm",
					json__text(owner->comm), "count",
					(json_int_t)owner->histogram->count);

		json_percentiles__put(one, "", owner->percentiles);
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *rows_json(const struct signals_signal *signal)
{
	json_t *list = json_array();

	for (size_t i = 0; i < signal->row_count; i++) {
		const struct signals_row *row = &signal->rows[signal->ranks[i]];

		json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}",
						      "place", json__text(row->place), "operation",
						      json__text(row->operation), "count",
						      (json_int_t)row->part.sum.count, "errors",
						      (json_int_t)row->errors, "by",
						      who_json(row->part.group, row->part.thread),
						      "humps", humps_json(signal, row), "values",
						      values_json(signal, &row->part.sum, row),
						      "by_process", owners_json(row)));
	}
	return list;
}

static json_t *parts_json(const struct signals_signal *signal, const struct signals_parts *parts,
			  json_t *(*begin)(const struct signals_signal *signal,
					   const struct signals_part *part))
{
	json_t *list = json_array();

	for (size_t i = 0; i < parts->count && i < LIST_MOST; i++) {
		const struct signals_part *part = &parts->list[i];
		json_t *one = begin(signal, part);

		json_object_set_new(one, "count", number(part->sum.count));
		json_object_set_new(one, "by", who_json(part->group, part->thread));
		json_object_set_new(one, "values", values_json(signal, &part->sum, NULL));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *nothing_more(const struct signals_signal *signal, const struct signals_part *part)
{
	return json_object();
}

static json_t *object_part(const struct signals_signal *signal, const struct signals_part *part)
{
	const struct signals_row *row = &signal->rows[part->first->row];

	return json_pack("{s:o, s:o, s:o}", "object", object_json(part->first->object), "place",
			 json__text(row->place), "operation", json__text(row->operation));
}

static json_t *failure_part(const struct signals_signal *signal, const struct signals_part *part)
{
	char error[64] = "";

	signal_words__error(part->first->error, error, sizeof(error));
	return json_pack("{s:o, s:I, s:s, s:o}", "operation",
			 json__text(signal->rows[part->first->row].operation), "errno",
			 (json_int_t)part->first->error, "error", error, "object",
			 object_json(part->first->object));
}

static json_t *services_json(const struct signals_signal *signal)
{
	json_t *list = json_array();

	for (size_t i = 0; i < signal->service_count && i < LIST_MOST; i++) {
		const struct signals_service *service = &signal->services[i];

		json_array_append_new(
			list,
			json_pack("{s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
				  "s:o}",
				  "name", json__text(service->name), "accepts", service->accepts,
				  "connections", (json_int_t)service->connections, "opened",
				  (json_int_t)service->opened, "ended", (json_int_t)service->ended,
				  "lifetime_ns", (json_int_t)service->lifetime_ns, "bytes",
				  (json_int_t)service->bytes, "segments",
				  (json_int_t)service->segments, "sent_again",
				  (json_int_t)service->again, "resets", (json_int_t)service->resets,
				  "overflows", (json_int_t)service->overflows, "zero_windows",
				  (json_int_t)service->zero_windows, "by",
				  who_json(service->group, service->thread)));
	}
	return list;
}

static json_t *programs_json(const struct signals_signal *signal)
{
	json_t *list = json_array();

	for (size_t i = 0; i < signal->program_count; i++) {
		const struct signals_program *program = &signal->programs[i];

		json_array_append_new(list, json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "file",
						      json__text(program->file), "parent",
						      text_or_null(program->parent), "count",
						      (json_int_t)program->count, "ended",
						      (json_int_t)program->ended, "lifetime_ns",
						      (json_int_t)program->lifetime_ns, "max_ns",
						      (json_int_t)program->max_ns, "failed",
						      (json_int_t)program->failed));
	}
	return list;
}

static json_t *waiting_json(const struct model *model, const struct signals_lock *lock)
{
	json_t *list = json_array();

	for (size_t i = 0; i < lock->waiting_count; i++) {
		const struct signals_waiting *waiting = &lock->waiting[i];

		json_array_append_new(list,
				      json_pack("{s:I, s:I, s:I}", "at_ns",
						(json_int_t)(waiting->begin_ns - model->start_ns),
						"length_ns",
						(json_int_t)(waiting->end_ns - waiting->begin_ns),
						"most", (json_int_t)waiting->most));
	}
	return list;
}

static json_t *sites_json(const struct model *model, const struct lock_sites *sites, size_t lock)
{
	size_t count;
	const struct lock_site *site = lock_sites__of(sites, lock, &count);
	json_t *list = json_array();

	for (size_t i = 0; i < count && i < LIST_MOST; i++, site++) {
		const struct hot_function *function = &model->hot.functions[site->function];
		json_t *one = json_pack(
			"{s:o, s:I, s:I, s:I, s:I, s:o}", "function",
			site->function ? json__text(function->name) : json_null(), "ns",
			(json_int_t)site->ns, "error_ns", (json_int_t)site->error_ns, "count",
			(json_int_t)site->count, "samples", (json_int_t)site->samples, "buckets",
			buckets_json(site->buckets, site->bucket_count));

		json_percentiles__put(one, "", site->percentiles);
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *locks_json(const struct model *model, const struct signals_signal *signal)
{
	cleanup(lock_sites__release) struct lock_sites sites = {};
	json_t *list = json_array();

	if (lock_sites__find(model, signal, &sites))
		lock_sites__release(&sites);
	for (size_t i = 0; i < signal->lock_count && i < LIST_MOST; i++) {
		const struct signals_lock *lock = &signal->locks[i];
		enum lock_shape shape = findings_locks__shape(model, signal, lock);

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
				  "s:I, s:o, s:o, s:o, s:o}",
				  "object", object_json(lock->object), "place",
				  json__text(lock->row->place), "operation",
				  json__text(lock->row->operation), "count",
				  (json_int_t)lock->part.sum.count, "wait_ns",
				  (json_int_t)lock->wait_ns, "turn_ns", (json_int_t)lock->turn_ns,
				  "threads", (json_int_t)lock->threads, "most_waiters",
				  (json_int_t)lock->most_waiters, "handed",
				  (json_int_t)lock->handed, "in_vain", (json_int_t)lock->in_vain,
				  "wakings", (json_int_t)lock->wakings, "held_ns",
				  (json_int_t)lock->held_ns, "by_waiters_ns",
				  (json_int_t)lock->by_waiters_ns, "shape",
				  text_or_null(shape ? findings_locks__word(shape) : NULL), "by",
				  who_json(lock->part.group, lock->part.thread), "waiters",
				  waiting_json(model, lock), "call_sites",
				  sites_json(model, &sites, i)));
	}
	return list;
}

static json_t *fields_json(const char *fields)
{
	json_t *json = fields ? json_loads(fields, 0, NULL) : NULL;

	if (json_is_object(json))
		return json;
	json_decref(json);
	return json_null();
}

/* Stacks that were taken at events. */
static json_t *sampled_json(const struct model *model)
{
	json_t *list = json_array();
	size_t of_event = 0;

	for (size_t i = 0; i < model->sampled_count; i++) {
		const struct model_sampled *stack = &model->sampled[i];

		of_event = i && !strcmp(stack->event, stack[-1].event) ? of_event + 1 : 0;
		if (of_event >= LIST_MOST)
			continue;
		json_array_append_new(
			list, json_pack("{s:o, s:I, s:f, s:I, s:o}", "event",
					json__text(stack->event), "count", (json_int_t)stack->count,
					"error", 1.96 * sqrt(stack->variance), "samples",
					(json_int_t)stack->samples, "functions",
					stack->node ? json_hot__functions(&model->hot, stack->node)
						    : json_null()));
	}
	return list;
}

static json_t *slowest_json(const struct model *model, const struct signals_signal *signal)
{
	json_t *list = json_array();

	for (size_t i = 0; i < signal->slowest_count; i++) {
		const struct signals_event *event = &signal->slowest[i];
		const struct model_group *group = event->thread ? event->thread->group : NULL;

		json_array_append_new(
			list,
			json_pack("{s:I, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "at_ns",
				  (json_int_t)(event->time_ns - model->start_ns), "duration_ns",
				  (json_int_t)event->duration_ns, "place", json__text(event->place),
				  "operation", json__text(event->operation), "errno",
				  (json_int_t)event->error, "object", object_json(event->object),
				  "by", who_json(group, event->thread), "fields",
				  fields_json(event->fields), "functions",
				  event->node ? json_hot__functions(&model->hot, event->node)
					      : json_null()));
	}
	return list;
}

json_t *json_signals__signal(const struct model *model, size_t i)
{
	const struct signals_signal *signal = &model->signals.list[i];
	json_t *one;

	if (signals__is_empty(signal))
		return NULL;
	one = json_pack("{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:o}", "name",
			json__text(signal->name), "about", text_or_null(signal->about), "events",
			json__text(signal->events), "count", (json_int_t)signal->sum.count,
			"errors", (json_int_t)signal->errors, "rows", rows_json(signal), "by",
			parts_json(signal, &signal->who, nothing_more), "objects",
			parts_json(signal, &signal->objects, object_part), "object_count",
			(json_int_t)signal->objects.count, "failures",
			parts_json(signal, &signal->failures, failure_part), "not_found",
			parts_json(signal, &signal->missing, object_part));
	if (signal->role == ROLE_CONNECTIONS)
		json_object_set_new(one, "services", services_json(signal));
	if (signal->role == ROLE_PROGRAMS)
		json_object_set_new(one, "programs", programs_json(signal));
	if (signal->heap)
		json_object_set_new(one, "heap", json_heap__figures(model, signal->heap));
	if (signal->role == ROLE_COUNTERS && model->sampled_count)
		json_object_set_new(one, "sampled", sampled_json(model));
	if (signal->role == ROLE_LOCKS)
		json_object_set_new(one, "locks", locks_json(model, signal));
	json_object_set_new(one, "event_count", number(signal->event_count));
	json_object_set_new(one, "slowest", slowest_json(model, signal));
	return one;
}
