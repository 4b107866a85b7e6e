/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "model/load.h"
#include "model/sql.h"
#include "model/windows_internal.h"
#include "recording/recording.h"
#include "vocabulary/histogram.h"

/* Classes without a row are those without room for one of their own. */
static const char sql_classes[] =
	"SELECT c.id, c.kind, c.protocol, c.service, c.name, c.status, c.process, p.pid, p.comm"
	" FROM window_class c LEFT JOIN process p ON p.id = c.process"
	" UNION ALL SELECT DISTINCT class, '', '', '(various)', '', '', 0, 0, '' FROM window_band"
	" WHERE class NOT IN (SELECT id FROM window_class) ORDER BY 1";

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

void model_windows__release_loading(struct windows_loading *loading)
{
	map__release(&loading->classes);
	map__release(&loading->reasons);
	map__release(&loading->waits);
	map__release(&loading->rows);
	free(loading->counts);
	free(loading->times);
}

void model_windows__release(struct windows *windows)
{
	for (size_t i = 0; i < windows->service_count; i++) {
		free(windows->services[i].buckets);
		free(windows->services[i].rows);
		free(windows->services[i].waits);
		free(windows->services[i].asked);
		free(windows->services[i].names);
	}
	if (windows->chosen) {
		free(windows->chosen->rows);
		free(windows->chosen->waits);
		free(windows->chosen->relatives);
	}
	for (size_t i = 0; i < windows->matched_count; i++) {
		free(windows->matched[i].buckets);
		free(windows->matched[i].shares);
	}
	free(windows->matched);
	free(windows->chosen);
	free(windows->services);
	free(windows->classes);
	free(windows->reasons);
	free(windows->kept);
	*windows = (struct windows) {};
}

int model_windows__each(struct windows_loading *loading, const char *sql, int64_t id,
			windows_take *take)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(loading->model, loading->db, sql, &row), rc = SQLITE_DONE;

	if (!err && sqlite3_bind_parameter_count(row) >= 3)
		sqlite3_bind_int64(row, 3, id);
	while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW)
		err = take(loading, row);
	return err ? err : load__error(rc);
}

/* --- what things are called ------------------------------------------------------------------- */

struct windows_class *model_windows__class(const struct windows_loading *loading, int64_t id)
{
	uintptr_t at = (uintptr_t)map__get(&loading->classes, (uint64_t)id);

	return at ? &loading->windows->classes[at - 1] : NULL;
}

int model_windows__sign(const struct windows_reason *reason)
{
	return model_windows__is_part(reason, WORDS_PART_OVERLAP) ? -1 : 1;
}

bool model_windows__is_part(const struct windows_reason *reason, enum window_words_part part)
{
	return !strcmp(reason->part, window_words__part(part)->key);
}

static uint64_t key_of(const struct windows_reason *reason)
{
	uint64_t key = map__mix_text(0, reason->part);

	key = map__mix_text(key, reason->state ? reason->state : "");
	return map__mix_text(key, reason->cause ? reason->cause : "");
}

int model_windows__resume(struct windows_loading *loading)
{
	const struct windows *windows = loading->windows;
	int err = 0;

	for (size_t i = 0; i < windows->class_count && !err; i++)
		err = map__put(&loading->classes, (uint64_t)windows->classes[i].id,
			       (void *)(i + 1));
	for (size_t i = 0; i < windows->reason_count && !err; i++)
		err = map__put(&loading->reasons, key_of(&windows->reasons[i]), (void *)(i + 1));
	return err;
}

static int find_reason(struct windows_loading *loading, struct windows_reason reason, uint32_t *ret)
{
	struct windows *windows = loading->windows;
	uint64_t key = key_of(&reason);
	struct windows_reason *added;
	uintptr_t at;

	at = (uintptr_t)map__get(&loading->reasons, key);
	if (!at && windows->reason_count >= WINDOWS_MOST_REASONS) {
		at = WINDOWS_MOST_REASONS;
	} else if (!at) {
		added = APPEND(&windows->reasons, &windows->reason_count);
		if (!added)
			return -ENOMEM;
		*added = reason;
		/* The last one stands for all others. */
		if (windows->reason_count == WINDOWS_MOST_REASONS)
			*added = (struct windows_reason) { .part = "other" };
		at = windows->reason_count;
		if (map__put(&loading->reasons, key, (void *)at))
			return -ENOMEM;
	}
	*ret = (uint32_t)at - 1;
	return 0;
}

