/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads rows into arrays. SQLite computes the sums over slices: see sql.c. */
#include "model/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/daytime.h"
#include "model/sql.h"
#include "recording/recording.h"
#include "vocabulary/histogram.h"

#define DAY_S 86400

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

const char *load__keep(struct model *model, const char *text)
{
	return text ? texts__keep(&model->texts, text) : NULL;
}

const char *load__text(struct model *model, sqlite3_stmt *row, int column)
{
	return load__keep(model, (const char *)sqlite3_column_text(row, column));
}

uint32_t load__index(sqlite3_stmt *row, int column)
{
	int64_t value = sqlite3_column_int64(row, column);

	return (uint32_t)(value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : value);
}

const char *load__name(struct model *model, sqlite3_stmt *row, int column)
{
	const char *text = load__text(model, row, column);

	return text ? text : "?";
}

int load__error(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
		return -EBUSY;
	case SQLITE_IOERR:
		return -EIO;
	default:
		return -EBADMSG;
	}
}

int load__prepare(const struct model *model, sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
	int rc = sqlite3_prepare_v2(db, sql, -1, ret, NULL);

	if (rc)
		return load__error(rc);
	if (sqlite3_bind_parameter_count(*ret)) {
		sqlite3_bind_int64(*ret, 1, model->cut ? model->from_ns : INT64_MIN);
		sqlite3_bind_int64(*ret, 2, model->cut ? model->to_ns : INT64_MAX);
	}
	return 0;
}

int load__each(struct model *model, sqlite3 *db, const char *sql, load_row *take)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int rc, err = load__prepare(model, db, sql, &row);

	if (err)
		return err;
	while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
		err = take(model, row);
		if (err)
			return err;
	}
	return load__error(rc);
}

static int64_t clamp(int64_t value, int64_t most)
{
	return value < 0 ? 0 : value > most ? most : value;
}

int64_t load__amount(int64_t value, int64_t most, int64_t *sum)
{
	value = clamp(value, most - *sum);
	*sum += value;
	return value;
}

/* A hostile file may have anything there. */
static int64_t zone_of(int64_t zone_s)
{
	return zone_s < -DAY_S || zone_s > DAY_S ? 0 : zone_s;
}

static int take_meta(struct model *model, sqlite3_stmt *row)
{
	const struct {
		const char *key;
		const char **text;
		int64_t *number;
	} known[] = {
		{ .key = "target", .text = &model->target },
		{ .key = "level", .text = &model->level },
		{ .key = "kernel", .text = &model->kernel },
		{ .key = "gapless_version", .text = &model->version },
		{ .key = "gapless_commit", .text = &model->commit },
		{ .key = "cpu_model", .text = &model->cpu_model },
		{ .key = "governor", .text = &model->governor },
		{ .key = "command_line", .text = &model->command_line },
		{ .key = "ended", .text = &model->ended },
		{ .key = "warmup_ns", .number = &model->warmup_ns },
		{ .key = "kernel_tick_ns", .number = &model->kernel_tick_ns },
		{ .key = "start_unix_ns", .number = &model->start_unix_ns },
		{ .key = "cpus", .number = &model->cpus },
		{ .key = "start_ns", .number = &model->start_ns },
		{ .key = "end_ns", .number = &model->end_ns },
		{ .key = "budget_ppm", .number = &model->estimated.budget_ppm },
		{ .key = "sample_period_ns", .number = &model->hot.period_ns },
		{ .key = "crossing_ns", .number = &model->user_time.crossing_ns },
	};
	const char *key = (const char *)sqlite3_column_text(row, 0);

	if (!key)
		return 0;
	if (!strcmp(key, "zone_s")) {
		model->zone_s = zone_of(sqlite3_column_int64(row, 1));
		model->has_zone = true;
	}
	if (!strcmp(key, "complete"))
		model->complete = sqlite3_column_int64(row, 1) == 1;
	/* Schema version 2 added samples, version 3 signals, version 4 turns. */
	if (!strcmp(key, "schema_version")) {
		model->hot.known = sqlite3_column_int64(row, 1) >= 2;
		model->signals.known = sqlite3_column_int64(row, 1) >= 3;
		model->has_turns = sqlite3_column_int64(row, 1) >= 4;
	}
	if (!strcmp(key, "sample_period_ns"))
		model->hot.has_period = true;
	if (!strcmp(key, "budget_ppm"))
		model->estimated.has_budget = true;
	if (!strcmp(key, "hooks") && sqlite3_column_type(row, 1) == SQLITE_TEXT && !model->hooks)
		model->hooks = json_loads((const char *)sqlite3_column_text(row, 1), 0, NULL);
	if (!strcmp(key, "kernel_counts") && sqlite3_column_type(row, 1) == SQLITE_TEXT &&
	    !model->kernel_counts)
		model->kernel_counts =
			json_loads((const char *)sqlite3_column_text(row, 1), 0, NULL);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(key, known[i].key))
			continue;
		if (known[i].text)
			*known[i].text = load__text(model, row, 1);
		else if (known[i].number)
			*known[i].number = clamp(sqlite3_column_int64(row, 1), LOAD_MOST);
	}
	return 0;
}

