/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/by_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/load.h"
#include "model/signals.h"
#include "vocabulary/roles.h"

/* The series of a place are behind each other, because rows are sorted by place. */
static int add_row(struct model *model, const char *place, struct model_row **ret)
{
	struct model_row *last = model->row_count ? &model->rows[model->row_count - 1] : NULL;

	if (last && !strcmp(last->name, place)) {
		*ret = last;
		return 0;
	}
	*ret = APPEND(&model->rows, &model->row_count);
	if (!*ret)
		return -ENOMEM;
	(*ret)->name = place;
	return 0;
}

/* Marks a thread that has a slice on the last CPU. Returns whether that is its first one there. */
static bool is_new(const struct model *model, size_t *seen, const struct signals_series *series)
{
	size_t *at = &seen[series->thread - model->threads];

	if (!series->sum.count || *at == model->row_count)
		return false;
	*at = model->row_count;
	return true;
}

static int add_series(struct model *model, const struct signals_signal *signal, size_t *seen)
{
	int ready = signals__measure(signal, "ready"), slice = signals__measure(signal, "slice");

	for (size_t i = 0; ready >= 0 && slice >= 0 && i < signal->series_count; i++) {
		const struct signals_series *series = &signal->series[i];
		const char *place = signal->rows[series->row].place;
		struct model_row *row;

		if (!series->thread || !*place || series->thread->outside)
			continue;
		if (add_row(model, place, &row))
			return -ENOMEM;
		row->threads += is_new(model, seen, series);
		row->kind_ns[KIND_RUN] += series->sum.sum[slice];
		row->kind_ns[KIND_READY] += series->sum.sum[ready];
		row->lifetime_ns += series->sum.sum[slice] + series->sum.sum[ready];
	}
	return 0;
}

int by_cpu__rows(struct model *model)
{
	const struct signals_signal *signal = signals__of(&model->signals, ROLE_CPUS);
	/* By thread: the number of the last row that it is counted in. */
	cleanup(free_p) size_t *seen = calloc(model->thread_count + 1, sizeof(*seen));
	struct model_row *row;
	int err = seen ? 0 : -ENOMEM;

	if (!err && signal)
		err = add_series(model, signal, seen);
	if (err || model->row_count)
		return err;
	return add_row(model, signal ? "(no slice ended)" : "(no --signals cpu, or no slice ended)",
		       &row);
}

static int take_sum(struct model *model, sqlite3_stmt *row)
{
	struct model_cpu_sum *sum = APPEND(&model->cpu_sums, &model->cpu_sum_count);
	int64_t all = 0;

	if (!sum)
		return -ENOMEM;
	sum->place = load__name(model, row, 0);
	sum->operation = load__name(model, row, 1);
	sum->thread = load__thread(model, sqlite3_column_int64(row, 2));
	sum->ns = load__amount(sqlite3_column_int64(row, 3), LOAD_MOST, &all);
	return 0;
}

int by_cpu__load(struct model *model, sqlite3 *db)
{
	static const char sql[] =
		"SELECT s.place, s.operation, s.thread, sum(CASE m.id WHEN 0 THEN c.sum0 WHEN 1"
		" THEN c.sum1 WHEN 2 THEN c.sum2 WHEN 3 THEN c.sum3 WHEN 4 THEN c.sum4 ELSE"
		" c.sum5 END) FROM signal g JOIN series s ON s.signal = g.id JOIN series_slice c ON"
		" c.series = s.id JOIN measure m ON m.signal = g.id AND m.name = CASE s.operation"
		" WHEN 'steal' THEN 'steal' WHEN 'idle' THEN 'idle' ELSE 'spare' END"
		" WHERE g.role = 'cpus' AND s.operation IN ('steal', 'idle', 'pinned', 'confined')"
		" GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT 100000";

	return load__is_answered(db, sql) ? load__each(model, db, sql, take_sum) : 0;
}

/* Whether a sum of this thread is wanted. */
static bool is_chosen(const struct model_thread *thread, const struct model_group *only)
{
	return thread && !thread->outside && (!only || thread->group == only);
}