int model_windows__find_own(struct windows_loading *loading, int64_t state, uint32_t *ret)
{
	const struct model_state *found = load__state(loading->model, state);
	struct windows_reason reason = { .part = WINDOW_WORDS_OWN, .state = "unknown" };

	if (found) {
		reason.state = found->state;
		reason.cause = strcmp(found->state, "run") ? found->cause : NULL;
	}
	return find_reason(loading, reason, ret);
}

int model_windows__take_reason(struct windows_loading *loading, sqlite3_stmt *row, int part,
			       uint32_t *ret)
{
	struct windows_reason reason = { .part = load__name(loading->model, row, part) };

	if (!strcmp(reason.part, WINDOW_WORDS_OWN))
		return model_windows__find_own(loading, sqlite3_column_int64(row, part + 1), ret);
	return find_reason(loading, reason, ret);
}

/* --- classes and services --------------------------------------------------------------------- */

bool model_windows__fits(const struct windows_class *class, const char *text)
{
	return !text || strstr(class->service, text) || strstr(class->name, text) ||
	       strstr(class->comm, text);
}

static const char *text_of(struct windows_loading *loading, sqlite3_stmt *row, int column)
{
	const char *text = load__text(loading->model, row, column);

	return text ? text : "";
}

static int take_class(struct windows_loading *loading, sqlite3_stmt *row)
{
	struct windows *windows = loading->windows;
	struct windows_class *added, class = {
		.id = sqlite3_column_int64(row, 0),
		.kind = text_of(loading, row, 1),
		.protocol = text_of(loading, row, 2),
		.service = text_of(loading, row, 3),
		.name = text_of(loading, row, 4),
		.status = text_of(loading, row, 5),
		.process = sqlite3_column_int64(row, 6),
		.pid = sqlite3_column_int64(row, 7),
		.comm = text_of(loading, row, 8),
	};

	if (!model_windows__fits(&class, windows->options.only))
		return 0;
	added = APPEND(&windows->classes, &windows->class_count);
	if (!added)
		return -ENOMEM;
	*added = class;
	return map__put(&loading->classes, (uint64_t)class.id, (void *)windows->class_count);
}

/* What was asked for by its name comes first, then what this program serves. */
int model_windows__rank(const char *kind)
{
	static const enum window_words_kind order[] = { WORDS_KIND_CALL, WORDS_KIND_SERVER,
							WORDS_KIND_CLIENT };
	int found = window_words__find_kind(kind);

	for (int i = 0; i < WORDS_KINDS; i++)
		if ((int)order[i] == found)
			return i;
	return WORDS_KINDS;
}

static int compare_services(const struct windows_class *a, const struct windows_class *b)
{
	int order = model_windows__rank(a->kind) - model_windows__rank(b->kind);

	if (!order)
		order = strcmp(a->kind, b->kind);
	if (!order)
		order = strcmp(a->protocol, b->protocol);
	if (!order)
		order = strcmp(a->service, b->service);
	/* A class has only the first process that served it: servers may have one per connection.
	 */
	return order ? order : strcmp(a->comm, b->comm);
}

static int by_service(const void *a, const void *b)
{
	const struct windows_class *x = a, *y = b;
	int order = compare_services(x, y);

	return order ? order : (x->id > y->id) - (x->id < y->id);
}

static int by_rank(const void *a, const void *b)
{
	const struct windows_class *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->length_ns != y->length_ns)
		return x->length_ns < y->length_ns ? 1 : -1;
	return by_service(a, b);
}

/* A service before it has its place. */
struct ranked {
	const struct windows_class *first;
	uint32_t number;
	int64_t length_ns;
};

