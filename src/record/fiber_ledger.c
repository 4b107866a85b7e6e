/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/fiber_ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"

#define MS_NS UINT64_C(1000000)
/* A reading takes at most 1/SHARE of the time. */
#define SHARE             100
#define LEAST_INTERVAL_NS (100 * MS_NS)
#define MOST_INTERVAL_NS  (6400 * MS_NS)
#define WALKS_NS          (3 * MS_NS) /* in one reading */
/* How often rows are written: seldom, if they are many. */
#define LEAST_WRITE_NS  (1000 * MS_NS)
#define MOST_WRITE_NS   (10000 * MS_NS)
#define ROWS_PER_SECOND 2000
#define MOST_SUMS       (1U << 18) /* between two writes */
#define GONE_READINGS   8          /* goroutines are forgotten that so many do not have */
#define KIND            "semaphore"

/* What one goroutine did, since rows were written. */
struct sum {
	uint64_t process, fiber, state, object, hash;
	uint64_t ns, readings;
	uint64_t group; /* key */
};

/* What one goroutine did by every change of its state, since rows were written. */
struct exact {
	uint64_t process, fiber, state, ns, changes;
};

/*
 * Goroutines that began with the same function and are alike in the rest: they may keep step, so
 * the error of their sum does not follow from those of single ones.
 */
struct group {
	uint64_t now, before; /* how many in this reading, and in the last one */
	uint64_t ns;          /* since rows were written, as all that follow */
	double variance;
};

struct known {
	uint64_t process, id, key; /* of the sum in its last reading */
	uint64_t reading;          /* the last one that has it */
	uint64_t first_ns;
	uint64_t start, created; /* hashes */
	bool is_written;
};

/* A function that goroutines begin with, or an object that they wait for. */
struct place {
	uint64_t value; /* hash or id */
};

struct fiber_ledger {
	struct fiber_ledger_options options;
	struct fiber_stacks *stacks;
	struct map known;  /* struct known */
	struct map states; /* struct place */
	int64_t last_state;
	struct map places, objects; /* struct place */
	struct map index;           /* of sums: position + 1 */
	struct map groups;          /* struct group */
	struct map exact;           /* struct exact */
	struct sum *sums;
	size_t sum_count;
	uint64_t *hashes; /* of the process that is being read */
	uint64_t random;
	uint64_t begin_ns, interval_ns; /* of the current interval */
	uint64_t next_ns;
	uint64_t cost_ns; /* of the last reading */
	uint64_t reading; /* number */
	uint64_t weight_ns;
	uint64_t now_ns;
	uint64_t write_from_ns, write_after_ns;
	uint64_t written_from_ns; /* the last rows begin then */
	struct fiber_ledger_quality quality;
};

DEFINE_CLEANUP(struct fiber_ledger *, fiber_ledger__free)

static void clear(struct map *map)
{
	map__free_values(map);
	*map = (struct map) {};
}

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
	clear(&fibers->known);
	clear(&fibers->states);
	clear(&fibers->places);
	clear(&fibers->objects);
	clear(&fibers->groups);
	clear(&fibers->exact);
	map__release(&fibers->index);
	free(fibers->sums);
	free(fibers->hashes);
	fiber_stacks__free(fibers->stacks);
	free(fibers);
}

/* --- intervals ----------------------------------------------------------------------------------
 */

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

/* --- what was found -----------------------------------------------------------------------------
 */

static int find_state(struct fiber_ledger *fibers, enum fiber_state of, const char *reason,
		      uint64_t *ret)
{
	uint64_t key = map__mix_text(map__mix(0, of), reason);
	struct place *state = map__get(&fibers->states, key);

	if (!state) {
		state = malloc(sizeof(*state));
		if (!state || map__put(&fibers->states, key, state)) {
			free(state);
			return -ENOMEM;
		}
		state->value = (uint64_t)++fibers->last_state;
		*ret = state->value;
		return recording__add_fiber_state(
			fibers->options.recording,
			&(struct recording_fiber_state) { .id = fibers->last_state,
							  .state = runtimes__fiber_state(of),
							  .reason = *reason ? reason : NULL });
	}
	*ret = state->value;
	return 0;
}

static int put_object(struct fiber_ledger *fibers, uint64_t address, uint64_t *ret)
{
	int64_t id = recording__next_object(fibers->options.recording);
	char name[32];

	snprintf(name, sizeof(name), "0x%" PRIx64, address);
	*ret = (uint64_t)id;
	return recording__put_object(
		fibers->options.recording,
		&(struct recording_object) { .id = id, .kind = KIND, .name = name });
}