/* Takes start and end from the slices if meta does not have them (yet). */
static int take_span(struct model *model, sqlite3_stmt *row)
{
	if (!model->start_ns)
		model->start_ns = clamp(sqlite3_column_int64(row, 0), LOAD_MOST);
	if (model->end_ns < model->start_ns || !model->complete)
		model->end_ns = clamp(sqlite3_column_int64(row, 1), LOAD_MOST);
	if (model->end_ns < model->start_ns)
		model->end_ns = model->start_ns;
	return 0;
}

static int take_state(struct model *model, sqlite3_stmt *row)
{
	struct model_state *state = APPEND(&model->states, &model->state_count);

	if (!state)
		return -ENOMEM;
	state->id = sqlite3_column_int64(row, 0);
	state->state = load__name(model, row, 1);
	state->cause = load__name(model, row, 2);
	state->kind = kinds__of(state->state, load__name(model, row, 3));
	state->slot = states__find(state->state, state->cause, state->kind);
	return 0;
}

const struct model_state *load__state(const struct model *model, int64_t id)
{
	for (size_t i = 0; i < model->state_count; i++)
		if (model->states[i].id == id)
			return &model->states[i];
	return NULL;
}

static int take_cell(struct model *model, sqlite3_stmt *row)
{
	const struct model_state *state = load__state(model, sqlite3_column_int64(row, 1));
	size_t threads = model->cell_count;
	struct model_cell *cell;
	int64_t *thread;

	if (!state)
		return -EBADMSG;
	cell = APPEND(&model->cells, &model->cell_count);
	thread = APPEND(&model->cell_threads, &threads);
	if (!cell || !thread)
		return -ENOMEM;
	*thread = sqlite3_column_int64(row, 0);
	cell->state = state;
	cell->ns = load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &model->loaded.cell_ns);
	cell->count =
		load__amount(sqlite3_column_int64(row, 3), LOAD_MOST, &model->loaded.cell_count);
	load__amount(sqlite3_column_int64(row, 4), LOAD_MOST, &model->prorated_ns);
	return 0;
}

static int take_thread(struct model *model, sqlite3_stmt *row)
{
	struct model_thread *thread = APPEND(&model->threads, &model->thread_count);

	if (!thread)
		return -ENOMEM;
	thread->id = sqlite3_column_int64(row, 0);
	thread->process = sqlite3_column_int64(row, 1);
	thread->tid = sqlite3_column_int64(row, 2);
	thread->comm = load__name(model, row, 3);
	thread->first_ns = clamp(sqlite3_column_int64(row, 4), LOAD_MOST);
	thread->last_ns = clamp(sqlite3_column_int64(row, 5), LOAD_MOST);
	if (thread->last_ns > thread->first_ns)
		thread->last_ns =
			thread->first_ns + load__amount(thread->last_ns - thread->first_ns,
							LOAD_MOST, &model->loaded.life_ns);
	thread->unexplained_ns = load__amount(sqlite3_column_int64(row, 6), LOAD_MOST,
					      &model->loaded.unexplained_ns);
	thread->flags = sqlite3_column_int64(row, 7);
	thread->outside = thread->flags & RECORDING_THREAD_OUTSIDE;
	thread->pid = sqlite3_column_int64(row, 8);
	thread->process_comm = load__text(model, row, 9);
	thread->cgroup = load__text(model, row, 10);
	thread->parent_pid = sqlite3_column_int64(row, 11);
	if (!thread->process_comm)
		thread->process_comm = thread->comm;
	return 0;
}

