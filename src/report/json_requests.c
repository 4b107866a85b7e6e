/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_requests.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "findings/requests.h"
#include "report/json_hot.h"
#include "report/json_percentiles.h"
#include "vocabulary/histogram.h"

/* Limits on lists that grow with the recording; the first ones are those with most time. */
#define NAMES_MOST    100
#define WAITS_MOST    20
#define PATHS_MOST    10
#define EXAMPLES_MOST 10
#define MOST_NS       9e18

static const char *const bands[WINDOWS_BANDS] = { "fastest", "high", "slowest" };

static json_t *number(int64_t value)
{
	return json_integer((json_int_t)value);
}

/* Sums of weighted times of a hostile file do not fit. */
static json_t *rounded(double ns)
{
	return number(llround(fmax(fmin(ns, MOST_NS), -MOST_NS)));
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json__text(text) : json_null();
}

static json_t *thread_json(const struct model_thread *thread)
{
	if (!thread)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:o}", "id", (json_int_t)thread->id, "pid",
			 (json_int_t)thread->pid, "tid", (json_int_t)thread->tid, "comm",
			 json__text(thread->comm));
}

static void put_reason(const struct model *model, json_t *object, uint32_t number)
{
	const struct windows_reason *reason = &model->windows.reasons[number];

	json_object_set_new(object, "part", json__text(reason->part));
	json_object_set_new(object, "state", text_or_null(reason->state));
	json_object_set_new(object, "cause", text_or_null(reason->cause));
}

static json_t *statuses_json(const int64_t statuses[WORDS_STATUSES + 1])
{
	json_t *object = json_object();

	for (int i = 0; i < WORDS_STATUSES; i++)
		json_object_set_new(object, window_words__status((enum window_words_status)i)->key,
				    number(statuses[i]));
	json_object_set_new(object, "unknown", number(statuses[WORDS_STATUSES]));
	return object;
}

/* --- services --------------------------------------------------------------------------------- */

static json_t *bands_json(const struct windows_service *service)
{
	json_t *list = json_array();

	for (int i = 0; i < WINDOWS_BANDS; i++) {
		const struct windows_band *band = &service->bands[i];
		bool is_open = band->to >= HISTOGRAM_BUCKETS;
		json_t *to = is_open ? json_null()
				     : number((int64_t)histogram_bucket_start((__u32)band->to));

		json_array_append_new(
			list,
			json_pack("{s:s, s:I, s:o, s:I, s:I, s:I, s:I}", "band", bands[i],
				  "from_ns", (json_int_t)histogram_bucket_start((__u32)band->from),
				  "to_ns", to, "count", (json_int_t)band->count, "requests",
				  (json_int_t)band->n, "length_ns", (json_int_t)band->length_ns,
				  "kept", (json_int_t)band->kept));
	}
	return list;
}

static json_t *row_json(const struct model *model, const struct windows_service *service,
			const struct windows_row *row, bool is_all)
{
	bool is_compared = model_windows__is_compared(service);
	json_t *object = json_object();

	if (!is_all)
		put_reason(model, object, row->reason);
	json_object_set_new(object, "ns", number(row->ns));
	for (int i = 0; i < WINDOWS_BANDS; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", bands[i]);
		json_object_set_new(object, key, number(row->band_ns[i]));
	}
	json_object_set_new(object, "more_ns", is_compared ? rounded(row->more_ns) : json_null());
	json_object_set_new(object, "error_ns",
			    is_compared && row->error_ns >= 0 ? rounded(2 * row->error_ns)
							      : json_null());
	json_object_set_new(object, "claimed", json_boolean(row->is_claimed));
	return object;
}

static json_t *rows_json(const struct model *model, const struct windows_service *service)
{
	json_t *list = json_array();

	for (size_t i = 0; i < service->row_count; i++)
		json_array_append_new(list, row_json(model, service, &service->rows[i], false));
	return list;
}

