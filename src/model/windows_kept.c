/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single windows, and what they waited for. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "base/words.h"
#include "model/load.h"
#include "model/windows_internal.h"

#define MOST_KEPT   (1 << 20) /* of a hostile file */
#define MOST_WEIGHT 1e12      /* likewise */

static const char sql_kept[] = "SELECT " WINDOWS_COLUMNS " FROM window w"
			       " WHERE w.end_ns >= ?1 AND w.end_ns <= ?2 ORDER BY w.id";
static const char sql_waits[] = "SELECT " WINDOWS_WAIT_COLUMNS " ORDER BY w.window";
static const char sql_one[] = "SELECT " WINDOWS_COLUMNS " FROM window w WHERE w.id = ?3";
static const char sql_relatives[] =
	"SELECT " WINDOWS_COLUMNS " FROM window w WHERE w.parent = ?3 OR (w.id != 0 AND w.id ="
	" (SELECT parent FROM window WHERE id = ?3)) ORDER BY w.parent = ?3, w.ready_ns, w.id";
static const char sql_parts_of_one[] = "SELECT part, state, ns FROM window_part WHERE window = ?3";
static const char sql_waits_of_one[] = "SELECT " WINDOWS_WAIT_COLUMNS " WHERE w.window = ?3";

/* --- windows ---------------------------------------------------------------------------------- */

static int64_t time_of(sqlite3_stmt *row, int column)
{
	int64_t sum = 0;

	return load__amount(sqlite3_column_int64(row, column), LOAD_MOST, &sum);
}

static const char *redacted(struct windows_loading *loading, sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	cleanup(free_p) char *line = text ? redact__line(text, loading->model->args) : NULL;

	return line && *line ? load__keep(loading->model, line) : NULL;
}

int model_windows__take_one(struct windows_loading *loading, sqlite3_stmt *row,
			    struct windows_one *ret)
{
	struct model *model = loading->model;
	double weight = sqlite3_column_double(row, 9);
	struct windows_one one = {
		.id = sqlite3_column_int64(row, 0),
		.class = model_windows__class(loading, sqlite3_column_int64(row, 1)),
		.thread = load__thread(model, sqlite3_column_int64(row, 2)),
		.ready_ns = time_of(row, 3),
		.read_ns = time_of(row, 4),
		.answer_ns = time_of(row, 5),
		.end_ns = time_of(row, 6),
		.n = time_of(row, 7),
		.left = time_of(row, 8),
		.weight = weight > 0 ? fmin(weight, MOST_WEIGHT) : 0,
		.has_details = sqlite3_column_int64(row, 10) != 0,
		.parent = sqlite3_column_int64(row, 11),
		.evidence = load__text(model, row, 12),
		.worker = load__text(model, row, 13),
		.text = redacted(loading, row, 14),
		.ends = load__text(model, row, 15),
		.after_ns = time_of(row, 16),
		.segments = time_of(row, 17),
		.trace = load__text(model, row, 18),
		.trace_span = load__text(model, row, 19),
		.request_id = load__text(model, row, 20),
	};

	one.begin_ns = one.ready_ns ? one.ready_ns : one.read_ns;
	one.length_ns = one.begin_ns && one.end_ns > one.begin_ns ? one.end_ns - one.begin_ns : 0;
	*ret = one;
	return 0;
}

static int take_kept(struct windows_loading *loading, sqlite3_stmt *row)
{
	struct windows *windows = loading->windows;
	struct windows_one *kept;

	if (windows->kept_count >= MOST_KEPT ||
	    !model_windows__class(loading, sqlite3_column_int64(row, 1)))
		return 0;
	kept = APPEND(&windows->kept, &windows->kept_count);
	return kept ? model_windows__take_one(loading, row, kept) : -ENOMEM;
}

static int compare_id(const void *key, const void *element)
{
	int64_t id = *(const int64_t *)key, other = ((const struct windows_one *)element)->id;

	return (id > other) - (id < other);
}

const struct windows_one *model_windows__find(const struct windows *windows, int64_t id)
{
	return windows->kept_count ? bsearch(&id, windows->kept, windows->kept_count,
					     sizeof(*windows->kept), compare_id)
				   : NULL;
}

const struct windows_one *model_windows__of(const struct windows *windows, int64_t id,
					    int64_t begin_ns)
{
	const struct windows_one *one = id ? model_windows__find(windows, id) : NULL;

	return one && begin_ns < one->end_ns ? one : NULL;
}

const struct windows_service *model_windows__service(const struct windows *windows,
						     const struct windows_class *class)
{
	return class ? &windows->services[class->of] : NULL;
}

