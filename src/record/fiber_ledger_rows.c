/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows about goroutines. */
#include <stdlib.h>

#include "record/fiber_ledger_internal.h"
#include "recording/fiber_rows.h"

/* How often rows are written, at least LEAST_WRITE_NS apart: seldom, if they are many. */
#define MOST_WRITE_NS   (10000 * MS_NS)
#define ROWS_PER_SECOND 2000
#define GONE_READINGS   8 /* goroutines are forgotten that so many do not have */

void fiber_ledger__clear(struct map *map)
{
	map__free_values(map);
	*map = (struct map) {};
}

static int by_hash(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static int find_stack(struct fiber_ledger *fibers, uint64_t hash, uint64_t now_ns, int64_t *ret)
{
	*ret = 0;
	return hash ? samples__find(fibers->options.samples, hash, now_ns, ret) : 0;
}

static int write_known(struct fiber_ledger *fibers, struct known *known, uint64_t now_ns)
{
	struct recording_fiber row = { .process = (int64_t)known->process,
				       .id = (int64_t)known->id,
				       .first_ns = (int64_t)known->first_ns };
	int err;

	/* Also marks both stacks as used. */
	err = find_stack(fibers, known->start, now_ns, &row.start);
	if (!err)
		err = find_stack(fibers, known->created, now_ns, &row.created);
	if (err || known->is_written)
		return err;
	known->is_written = true;
	return fiber_rows__put(fibers->options.recording, &row);
}

static bool is_gone(void *context, uint64_t key, void *value)
{
	const struct fiber_ledger *fibers = context;
	struct known *known = value;

	(void)key;
	if (known->reading + GONE_READINGS >= fibers->reading)
		return false;
	free(known);
	return true;
}

static bool is_unused(void *context, uint64_t key, void *value)
{
	struct group *group = value;

	(void)context;
	(void)key;
	if (!group->before) {
		free(group);
		return true;
	}
	group->ns = 0;
	group->variance = 0;
	return false;
}

/* The part of a goroutine in the variance of its group. */
static double variance_of(const struct fiber_ledger *fibers, const struct sum *sum)
{
	const struct group *group = map__get(&fibers->groups, sum->group);

	return group && group->ns ? group->variance * (double)sum->ns / (double)group->ns : 0;
}

static int write_sums(struct fiber_ledger *fibers, uint64_t now_ns)
{
	uint64_t hash = 0;
	int64_t stack = 0;
	int err = 0;

	if (fibers->sum_count)
		qsort(fibers->sums, fibers->sum_count, sizeof(*fibers->sums), by_hash);
	for (size_t i = 0; i < fibers->sum_count && !err; i++) {
		const struct sum *sum = &fibers->sums[i];

		if (sum->hash != hash)
			err = find_stack(fibers, sum->hash, now_ns, &stack);
		hash = sum->hash;
		if (!err)
			err = fiber_rows__add_time(
				fibers->options.recording,
				&(struct recording_fiber_time) {
					.begin_ns = (int64_t)fibers->write_from_ns,
					.end_ns = (int64_t)now_ns,
					.process = (int64_t)sum->process,
					.fiber = (int64_t)sum->fiber,
					.state = (int64_t)sum->state,
					.object = (int64_t)sum->object,
					.stack = stack,
					.ns = (int64_t)sum->ns,
					.readings = (int64_t)sum->readings,
					.variance = variance_of(fibers, sum),
				});
	}
	return err;
}

int fiber_ledger__write_exact(struct fiber_ledger *fibers, uint64_t now_ns)
{
	const struct exact *exact;
	size_t at = 0;
	int err = 0;

	while (!err && (exact = map__next(&fibers->exact, &at)))
		err = fiber_rows__add_exact(fibers->options.recording,
					    &(struct recording_fiber_exact) {
						    .begin_ns = (int64_t)fibers->write_from_ns,
						    .end_ns = (int64_t)now_ns,
						    .process = (int64_t)exact->process,
						    .fiber = (int64_t)exact->fiber,
						    .state = (int64_t)exact->state,
						    .ns = (int64_t)exact->ns,
						    .changes = (int64_t)exact->changes,
					    });
	fiber_ledger__clear(&fibers->exact);
	return err;
}

int fiber_ledger__write_known(struct fiber_ledger *fibers, uint64_t now_ns)
{
	struct known *known;
	size_t at = 0;
	int err = 0;

	while (!err && (known = map__next(&fibers->known, &at)))
		err = write_known(fibers, known, now_ns);
	return err;
}

int fiber_ledger__write(struct fiber_ledger *fibers, uint64_t now_ns)
{
	int err = write_sums(fibers, now_ns);

	if (!err)
		err = fiber_ledger__write_exact(fibers, now_ns);
	if (!err)
		err = fiber_ledger__write_known(fibers, now_ns);
	map__sweep(&fibers->known, is_gone, fibers);
	map__sweep(&fibers->groups, is_unused, fibers);
	fibers->write_after_ns = fibers->sum_count * (1000 * MS_NS) / ROWS_PER_SECOND;
	if (fibers->write_after_ns < LEAST_WRITE_NS)
		fibers->write_after_ns = LEAST_WRITE_NS;
	if (fibers->write_after_ns > MOST_WRITE_NS)
		fibers->write_after_ns = MOST_WRITE_NS;
	fibers->written_from_ns = fibers->write_from_ns;
	fibers->write_from_ns = now_ns;
	fibers->sum_count = 0;
	map__release(&fibers->index);
	fibers->index = (struct map) {};
	return err;
}
