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
#include "model/growth.h"
#include "model/load.h"
#include "model/sample.h"
#include "model/sampled_on.h"
#include "recording/recording.h"

#define MOST_REASONS 32
/* Limit on the sum of weights in a hostile file: sums of products with steps cannot overflow. */
#define MOST_SAMPLED (LOAD_MOST >> 8)

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
	uint32_t row = hot->functions[hot->nodes[hot->nodes[node].own].function].row;

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
			user_time__add(sampling->model, stack ? stack->node : 0,
				       taken->flags & RECORDING_SAMPLE_KERNEL, &taken->sum);
		return add_run(sampling, taken, stack ? stack->node : 0);
	case KIND_DELAYING:
	case KIND_UNDECIDED:
		return add_wait(sampling, taken, stack ? stack->node : 0);
	default:
		return 0;
	}
}

/* Halves the list when it is full, and keeps only every second sample from then on. */
static void thin_out(struct model *model)
{
	for (size_t i = 0; i < model->sample_count / 2; i++) {
		model->samples[i] = model->samples[i * 2];
		model->samples[i].weight_ns =
			sum_ns(model->samples[i].weight_ns, model->samples[i].weight_ns);
	}
	model->sample_count /= 2;
	model->sample_step *= 2;
}

static enum ledger_ended ended_as(const char *evidence, const char *ended)
{
	if (evidence && !strcmp(evidence, "timeout"))
		return ENDED_TIMEOUT;
	for (int i = ENDED_EVENT; ended && i <= ENDED_OPEN; i++)
		if (!strcmp(ended, states__ended((enum ledger_ended)i)))
			return (enum ledger_ended)i;
	return ENDED_UNKNOWN;
}

static int keep_sample(struct model *model, const struct taken *taken, const struct sample *sample)
{
	struct model_sample *kept;

	if (!taken->thread || (!taken->thread->measured && !taken->thread->outside))
		return 0;
	if (!model->sample_step)
		model->sample_step = 1;
	if (model->hot.samples % model->sample_step)
		return 0;
	if (model->sample_count >= MODEL_MOST_SAMPLES)
		thin_out(model);
	kept = APPEND(&model->samples, &model->sample_count);
	if (!kept)
		return -ENOMEM;
	*kept = (struct model_sample) {
		.thread = taken->thread,
		.by = taken->by && taken->by->same ? taken->by->same : taken->by,
		.state = taken->state,
		.time_ns = sample->time_ns,
		.wait_ns = sample->wait_ns < LOAD_MOST ? sample->wait_ns : LOAD_MOST,
		.weight_ns =
			load__amount(sample->weight_ns, MOST_SAMPLED / (int64_t)model->sample_step,
				     &model->loaded.sample_ns) *
			(int64_t)model->sample_step,
		.object = sample->object,
		.count = sample->count < 0           ? 0
			 : sample->count > INT32_MAX ? INT32_MAX
						     : sample->count,
		.node = taken->stack ? taken->stack->node : 0,
		.tick = sample->flags & RECORDING_SAMPLE_TICK,
		.whole = !sample->none && !sample->end && taken->stack,
		.is_owned = sample->evidence && !strcmp(sample->evidence, "owner"),
		.in_request = sample->in_request,
		.window = sample->window,
		.ended = ended_as(sample->evidence, sample->ended),
		.turn = (enum ledger_turn)sample->turn,
	};
	return 0;
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
	if (taken.thread && taken.thread->outside)
		return keep_sample(sampling->model, &taken, sample);
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
	if (!err)
		err = keep_sample(sampling->model, &taken, sample);
	return err ? err : add_sample(sampling, &taken);
}

static void sum_ledger(struct model *model)
{
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];

		if (thread->outside || thread->flags & RECORDING_THREAD_OWN)
			continue;
		for (int kind = 0; kind < KIND_COUNT; kind++)
			model->hot.ledger_ns[kind] += thread->kind_ns[kind];
	}
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