size_t model_windows__examples(const struct windows *windows, const struct windows_service *service,
			       size_t most, const struct windows_one **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < windows->kept_count; i++) {
		const struct windows_one *one = &windows->kept[i];
		size_t at = count;

		if (!one->has_details || model_windows__service(windows, one->class) != service ||
		    one->length_ns < windows->options.slower_ns)
			continue;
		for (; at > 0 && ret[at - 1]->length_ns < one->length_ns; at--)
			if (at < most)
				ret[at] = ret[at - 1];
		if (at < most)
			ret[at] = one;
		count += count < most;
	}
	return count;
}

/* --- waits ------------------------------------------------------------------------------------ */

int model_windows__take_wait(struct windows_loading *loading, sqlite3_stmt *row,
			     struct windows_wait *ret)
{
	struct model *model = loading->model;
	struct windows_wait wait = {
		.object = sqlite3_column_int64(row, 2),
		.object_kind = load__text(model, row, 3),
		.object_name = load__text(model, row, 4),
		.by = load__thread(model, sqlite3_column_int64(row, 5)),
		.evidence = load__name(model, row, 6),
		.ns = (double)time_of(row, 7),
		.kept = 1,
	};
	int err = model_windows__find_own(loading, sqlite3_column_int64(row, 1), &wait.reason);

	if (!err)
		*ret = wait;
	return err;
}

int model_windows__by_wait_time(const void *a, const void *b)
{
	const struct windows_wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

/* Adds a wait of a window. `variance` is the weighted sum of the squares of the windows' times. */
static void add_to(struct windows_wait *sum, const struct windows_wait *wait, double weight)
{
	double before = sum->last == wait->last ? sum->last_ns : 0;

	sum->by_many |= sum->by != wait->by;
	sum->ns = fmin(sum->ns + wait->ns * weight, (double)LOAD_MOST);
	sum->variance += weight * (2 * before + wait->ns) * wait->ns;
	sum->kept += wait->kept;
	sum->last = wait->last;
	sum->last_ns = before + wait->ns;
}

/* Adds it to those of the service that are alike. */
static int add_wait(struct windows_loading *loading, struct windows_service *service,
		    const struct windows_wait *wait, double weight)
{
	uint64_t key = map__mix(0, (uint64_t)(service - loading->windows->services));
	struct windows_wait *sum;
	uintptr_t at;

	key = map__mix(map__mix(key, wait->reason), (uint64_t)wait->object);
	key = map__mix(key, wait->by ? (uintptr_t)wait->by->group : 0);
	key = map__mix_text(key, wait->evidence);
	at = (uintptr_t)map__get(&loading->waits, key);
	if (at) {
		add_to(&service->waits[at - 1], wait, weight);
		return 0;
	}
	sum = APPEND(&service->waits, &service->wait_count);
	if (!sum)
		return -ENOMEM;
	*sum = *wait;
	sum->ns = 0;
	sum->kept = 0;
	add_to(sum, wait, weight);
	return map__put(&loading->waits, key, (void *)service->wait_count);
}

static int take_wait(struct windows_loading *loading, sqlite3_stmt *row)
{
	const struct windows_one *one =
		model_windows__find(loading->windows, sqlite3_column_int64(row, 0));
	struct windows_service *service = one ? &loading->windows->services[one->class->of] : NULL;
	struct windows_wait wait;
	int err;

	if (!one || one->weight <= 0 ||
	    !model_windows__is_in(service, WINDOWS_SLOW, one->length_ns))
		return 0;
	err = model_windows__take_wait(loading, row, &wait);
	wait.last = one->id;
	return err ? err : add_wait(loading, service, &wait, one->weight);
}

/*
 * The variance of a sum over all of the slowest windows, of which some were kept: that of the mean
 * of those, with the others as unknown. It is 0 if all were kept.
 */
static void find_variances(const struct windows *windows, struct windows_service *service)
{
	double w = 0, ww = 0, n, unknown;

	for (size_t i = 0; i < windows->kept_count; i++) {
		const struct windows_one *one = &windows->kept[i];

		if (!one->has_details || model_windows__service(windows, one->class) != service ||
		    !model_windows__is_in(service, WINDOWS_SLOW, one->length_ns))
			continue;
		w += one->weight;
		ww += one->weight * one->weight;
	}
	n = ww > 0 ? w * w / ww : 0;
	unknown = w > n ? 1 - n / w : 0;
	for (size_t i = 0; i < service->wait_count; i++) {
		struct windows_wait *wait = &service->waits[i];
		double spread = w > 0 ? wait->variance * w - wait->ns * wait->ns : 0;

		/* A single one tells nothing of the others. */
		wait->variance = n >= 2 ? fmax(spread, 0) * unknown / (n - 1)
					: wait->ns * wait->ns * unknown;
	}
}

int model_windows__load_kept(struct windows_loading *loading)
{
	struct windows *windows = loading->windows;
	int err = model_windows__each(loading, sql_kept, 0, take_kept);

	if (!err)
		err = model_windows__each(loading, sql_waits, 0, take_wait);
	for (size_t i = 0; i < windows->service_count && !err; i++) {
		struct windows_service *service = &windows->services[i];

		if (!service->wait_count)
			continue;
		find_variances(windows, service);
		if (service->wait_count)
			qsort(service->waits, service->wait_count, sizeof(*service->waits),
			      model_windows__by_wait_time);
	}
	return err;
}

/* --- the one that was asked for --------------------------------------------------------------- */

static int take_chosen(struct windows_loading *loading, sqlite3_stmt *row)
{
	loading->windows->chosen = calloc(1, sizeof(*loading->windows->chosen));
	return loading->windows->chosen
		       ? model_windows__take_one(loading, row, &loading->windows->chosen->one)
		       : -ENOMEM;
}

static int take_relative(struct windows_loading *loading, sqlite3_stmt *row)
{
	struct windows_chosen *chosen = loading->windows->chosen;
	struct windows_one *one = APPEND(&chosen->relatives, &chosen->relative_count);

	return one ? model_windows__take_one(loading, row, one) : -ENOMEM;
}

static int take_part_of_one(struct windows_loading *loading, sqlite3_stmt *row)
{
	struct windows_chosen *chosen = loading->windows->chosen;
	struct windows_row *added;
	uint32_t reason;
	int err = model_windows__take_reason(loading, row, 0, &reason);
	int64_t ns;

	if (err)
		return err;
	ns = load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &chosen->parts_ns);
	for (size_t i = 0; i < chosen->row_count; i++) {
		if (chosen->rows[i].reason != reason)
			continue;
		chosen->rows[i].ns += ns;
		return 0;
	}
	added = APPEND(&chosen->rows, &chosen->row_count);
	if (!added)
		return -ENOMEM;
	added->reason = reason;
	added->ns = ns;
	return 0;
}