static json_t *names_json(const struct windows_service *service)
{
	json_t *list = json_array();

	for (size_t i = 0; i < service->name_count && i < NAMES_MOST; i++) {
		const struct windows_name *name = &service->names[i];
		json_t *one = json_pack(
			"{s:o, s:I, s:I, s:I, s:o}", "name", text_or_null(name->name), "count",
			(json_int_t)name->count, "requests", (json_int_t)name->n, "length_ns",
			(json_int_t)name->length_ns, "statuses", statuses_json(name->statuses));

		json_percentiles__put(one, "_ns", name->percentiles_ns);
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *wait_json(const struct model *model, const struct windows_wait *wait)
{
	json_t *one = json_object();

	put_reason(model, one, wait->reason);
	json_object_set_new(one, "object",
			    wait->object_kind
				    ? json_pack("{s:o, s:o}", "kind", json__text(wait->object_kind),
						"name", text_or_null(wait->object_name))
				    : json_null());
	json_object_set_new(one, "by", thread_json(wait->by_many ? NULL : wait->by));
	json_object_set_new(one, "by_name", text_or_null(wait->by ? wait->by->group->name : NULL));
	json_object_set_new(one, "evidence", text_or_null(wait->evidence));
	json_object_set_new(one, "ns", rounded(wait->ns));
	return one;
}

static json_t *waits_json(const struct model *model, const struct windows_service *service)
{
	json_t *list = json_array();

	for (size_t i = 0; i < service->wait_count && i < WAITS_MOST; i++) {
		const struct windows_wait *wait = &service->waits[i];
		json_t *one = wait_json(model, wait);

		json_object_set_new(one, "error_ns", rounded(2 * sqrt(wait->variance)));
		json_object_set_new(one, "kept", number(wait->kept));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *paths_json(const struct model *model, const struct windows_service *service)
{
	cleanup(free_p) struct windows_path *paths = NULL;
	json_t *list = json_array();
	size_t count;

	if (model_windows__paths(model, service, &paths, &count))
		return list;
	for (size_t i = 0; i < count && i < PATHS_MOST; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:I, s:I, s:I, s:o}", "state",
						json__text(paths[i].state->state), "cause",
						json__text(paths[i].state->cause), "weight_ns",
						(json_int_t)paths[i].sum.ns, "error_ns",
						(json_int_t)hot__error_ns(&paths[i].sum), "samples",
						(json_int_t)paths[i].sum.samples, "functions",
						json_hot__functions(&model->hot, paths[i].node)));
	return list;
}

static json_t *examples_json(const struct model *model, const struct windows_service *service)
{
	const struct windows_one *examples[EXAMPLES_MOST];
	size_t count = model_windows__examples(&model->windows, service, EXAMPLES_MOST, examples);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:o}", "window",
						      (json_int_t)examples[i]->id, "length_ns",
						      (json_int_t)examples[i]->length_ns, "text",
						      text_or_null(examples[i]->text)));
	return list;
}

static json_t *links_json(const struct model *model, const struct windows_service *service)
{
	json_t *list = json_array();
	struct requests_links links;

	requests_words__links(&model->windows, service, &links);
	for (size_t i = 0; i < links.count; i++)
		json_array_append_new(list, json_pack("{s:o, s:I}", "evidence",
						      text_or_null(links.list[i].evidence), "kept",
						      (json_int_t)links.list[i].count));
	return list;
}

static json_t *sentence_json(const struct model *model, const struct windows_service *service)
{
	struct requests_slow slow;
	char text[2048] = "";

	if (!requests_words__slow(&model->windows, service, &slow))
		return json_null();
	requests_words__say(&slow, text, sizeof(text));
	return json__text(text);
}

/* NULL: unknown. */
static json_t *class_json(const struct windows_class *class)
{
	static const struct windows_class unknown = {
		.kind = "", .protocol = "", .service = "", .comm = ""
	};

	class = class ? class : &unknown;
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "kind", text_or_null(class->kind), "protocol",
			 text_or_null(class->protocol), "service", text_or_null(class->service),
			 "pid", class->process ? number(class->pid) : json_null(), "comm",
			 text_or_null(class->comm));
}

