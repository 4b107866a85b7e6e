/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sums. All numbers of a report are computed here or by the SQL behind load.c, nowhere else.
 *
 * A thread's lifetime is last_ns - first_ns, and its states must add up to it. The difference is
 * the remainder, and it is printed. If the recorder was killed before it wrote the end of a
 * thread's life, the lifetime is at least the sum of the states.
 */
#include "model/model.h"
#include "model/by_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/load.h"
#include "model/runtime_rows.h"
#include "recording/recording.h"
#include "vocabulary/histogram.h"

DEFINE_CLEANUP(sqlite3 *, sqlite3_close)

void model__release(struct model *model)
{
	for (size_t i = 0; i < model->group_count; i++)
		free(model->groups[i].state_ns);
	for (size_t i = 0; i < model->histogram_count; i++)
		free(model->histograms[i].buckets);
	free(model->states);
	free(model->cells);
	free(model->cell_threads);
	free(model->threads);
	free(model->groups);
	free(model->waits);
	free(model->outside_waits);
	map__release(&model->alike);
	free(model->blames);
	free(model->histograms);
	free(model->syscalls);
	free(model->paths);
	free(model->qualities);
	free(model->costs);
	free(model->rows);
	free(model->runtimes);
	map__release(&model->runtime_of);
	free(model->notes);
	free(model->samples);
	free(model->fatals);
	free(model->growths);
	free(model->sampled);
	free(model->resident.list);
	free(model->allocated.list);
	fibers__release(&model->fibers);
	free(model->occupants);
	free(model->pressures);
	free(model->cpu_sums);
	free(model->limits);
	hot__release(&model->hot);
	estimated__release(&model->estimated);
	history__release(&model->history);
	signals__release(&model->signals);
	pauses__release(&model->pauses);
	model_windows__release(&model->windows);
	json_decref(model->hooks);
	json_decref(model->kernel_counts);
	texts__release(&model->texts);
	*model = (struct model) {};
}

const char *model__kind_name(enum kind kind)
{
	bool is_wait = kind == KIND_DELAYING || kind == KIND_UNDECIDED || kind == KIND_IDLE;

	return is_wait ? kinds__words(kind)->key : NULL;
}

bool model__has_culprit(const struct model_state *state)
{
	return !(states__words(state->slot)->flags & STATE_NO_CULPRIT);
}

const struct model_figure *model__find(const struct model_figure *figures, size_t count,
				       const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(figures[i].name, name))
			return &figures[i];
	return NULL;
}

static int move_causes(struct model *model, const char *const *causes, enum kind kind)
{
	for (; causes && *causes; causes++) {
		bool found = false;

		for (size_t i = 0; i < model->state_count; i++) {
			struct model_state *state = &model->states[i];

			if (strcmp(state->state, "wait") || strcmp(state->cause, *causes))
				continue;
			state->kind = kind;
			state->overruled = true;
			found = true;
		}
		if (!found)
			return -ENOKEY;
	}
	return 0;
}

static int64_t part_inside(const struct model *model, const struct model_thread *thread)
{
	int64_t from = thread->first_ns, to = thread->last_ns;

	if (model->cut && from < model->from_ns)
		from = model->from_ns;
	if (model->cut && to > model->to_ns)
		to = model->to_ns;
	return to > from ? to - from : 0;
}

/* Sets the sums of one thread. */
static void sum_thread(const struct model *model, struct model_thread *thread)
{
	int64_t accounted = 0, life = thread->last_ns - thread->first_ns;
	bool has_account;

	for (size_t i = 0; i < thread->cell_count; i++) {
		accounted += thread->cells[i].ns;
		thread->kind_ns[thread->cells[i].state->kind] += thread->cells[i].ns;
	}
	thread->lifetime_ns = part_inside(model, thread);
	if (!model->complete && thread->lifetime_ns < accounted)
		thread->lifetime_ns = accounted;
	if (model->cut && life > 0)
		thread->unexplained_ns = (int64_t)((double)thread->unexplained_ns *
						   (double)thread->lifetime_ns / (double)life);
	has_account = thread->id > 0 && !(thread->flags & RECORDING_THREAD_NO_ACCOUNT) &&
		      (thread->lifetime_ns || thread->cell_count);
	if (!has_account)
		thread->lifetime_ns = thread->unexplained_ns = 0;
	thread->measured = has_account && !thread->outside;
}

static void add_thread(struct model *model, const struct model_thread *thread)
{
	for (size_t i = 0; i < thread->cell_count; i++) {
		const struct model_cell *cell = &thread->cells[i];
		struct model_state *state = &model->states[cell->state - model->states];

		state->ns += cell->ns;
		state->count += cell->count;
		model->kind_ns[state->kind] += cell->ns;
		model->remainder_ns -= cell->ns;
	}
	model->measured_threads += thread->measured;
	model->threads_ns += thread->lifetime_ns;
	model->unexplained_ns += thread->unexplained_ns;
	model->remainder_ns += thread->lifetime_ns;
}

static void sum_threads(struct model *model)
{
	size_t cell = 0;

	for (size_t i = 0; i < model->thread_count; i++) {
		struct model_thread *thread = &model->threads[i];

		if (cell < model->cell_count)
			thread->cells = &model->cells[cell];
		while (cell < model->cell_count && model->cell_threads[cell] == thread->id) {
			thread->cell_count++;
			cell++;
		}
		sum_thread(model, thread);
		if (!thread->outside)
			add_thread(model, thread);
	}
	model->unexplained_ns += model->kind_ns[KIND_UNSEEN];
}