static int take_wait_of_one(struct windows_loading *loading, sqlite3_stmt *row)
{
	struct windows_chosen *chosen = loading->windows->chosen;
	struct windows_wait *wait = APPEND(&chosen->waits, &chosen->wait_count);

	return wait ? model_windows__take_wait(loading, row, wait) : -ENOMEM;
}

/* As time passes: queued, then what its threads did, then the rest. */
static int order_of(const struct windows_reason *reason)
{
	int part = window_words__find_part(reason->part);

	if (part >= 0 && part <= WORDS_PART_QUEUED_READ)
		return part;
	return part >= 0 ? WORDS_PARTS + part : WORDS_PARTS - 1;
}

static int by_order(const void *a, const void *b, void *context)
{
	const struct windows_row *x = a, *y = b;
	const struct windows_reason *reasons = context;
	int order = order_of(&reasons[x->reason]) - order_of(&reasons[y->reason]);

	if (order)
		return order;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

int model_windows__load_chosen(struct windows_loading *loading)
{
	struct windows *windows = loading->windows;
	int64_t id = windows->options.id;
	char *why = loading->options->scope.why;
	int err = load__is_answered(loading->db, "SELECT 1 FROM window")
			  ? model_windows__each(loading, sql_one, id, take_chosen)
			  : 0;

	if (!err && !windows->chosen) {
		if (why)
			snprintf(why, SCOPE_WHY_SIZE, "it has kept no window %lld", (long long)id);
		return -ESRCH;
	}
	if (!err)
		err = model_windows__each(loading, sql_parts_of_one, id, take_part_of_one);
	if (!err)
		err = model_windows__each(loading, sql_waits_of_one, id, take_wait_of_one);
	if (!err)
		err = model_windows__each(loading, sql_relatives, id, take_relative);
	if (err)
		return err;
	if (windows->chosen->row_count)
		qsort_r(windows->chosen->rows, windows->chosen->row_count,
			sizeof(struct windows_row), by_order, windows->reasons);
	if (windows->chosen->wait_count)
		qsort(windows->chosen->waits, windows->chosen->wait_count,
		      sizeof(struct windows_wait), model_windows__by_wait_time);
	return 0;
}
