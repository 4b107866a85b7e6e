/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the rows of waits and makes them agree with accounts: for each thread and state, Σ waits =
 * Σ account (invariant 5).
 *
 * The kernel half books both in one step, but they arrive by different paths, and each path can
 * lose data: a full map loses sums of waits, a full ring loses the last account of a thread. So the
 * two are compared here:
 *
 *   an account has more than its waits       the difference becomes a wait for "other"
 *   the last account was lost                the account is extended to cover its waits
 *   the thread has no account at all         its waits are left out
 *
 * Each case is counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "ledger/reader/attach.h"
#include "record/collect_internal.h"
#include "record/holders.h"
#include "vocabulary/states.h"

#define WAIT_SLOTS (SLOT_WAIT_END - SLOT_WAIT_FIRST)

/* Per thread: the time in its account (added once that is final) minus the waits so far. */
struct owed {
	uint64_t id;
	bool final;
	uint64_t orphaned; /* collect.wholes when it first had no thread; 0: it has one */
	int64_t ns[WAIT_SLOTS];
	int32_t count[WAIT_SLOTS];
};

static int find_owed(struct collect *collect, uint64_t id, struct owed **ret)
{
	*ret = map__get(&collect->owed, id);
	if (*ret)
		return 0;
	*ret = calloc(1, sizeof(**ret));
	if (*ret && !map__put(&collect->owed, id, *ret)) {
		(*ret)->id = id;
		return 0;
	}
	free(*ret);
	return -ENOMEM;
}

static int write_wait(struct collect *collect, const struct ledger_key *key,
		      const struct ledger_sum *sum)
{
	int64_t object, by, first;
	int err = names__object(collect->names, key, &object);

	if (!err)
		err = names__culprit(collect->names, key, &by);
	if (!err)
		err = names__first_holder(collect->names, key, &first);
	if (err)
		return err;
	return recording__add_wait(
		collect->recording,
		&(struct recording_wait) { .thread = (int64_t)key->thread,
					   .state = key->slot,
					   .object = object,
					   .by = by,
					   .evidence = states__evidence(key->evidence),
					   .ns = (int64_t)sum->ns,
					   .count = (int64_t)sum->count,
					   .first = first,
					   .ended = states__ended(key->ended),
					   .turn = key->turn,
					   .in_request = key->in_request });
}

int collect__take_wait(void *context, const struct ledger_key *key, const struct ledger_sum *sum)
{
	struct collect *collect = context;
	struct owed *owed;
	int err;

	if (!SLOT_IS_WAIT(key->slot))
		return 0;
	err = find_owed(collect, key->thread, &owed);
	if (err)
		return err;
	owed->ns[key->slot - SLOT_WAIT_FIRST] -= (int64_t)sum->ns;
	owed->count[key->slot - SLOT_WAIT_FIRST] -= (int32_t)sum->count;
	return write_wait(collect, key, sum);
}

int collect__take_occupant(void *context, const struct ledger_occupant_key *key,
			   const struct ledger_occupant *sum)
{
	struct collect *collect = context;
	struct recording_occupant *added;
	int64_t by;
	int err = names__occupant(collect->names, key, sum, &by);

	if (err || !sum->ns)
		return err;
	added = APPEND(&collect->occupants, &collect->occupant_count);
	if (!added)
		return -ENOMEM;
	*added = (struct recording_occupant) { (int64_t)key->thread, by, (int64_t)sum->ns };
	return 0;
}

static int by_thread(const void *left, const void *right)
{
	const struct recording_occupant *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->by < b->by ? -1 : a->by > b->by;
}

/* The sums are of slices that are written, except at the end. */
static int64_t drained_slice(const struct collect *collect)
{
	return collect->slice - (collect->end_ns || collect->slice == 1 ? 0 : 1);
}

static int write_occupants(struct collect *collect)
{
	int64_t slice = drained_slice(collect);
	size_t count = collect->occupant_count;

	if (!count)
		return 0;
	qsort(collect->occupants, count, sizeof(*collect->occupants), by_thread);
	collect->occupant_count = 0;
	return recording__add_occupants(collect->recording, slice, collect->occupants, count);
}

int collect__drain(struct collect *collect, struct ledger *ledger, bool all)
{
	int err = ledger__drain_sums(ledger, all, collect__take_wait, collect__take_occupant,
				     collect);

	if (!err)
		err = write_occupants(collect);
	if (!err)
		err = names__write_memory(collect->names, drained_slice(collect),
					  collect->end_ns ? collect->end_ns : clock__now_ns());
	return err || !all ? err : names__finish(collect->names);
}

int waits__add_last(struct collect *collect, const struct ledger_record *record, uint64_t time_ns)
{
	struct ledger_key key = record->wait;
	struct ledger_sum sum = { time_ns - record->account.since_ns, 1 };
	int err = 0;

	if (record->cell_sum.count)
		err = collect__take_wait(collect, &record->cell, &record->cell_sum);
	if (err || !SLOT_IS_WAIT(record->account.slot))
		return err;
	key.thread = record->id;
	key.slot = (uint8_t)record->account.slot;
	key.ended = ENDED_OPEN;
	if (collect->ledger)
		holders__find(collect->ledger, record->pid, record->tid, &key);
	return collect__take_wait(collect, &key, &sum);
}