static struct by_cpu_line *find_line(struct by_cpu *by_cpu, const char *name)
{
	struct by_cpu_line *line;

	for (size_t i = 0; i < by_cpu->line_count; i++)
		if (!strcmp(by_cpu->lines[i].name, name))
			return &by_cpu->lines[i];
	line = APPEND(&by_cpu->lines, &by_cpu->line_count);
	if (line)
		line->name = name;
	return line;
}

/* Slices have the time beside an idle CPU. */
static int add_slices(const struct signals_signal *signal, const struct model_group *only,
		      struct by_cpu *ret)
{
	int ready = signals__measure(signal, "ready"), slice = signals__measure(signal, "slice");
	int spare = signals__measure(signal, "spare");

	for (size_t i = 0; ready >= 0 && slice >= 0 && i < signal->series_count; i++) {
		const struct signals_series *series = &signal->series[i];
		const char *place = signal->rows[series->row].place;
		struct by_cpu_line *line;

		if (!*place || !is_chosen(series->thread, only))
			continue;
		line = find_line(ret, place);
		if (!line)
			return -ENOMEM;
		line->run_ns += series->sum.sum[slice];
		line->ready_ns += series->sum.sum[ready];
		line->spare_ns += spare >= 0 ? series->sum.sum[spare] : 0;
	}
	return 0;
}

static int add_sums(const struct model *model, const struct model_group *only, struct by_cpu *ret)
{
	for (size_t i = 0; i < model->cpu_sum_count; i++) {
		const struct model_cpu_sum *sum = &model->cpu_sums[i];
		struct by_cpu_line *line = find_line(ret, sum->place);

		if (!line)
			return -ENOMEM;
		if (!strcmp(sum->operation, "steal"))
			line->steal_ns += sum->ns;
		else if (!strcmp(sum->operation, "idle"))
			line->idle_ns += sum->ns;
		else if (!is_chosen(sum->thread, only))
			continue;
		else if (!strcmp(sum->operation, "pinned"))
			line->pinned_ns += sum->ns;
		else
			line->confined_ns += sum->ns;
	}
	return 0;
}

static int find_pairs(const struct model *model, const struct model_group *only, struct by_cpu *ret)
{
	for (size_t i = 0; i < model->occupant_count; i++) {
		const struct model_occupant *occupant = &model->occupants[i];
		const struct model_group *by = occupant->by ? occupant->by->group : NULL;
		struct by_cpu_pair *pair = NULL;

		if (occupant->thread->outside || (only && occupant->thread->group != only))
			continue;
		for (size_t j = 0; j < ret->pair_count && !pair; j++)
			if (ret->pairs[j].group == occupant->thread->group &&
			    ret->pairs[j].by == by)
				pair = &ret->pairs[j];
		if (!pair)
			pair = APPEND(&ret->pairs, &ret->pair_count);
		if (!pair)
			return -ENOMEM;
		pair->group = occupant->thread->group;
		pair->by = by;
		pair->ns += occupant->ns;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct by_cpu_pair *first = a, *second = b;

	return (first->ns < second->ns) - (first->ns > second->ns);
}

int by_cpu__find(const struct model *model, const struct model_group *only, struct by_cpu *ret)
{
	const struct signals_signal *signal = signals__of(&model->signals, ROLE_CPUS);
	int err = 0;

	*ret = (struct by_cpu) {};
	if (signal)
		err = add_slices(signal, only, ret);
	if (!err)
		err = add_sums(model, only, ret);
	if (!err)
		err = find_pairs(model, only, ret);
	if (ret->pair_count)
		qsort(ret->pairs, ret->pair_count, sizeof(*ret->pairs), by_time);
	if (err)
		by_cpu__release(ret);
	return err;
}

void by_cpu__release(struct by_cpu *by_cpu)
{
	free(by_cpu->lines);
	free(by_cpu->pairs);
	*by_cpu = (struct by_cpu) {};
}