static int by_id(const void *key, const void *element)
{
	int64_t id = *(const int64_t *)key;
	const struct model_thread *thread = element;

	return (id > thread->id) - (id < thread->id);
}

const struct model_thread *load__thread(const struct model *model, int64_t id)
{
	const struct model_thread *thread = NULL;

	if (model->thread_count)
		thread = bsearch(&id, model->threads, model->thread_count, sizeof(*model->threads),
				 by_id);
	return thread && thread->same ? thread->same : thread;
}

static int take_wait(struct model *model, sqlite3_stmt *row)
{
	const struct model_thread *waiter = load__thread(model, sqlite3_column_int64(row, 0));
	struct model_wait *wait;

	if (waiter && waiter->outside)
		wait = APPEND(&model->outside_waits, &model->outside_wait_count);
	else
		wait = APPEND(&model->waits, &model->wait_count);
	if (!wait)
		return -ENOMEM;
	wait->waiter = waiter;
	wait->state = load__state(model, sqlite3_column_int64(row, 1));
	wait->object = wait->alike = sqlite3_column_int64(row, 2);
	wait->by = load__thread(model, sqlite3_column_int64(row, 3));
	wait->evidence = load__name(model, row, 4);
	wait->ns = load__amount(sqlite3_column_int64(row, 5), LOAD_MOST, &model->loaded.wait_ns);
	wait->count =
		load__amount(sqlite3_column_int64(row, 6), LOAD_MOST, &model->loaded.wait_count);
	wait->object_kind = load__text(model, row, 7);
	wait->object_name = wait->own_name = load__text(model, row, 8);
	wait->first = load__thread(model, sqlite3_column_int64(row, 9));
	wait->ended = load__text(model, row, 10);
	if (!wait->ended)
		wait->ended = "";
	wait->turn = (int)load__index(row, 11);
	wait->in_request = sqlite3_column_int64(row, 12) != 0;
	return wait->waiter && wait->state ? 0 : -EBADMSG;
}

static int take_bucket(struct model *model, sqlite3_stmt *row)
{
	bool is_syscall = sqlite3_column_int64(row, 0) != 0;
	int64_t key = sqlite3_column_int64(row, 1), number = sqlite3_column_int64(row, 2);
	int64_t count =
		load__amount(sqlite3_column_int64(row, 3), LOAD_MOST, &model->loaded.buckets);
	struct model_histogram *last =
		model->histogram_count ? &model->histograms[model->histogram_count - 1] : NULL;
	const struct model_state *state;
	struct bucket *bucket;

	if (count <= 0)
		return 0;
	if (number < 0 || number >= HISTOGRAM_BUCKETS)
		return -EBADMSG;
	if (!last || last->is_syscall != is_syscall || last->key != key) {
		last = APPEND(&model->histograms, &model->histogram_count);
		if (!last)
			return -ENOMEM;
		last->is_syscall = is_syscall;
		last->key = key;
		last->name = load__name(model, row, 4);
		state = is_syscall ? NULL : load__state(model, key);
		last->kind_name = state ? model__kind_name(state->kind) : NULL;
	}
	bucket = APPEND(&last->buckets, &last->bucket_count);
	if (!bucket)
		return -ENOMEM;
	bucket->number = (int)number;
	bucket->count = count;
	last->count += count;
	return 0;
}

static int take_syscall(struct model *model, sqlite3_stmt *row)
{
	struct model_syscall *call;

	if (!sqlite3_column_int64(row, 2))
		return 0;
	call = APPEND(&model->syscalls, &model->syscall_count);
	if (!call)
		return -ENOMEM;
	call->number = sqlite3_column_int64(row, 0);
	call->name = load__name(model, row, 1);
	call->count = sqlite3_column_int64(row, 2);
	call->errors = sqlite3_column_int64(row, 3);
	call->total_ns = sqlite3_column_int64(row, 4);
	call->max_ns = sqlite3_column_int64(row, 5);
	call->common_errno = sqlite3_column_int64(row, 6);
	call->common_count = sqlite3_column_int64(row, 7);
	call->run_ns = sqlite3_column_int64(row, 8);
	call->untimed = clamp(sqlite3_column_int64(row, 9), call->count);
	call->variance = load__variance(row, 10);
	return 0;
}

