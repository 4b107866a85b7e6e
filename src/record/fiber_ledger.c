/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/fiber_ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "record/fiber_ledger_internal.h"

/* A reading takes at most 1/SHARE of the time. */
#define SHARE             100
#define LEAST_INTERVAL_NS (100 * MS_NS)
#define MOST_INTERVAL_NS  (6400 * MS_NS)
#define WALKS_NS          (3 * MS_NS) /* in one reading */

DEFINE_CLEANUP(struct fiber_ledger *, fiber_ledger__free)

int fiber_ledger__new(const struct fiber_ledger_options *options, struct fiber_ledger **ret)
{
	cleanup(fiber_ledger__free_p) struct fiber_ledger *fibers = calloc(1, sizeof(*fibers));
	int err;

	if (!fibers)
		return -ENOMEM;
	fibers->options = *options;
	fibers->random = options->seed ? options->seed : clock__now_ns();
	fibers->interval_ns = LEAST_INTERVAL_NS;
	err = fiber_stacks__new(&options->stacks, &fibers->stacks);
	if (err)
		return err;
	*ret = TAKE(fibers);
	return 0;
}

void fiber_ledger__free(struct fiber_ledger *fibers)
{
	if (!fibers)
		return;
	fiber_ledger__clear(&fibers->known);
	fiber_ledger__clear(&fibers->states);
	fiber_ledger__clear(&fibers->places);
	fiber_ledger__clear(&fibers->objects);
	fiber_ledger__clear(&fibers->groups);
	fiber_ledger__clear(&fibers->exact);
	map__release(&fibers->index);
	free(fibers->sums);
	free(fibers->hashes);
	fiber_stacks__free(fibers->stacks);
	free(fibers);
}

/* --- intervals -------------------------------------------------------------------------------- */

static void begin_interval(struct fiber_ledger *fibers, uint64_t begin_ns)
{
	fibers->random = map__mix(fibers->random, begin_ns);
	fibers->begin_ns = begin_ns;
	fibers->next_ns = begin_ns + fibers->random % fibers->interval_ns;
}

static int tell(void *context, uint32_t pid, uint64_t start_ticks,
		const struct runtime_fibers *all);

void fiber_ledger__begin(struct fiber_ledger *fibers, uint64_t now_ns)
{
	fibers->write_from_ns = fibers->written_from_ns = now_ns;
	fibers->write_after_ns = LEAST_WRITE_NS;
	begin_interval(fibers, now_ns);
	/* Twice: whoever follows changes begins at the first, and knows what there is at the
	 * second. */
	for (int i = 0; fibers->options.tell && i < 2; i++)
		(void)runtimes__read_fibers(fibers->options.runtimes, tell, fibers);
}

uint64_t fiber_ledger__next_ns(const struct fiber_ledger *fibers)
{
	return fibers->next_ns;
}

/* One reading that was slow because others had the CPU does not make the interval longer. */
static void choose_interval(struct fiber_ledger *fibers, uint64_t cost_ns)
{
	uint64_t least_ns = cost_ns < fibers->cost_ns ? cost_ns : fibers->cost_ns;

	fibers->cost_ns = cost_ns;
	while (least_ns * SHARE > fibers->interval_ns && fibers->interval_ns < MOST_INTERVAL_NS)
		fibers->interval_ns *= 2;
	while (cost_ns * SHARE * 4 < fibers->interval_ns && fibers->interval_ns > LEAST_INTERVAL_NS)
		fibers->interval_ns /= 2;
}

/*
 * If readings were independent, half of the square of the difference of two of them would be the
 * variance of one, on average. What lasts for many readings adds little.
 */
static void close_reading(struct fiber_ledger *fibers)
{
	double weight = (double)fibers->weight_ns;
	struct group *group;
	size_t at = 0;

	while ((group = map__next(&fibers->groups, &at))) {
		double change = ((double)group->now - (double)group->before) * weight;

		if (fibers->reading > 1)
			group->variance += change * change / 2;
		group->before = group->now;
		group->now = 0;
	}
}

/* --- a reading -------------------------------------------------------------------------------- */

static const char *reason_of(const struct runtime_fibers *all, uint32_t reason)
{
	return reason ? all->reasons[reason] : "";
}

static int take_one(struct fiber_ledger *fibers, uint32_t pid, uint64_t process,
		    const struct runtime_fibers *all, size_t i)
{
	const struct runtime_fiber *fiber = &all->list[i];
	struct sum found = { .process = process, .fiber = fiber->id, .hash = fibers->hashes[i] };
	struct known *known = NULL;
	int err = fiber_ledger__find_known(fibers, process, fiber->id, &known);

	if (!err && !known->start)
		err = fiber_ledger__find_place(fibers, pid, process, fiber->start, &known->start);
	if (!err && !known->created)
		err = fiber_ledger__find_place(fibers, pid, process, fiber->created_at,
					       &known->created);
	if (!err)
		err = fiber_ledger__find_state(fibers, (enum fiber_state)fiber->state,
					       reason_of(all, fiber->reason), &found.state);
	if (!err)
		err = fiber_ledger__find_object(fibers, pid, process, fiber->object, &found.object);
	return err ? err : fiber_ledger__add(fibers, known, &found);
}

static const char *tell_reason(const struct signal_fibers *told, uint32_t reason)
{
	return reason_of(told->own, reason);
}