static int find_object(struct fiber_ledger *fibers, uint32_t pid, uint64_t process,
		       uint64_t address, uint64_t *ret)
{
	uint64_t key = map__mix(map__mix(0, process), address);
	struct place *object = map__get(&fibers->objects, key);
	int err = 0;

	*ret = 0;
	if (!address)
		return 0;
	if (!object) {
		object = malloc(sizeof(*object));
		if (!object || map__put(&fibers->objects, key, object)) {
			free(object);
			return -ENOMEM;
		}
		err = put_object(fibers, address, &object->value);
	}
	*ret = object->value;
	return err ? err
		   : samples__look_for_variable(fibers->options.samples,
						&(struct samples_variable) {
							.object = (int64_t)object->value,
							.kind = KIND,
							.pid = pid,
							.address = address,
							.time_ns = fibers->now_ns,
						});
}

static int find_place(struct fiber_ledger *fibers, uint32_t pid, uint64_t process, uint64_t address,
		      uint64_t *ret)
{
	uint64_t key = map__mix(map__mix(0, process), address);
	struct place *place = map__get(&fibers->places, key);
	int err;

	if (place) {
		*ret = place->value;
		return 0;
	}
	err = fiber_stacks__place(fibers->stacks, pid, address, ret);
	if (err || !*ret)
		return err;
	place = malloc(sizeof(*place));
	if (!place || map__put(&fibers->places, key, place)) {
		free(place);
		return -ENOMEM;
	}
	place->value = *ret;
	return 0;
}

static int find_known(struct fiber_ledger *fibers, uint64_t process, uint64_t id,
		      struct known **ret)
{
	uint64_t key = map__mix(map__mix(0, process), id);
	struct known *known = map__get(&fibers->known, key);

	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known || map__put(&fibers->known, key, known)) {
			free(known);
			return -ENOMEM;
		}
		known->process = process;
		known->id = id;
		known->first_ns = fibers->now_ns;
	}
	*ret = known;
	return 0;
}

/* If there are too many, what is found counts for nothing but the losses. */
static struct sum *find_sum(struct fiber_ledger *fibers, const struct sum *found, uint64_t *ret_key)
{
	uint64_t key = map__mix(map__mix(0, found->process), found->fiber);
	uintptr_t at;
	struct sum *sum;

	key = map__mix(map__mix(map__mix(key, found->state), found->object), found->hash);
	*ret_key = key;
	at = (uintptr_t)map__get(&fibers->index, key);
	if (at)
		return &fibers->sums[at - 1];
	sum = APPEND(&fibers->sums, &fibers->sum_count);
	if (!sum || map__put(&fibers->index, key, (void *)(uintptr_t)fibers->sum_count))
		return NULL;
	*sum = *found;
	return sum;
}

static int count_in_group(struct fiber_ledger *fibers, const struct known *known,
			  const struct sum *found, uint64_t *ret_key)
{
	uint64_t key = map__mix(map__mix(0, found->process), known->start);
	struct group *group;

	key = map__mix(map__mix(map__mix(key, found->state), found->object), found->hash);
	*ret_key = key;
	group = map__get(&fibers->groups, key);
	if (!group) {
		group = calloc(1, sizeof(*group));
		if (!group || map__put(&fibers->groups, key, group)) {
			free(group);
			return -ENOMEM;
		}
	}
	group->now++;
	group->ns += fibers->weight_ns;
	return 0;
}

