/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/by_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
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
	return add_row(model, signal ? "(no slice ended)" : "(no --signals cpu)", &row);
}
