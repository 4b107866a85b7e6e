/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, and their states over time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "page/html_internal.h"
#include "recording/recording.h"

/* Limit on threads. Those with the most time that is not idle are kept; the others are merged. */
#define MOST_THREADS 3000
#define MOST_CELLS   400000

static int64_t busy_ns(const struct model_thread *thread)
{
	return thread->lifetime_ns - thread->kind_ns[KIND_IDLE];
}

static int by_busy_time(const void *a, const void *b)
{
	const struct model_thread *x = *(struct model_thread *const *)a;
	const struct model_thread *y = *(struct model_thread *const *)b;

	if (busy_ns(x) != busy_ns(y))
		return busy_ns(x) < busy_ns(y) ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static int choose_threads(struct html *html)
{
	const struct model *model = html->model;
	cleanup(free_p) const struct model_thread **list =
		calloc(model->thread_count + 1, sizeof(*list));
	size_t count = 0;

	html->threads = calloc(model->thread_count + 1, sizeof(*html->threads));
	if (!list || !html->threads)
		return -ENOMEM;
	for (size_t i = 0; i < model->thread_count; i++) {
		html->threads[i] = HTML_NONE;
		if (model->threads[i].measured)
			list[count++] = &model->threads[i];
	}
	qsort(list, count, sizeof(*list), by_busy_time);
	html->other_threads = count > MOST_THREADS ? count - MOST_THREADS : 0;
	for (size_t i = 0; i < count - html->other_threads; i++)
		html->threads[list[i] - model->threads] = (uint32_t)i;
	for (size_t i = count - html->other_threads; i < count; i++)
		html->threads[list[i] - model->threads] = MOST_THREADS;
	html->thread_count = html->other_threads ? MOST_THREADS + 1 : count;
	return 0;
}

static void put_column(struct html *html, const char *key, const struct model_thread **list,
		       int64_t (*value)(struct html *html, const struct model_thread *thread))
{
	json_out__open(&html->out.json, key, '[');
	for (size_t i = 0; i < html->thread_count; i++)
		json_out__number(&html->out.json, NULL, list[i] ? value(html, list[i]) : 0);
	json_out__close(&html->out.json, ']');
}

static int64_t pid_of(struct html *html, const struct model_thread *thread)
{
	return thread->pid;
}

static int64_t tid_of(struct html *html, const struct model_thread *thread)
{
	return thread->tid;
}

static int64_t process_of(struct html *html, const struct model_thread *thread)
{
	return thread->process;
}

static int64_t comm_of(struct html *html, const struct model_thread *thread)
{
	return html_out__keep(&html->out, thread->comm);
}

static int64_t process_comm_of(struct html *html, const struct model_thread *thread)
{
	return html_out__keep(&html->out, thread->process_comm);
}

static int64_t group_of(struct html *html, const struct model_thread *thread)
{
	return html_out__keep(&html->out, thread->group->name);
}

static int64_t cgroup_of(struct html *html, const struct model_thread *thread)
{
	return html_out__keep(&html->out, thread->cgroup);
}

static int64_t flags_of(struct html *html, const struct model_thread *thread)
{
	return thread->flags &
	       (RECORDING_THREAD_EXITED | RECORDING_THREAD_KERNEL | RECORDING_THREAD_OWN);
}

static int64_t life_of(struct html *html, const struct model_thread *thread)
{
	return thread->lifetime_ns;
}

static int64_t unexplained_of(struct html *html, const struct model_thread *thread)
{
	return thread->unexplained_ns;
}

/* The exact sums. The cells over time are parts of them. */
static int put_states(struct html *html)
{
	static const struct html_column columns[] = { { "thread", HTML_COLUMN_KEY },
						      { "state", HTML_COLUMN_KEY },
						      { "ns", HTML_COLUMN_VALUE },
						      { "count", HTML_COLUMN_VALUE } };
	const struct model *model = html->model;
	cleanup(html_rows__release) struct html_rows rows = {};
	int err = 0;

	for (size_t i = 0; i < model->thread_count && !err; i++) {
		const struct model_thread *thread = &model->threads[i];

		for (size_t j = 0; j < thread->cell_count && !err; j++) {
			const struct model_cell *cell = &thread->cells[j];
			struct html_row row = { .key = { (int32_t)html->threads[i],
							 (int32_t)(cell->state - model->states) },
						.value = { cell->ns, cell->count } };

			if (html->threads[i] != HTML_NONE)
				err = html_rows__add(&rows, &row);
		}
	}
	if (!err)
		html_rows__write(&rows, &html->out, "thread_states", columns, 4);
	return err;
}

int html__put_threads(struct html *html)
{
	const struct model *model = html->model;
	cleanup(free_p) const struct model_thread **list = NULL;
	int err = choose_threads(html);

	list = calloc(html->thread_count + 1, sizeof(*list));
	if (err || !list)
		return -ENOMEM;
	for (size_t i = 0; i < model->thread_count; i++)
		if (html->threads[i] < MOST_THREADS)
			list[html->threads[i]] = &model->threads[i];
	json_out__open(&html->out.json, "threads", '{');
	put_column(html, "pid", list, pid_of);
	put_column(html, "tid", list, tid_of);
	put_column(html, "process", list, process_of);
	put_column(html, "comm", list, comm_of);
	put_column(html, "process_comm", list, process_comm_of);
	put_column(html, "group", list, group_of);
	put_column(html, "cgroup", list, cgroup_of);
	put_column(html, "flags", list, flags_of);
	put_column(html, "lifetime_ns", list, life_of);
	put_column(html, "unexplained_ns", list, unexplained_of);
	json_out__number(&html->out.json, "folded", (int64_t)html->other_threads);
	json_out__close(&html->out.json, '}');
	return put_states(html);
}

struct timeline {
	struct html_table cells;
	double *totals; /* ns, indexed by state and then bin */
};

/* Spreads a row evenly over its bins. */
static void add_total(struct html *html, double *totals, const struct html_span *span, int64_t ns)
{
	const int64_t *edges = html->bins.edges + span->from;
	int64_t begin = span->begin_ns > edges[0] ? span->begin_ns : edges[0];
	int64_t end = span->end_ns < edges[span->count] ? span->end_ns : edges[span->count];

	for (int32_t i = 0; i < span->count; i++) {
		int64_t from = edges[i] > begin ? edges[i] : begin;
		int64_t to = edges[i + 1] < end ? edges[i + 1] : end;

		totals[span->from + i] += (double)ns * (double)(to - from) / (double)(end - begin);
	}
}

static int take_account(struct html *html, void *context, sqlite3_stmt *row)
{
	struct timeline *timeline = context;
	const struct model_thread *thread = load__thread(html->model, sqlite3_column_int64(row, 0));
	const struct model_state *state = load__state(html->model, sqlite3_column_int64(row, 1));
	uint32_t place = thread ? html->threads[thread - html->model->threads] : HTML_NONE;
	struct html_span span = {};
	int64_t ns;
	size_t at;

	if (thread && thread->outside)
		return 0;
	/* A row outside the cut may refer to a thread that the model does not have. */
	if (!html_bins__find(&html->bins, sqlite3_column_int64(row, 2),
			     sqlite3_column_int64(row, 3), &span) ||
	    (thread && !html_bins__narrow(&html->bins, thread->first_ns, thread->last_ns, &span)))
		return 0;
	if (place == HTML_NONE || !state) {
		html->folded.accounts++;
		return 0;
	}
	at = (size_t)(state - html->model->states);
	ns = html__part(&span, sqlite3_column_int64(row, 4));
	add_total(html, &timeline->totals[at * html->bins.count], &span, ns);
	return html_table__add(
		&timeline->cells,
		&(struct html_row) { .key = { (int32_t)place, (int32_t)at, span.from, span.count },
				     .value = { ns } });
}

static void put_totals(struct html *html, const double *totals)
{
	struct html_out *out = &html->out;

	json_out__open(&out->json, "bins_us", '[');
	for (size_t i = 0; i <= html->bins.count; i++)
		json_out__number(&out->json, NULL,
				 (html->bins.edges[i] - html->model->start_ns) / 1000);
	json_out__close(&out->json, ']');
	json_out__open(&out->json, "totals_us", '[');
	for (size_t i = 0; i < html->model->state_count; i++) {
		double left = 0;

		json_out__open(&out->json, NULL, '[');
		for (size_t bin = 0; bin < html->bins.count; bin++) {
			double us = totals[i * html->bins.count + bin] / 1000 + left;

			json_out__number(&out->json, NULL, llround(us));
			left = us - round(us);
		}
		json_out__close(&out->json, ']');
	}
	json_out__close(&out->json, ']');
}

static void join_others(struct html_row *row, void *context)
{
	const int32_t *most = context;

	if (row->key[0] > *most)
		row->key[0] = -1;
}

/* Counts the threads behind the page's entries from `most` on. */
static int64_t count_after(const struct html *html, int32_t most)
{
	int64_t places = (int64_t)html->thread_count - 1 - most;

	if (places <= 0)
		return 0;
	return places + (html->other_threads ? (int64_t)html->other_threads - 1 : 0);
}

/* As a last resort, the least busy threads lose their time axis. */
static int fit_cells(struct html *html, struct html_table *cells)
{
	int32_t most = MOST_THREADS;
	int err = html_table__fit(cells);

	while (!err && cells->rows.count > cells->most && most > 1) {
		most /= 2;
		err = html_rows__change(&cells->rows, join_others, &most);
	}
	html->folded.axes = count_after(html, most);
	return err;
}

int html__put_time(struct html *html)
{
	static const struct html_column columns[] = { { "thread", HTML_COLUMN_KEY },
						      { "state", HTML_COLUMN_KEY },
						      { "bin", HTML_COLUMN_KEY },
						      { "bins", HTML_COLUMN_KEY },
						      { "us", HTML_COLUMN_MICROSECONDS } };
	struct timeline timeline = { .cells = { .at = 2,
						.spans = true,
						.most = MOST_CELLS,
						.bins = (int32_t)html->bins.count } };
	int err;

	timeline.totals =
		calloc(html->model->state_count * html->bins.count + 1, sizeof(*timeline.totals));
	err = timeline.totals ? html__each(html,
					   "SELECT thread, state, slice_from, slice_to, ns"
					   " FROM account",
					   take_account, &timeline)
			      : -ENOMEM;
	if (!err)
		err = fit_cells(html, &timeline.cells);
	if (!err)
		put_totals(html, timeline.totals);
	free(timeline.totals);
	if (err)
		html_rows__release(&timeline.cells.rows);
	return err ? err : html__put_table(html, "cells", &timeline.cells, columns, 5);
}
