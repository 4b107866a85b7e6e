/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds up a signal's waits by lock, and joins them with the account's waits for the same object,
 * which have the holders.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/load.h"
#include "model/model.h"
#include "model/signals.h"
#include "vocabulary/histogram.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* The largest value of a slice is in its highest bucket. */
static const char sql_waiting[] =
	"SELECT d.place, a.begin_ns, b.end_ns, max(x.bucket) FROM distribution_slice x"
	" JOIN distribution d ON d.id = x.distribution"
	" JOIN measure m ON m.signal = d.signal AND m.id = d.measure"
	" JOIN slice a ON a.id = x.slice_from JOIN slice b ON b.id = x.slice_to"
	" WHERE d.signal = ?3 AND m.name = 'waiters' AND d.place <> '' AND x.count > 0"
	" GROUP BY d.place, x.slice_to ORDER BY d.place, x.slice_to";

/* A thread that waits for an object. */
struct waiter {
	int64_t object;
	const struct model_thread *thread;
};

static int compare_waiters(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return ((uintptr_t)x->thread > (uintptr_t)y->thread) -
	       ((uintptr_t)x->thread < (uintptr_t)y->thread);
}

static int by_id(const struct signals_signal *signal, const struct signals_series *a,
		 const struct signals_series *b)
{
	return (a->object->id > b->object->id) - (a->object->id < b->object->id);
}

static bool has_object(const struct signals_signal *signal, const struct signals_series *series,
		       const void *context)
{
	return series->object && series->sum.count &&
	       !(series->thread && series->thread->group && series->thread->group->own);
}

static int64_t value(const struct signals_signal *signal, const struct signals_sum *sum,
		     const char *measure)
{
	int index = signals__measure(signal, measure);

	return index < 0 ? 0 : sum->sum[index];
}

/* Sorted, each once. */
static int list_waiters(const struct signals_signal *signal, struct waiter **ret, size_t *ret_count)
{
	struct waiter *list = calloc(signal->series_count + 1, sizeof(*list));
	size_t count = 0, kept = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < signal->series_count; i++)
		if (signal->series[i].object && signal->series[i].thread)
			list[count++] = (struct waiter) { signal->series[i].object->id,
							  signal->series[i].thread };
	qsort(list, count, sizeof(*list), compare_waiters);
	for (size_t i = 0; i < count; i++)
		if (!kept || compare_waiters(&list[i], &list[kept - 1]))
			list[kept++] = list[i];
	*ret = list;
	*ret_count = kept;
	return 0;
}

/* Who held the lock last, if the lock itself says so; NULL: unknown. */
static const struct model_thread *holder_of(const struct model_wait *wait)
{
	return !strcmp(wait->evidence, "owner") || !strcmp(wait->evidence, "handed") ? wait->by
										     : NULL;
}

static void add_wait(struct signals_lock *lock, const struct model_wait *wait,
		     const struct waiter *waiters, size_t count)
{
	const struct waiter holder = { wait->object, holder_of(wait) };

	if (!holder.thread)
		return;
	lock->held_ns += wait->ns;
	if (holder.thread != wait->waiter &&
	    bsearch(&holder, waiters, count, sizeof(*waiters), compare_waiters))
		lock->by_waiters_ns += wait->ns;
}

static void join_waits(const struct model *model, struct signals_signal *signal,
		       const struct waiter *waiters, size_t count)
{
	for (size_t i = 0; i < signal->lock_count; i++) {
		struct signals_lock *lock = &signal->locks[i];

		for (size_t j = 0; j < count; j++)
			lock->threads += waiters[j].object == lock->object->id;
		for (size_t j = 0; j < model->wait_count; j++)
			if (model->waits[j].object == lock->object->id)
				add_wait(lock, &model->waits[j], waiters, count);
	}
}

int signals__make_locks(struct model *model, struct signals_signal *signal)
{
	static const struct signals_way way = { has_object, by_id, NULL, false };
	cleanup(free_p) struct waiter *waiters = NULL;
	int waiting = signals__measure(signal, "waiters");
	struct signals_parts parts = {};
	size_t count = 0;
	int err = signals__divide(signal, &way, &parts);

	if (!err)
		err = list_waiters(signal, &waiters, &count);
	if (!err)
		signal->locks = calloc(parts.count + 1, sizeof(*signal->locks));
	for (size_t i = 0; signal->locks && i < parts.count && i < SIGNALS_LOCKS; i++) {
		const struct signals_sum *sum = &parts.list[i].sum;

		signal->locks[signal->lock_count++] = (struct signals_lock) {
			.object = parts.list[i].first->object,
			.row = &signal->rows[parts.list[i].first->row],
			.part = parts.list[i],
			.wait_ns = value(signal, sum, "wait"),
			.turn_ns = value(signal, sum, "turn"),
			.handed = value(signal, sum, "handed"),
			.in_vain = value(signal, sum, "in_vain"),
			.wakings = value(signal, sum, "wakings"),
			.most_waiters = waiting < 0 ? 0 : sum->max[waiting],
		};
	}
	free(parts.list);
	if (err || !signal->locks)
		return err ? err : -ENOMEM;
	join_waits(model, signal, waiters, count);
	return 0;
}

static struct signals_lock *lock_at(struct signals_signal *signal, const char *place)
{
	for (size_t i = 0; place && i < signal->lock_count; i++)
		if (!strcmp(signal->locks[i].row->place, place))
			return &signal->locks[i];
	return NULL;
}

static int take_waiting(const struct model *model, struct signals_signal *signal, sqlite3_stmt *row)
{
	struct signals_lock *lock = lock_at(signal, (const char *)sqlite3_column_text(row, 0));
	int64_t begin_ns = sqlite3_column_int64(row, 1), end_ns = sqlite3_column_int64(row, 2);
	int64_t bucket = sqlite3_column_int64(row, 3);
	struct signals_waiting *waiting;

	if (bucket < 0 || bucket >= HISTOGRAM_BUCKETS || begin_ns < 0 || end_ns < begin_ns)
		return -EBADMSG;
	if (!lock || end_ns <= model->from_ns || begin_ns >= model->to_ns)
		return 0;
	waiting = APPEND(&lock->waiting, &lock->waiting_count);
	if (!waiting)
		return -ENOMEM;
	*waiting = (struct signals_waiting) { begin_ns, end_ns,
					      (int64_t)histogram_bucket_start((__u32)bucket) };
	return 0;
}

int signals__load_waiting(struct model *model, sqlite3 *db, struct signals_signal *signal)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(model, db, sql_waiting, &row), rc;

	if (!err)
		sqlite3_bind_int64(row, 3, signal->id);
	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take_waiting(model, signal, row) : load__error(rc);
	return err;
}
