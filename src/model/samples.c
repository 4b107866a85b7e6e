/*
 * Samples into sums. They are read once, as they lie in the file: a GROUP BY would sort half a
 * million rows to save what a few additions cost here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/code.h"
#include "model/hot.h"
#include "recording/recording.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

#define MOST_REASONS 32

/* Cells while they are added to. */
struct tally {
	struct map places; /* owner and place → cell + 1 */
	struct hot_cells *cells;
};

struct sampling {
	struct code *code;
	struct model *model;
	struct model_blame **blames; /* by whom, why, for what and because of whom */
	struct tally runs, paths, wakers;
};

/* A row of `sample`, with what it refers to. */
struct taken {
	const struct model_thread *thread;
	const struct model_state *state;
	const struct code_stack *stack, *waker; /* NULL: none */
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

/* Samples know no evidence: blames that differ in that alone have the same samples. */
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

static const struct code_stack *stack_at(struct sampling *sampling, int64_t id)
{
	uint32_t at = id ? code__find(&sampling->code->stack_ids, id) : CODE_NONE;

	sampling->model->hot.torn += id && at == CODE_NONE;
	return at == CODE_NONE ? NULL : &sampling->code->stacks[at];
}

static int add_sample(struct sampling *sampling, const struct taken *taken)
{
	const struct code_stack *stack = taken->stack;
	struct hot *hot = &sampling->model->hot;

	hot->samples++;
	hot->frames += stack ? stack->frames : 0;
	hot->unnamed += stack ? stack->unnamed : 0;
	hot__add(&hot->sampled[taken->state->kind], &taken->sum);
	switch (taken->state->kind) {
	case MODEL_RUN:
		if (taken->flags & RECORDING_SAMPLE_TICK && !strcmp(taken->state->cause, "user"))
			outside__add(sampling->model, stack ? stack->node : 0,
				     taken->flags & RECORDING_SAMPLE_KERNEL, &taken->sum);
		return add_run(sampling, taken, stack ? stack->node : 0);
	case MODEL_DELAYING:
	case MODEL_UNDECIDED:
		return add_wait(sampling, taken, stack ? stack->node : 0);
	default:
		return 0;
	}
}

/* How much of a wait that ended then lies inside the cut. A tick is a moment. */
static double part_inside(const struct model *model, int64_t end_ns, int64_t wait_ns)
{
	double end = (double)end_ns, begin = end - (double)wait_ns;
	double from = begin < (double)model->from_ns ? (double)model->from_ns : begin;
	double to = end > (double)model->to_ns ? (double)model->to_ns : end;

	if (!model->cut || wait_ns <= 0 || (from <= begin && to >= end))
		return 1;
	return to > from ? (to - from) / (end - begin) : 0;
}

static int take_sample(struct sampling *sampling, sqlite3_stmt *row)
{
	struct hot *hot = &sampling->model->hot;
	int64_t weight = sqlite3_column_int64(row, 6), true_ns = sqlite3_column_int64(row, 7);
	int64_t period = sqlite3_column_int64(row, 8), flags = sqlite3_column_int64(row, 9);
	const char *none = (const char *)sqlite3_column_text(row, 10);
	const char *end = (const char *)sqlite3_column_text(row, 11);
	struct taken taken = {
		.thread = load__thread(sampling->model, sqlite3_column_int64(row, 0)),
		.state = load__state(sampling->model, sqlite3_column_int64(row, 1)),
		.object = model__alike(sampling->model, sqlite3_column_int64(row, 5)),
		.by = load__thread(sampling->model, sqlite3_column_int64(row, 4)),
		.flags = flags,
		.sum = { .samples = 1 },
	};
	double part;
	int err;

	if (!taken.state || weight < 0 || true_ns < 0 || period < 0)
		return -EBADMSG;
	part = part_inside(sampling->model, sqlite3_column_int64(row, 12), true_ns);
	/* A whole one keeps its weight to the nanosecond. */
	taken.sum.ns = part < 1 ? (int64_t)((double)weight * part) : weight;
	if (taken.thread && taken.thread->flags & RECORDING_THREAD_OWN)
		return 0;
	taken.stack = stack_at(sampling, sqlite3_column_int64(row, 2));
	taken.waker = stack_at(sampling, sqlite3_column_int64(row, 3));
	if (flags & RECORDING_SAMPLE_TICK)
		taken.sum.variance = (double)weight * (double)weight;
	else if (weight > true_ns)
		taken.sum.variance = (double)period * (double)(weight - true_ns) * part * part;
	if (flags & RECORDING_SAMPLE_TICK && !hot->tick_ns)
		hot->tick_ns = period;
	hot->whole += !none && !end;
	err = count_reason(sampling->model, none, false);
	/* What is not there need not be whole. */
	if (!err && !none)
		err = count_reason(sampling->model, end, true);
	return err ? err : add_sample(sampling, &taken);
}

static int take_samples(struct sampling *sampling, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err =
		load__prepare(sampling->model, db,
			      "SELECT thread, state, " RECORDING_STACK ", waker_stack, by, object,"
			      " weight_ns, wait_ns, period_ns, flags, " RECORDING_NONE ", end,"
			      " time_ns FROM sample"
			      " WHERE time_ns > ?1"
			      " AND (time_ns <= ?2 OR time_ns - wait_ns < ?2)",
			      &row);
	int rc;

	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take_sample(sampling, row) : load__error(rc);
	return err;
}

static void sum_ledger(struct model *model)
{
	for (size_t i = 0; i < model->thread_count; i++)
		for (int kind = 0; kind < MODEL_KINDS; kind++)
			if (!(model->threads[i].flags & RECORDING_THREAD_OWN))
				model->hot.ledger_ns[kind] += model->threads[i].kind_ns[kind];
}

int samples__load(struct code *code, sqlite3 *db)
{
	struct hot *hot = &code->model->hot;
	struct sampling sampling = {
		.code = code,
		.model = code->model,
		.runs = { .cells = &hot->runs },
		.paths = { .cells = &hot->paths },
		.wakers = { .cells = &hot->wakers },
	};
	int err = index_blames(&sampling);

	_Static_assert(sizeof(hot->sampled) / sizeof(*hot->sampled) >= MODEL_KINDS, "room");
	if (!err)
		err = take_samples(&sampling, db);
	tally__finish(&sampling.runs);
	tally__finish(&sampling.paths);
	tally__finish(&sampling.wakers);
	free(sampling.blames);
	sum_ledger(code->model);
	return err;
}

static int load(struct code *code, sqlite3 *db)
{
	int err = code__load(code, db);

	if (!err)
		err = samples__load(code, db);
	return err ? err : hot__rank(&code->model->hot);
}

int load__samples(struct model *model, sqlite3 *db)
{
	struct code code = { .model = model };
	int err = model->hot.known ? load(&code, db) : 0;

	code__release(&code);
	return err;
}