static int add(struct fiber_ledger *fibers, struct known *known, const struct sum *found)
{
	struct sum *sum;
	uint64_t key, group;
	int err;

	if (fibers->sum_count >= MOST_SUMS) {
		fibers->quality.left_out++;
		return 0;
	}
	err = count_in_group(fibers, known, found, &group);
	if (err)
		return err;
	sum = find_sum(fibers, found, &key);
	if (!sum)
		return -ENOMEM;
	sum->group = group;
	sum->ns += fibers->weight_ns;
	sum->readings++;
	known->key = key;
	known->reading = fibers->reading;
	return 0;
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

/* --- a reading ----------------------------------------------------------------------------------
 */

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
	int err = find_known(fibers, process, fiber->id, &known);

	if (!err && !known->start)
		err = find_place(fibers, pid, process, fiber->start, &known->start);
	if (!err && !known->created)
		err = find_place(fibers, pid, process, fiber->created_at, &known->created);
	if (!err)
		err = find_state(fibers, (enum fiber_state)fiber->state,
				 reason_of(all, fiber->reason), &found.state);
	if (!err)
		err = find_object(fibers, pid, process, fiber->object, &found.object);
	return err ? err : add(fibers, known, &found);
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

/* --- every change -------------------------------------------------------------------------------
 */

static int add_exact(struct fiber_ledger *fibers, const struct exact *found)
{
	uint64_t key = map__mix(map__mix(map__mix(0, found->process), found->fiber), found->state);
	struct exact *exact = map__get(&fibers->exact, key);

	if (!exact) {
		exact = calloc(1, sizeof(*exact));
		if (!exact || map__put(&fibers->exact, key, exact)) {
			free(exact);
			return -ENOMEM;
		}
		exact->process = found->process;
		exact->fiber = found->fiber;
		exact->state = found->state;
	}
	exact->ns += found->ns;
	exact->changes += found->changes;
	return 0;
}

int fiber_ledger__take(void *context, const struct signal_fiber_of *fiber, const char *reason,
		       const struct series_sum *sum)
{
	struct fiber_ledger *fibers = context;
	struct exact found = { .fiber = fiber->id, .ns = sum->sum[0], .changes = sum->count };
	int64_t process =
		names__process_since(fibers->options.names, fiber->pid, fiber->start_ticks);
	struct known *known = NULL;
	int err;

	if (process <= 0 || fibers->exact.count >= MOST_SUMS) {
		fibers->quality.left_out++;
		return 0;
	}
	found.process = (uint64_t)process;
	fibers->now_ns = clock__now_ns();
	err = find_known(fibers, found.process, fiber->id, &known);
	if (!err && !known->start)
		err = find_place(fibers, fiber->pid, found.process, fiber->start, &known->start);
	if (!err)
		err = find_state(fibers, fiber->state, reason, &found.state);
	if (err)
		return err;
	known->reading = fibers->reading;
	return add_exact(fibers, &found);
}

/* --- rows ---------------------------------------------------------------------------------------
 */

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
	return recording__put_fiber(fibers->options.recording, &row);
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
			err = recording__add_fiber_time(
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

static int write_exact(struct fiber_ledger *fibers, uint64_t now_ns)
{
	const struct exact *exact;
	size_t at = 0;
	int err = 0;

	while (!err && (exact = map__next(&fibers->exact, &at)))
		err = recording__add_fiber_exact(fibers->options.recording,
						 &(struct recording_fiber_exact) {
							 .begin_ns = (int64_t)fibers->write_from_ns,
							 .end_ns = (int64_t)now_ns,
							 .process = (int64_t)exact->process,
							 .fiber = (int64_t)exact->fiber,
							 .state = (int64_t)exact->state,
							 .ns = (int64_t)exact->ns,
							 .changes = (int64_t)exact->changes,
						 });
	clear(&fibers->exact);
	return err;
}

static int write_each_known(struct fiber_ledger *fibers, uint64_t now_ns)
{
	struct known *known;
	size_t at = 0;
	int err = 0;

	while (!err && (known = map__next(&fibers->known, &at)))
		err = write_known(fibers, known, now_ns);
	return err;
}

static int write_all(struct fiber_ledger *fibers, uint64_t now_ns)
{
	int err = write_sums(fibers, now_ns);

	if (!err)
		err = write_exact(fibers, now_ns);
	if (!err)
		err = write_each_known(fibers, now_ns);
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

int fiber_ledger__step(struct fiber_ledger *fibers)
{
	uint64_t now_ns = clock__now_ns(), end_ns = fibers->begin_ns + fibers->interval_ns;
	int err = 0;

	if (now_ns < fibers->next_ns)
		return 0;
	/* Rows end where an interval begins: their weights are of the time until then. */
	if (fibers->sum_count && fibers->begin_ns >= fibers->write_from_ns + fibers->write_after_ns)
		err = write_all(fibers, fibers->begin_ns);
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
	return err || !fibers->sum_count ? err : write_all(fibers, end_ns);
}

int fiber_ledger__finish(struct fiber_ledger *fibers, uint64_t end_ns)
{
	int err;

	/* These are added to the rows of the last reading. */
	if (fibers->write_from_ns >= end_ns)
		fibers->write_from_ns = fibers->written_from_ns;
	err = write_exact(fibers, end_ns);
	return err ? err : write_each_known(fibers, end_ns);
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