static int by_time(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int order = model_windows__rank(x->first->kind) - model_windows__rank(y->first->kind);

	if (order)
		return order;
	if (x->length_ns != y->length_ns)
		return x->length_ns < y->length_ns ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static int add_up(struct windows *windows, struct ranked **ret, size_t *ret_count)
{
	for (size_t i = 0; i < windows->class_count; i++) {
		struct windows_class *class = &windows->classes[i];
		struct ranked *ranked = *ret ? &(*ret)[*ret_count - 1] : NULL;

		if (!ranked || compare_services(ranked->first, class)) {
			ranked = APPEND(ret, ret_count);
			if (!ranked)
				return -ENOMEM;
			ranked->first = class;
			ranked->number = (uint32_t)*ret_count - 1;
		}
		ranked->length_ns += class->length_ns;
		class->of = ranked->number;
	}
	return 0;
}

static void mark_own(const struct model *model, struct windows *windows)
{
	for (size_t i = 0; i < windows->service_count; i++) {
		struct windows_service *service = &windows->services[i];

		for (size_t j = 0; j < model->thread_count && !service->is_own; j++)
			service->is_own = model->threads[j].flags & RECORDING_THREAD_OWN &&
					  model->threads[j].pid == service->first->pid;
	}
}

/* Brings services and classes into their order. */
static int rank(struct windows_loading *loading)
{
	cleanup(free_p) struct ranked *list = NULL;
	cleanup(free_p) uint32_t *places = NULL;
	struct windows *windows = loading->windows;
	size_t count = 0;
	int err;

	if (!windows->class_count)
		return 0;
	qsort(windows->classes, windows->class_count, sizeof(*windows->classes), by_service);
	err = add_up(windows, &list, &count);
	places = calloc(count + 1, sizeof(*places));
	windows->services = calloc(count + 1, sizeof(*windows->services));
	if (err || !places || !windows->services)
		return -ENOMEM;
	windows->service_count = count;
	qsort(list, count, sizeof(*list), by_time);
	for (size_t i = 0; i < count; i++)
		places[list[i].number] = (uint32_t)i;
	for (size_t i = 0; i < windows->class_count; i++)
		windows->classes[i].of = places[windows->classes[i].of];
	qsort(windows->classes, windows->class_count, sizeof(*windows->classes), by_rank);
	for (size_t i = 0; i < windows->class_count && !err; i++) {
		struct windows_class *class = &windows->classes[i];
		struct windows_service *service = &windows->services[class->of];

		if (!service->class_count++)
			service->first = class;
		service->many_processes |= class->process != service->first->process;
		err = map__put(&loading->classes, (uint64_t)class->id, (void *)(i + 1));
	}
	return err;
}

/* --- sums ------------------------------------------------------------------------------------- */

static int bucket_of(sqlite3_stmt *row, int *ret)
{
	int64_t bucket = sqlite3_column_int64(row, 1);

	if (bucket < 0 || bucket >= HISTOGRAM_BUCKETS)
		return -EBADMSG;
	*ret = (int)bucket;
	return 0;
}

static int take_count(struct windows_loading *loading, sqlite3_stmt *row)
{
	struct windows_class *class = model_windows__class(loading, sqlite3_column_int64(row, 0));
	struct windows_count *count;
	int bucket, err = bucket_of(row, &bucket);

	if (err || !class)
		return err;
	count = APPEND(&loading->counts, &loading->count_count);
	if (!count)
		return -ENOMEM;
	*count = (struct windows_count) {
		.class = class->id,
		.bucket = bucket,
		.count = load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &loading->all_count),
		.n = load__amount(sqlite3_column_int64(row, 3), LOAD_MOST, &loading->all_n),
	};
	class->count += count->count;
	class->n += count->n;
	return 0;
}