static int take_idle(struct model *model, sqlite3_stmt *row)
{
	model->has_idle = sqlite3_column_int64(row, 0) > 0;
	model->idle_ns = clamp(sqlite3_column_int64(row, 1), LOAD_MOST);
	if (!model->cpus)
		model->cpus = sqlite3_column_int64(row, 0);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	return by_id(&((const struct model_thread *)a)->id, b);
}

/* A killed recorder may leave accounts of threads that it had no time to describe. */
static int add_unknown(struct model *model)
{
	size_t known = model->thread_count;

	for (size_t i = 0; i < model->cell_count; i++) {
		int64_t id = model->cell_threads[i];
		struct model_thread *thread;

		if ((i && id == model->cell_threads[i - 1]) ||
		    (known && bsearch(&id, model->threads, known, sizeof(*model->threads), by_id)))
			continue;
		thread = APPEND(&model->threads, &model->thread_count);
		if (!thread)
			return -ENOMEM;
		thread->id = id;
		thread->comm = thread->process_comm = "?";
	}
	if (model->thread_count > known)
		qsort(model->threads, model->thread_count, sizeof(*model->threads), compare_ids);
	return 0;
}

/*
 * An outside thread gets its account after it ended the first waits. Those have another thread of
 * the same number and name, without an account.
 */
static int find_same(struct model *model)
{
	cleanup(map__release) struct map by_tid = {};
	int err = 0;

	for (size_t i = 0; i < model->thread_count && !err; i++)
		if (model->threads[i].outside && model->threads[i].tid > 0)
			err = map__put(&by_tid, (uint64_t)model->threads[i].tid,
				       &model->threads[i]);
	for (size_t i = 0; i < model->thread_count && by_tid.count && !err; i++) {
		struct model_thread *thread = &model->threads[i];
		const struct model_thread *outside =
			thread->tid > 0 ? map__get(&by_tid, (uint64_t)thread->tid) : NULL;

		if (outside && thread->flags & RECORDING_THREAD_NO_ACCOUNT &&
		    !strcmp(thread->comm, outside->comm))
			thread->same = outside;
	}
	return err;
}

int load__head(struct model *model, sqlite3 *db)
{
	int err = load__each(model, db, "SELECT key, value FROM meta", take_meta);

	if (!model->has_zone)
		model->zone_s = daytime__own_zone_s(model->start_unix_ns);
	if (!err)
		err = load__each(model, db, "SELECT min(begin_ns), max(end_ns) FROM slice",
				 take_span);
	if (!err)
		err = load__each(model, db, "SELECT id, state, cause, kind FROM state ORDER BY id",
				 take_state);
	return err;
}

bool load__is_answered(sqlite3 *db, const char *sql)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;

	return !sqlite3_prepare_v2(db, sql, -1, &row, NULL);
}

int load__threads(struct model *model, sqlite3 *db)
{
	return load__each(model, db,
			  load__is_answered(db, sql__has_holders) ? sql__threads : sql__threads_1,
			  take_thread);
}

int load__tables(struct model *model, sqlite3 *db)
{
	const struct {
		const char *sql;
		load_row *take;
	} tables[] = {
		{ load__is_answered(db, sql__has_ends)      ? sql__waits
		  : load__is_answered(db, sql__has_holders) ? sql__waits_3
							    : sql__waits_1,
		  take_wait },
		{ sql__histograms, take_bucket },
		{ load__is_answered(db, sql__has_estimates) ? sql__syscalls : sql__syscalls_4,
		  take_syscall },
		{ "SELECT count(*), sum(idle_ns) FROM cpu", take_idle },
	};

	int err = load__each(model, db, model->cut ? sql__cut_accounts : sql__accounts, take_cell);

	if (!err)
		err = load__threads(model, db);
	if (!err)
		err = add_unknown(model);
	if (!err)
		err = find_same(model);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !err; i++)
		err = load__each(model, db, tables[i].sql, tables[i].take);
	return err ? err : load__figures(model, db);
}
