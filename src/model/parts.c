/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides series into parts: sorts them by what tells parts apart, adds up neighbours, and ranks
 * the parts by size, the largest first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/model.h"
#include "model/signals.h"

struct sorting {
	const struct signals_signal *signal;
	const struct signals_way *way;
};

int64_t signals__size(const struct signals_signal *signal, const struct signals_sum *sum)
{
	bool timed = signal->main >= 0 && signal->sum.sum[signal->main];

	return timed ? sum->sum[signal->main] : sum->count;
}

static const struct model_group *group_of(const struct signals_series *series)
{
	return series->thread ? series->thread->group : NULL;
}

static int compare_pointers(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* Sorts by part, then by group. Series that compare equal keep their order. */
static int by_part(const void *a, const void *b, void *context)
{
	const struct signals_series *x = *(const struct signals_series *const *)a;
	const struct signals_series *y = *(const struct signals_series *const *)b;
	const struct sorting *sorting = context;
	int order = sorting->way->compare ? sorting->way->compare(sorting->signal, x, y) : 0;

	if (!order)
		order = compare_pointers(group_of(x), group_of(y));
	return order ? order : compare_pointers(x, y);
}

static int by_size(const void *a, const void *b)
{
	const struct signals_part *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	if (x->sum.count != y->sum.count)
		return x->sum.count < y->sum.count ? 1 : -1;
	return compare_pointers(x->first, y->first);
}

static void add_sum(struct signals_sum *to, const struct signals_sum *what)
{
	to->count += what->count;
	for (int i = 0; i < SIGNALS_MEASURES; i++) {
		to->sum[i] += what->sum[i];
		if (to->max[i] < what->max[i])
			to->max[i] = what->max[i];
	}
}

static int64_t size_of(const struct sorting *sorting, const struct signals_series *series)
{
	return sorting->way->by_count ? series->sum.count
				      : signals__size(sorting->signal, &series->sum);
}

/* Adds up a part: list[0] to list[count - 1], each group's series side by side. */
static void fill(const struct sorting *sorting, const struct signals_series *const *list,
		 size_t count, struct signals_part *ret)
{
	const struct model_thread *thread = NULL;
	int64_t largest = -1, group_size = 0;

	*ret = (struct signals_part) { .group_size = -1 };
	for (size_t i = 0; i < count; i++) {
		int64_t size = size_of(sorting, list[i]);

		add_sum(&ret->sum, &list[i]->sum);
		ret->size += size;
		if (size > largest) {
			largest = size;
			ret->first = list[i];
		}
		if (!i || group_of(list[i]) != group_of(list[i - 1])) {
			group_size = 0;
			thread = list[i]->thread;
		}
		group_size += size;
		if (thread != list[i]->thread)
			thread = NULL;
		if (group_size >= ret->group_size) {
			ret->group = group_of(list[i]);
			ret->thread = thread;
			ret->group_size = group_size;
		}
	}
}

int signals__divide(const struct signals_signal *signal, const struct signals_way *way,
		    struct signals_parts *ret)
{
	struct sorting sorting = { signal, way };
	cleanup(free_p) const struct signals_series **list =
		calloc(signal->series_count + 1, sizeof(*list));
	struct signals_parts parts = {};
	size_t count = 0, begin = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < signal->series_count; i++)
		if (!way->takes || way->takes(signal, &signal->series[i], way->context))
			list[count++] = &signal->series[i];
	qsort_r(list, count, sizeof(*list), by_part, &sorting);
	parts.list = calloc(count + 1, sizeof(*parts.list));
	if (!parts.list)
		return -ENOMEM;
	for (size_t i = 1; i <= count; i++) {
		if (i < count && way->compare && !way->compare(signal, list[i], list[begin]))
			continue;
		if (i < count && !way->compare && group_of(list[i]) == group_of(list[begin]))
			continue;
		fill(&sorting, &list[begin], i - begin, &parts.list[parts.count++]);
		begin = i;
	}
	qsort(parts.list, parts.count, sizeof(*parts.list), by_size);
	*ret = parts;
	return 0;
}

/* Compares by name: a file that is known by its path and by its number is one file. */
int signals__by_object(const struct signals_signal *signal, const struct signals_series *a,
		       const struct signals_series *b)
{
	int order = a->object == b->object ? 0 : strcmp(a->object->name, b->object->name);

	return order ? order : strcmp(a->object->kind, b->object->kind);
}