static int by_thread_and_state(const void *a, const void *b)
{
	const struct model_sample *x = *(const struct model_sample *const *)a;
	const struct model_sample *y = *(const struct model_sample *const *)b;
	int order = compare((uintptr_t)x->thread, (uintptr_t)y->thread);

	return order ? order : compare((uintptr_t)x->state, (uintptr_t)y->state);
}

static int keep_sum(struct model *model, const struct model_wait *wait)
{
	struct model_sample *kept = APPEND(&model->samples, &model->sample_count);

	if (!kept)
		return -ENOMEM;
	*kept = (struct model_sample) {
		.thread = wait->waiter,
		.by = wait->by,
		.state = wait->state,
		.wait_ns = wait->ns,
		.weight_ns = wait->ns,
		.object = wait->object,
		.count = wait->count,
		.summed = true,
		.is_owned = !strcmp(wait->evidence, "owner"),
		.in_request = wait->in_request,
		.turn = (enum ledger_turn)wait->turn,
		.ended = ended_as(wait->evidence, wait->ended),
	};
	return 0;
}

/* Where there are no samples, the sums of waits still have objects and culprits. */
static int add_sums(struct model *model)
{
	size_t count = model->sample_count;
	cleanup(free_p) const struct model_sample **list = calloc(count + 1, sizeof(*list));
	cleanup(free_p) struct model_sample *sampled = calloc(count + 1, sizeof(*sampled));
	int err = 0;

	if (!list || !sampled)
		return -ENOMEM;
	if (count)
		memcpy(sampled, model->samples, count * sizeof(*sampled));
	for (size_t i = 0; i < count; i++)
		list[i] = &sampled[i];
	qsort(list, count, sizeof(*list), by_thread_and_state);
	for (size_t i = 0; !err && i < model->wait_count; i++) {
		const struct model_wait *wait = &model->waits[i];
		const struct model_sample key = { .thread = wait->waiter, .state = wait->state };
		const struct model_sample *like = &key;

		if (!model->cut && wait->waiter->measured &&
		    !(wait->waiter->flags & RECORDING_THREAD_OWN) &&
		    !bsearch(&like, list, count, sizeof(*list), by_thread_and_state))
			err = keep_sum(model, wait);
	}
	return err;
}

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* Recordings of schema 3 and older have no such table. */
static int add_fatals(struct fold *fold, struct model *model, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	const char *sql = "SELECT thread, signal, stack FROM fatal"
			  " WHERE time_ns > ?1 AND time_ns <= ?2 ORDER BY time_ns";
	int err, rc = SQLITE_DONE;

	if (!load__is_answered(db, sql))
		return 0;
	err = load__prepare(model, db, sql, &row);
	while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const struct fold_stack *stack = fold__stack(fold, sqlite3_column_int64(row, 2));
		struct model_fatal *fatal = APPEND(&model->fatals, &model->fatal_count);

		if (!fatal)
			return -ENOMEM;
		*fatal = (struct model_fatal) {
			.thread = load__thread(model, sqlite3_column_int64(row, 0)),
			.signal = (int)sqlite3_column_int64(row, 1),
			.node = stack ? stack->node : 0,
		};
	}
	return err ? err : load__error(rc);
}

int load__samples(struct model *model, sqlite3 *db)
{
	cleanup(fold__release) struct fold fold = {};
	int err;

	if (!model->hot.known)
		return add_sums(model);
	err = fold__load(&fold, &model->hot, model, db);
	if (!err)
		err = add_samples(&fold, model, db);
	if (!err)
		err = add_fatals(&fold, model, db);
	if (!err)
		load__event_stacks(&fold, &model->signals);
	if (!err)
		err = growth__load(&fold, model, db);
	if (!err)
		err = sampled_on__load(&fold, model, db);
	if (!err)
		err = fibers__load(&fold, model, db);
	if (!err)
		err = add_sums(model);
	model->hot.torn = fold.code.torn;
	return err ? err : hot__rank(&model->hot);
}
