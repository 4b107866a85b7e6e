/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds up samples. They are read once, in file order: a GROUP BY would sort half a million rows
 * only to save a few additions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/fold.h"
#include "model/load.h"
#include "model/sample.h"
#include "recording/recording.h"

#define MOST_REASONS 32

/* Cells under construction. */
struct tally {
	struct map places; /* (owner, place) → cell + 1 */
	struct hot_cells *cells;
};

struct sampling {
	struct fold *fold;
	struct model *model;
	struct model_blame **blames; /* sorted by waiter, state, object and culprit */
	struct tally runs, paths, wakers;
};

/* A row of `sample` with its references resolved. */
struct taken {
	const struct model_thread *thread;
	const struct model_state *state;
	const struct fold_stack *stack, *waker; /* NULL: none */
	int64_t object;
	const struct model_thread *by;
	int64_t flags; /* RECORDING_SAMPLE_… */
	struct hot_sum sum;
};

static int64_t sum_ns(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void hot__add(struct hot_sum *to, const struct hot_sum *what)
{
	to->ns = sum_ns(to->ns, what->ns);
	to->samples += what->samples;
	to->variance += what->variance;
}

static int tally__add(struct tally *tally, uint32_t owner, uint32_t place,
		      const struct hot_sum *sum)
{
	struct hot_cells *cells = tally->cells;
	uint64_t key = (uint64_t)owner << 32 | place;
	uintptr_t known = (uintptr_t)map__get(&tally->places, key);
	struct hot_cell *cell;

	if (!known) {
		known = cells->count + 1;
		cell = APPEND(&cells->list, &cells->count);
		if (!cell || map__put(&tally->places, key, (void *)known))
			return -ENOMEM;
		cell->owner = owner;
		cell->place = place;
	}
	hot__add(&cells->list[known - 1].sum, sum);
	return 0;
}

static int by_owner(const void *a, const void *b)
{
	const struct hot_cell *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->sum.ns != y->sum.ns)
		return x->sum.ns > y->sum.ns ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static void tally__finish(struct tally *tally)
{
	map__release(&tally->places);
	if (tally->cells->count)
		qsort(tally->cells->list, tally->cells->count, sizeof(*tally->cells->list),
		      by_owner);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Samples have no evidence, so blames that differ only in evidence share their samples. */
static int compare_waits(const struct model_thread *waiter_a, const struct model_state *state_a,
			 int64_t object_a, const struct model_thread *by_a,
			 const struct model_wait *b)
{
	int order = compare((uintptr_t)waiter_a->group, (uintptr_t)b->waiter->group);

	if (!order)
		order = compare((uintptr_t)state_a, (uintptr_t)b->state);
	if (!order)
		order = compare((uint64_t)object_a, (uint64_t)b->alike);
	if (!order && model__has_culprit(state_a))
		order = compare(by_a ? (uintptr_t)by_a->group : 0,
				b->by ? (uintptr_t)b->by->group : 0);
	return order;
}

static int by_wait(const void *a, const void *b)
{
	const struct model_wait *x = (*(struct model_blame *const *)a)->first;

	return compare_waits(x->waiter, x->state, x->alike, x->by,
			     (*(struct model_blame *const *)b)->first);
}

static int find_wait(const void *key, const void *element)
{
	const struct taken *taken = key;

	return compare_waits(taken->thread, taken->state, taken->object, taken->by,
			     (*(struct model_blame *const *)element)->first);
}

static int index_blames(struct sampling *sampling)
{
	struct model *model = sampling->model;
	uint32_t owner = 0;

	sampling->blames = calloc(model->blame_count + 1, sizeof(struct model_blame *));
	if (!sampling->blames)
		return -ENOMEM;
	for (size_t i = 0; i < model->blame_count; i++)
		sampling->blames[i] = &model->blames[i];
	qsort(sampling->blames, model->blame_count, sizeof(*sampling->blames), by_wait);
	for (size_t i = 0; i < model->blame_count; i++) {
		if (i && by_wait(&sampling->blames[i - 1], &sampling->blames[i]))
			owner++;
		sampling->blames[i]->owner = owner;
	}
	return 0;
}

static int count_reason(struct model *model, const char *words, bool cut)
{
	struct hot *hot = &model->hot;
	struct hot_reason *reason;

	if (!words)
		return 0;
	if (hot->reason_count >= MOST_REASONS)
		words = "other";
	for (size_t i = 0; i < hot->reason_count; i++) {
		reason = &hot->reasons[i];
		if (reason->cut != cut || strcmp(reason->words, words))
			continue;
		reason->samples++;
		return 0;
	}
	reason = APPEND(&hot->reasons, &hot->reason_count);
	if (!reason)
		return -ENOMEM;
	*reason = (struct hot_reason) { load__keep(model, words), cut, 1 };
	return reason->words ? 0 : -ENOMEM;
}

static int add_run(struct sampling *sampling, const struct taken *taken, uint32_t node)
{
	struct hot *hot = &sampling->model->hot;
	uint32_t row = hot->functions[hot->nodes[node].function].row;

	hot__add(&hot->nodes[node].sums[HOT_RUN], &taken->sum);
	if (!taken->thread)
		return 0;
	return tally__add(&sampling->runs,
			  (uint32_t)(taken->thread->group - sampling->model->groups), row,
			  &taken->sum);
}

static int add_wait(struct sampling *sampling, const struct taken *taken, uint32_t node)
{
	struct model *model = sampling->model;
	struct hot *hot = &model->hot;
	uint32_t user = hot->nodes[node].user;
	struct model_blame **blame;
	int err;

	hot__add(&hot->nodes[node].sums[HOT_WAIT], &taken->sum);
	blame = taken->thread && model->blame_count
			? bsearch(taken, sampling->blames, model->blame_count,
				  sizeof(*sampling->blames), find_wait)
			: NULL;
	if (!blame)
		return 0;
	err = tally__add(&sampling->paths, (*blame)->owner, user, &taken->sum);
	if (err || !taken->waker)
		return err;
	node = taken->waker->node;
	return tally__add(&sampling->wakers, (*blame)->owner,
			  hot->nodes[node].user ? hot->nodes[node].user : node, &taken->sum);
}

static int add_sample(struct sampling *sampling, const struct taken *taken)
{
	const struct fold_stack *stack = taken->stack;
	struct hot *hot = &sampling->model->hot;

	hot->samples++;
	hot->frames += stack ? stack->frames : 0;
	hot->unnamed += stack ? stack->unnamed : 0;
	hot__add(&hot->sampled[taken->state->kind], &taken->sum);
	switch (taken->state->kind) {
	case KIND_RUN:
		if (taken->flags & RECORDING_SAMPLE_TICK && !strcmp(taken->state->cause, "user"))
			outside__add(sampling->model, stack ? stack->node : 0,
				     taken->flags & RECORDING_SAMPLE_KERNEL, &taken->sum);
		return add_run(sampling, taken, stack ? stack->node : 0);
	case KIND_DELAYING:
	case KIND_UNDECIDED:
		return add_wait(sampling, taken, stack ? stack->node : 0);
	default:
		return 0;
	}
}

static int take_sample(void *context, const struct sample *sample)
{
	struct sampling *sampling = context;
	struct hot *hot = &sampling->model->hot;
	struct taken taken = {
		.thread = load__thread(sampling->model, sample->thread),
		.state = load__state(sampling->model, sample->state),
		.object = model__merged_object(sampling->model, sample->object),
		.by = load__thread(sampling->model, sample->by),
		.flags = sample->flags,
		.sum = { .ns = sample->weight_ns, .samples = 1 },
	};
	double weight = (double)sample->whole_weight_ns, part = 1;
	int err;

	if (!taken.state)
		return -EBADMSG;
	if (taken.thread && taken.thread->flags & RECORDING_THREAD_OWN)
		return 0;
	taken.stack = fold__stack(sampling->fold, sample->stack);
	taken.waker = fold__stack(sampling->fold, sample->waker_stack);
	if (sample->whole_wait_ns)
		part = (double)sample->wait_ns / (double)sample->whole_wait_ns;
	if (sample->flags & RECORDING_SAMPLE_TICK)
		taken.sum.variance = weight * weight;
	else if (sample->whole_weight_ns > sample->whole_wait_ns)
		taken.sum.variance = (double)sample->period_ns *
				     (weight - (double)sample->whole_wait_ns) * part * part;
	if (sample->flags & RECORDING_SAMPLE_TICK && !hot->tick_ns)
		hot->tick_ns = sample->period_ns;
	hot->whole += !sample->none && !sample->end;
	err = count_reason(sampling->model, sample->none, false);
	/* A missing stack does not also count as incomplete. */
	if (!err && !sample->none)
		err = count_reason(sampling->model, sample->end, true);
	return err ? err : add_sample(sampling, &taken);
}

static void sum_ledger(struct model *model)
{
	for (size_t i = 0; i < model->thread_count; i++)
		for (int kind = 0; kind < KIND_COUNT; kind++)
			if (!(model->threads[i].flags & RECORDING_THREAD_OWN))
				model->hot.ledger_ns[kind] += model->threads[i].kind_ns[kind];
}

static int add_samples(struct fold *fold, struct model *model, sqlite3 *db)
{
	struct hot *hot = &model->hot;
	struct sampling sampling = {
		.fold = fold,
		.model = model,
		.runs = { .cells = &hot->runs },
		.paths = { .cells = &hot->paths },
		.wakers = { .cells = &hot->wakers },
	};
	int err = index_blames(&sampling);

	_Static_assert(sizeof(hot->sampled) / sizeof(*hot->sampled) >= KIND_COUNT, "room");
	if (!err)
		err = sample__each(model, db, false, take_sample, &sampling);
	tally__finish(&sampling.runs);
	tally__finish(&sampling.paths);
	tally__finish(&sampling.wakers);
	free(sampling.blames);
	sum_ledger(model);
	return err;
}

int load__samples(struct model *model, sqlite3 *db)
{
	cleanup(fold__release) struct fold fold = {};
	int err;

	if (!model->hot.known)
		return 0;
	err = fold__load(&fold, &model->hot, model, db);
	if (!err)
		err = add_samples(&fold, model, db);
	model->hot.torn = fold.code.torn;
	return err ? err : hot__rank(&model->hot);
}
