/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What readings and changes of state say of goroutines, until it is written. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "record/fiber_ledger_internal.h"
#include "recording/fiber_rows.h"

#define KIND "semaphore"

int fiber_ledger__find_state(struct fiber_ledger *fibers, enum fiber_state of, const char *reason,
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
		return fiber_rows__add_state(
			fibers->options.recording,
			&(struct recording_fiber_state) { .id = fibers->last_state,
							  .state = runtime__fiber_state(of),
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

int fiber_ledger__find_object(struct fiber_ledger *fibers, uint32_t pid, uint64_t process,
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

int fiber_ledger__find_place(struct fiber_ledger *fibers, uint32_t pid, uint64_t process,
			     uint64_t address, uint64_t *ret)
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

int fiber_ledger__find_known(struct fiber_ledger *fibers, uint64_t process, uint64_t id,
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

int fiber_ledger__add(struct fiber_ledger *fibers, struct known *known, const struct sum *found)
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

/* --- every change ----------------------------------------------------------------------------- */

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
	err = fiber_ledger__find_known(fibers, found.process, fiber->id, &known);
	if (!err && !known->start)
		err = fiber_ledger__find_place(fibers, fiber->pid, found.process, fiber->start,
					       &known->start);
	if (!err)
		err = fiber_ledger__find_state(fibers, fiber->state, reason, &found.state);
	if (err)
		return err;
	known->reading = fibers->reading;
	return add_exact(fibers, &found);
}