static int take_time(struct windows_loading *loading, sqlite3_stmt *row)
{
	struct windows_class *class = model_windows__class(loading, sqlite3_column_int64(row, 0));
	struct windows_time *time;
	int bucket, err = bucket_of(row, &bucket);
	uint32_t reason;

	if (!err && class)
		err = model_windows__take_reason(loading, row, 2, &reason);
	if (err || !class)
		return err;
	time = APPEND(&loading->times, &loading->time_count);
	if (!time)
		return -ENOMEM;
	*time = (struct windows_time) {
		.class = class->id,
		.bucket = bucket,
		.reason = reason,
		.ns = load__amount(sqlite3_column_int64(row, 4), LOAD_MOST, &loading->all_ns),
	};
	class->length_ns += time->ns * model_windows__sign(&loading->windows->reasons[reason]);
	return 0;
}

/* Rows are sorted by class and bucket. */
static int find_percentiles(struct windows_loading *loading)
{
	struct bucket buckets[HISTOGRAM_BUCKETS];
	size_t used = 0;

	for (size_t i = 0; i < loading->count_count; i++) {
		const struct windows_count *count = &loading->counts[i];
		struct windows_class *class = model_windows__class(loading, count->class);

		if (used < HISTOGRAM_BUCKETS)
			buckets[used++] = (struct bucket) { count->bucket, count->count };
		if (i + 1 < loading->count_count && loading->counts[i + 1].class == count->class)
			continue;
		percentiles__find(buckets, used, class->count, 0, class->percentiles_ns);
		used = 0;
	}
	return 0;
}

static int load_sums(struct windows_loading *loading)
{
	int err = model_windows__each(loading, sql__window_bands, 0, take_count);

	if (!err)
		err = model_windows__each(loading, sql__window_times, 0, take_time);
	for (size_t i = 0; i < loading->windows->class_count; i++) {
		struct windows_class *class = &loading->windows->classes[i];

		if (class->length_ns < 0)
			class->length_ns = 0;
		percentiles__find(NULL, 0, 0, 0, class->percentiles_ns);
	}
	return err ? err : find_percentiles(loading);
}

/* -1: not known */
static int64_t whole(const struct model_figure *figure)
{
	return figure && figure->value >= 0 && figure->value < (double)LOAD_MOST
		       ? (int64_t)figure->value
		       : -1;
}

static void find_remainder(const struct model *model, struct windows *windows)
{
	const struct model_figure *count =
		model__find(model->qualities, model->quality_count, "windows_remainder");
	const struct model_figure *ns =
		model__find(model->qualities, model->quality_count, "windows_remainder_ns");

	windows->remainder = whole(count);
	windows->remainder_ns = whole(ns);
}

static int check_only(const struct windows_loading *loading)
{
	const struct windows *windows = loading->windows;
	char *why = loading->options->scope.why;

	if (!windows->options.only || windows->class_count)
		return 0;
	if (why) {
		*why = '\0';
		words__say(why, SCOPE_WHY_SIZE,
			   "no request or call has '%s' in its service or name",
			   words__clean(windows->options.only, 60).text);
	}
	return -ESRCH;
}

int model_windows__load(struct model *model, sqlite3 *db, const struct model_options *options)
{
	cleanup(model_windows__release_loading) struct windows_loading loading = {
		.model = model, .windows = &model->windows, .options = options, .db = db
	};
	int err = 0;

	model->windows.options = options->windows;
	find_remainder(model, &model->windows);
	/* Recordings of older versions have no windows. */
	if (load__is_answered(db, sql__window_bands))
		err = model_windows__each(&loading, sql_classes, 0, take_class);
	if (!err)
		err = check_only(&loading);
	if (!err && model->windows.class_count)
		err = load_sums(&loading);
	if (!err)
		err = rank(&loading);
	if (!err)
		mark_own(model, &model->windows);
	if (!err)
		err = model_windows__make_bands(&loading);
	if (!err)
		err = model_windows__make_names(&loading);
	if (!err)
		err = model_windows__match(&loading);
	if (!err && model->windows.class_count)
		err = model_windows__load_kept(&loading);
	if (!err)
		err = model_windows__find_asked(&model->windows);
	if (!err && model->windows.class_count)
		err = model_windows__load_errors(&loading);
	return err || !options->windows.id ? err : model_windows__load_chosen(&loading);
}
