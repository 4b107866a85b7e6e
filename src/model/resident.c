/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/resident.h"

#include <errno.h>
#include <stdlib.h>

#include "model/load.h"

/* No kind of a process has more, so that a total cannot overflow. */
#define MOST_BYTES (1LL << 56)

static const char sql[] =
	"SELECT r.process, r.time_ns, r.anonymous, r.file, r.shared, r.swap, p.pid, p.comm"
	" FROM resident r LEFT JOIN process p ON p.id = r.process WHERE r.time_ns BETWEEN ?1 AND ?2"
	" AND r.process IN (SELECT m.process FROM resident m WHERE m.time_ns BETWEEN ?1 AND ?2"
	" AND m.process IN (SELECT process FROM thread WHERE flags & (8 | 16) = 0)"
	" GROUP BY m.process ORDER BY max(m.anonymous + m.file + m.shared) DESC, m.process LIMIT 64)"
	" ORDER BY r.process, r.time_ns";
_Static_assert(RESIDENT_PROCESSES == 64, "in the query above");

int64_t resident__total(const struct resident_point *point)
{
	return point->bytes[RESIDENT_ANONYMOUS] + point->bytes[RESIDENT_FILE] +
	       point->bytes[RESIDENT_SHARED];
}

const char *resident__name(enum resident_kind kind)
{
	static const char *const names[RESIDENT_KINDS] = { "anonymous", "file", "shared", "swap" };

	return names[kind];
}

/* Which interval of the cut a time is in. */
static int64_t interval_of(const struct model *model, int64_t time_ns)
{
	double length = (double)(model->to_ns - model->from_ns) + 1;

	return (int64_t)((double)(time_ns - model->from_ns) / length * RESIDENT_POINTS);
}

static void add_point(const struct model *model, struct resident_process *process,
		      const struct resident_point *point)
{
	size_t count = process->point_count;

	if (!process->readings++)
		process->first = process->peak = *point;
	process->last = *point;
	if (resident__total(point) > resident__total(&process->peak))
		process->peak = *point;
	if (!count ||
	    (count < RESIDENT_POINTS && interval_of(model, process->points[count - 1].time_ns) !=
						interval_of(model, point->time_ns)))
		count = ++process->point_count;
	process->points[count - 1] = *point;
}

static int take(struct model *model, sqlite3_stmt *row)
{
	struct resident *resident = &model->resident;
	int64_t id = sqlite3_column_int64(row, 0);
	struct resident_point point = { .time_ns = sqlite3_column_int64(row, 1) };
	struct resident_process *process = NULL;

	/* The first one may be a little older than the recording. */
	if (point.time_ns < model->from_ns)
		point.time_ns = model->from_ns;
	if (point.time_ns > model->to_ns)
		point.time_ns = model->to_ns;

	for (int i = 0; i < RESIDENT_KINDS; i++) {
		int64_t all = 0;

		point.bytes[i] = load__amount(sqlite3_column_int64(row, 2 + i), MOST_BYTES, &all);
	}
	if (resident->count && resident->list[resident->count - 1].process == id)
		process = &resident->list[resident->count - 1];
	if (!process) {
		process = APPEND(&resident->list, &resident->count);
		if (!process)
			return -ENOMEM;
		process->process = id;
		process->pid = sqlite3_column_int64(row, 6);
		process->comm = load__name(model, row, 7);
	}
	add_point(model, process, &point);
	return 0;
}

static int by_peak(const void *left, const void *right)
{
	const struct resident_process *a = left, *b = right;
	int64_t x = resident__total(&a->peak), y = resident__total(&b->peak);

	if (x != y)
		return x < y ? 1 : -1;
	return a->process < b->process ? -1 : a->process > b->process;
}

int resident__load(struct model *model, sqlite3 *db)
{
	int err = 0;

	/* Older recordings have no such table. */
	if (load__is_answered(db, sql))
		err = load__each(model, db, sql, take);
	if (model->resident.count)
		qsort(model->resident.list, model->resident.count, sizeof(*model->resident.list),
		      by_peak);
	return err;
}