static void tell_fiber(const struct signal_fibers *told, size_t number, struct signal_fiber *ret)
{
	const struct runtime_fibers *all = told->own;
	const struct runtime_fiber *fiber = &all->list[number];

	*ret = (struct signal_fiber) { .at = fiber->at,
				       .id = fiber->id,
				       .start = fiber->start,
				       .state = (enum fiber_state)fiber->state,
				       .reason = fiber->reason };
}

static int tell(void *context, uint32_t pid, uint64_t start_ticks, const struct runtime_fibers *all)
{
	const struct fiber_ledger *fibers = context;
	const struct signal_fibers told = { .pid = pid,
					    .start_ticks = start_ticks,
					    .id_at = all->id_at,
					    .reason_at = all->reason_at,
					    .start_at = all->start_at,
					    .reason = tell_reason,
					    .count = all->count,
					    .each = tell_fiber,
					    .own = all };

	if (fibers->options.tell)
		fibers->options.tell(fibers->options.context, &told);
	return 0;
}

static int take(void *context, uint32_t pid, uint64_t start_ticks, const struct runtime_fibers *all)
{
	struct fiber_ledger *fibers = context;
	int64_t process = names__process_since(fibers->options.names, pid, start_ticks);
	uint64_t *hashes;
	int err = tell(fibers, pid, start_ticks, all);

	if (err)
		return err;
	/* None of its threads was recorded yet. */
	if (process <= 0 || !all->count)
		return 0;
	hashes = reallocarray(fibers->hashes, all->count, sizeof(*hashes));
	if (!hashes)
		return -ENOMEM;
	fibers->hashes = hashes;
	fibers->quality.readings++;
	fibers->quality.left_out += all->left_out;
	err = fiber_stacks__find(fibers->stacks, pid, all, fibers->random % all->count, hashes);
	for (size_t i = 0; i < all->count && !err; i++)
		err = take_one(fibers, pid, (uint64_t)process, all, i);
	return err;
}

static int read_all(struct fiber_ledger *fibers, uint64_t weight_ns)
{
	uint64_t began_ns = clock__now_ns(), cost_ns;
	int err;

	fibers->now_ns = began_ns;
	fibers->weight_ns = weight_ns;
	fibers->reading++;
	fiber_stacks__begin(fibers->stacks, WALKS_NS);
	err = runtimes__read_fibers(fibers->options.runtimes, take, fibers);
	close_reading(fibers);
	cost_ns = clock__now_ns() - began_ns;
	fibers->quality.read_ns += cost_ns;
	choose_interval(fibers, cost_ns);
	return err;
}

int fiber_ledger__step(struct fiber_ledger *fibers)
{
	uint64_t now_ns = clock__now_ns(), end_ns = fibers->begin_ns + fibers->interval_ns;
	int err = 0;

	if (now_ns < fibers->next_ns)
		return 0;
	/* Rows end where an interval begins: their weights are of the time until then. */
	if (fibers->sum_count && fibers->begin_ns >= fibers->write_from_ns + fibers->write_after_ns)
		err = fiber_ledger__write(fibers, fibers->begin_ns);
	if (err)
		return err;
	if (!fibers->sum_count)
		fibers->write_from_ns = fibers->begin_ns;
	/* If a reading is late, its interval is longer. */
	if (end_ns < now_ns)
		end_ns = now_ns;
	err = read_all(fibers, end_ns - fibers->begin_ns);
	begin_interval(fibers, end_ns);
	return err;
}

/* The last interval is over before its end. */
static void take_back(struct fiber_ledger *fibers, uint64_t excess_ns)
{
	const struct known *known;
	size_t at = 0;

	while ((known = map__next(&fibers->known, &at))) {
		uintptr_t position = (uintptr_t)map__get(&fibers->index, known->key);
		struct sum *sum = position ? &fibers->sums[position - 1] : NULL;

		if (known->reading == fibers->reading && sum)
			sum->ns -= excess_ns < sum->ns ? excess_ns : sum->ns;
	}
}

int fiber_ledger__end(struct fiber_ledger *fibers, uint64_t end_ns)
{
	int err = 0;

	if (end_ns > fibers->begin_ns)
		err = read_all(fibers, end_ns - fibers->begin_ns);
	else
		take_back(fibers, fibers->begin_ns - end_ns);
	fibers->begin_ns = end_ns;
	return err || !fibers->sum_count ? err : fiber_ledger__write(fibers, end_ns);
}

int fiber_ledger__finish(struct fiber_ledger *fibers, uint64_t end_ns)
{
	int err;

	/* These are added to the rows of the last reading. */
	if (fibers->write_from_ns >= end_ns)
		fibers->write_from_ns = fibers->written_from_ns;
	err = fiber_ledger__write_exact(fibers, end_ns);
	return err ? err : fiber_ledger__write_known(fibers, end_ns);
}

void fiber_ledger__forget(struct fiber_ledger *fibers)
{
	fiber_stacks__forget(fibers->stacks);
}

struct fiber_ledger_quality fiber_ledger__quality(const struct fiber_ledger *fibers)
{
	struct fiber_ledger_quality quality = fibers->quality;

	quality.stacks = fiber_stacks__quality(fibers->stacks);
	return quality;
}