/* Keeps operations apart, because an average over reads and syncs describes neither. */
static int by_object_and_operation(const struct signals_signal *signal,
				   const struct signals_series *a, const struct signals_series *b)
{
	int order = signals__by_object(signal, a, b);

	return order ? order
		     : strcmp(signal->rows[a->row].operation, signal->rows[b->row].operation);
}

/* gapless's own activity counts in the sums, but the lists of parts leave it out. */
static bool is_others(const struct signals_signal *signal, const struct signals_series *series,
		      const void *context)
{
	return !group_of(series) || !group_of(series)->own;
}

static bool has_object(const struct signals_signal *signal, const struct signals_series *series,
		       const void *context)
{
	return series->object && is_others(signal, series, context);
}

static int by_failure(const struct signals_signal *signal, const struct signals_series *a,
		      const struct signals_series *b)
{
	int order = strcmp(signal->rows[a->row].operation, signal->rows[b->row].operation);

	return order ? order : (a->error > b->error) - (a->error < b->error);
}

static bool failed(const struct signals_signal *signal, const struct signals_series *series,
		   const void *context)
{
	return series->error && is_others(signal, series, context);
}

static bool is_missing(const struct signals_signal *signal, const struct signals_series *series,
		       const void *context)
{
	return series->error == ENOENT && has_object(signal, series, context);
}

/* Sums up each row and the whole signal, and counts errors. Series must be sorted by row. */
static int sum_rows(struct signals_signal *signal)
{
	struct signals_way way = {};
	const struct sorting sorting = { signal, &way };
	cleanup(free_p) const struct signals_series **list =
		calloc(signal->series_count + 1, sizeof(*list));
	size_t begin = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < signal->series_count; i++) {
		const struct signals_series *series = &signal->series[i];

		list[i] = series;
		add_sum(&signal->sum, &series->sum);
		signal->errors += series->error ? series->sum.count : 0;
		signal->rows[series->row].errors += series->error ? series->sum.count : 0;
	}
	for (size_t i = 1; i <= signal->series_count; i++) {
		if (i < signal->series_count && list[i]->row == list[begin]->row)
			continue;
		qsort_r(&list[begin], i - begin, sizeof(*list), by_part, (void *)&sorting);
		fill(&sorting, &list[begin], i - begin, &signal->rows[list[begin]->row].part);
		begin = i;
	}
	return 0;
}

static void find_percentiles(struct signals_row *row)
{
	for (int i = 0; i < SIGNALS_MEASURES; i++)
		percentiles__find(row->histograms[i].buckets, row->histograms[i].bucket_count,
				  row->histograms[i].count, row->part.sum.max[i],
				  row->percentiles[i]);
}

static int by_row_size(const void *a, const void *b, void *context)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const struct signals_signal *signal = context;
	int order = by_size(&signal->rows[x].part, &signal->rows[y].part);

	return order ? order : (x > y) - (x < y);
}

static int rank_rows(struct signals_signal *signal)
{
	signal->ranks = calloc(signal->row_count + 1, sizeof(*signal->ranks));
	if (!signal->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < signal->row_count; i++) {
		signal->ranks[i] = i;
		find_percentiles(&signal->rows[i]);
	}
	qsort_r(signal->ranks, signal->row_count, sizeof(*signal->ranks), by_row_size, signal);
	return 0;
}

int signals__sum(struct model *model, struct signals_signal *signal)
{
	static const struct signals_way whom = { is_others, NULL, NULL, false };
	static const struct signals_way objects = { has_object, by_object_and_operation, NULL,
						    false };
	static const struct signals_way failures = { failed, by_failure, NULL, true };
	static const struct signals_way missing = { is_missing, signals__by_object, NULL, true };
	int err = sum_rows(signal);

	if (!err)
		err = rank_rows(signal);
	if (!err)
		err = signals__divide(signal, &whom, &signal->who);
	if (!err)
		err = signals__divide(signal, &objects, &signal->objects);
	if (!err)
		err = signals__divide(signal, &failures, &signal->failures);
	if (!err)
		err = signals__divide(signal, &missing, &signal->missing);
	return err;
}
