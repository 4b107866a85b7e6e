/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history.h"

#include <errno.h>
#include <stdlib.h>

#include "model/load.h"
#include "model/sql.h"

/* Shorter recordings have no history: nothing in them is worth calling a development. */
#define LEAST_NS     (10 * INT64_C(1000000000))
#define LEAST_BIN_NS INT64_C(250000000)
#define LEAST_BINS   10

static int64_t busy_ns(const struct model_group *group)
{
	return group->kind_ns[KIND_RUN] + group->kind_ns[KIND_READY] +
	       group->kind_ns[KIND_DELAYING] + group->kind_ns[KIND_UNDECIDED];
}

/* The busiest groups, the busiest first. */
static void choose_groups(struct model *model)
{
	struct history *history = &model->history;

	for (size_t i = 0; i < model->group_count; i++) {
		const struct model_group *group = &model->groups[i];
		size_t place = history->group_count;

		if (group->own || !group->lifetime_ns)
			continue;
		while (place && busy_ns(history->groups[place - 1]) < busy_ns(group))
			place--;
		if (place == HISTORY_MOST_GROUPS)
			continue;
		if (history->group_count < HISTORY_MOST_GROUPS)
			history->group_count++;
		for (size_t j = history->group_count - 1; j > place; j--)
			history->groups[j] = history->groups[j - 1];
		history->groups[place] = group;
	}
}

static double *cells_of(const struct model *model, size_t group, size_t state)
{
	const struct history *history = &model->history;

	return &history->ns[(group * model->state_count + state) * history->bins];
}

const double *history__state(const struct model *model, size_t group, size_t state)
{
	return cells_of(model, group, state);
}

/* Spreads `ns` evenly over begin … end. */
static void spread(const struct model *model, double *cells, int64_t begin, int64_t end, int64_t ns)
{
	const struct history *history = &model->history;
	int64_t from = begin - model->from_ns, to = end - model->from_ns;
	double rate = end > begin ? (double)ns / (double)(end - begin) : 0;
	int64_t whole = (int64_t)history->bins * history->bin_ns;

	from = from < 0 ? 0 : from;
	to = to > whole ? whole : to;
	for (int64_t bin = from / history->bin_ns; from < to; bin++) {
		int64_t edge = (bin + 1) * history->bin_ns;
		int64_t part = (edge < to ? edge : to) - from;

		cells[bin] += rate * (double)part;
		from += part;
	}
}

static int take_account(struct model *model, sqlite3_stmt *row)
{
	const struct model_thread *thread = load__thread(model, sqlite3_column_int64(row, 0));
	const struct model_state *state = load__state(model, sqlite3_column_int64(row, 1));
	int64_t begin = sqlite3_column_int64(row, 2), end = sqlite3_column_int64(row, 3);
	int64_t ns = sqlite3_column_int64(row, 4);
	size_t group = 0;

	if (!thread || !state || !thread->measured)
		return 0;
	/* Numbers that a hostile file may have. */
	if (begin < 0 || end > LOAD_MOST || end <= begin || ns < 0)
		return 0;
	while (group < model->history.group_count && model->history.groups[group] != thread->group)
		group++;
	if (group < model->history.group_count)
		spread(model, cells_of(model, group, (size_t)(state - model->states)), begin, end,
		       ns);
	return 0;
}

static int take_longest(struct model *model, sqlite3_stmt *row)
{
	int64_t longest = sqlite3_column_int64(row, 0);
	int64_t bin = model->wall_ns / HISTORY_MOST_BINS + 1;

	bin = bin < LEAST_BIN_NS ? LEAST_BIN_NS : bin;
	model->history.bin_ns = longest > bin ? longest : bin;
	return 0;
}

int history__load(struct model *model, sqlite3 *db)
{
	struct history *history = &model->history;
	int err;

	if (model->wall_ns < LEAST_NS || !model->state_count)
		return 0;
	err = load__each(model, db, "SELECT max(end_ns - begin_ns) FROM slice", take_longest);
	if (err)
		return err;
	/* The last part of a bin is left out, because it would be noisier than the others. */
	history->bins = (size_t)(model->wall_ns / history->bin_ns);
	if (history->bins < LEAST_BINS) {
		history->bins = 0;
		return 0;
	}
	choose_groups(model);
	history->ns = calloc(history->group_count * model->state_count * history->bins + 1,
			     sizeof(*history->ns));
	if (!history->ns)
		return -ENOMEM;
	return load__each(model, db, sql__account_rows, take_account);
}

void history__release(struct history *history)
{
	free(history->ns);
}