static int by_syscall_time(const void *a, const void *b)
{
	const struct model_syscall *x = a, *y = b;

	if (x->run_ns != y->run_ns)
		return x->run_ns < y->run_ns ? 1 : -1;
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* A timed call can stand for many others, so a percentile may have too few. */
static void drop_percentiles(const struct model_syscall *call, int64_t percentiles[PERCENTILES])
{
	for (int i = 0; i < PERCENTILES; i++)
		if (call->timed < percentiles__words(i)->least)
			percentiles[i] = -1;
}

/* The signal that counts syscalls has the same weights. */
static void drop_percentiles_of_signal(struct model *model)
{
	const struct signals_signal *signal = signals__of(&model->signals, ROLE_CALLS);

	for (size_t i = 0; signal && i < signal->row_count; i++)
		for (size_t j = 0; j < model->syscall_count; j++)
			if (!strcmp(signal->rows[i].operation, model->syscalls[j].name) &&
			    signal->main >= 0)
				drop_percentiles(&model->syscalls[j],
						 signal->rows[i].percentiles[signal->main]);
}

static void sum_syscalls(struct model *model)
{
	for (size_t i = 0; i < model->syscall_count; i++) {
		struct model_syscall *call = &model->syscalls[i];
		const struct model_histogram none = {}, *histogram = NULL;

		for (size_t j = 0; j < model->histogram_count && !histogram; j++)
			if (model->histograms[j].is_syscall &&
			    model->histograms[j].key == call->number)
				histogram = &model->histograms[j];
		if (!histogram)
			histogram = &none;
		call->timed = call->untimed ? call->count - call->untimed : histogram->count;
		percentiles__find(histogram->buckets, histogram->bucket_count, histogram->count,
				  call->max_ns, call->percentiles_ns);
		drop_percentiles(call, call->percentiles_ns);
	}
	if (model->syscall_count)
		qsort(model->syscalls, model->syscall_count, sizeof(*model->syscalls),
		      by_syscall_time);
}

static int load(struct model *model, sqlite3 *db, const struct model_options *options)
{
	int err = load__head(model, db);

	model->args = options->args;
	if (!err)
		err = load__notes(model, db);
	if (!err)
		err = move_causes(model, options->busy, KIND_DELAYING);
	if (!err)
		err = move_causes(model, options->idle, KIND_IDLE);
	if (!err)
		err = scope__cut(&options->scope, model);
	if (!err)
		err = scope__narrow(&options->scope, model, db);
	if (!err)
		err = load__tables(model, db);
	if (err)
		return err;
	sum_threads(model);
	sum_syscalls(model);
	err = load__estimates(model, db);
	if (!err)
		err = group__threads(model);
	if (!err)
		err = group__processes(model);
	if (!err)
		err = load__sockets(model);
	if (!err)
		err = group__waits(model);
	if (!err)
		err = runtime_rows__load(model, db);
	if (!err)
		err = group__rows(model, options->by == MODEL_BY_CPU ? MODEL_BY_NONE : options->by);
	if (!err)
		err = load__paths(model, db);
	if (!err && options->history)
		err = history__load(model, db);
	if (!err)
		err = load__user_time(model, db);
	if (!err)
		err = load__queue(model, db);
	if (!err)
		err = model_windows__load(model, db, options);
	if (!err)
		err = resident__load(model, db);
	if (!err)
		err = allocated__load(model, db);
	if (!err && model->signals.known)
		err = load__signals(model, db);
	if (!err)
		err = pauses__make(model);
	if (!err && model->signals.known && !model->cut)
		err = by_cpu__load(model, db);
	if (!err && options->by == MODEL_BY_CPU)
		err = by_cpu__rows(model);
	if (!err)
		err = load__samples(model, db);
	if (!err)
		drop_percentiles_of_signal(model);
	return !err && model->texts.failed ? -ENOMEM : err;
}

int model__load_open(const char *path, const struct model_options *options, sqlite3 **ret_db,
		     struct model *ret)
{
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	cleanup(model__release) struct model model = {};
	int err = recording__open(path, &db);

	if (err)
		return err;
	/* Read one consistent snapshot of a recording that may still grow. */
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	model.path = load__keep(&model, path);
	err = load(&model, db, options);
	if (err)
		return err;
	*ret = model;
	model = (struct model) {};
	*ret_db = TAKE(db);
	return 0;
}

int model__load(const char *path, const struct model_options *options, struct model *ret)
{
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;

	return model__load_open(path, options, &db, ret);
}

bool model__reaches(int64_t part, int64_t whole, int percent)
{
	return part > 0 && (double)part * 100 >= (double)whole * percent;
}

const char *model__why(int err)
{
	switch (-err) {
	case ENOENT:
		return "there is no such recording [make one with 'sudo gapless record']";
	case EACCES:
	case EPERM:
		return "not readable for you [a recording belongs to whoever made it: sudo]";
	case EISDIR:
		return "a folder, not a recording";
	case EBADMSG:
		return "not a recording, or a damaged one";
	case E2BIG:
		return "it has more call paths than can be held in memory";
	case EPROTONOSUPPORT:
		return "made by a newer gapless than this one [update]";
	case EBUSY:
		return "being written just now [try again]";
	case ENOKEY:
		return "--busy or --idle names a cause that this recording does not have [see "
		       "'gapless query RECORDING \"SELECT cause FROM state\"']";
	case ESRCH:
		return "none of its threads matches";
	case ERANGE:
		return "nothing of it is in that stretch";
	default:
		return strerror(-err);
	}
}