json_t *json_requests__service(const struct model *model, size_t i)
{
	const struct windows_service *service = &model->windows.services[i];
	json_t *one = class_json(service->first);

	if (service->many_processes)
		json_object_set_new(one, "pid", json_null());
	json_object_set_new(one, "own", json_boolean(service->is_own));
	json_object_set_new(one, "count", number(service->count));
	json_object_set_new(one, "requests", number(service->n));
	json_object_set_new(one, "length_ns", number(service->length_ns));
	json_object_set_new(one, "statuses", statuses_json(service->statuses));
	json_percentiles__put(one, "_ns", service->percentiles_ns);
	json_object_set_new(one, "text", sentence_json(model, service));
	json_object_set_new(one, "bands", bands_json(service));
	json_object_set_new(one, "all", row_json(model, service, &service->all, true));
	json_object_set_new(one, "reasons", rows_json(model, service));
	json_object_set_new(one, "names", names_json(service));
	json_object_set_new(one, "waits", waits_json(model, service));
	json_object_set_new(one, "stacks", paths_json(model, service));
	json_object_set_new(one, "examples", examples_json(model, service));
	json_object_set_new(one, "links", links_json(model, service));
	return one;
}

/* --- one window ------------------------------------------------------------------------------- */

static json_t *at_json(const struct model *model, int64_t ns)
{
	return ns ? number(ns - model->start_ns) : json_null();
}

static json_t *one_json(const struct model *model, const struct windows_one *one)
{
	json_t *object = class_json(one->class);

	json_object_set_new(object, "window", number(one->id));
	json_object_set_new(object, "name", text_or_null(one->class ? one->class->name : NULL));
	json_object_set_new(object, "status", text_or_null(one->class ? one->class->status : NULL));
	json_object_set_new(object, "thread", thread_json(one->thread));
	json_object_set_new(object, "ready_ns", at_json(model, one->ready_ns));
	json_object_set_new(object, "read_ns", at_json(model, one->read_ns));
	json_object_set_new(object, "answer_ns", at_json(model, one->answer_ns));
	json_object_set_new(object, "end_ns", at_json(model, one->end_ns));
	json_object_set_new(object, "length_ns", number(one->length_ns));
	json_object_set_new(object, "requests", number(one->n));
	json_object_set_new(object, "left_bytes", number(one->left));
	json_object_set_new(object, "after_ns", number(one->after_ns));
	json_object_set_new(object, "segments", number(one->segments));
	json_object_set_new(object, "weight", json_real(one->weight));
	json_object_set_new(object, "has_details", json_boolean(one->has_details));
	json_object_set_new(object, "parent", one->parent ? number(one->parent) : json_null());
	json_object_set_new(object, "evidence", text_or_null(one->evidence));
	json_object_set_new(object, "worker", text_or_null(one->worker));
	json_object_set_new(object, "text", text_or_null(one->text));
	json_object_set_new(object, "ends", text_or_null(one->ends));
	json_object_set_new(object, "trace", text_or_null(one->trace));
	json_object_set_new(object, "request_id", text_or_null(one->request_id));
	return object;
}

json_t *json_requests__window(const struct model *model)
{
	const struct windows_chosen *chosen = model->windows.chosen;
	json_t *object = one_json(model, &chosen->one), *list = json_array();

	for (size_t i = 0; i < chosen->row_count; i++) {
		json_t *row = json_object();

		put_reason(model, row, chosen->rows[i].reason);
		json_object_set_new(row, "ns", number(chosen->rows[i].ns));
		json_array_append_new(list, row);
	}
	json_object_set_new(object, "parts", list);
	list = json_array();
	for (size_t i = 0; i < chosen->wait_count; i++)
		json_array_append_new(list, wait_json(model, &chosen->waits[i]));
	json_object_set_new(object, "waits", list);
	list = json_array();
	for (size_t i = 0; i < chosen->relative_count; i++)
		json_array_append_new(list, one_json(model, &chosen->relatives[i]));
	json_object_set_new(object, "relatives", list);
	return object;
}
