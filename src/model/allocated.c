/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/allocated.h"

#include <errno.h>
#include <stdlib.h>

#include "model/load.h"

/* No thread has more, so that a total cannot overflow. */
#define MOST_BYTES   (1LL << 56)
#define MOST_THREADS 65536

static const char sql[] = "SELECT thread, begin_ns, end_ns, bytes FROM allocated"
			  " WHERE end_ns >= ?1 AND begin_ns <= ?2 ORDER BY thread, end_ns";

/* The last one of the list, if it is this thread's; NULL: there are too many. */
static int find(struct model *model, const struct model_thread *thread,
		struct allocated_thread **ret)
{
	struct allocated *allocated = &model->allocated;

	*ret = allocated->count ? &allocated->list[allocated->count - 1] : NULL;
	if (*ret && (*ret)->thread == thread)
		return 0;
	*ret = NULL;
	if (allocated->count == MOST_THREADS)
		return 0;
	*ret = APPEND(&allocated->list, &allocated->count);
	if (!*ret)
		return -ENOMEM;
	**ret = (struct allocated_thread) { .thread = thread, .of_ns = thread->lifetime_ns };
	return 0;
}

/* The part of an amount that is inside the cut, as if it were even. */
static int64_t inside(const struct model *model, int64_t begin_ns, int64_t end_ns, int64_t bytes)
{
	int64_t from_ns = begin_ns > model->from_ns ? begin_ns : model->from_ns;
	int64_t to_ns = end_ns < model->to_ns ? end_ns : model->to_ns;

	if (from_ns == begin_ns && to_ns == end_ns)
		return bytes;
	if (from_ns >= to_ns)
		return 0;
	return (int64_t)((double)bytes * (double)(to_ns - from_ns) / (double)(end_ns - begin_ns));
}

static int take(struct model *model, sqlite3_stmt *row)
{
	const struct model_thread *thread = load__thread(model, sqlite3_column_int64(row, 0));
	int64_t begin_ns = sqlite3_column_int64(row, 1), end_ns = sqlite3_column_int64(row, 2);
	int64_t bytes = sqlite3_column_int64(row, 3), late_ns;
	struct allocated_thread *found;
	int err;

	if (!thread || !thread->measured || begin_ns < 0 || end_ns < begin_ns || bytes < 0)
		return 0;
	err = find(model, thread, &found);
	if (err || !found)
		return err;
	/* It is known from then on. */
	late_ns =
		begin_ns - (thread->first_ns > model->from_ns ? thread->first_ns : model->from_ns);
	if (!bytes && begin_ns == end_ns && late_ns > 0 && late_ns < found->of_ns)
		found->of_ns -= late_ns;
	load__amount(inside(model, begin_ns, end_ns, bytes), MOST_BYTES, &found->bytes);
	return 0;
}

static int by_bytes(const void *left, const void *right)
{
	const struct allocated_thread *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->thread->id < b->thread->id ? -1 : a->thread->id > b->thread->id;
}

int allocated__load(struct model *model, sqlite3 *db)
{
	struct allocated *allocated = &model->allocated;
	int err = 0;

	/* Older recordings have no such table. */
	if (load__is_answered(db, sql))
		err = load__each(model, db, sql, take);
	if (allocated->count)
		qsort(allocated->list, allocated->count, sizeof(*allocated->list), by_bytes);
	while (allocated->count && !allocated->list[allocated->count - 1].bytes)
		allocated->count--;
	return err;
}

int64_t allocated__rate_of(const struct allocated_thread *thread)
{
	return thread->of_ns > 0 ? (int64_t)((double)thread->bytes * 1e9 / (double)thread->of_ns)
				 : 0;
}

int64_t allocated__rate(const struct allocated *allocated, const struct model_thread *thread)
{
	for (size_t i = 0; i < allocated->count; i++)
		if (allocated->list[i].thread == thread)
			return allocated__rate_of(&allocated->list[i]);
	return 0;
}