static bool is_even(const struct owed *owed)
{
	for (int i = 0; i < WAIT_SLOTS; i++)
		if (owed->ns[i])
			return false;
	return true;
}

/* The thread's waits may still be in the maps; see collect__waits_drained(). */
static int add_due(struct collect *collect, uint64_t id)
{
	uint64_t *added = APPEND(&collect->due, &collect->due_count);

	if (!added)
		return -ENOMEM;
	*added = id;
	return 0;
}

int waits__final(struct collect *collect, const struct tracked *thread)
{
	struct owed *owed;
	int err = find_owed(collect, (uint64_t)thread->id, &owed);

	if (err || owed->final)
		return err;
	owed->final = true;
	for (int i = 0; i < WAIT_SLOTS; i++) {
		owed->ns[i] += (int64_t)thread->ns[SLOT_WAIT_FIRST + i];
		owed->count[i] += (int32_t)thread->count[SLOT_WAIT_FIRST + i];
	}
	if (!is_even(owed))
		return add_due(collect, owed->id);
	free(map__take(&collect->owed, owed->id));
	return 0;
}

void waits__extend_account(struct collect *collect, struct tracked *thread)
{
	const struct owed *owed = map__get(&collect->owed, (uint64_t)thread->id);

	for (int i = 0; owed && i < WAIT_SLOTS; i++) {
		int slot = SLOT_WAIT_FIRST + i;
		int64_t more = -owed->ns[i] - (int64_t)thread->ns[slot];

		if (owed->final || more <= 0)
			continue;
		thread->ns[slot] += (uint64_t)more;
		thread->added_ns[slot] += (uint64_t)more;
		thread->last_ns += (uint64_t)more;
	}
}

static int settle(struct collect *collect, const struct owed *owed)
{
	int err = 0;

	for (int i = 0; i < WAIT_SLOTS && !err; i++) {
		const struct ledger_key key = { .thread = owed->id,
						.slot = (uint8_t)(SLOT_WAIT_FIRST + i),
						.object_kind = OBJECT_OTHER };
		const struct ledger_sum sum = { (uint64_t)owed->ns[i],
						owed->count[i] > 0 ? (uint64_t)owed->count[i] : 1 };

		if (owed->ns[i] > 0) {
			collect->quality.unnamed_wait_ns += sum.ns;
			err = write_wait(collect, &key, &sum);
		} else {
			collect->quality.waits_without_account_ns += (uint64_t)-owed->ns[i];
		}
	}
	return err;
}

/* Settles the first `count` threads in collect->due. */
static int settle_due(struct collect *collect, size_t count)
{
	int err = 0;

	if (!count)
		return 0;
	for (size_t i = 0; i < count && !err; i++) {
		cleanup(free_p) struct owed *owed = map__take(&collect->owed, collect->due[i]);

		if (owed)
			err = settle(collect, owed);
	}
	memmove(collect->due, collect->due + count,
		(collect->due_count - count) * sizeof(*collect->due));
	collect->due_count -= count;
	return err;
}

int collect__waits_drained(struct collect *collect)
{
	int err = settle_due(collect, collect->due_before);

	collect->due_before = collect->due_count;
	return err;
}

/* Leaves out the waits of a thread without an account. */
static int leave_out(struct collect *collect, const struct owed *owed)
{
	int err;

	/* A wait of length 0 arrived after the thread was settled. */
	if (is_even(owed))
		return 0;
	err = settle(collect, owed);
	return err ? err : recording__drop_waits(collect->recording, (int64_t)owed->id);
}

struct sweep {
	struct collect *collect;
	int err; /* the first error */
};

static bool is_orphan(void *context, uint64_t id, void *value)
{
	struct sweep *sweep = context;
	struct collect *collect = sweep->collect;
	struct owed *owed = value;
	int err;

	if (owed->final || map__get(&collect->threads, id)) {
		owed->orphaned = 0;
		return false;
	}
	if (!owed->orphaned)
		owed->orphaned = collect->wholes;
	if (collect->wholes - owed->orphaned < 2)
		return false;
	err = leave_out(collect, owed);
	if (!sweep->err)
		sweep->err = err;
	free(owed);
	return true;
}

int waits__sweep(struct collect *collect)
{
	struct sweep sweep = { .collect = collect };

	map__sweep(&collect->owed, is_orphan, &sweep);
	return sweep.err;
}

int waits__end(struct collect *collect)
{
	int err = settle_due(collect, collect->due_count);
	const struct owed *owed;
	size_t at = 0;

	/* The remaining threads have waits, but no account. */
	while (!err && (owed = map__next(&collect->owed, &at)))
		err = leave_out(collect, owed);
	return err;
}

void waits__release(struct collect *collect)
{
	map__free_values(&collect->owed);
	free(collect->due);
}
