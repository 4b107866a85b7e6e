/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of waits per (waiter, cause, object, culprit). A thread usually waits for the same object
 * again and again, so its latest sum stays in task storage (the cell). The cell goes into the map
 * when the thread waits for something else, or after user space has incremented `flush`.
 *
 * There are two maps. User space switches `active`, waits until no hook uses the old map, and then
 * empties it. Emptying a map in use would lose what a hook adds between lookup and delete.
 */
#pragma once

#include "ledger/kernel/classes.bpf.h"
#include "ledger/kernel/samples.bpf.h"

struct waits_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ledger_key);
	__type(value, struct ledger_sum);
};

struct waits_map waits_a SEC(".maps");
struct waits_map waits_b SEC(".maps");

__u32 active; /* 0: waits_a */
__u32 flush;

static __always_inline bool add_to(void *map, const struct ledger_key *key,
				   const struct ledger_sum *sum)
{
	struct ledger_sum *there = bpf_map_lookup_elem(map, key);

	if (!there)
		return !bpf_map_update_elem(map, key, sum, BPF_NOEXIST);
	/* No atomics: the key contains the waiter, and the waits of one thread never overlap. */
	there->ns += sum->ns;
	there->count += sum->count;
	return true;
}

/*
 * In 6.1, a map update fails in an interrupt that comes during another update of the map, one time
 * in eight. Then, or if the map is full, the sum goes into the other map, which is read later.
 */
static __always_inline bool add_wait(const struct ledger_key *key, const struct ledger_sum *sum)
{
	if (active)
		return add_to(&waits_b, key, sum) || add_to(&waits_a, key, sum);
	return add_to(&waits_a, key, sum) || add_to(&waits_b, key, sum);
}

/* The copies are for the verifier of 6.1: a pointer argument cannot be a map key. */
VERIFIED_ONCE int flush_cell(const struct thread *thread)
{
	struct ledger_key key;
	struct ledger_sum sum;

	if (!thread || !thread->cell_sum.count)
		return 0;
	key = thread->cell;
	sum = thread->cell_sum;
	/* The account still has the time; only its object and culprit are lost. */
	if (!add_wait(&key, &sum))
		count_lost(LOST_MAP_FULL);
	return 0;
}

static __always_inline bool same_key(const struct ledger_key *a, const struct ledger_key *b)
{
	return a->object[0] == b->object[0] && a->by == b->by && a->slot == b->slot &&
	       a->object_kind == b->object_kind && a->by_kind == b->by_kind &&
	       a->evidence == b->evidence && a->object[1] == b->object[1] && a->first == b->first &&
	       a->ended == b->ended && a->turn == b->turn && a->in_request == b->in_request;
}

/* A wait that timed out was ended by nobody. If the holder of its lock is known, keep that one. */
static __always_inline void set_outcome(const struct thread *thread, struct ledger_key *wait,
					__u8 ended)
{
	wait->ended = ended;
	if (wait->evidence == EVIDENCE_OWNER || wait->evidence == EVIDENCE_HANDED)
		return;
	if (ended == ENDED_TIMEOUT) {
		wait->by = 0;
		wait->by_kind = BY_TIMEOUT;
		wait->evidence = EVIDENCE_TIMEOUT;
		return;
	}
	wait->by = thread->unjudged_by;
	wait->by_kind = thread->unjudged_by_kind;
	wait->evidence = wait->by_kind == BY_NOBODY ? EVIDENCE_NONE : EVIDENCE_WAKER;
}

/*
 * The return value of the call will show how the wait ended. Until then, assume the same as for the
 * previous wait of its kind.
 */
static __always_inline void assume_last_outcome(struct thread *thread, struct ledger_key *wait,
						__u64 ns)
{
	const struct ledger_key *last = &thread->cell;

	thread->unjudged_ns = ns;
	thread->unjudged_by = wait->by;
	thread->unjudged_by_kind = wait->by_kind;
	if (last->slot == wait->slot && last->object[0] == wait->object[0] &&
	    last->object_kind == wait->object_kind &&
	    (last->ended == ENDED_TIMEOUT || last->ended == ENDED_EVENT))
		set_outcome(thread, wait, last->ended);
}

/* A wait of `ns` ended; thread->wait is its cause. Called between write_begin() and write_end(). */
VERIFIED_ONCE int wait_ended(struct thread *thread, __u32 slot, __u64 ns)
{
	struct ledger_key *wait;

	if (!thread)
		return 0;
	wait = &thread->wait;
	wait->slot = slot;
	wait->ended = thread->waker_kind == BY_NOBODY ? ENDED_UNKNOWN : thread->waker_ended;
	if (wait->evidence == EVIDENCE_OWNER) {
		judge_holder(thread);
	} else {
		wait->by = thread->waker;
		wait->by_kind = thread->waker_kind;
		wait->evidence = thread->waker_kind == BY_NOBODY ? EVIDENCE_NONE : EVIDENCE_WAKER;
	}
	thread->unjudged_ns = 0;
	if (full && wait->ended == ENDED_UNKNOWN)
		assume_last_outcome(thread, wait, ns);
	parts_wait_ends(thread, slot, ns);
	if (by_class)
		classify(thread, wait);
	/* If we miss the next waking, report no culprit rather than a wrong one. */
	thread->waker_kind = BY_NOBODY;
	/* A reader of classes takes cells from the records, and none must be in the map meanwhile.
	 */
	if (!same_key(wait, &thread->cell) || (!by_class && thread->flush != flush)) {
		flush_cell(thread);
		thread->cell = *wait;
		thread->cell_sum = (struct ledger_sum) {};
		thread->cell_number++;
		thread->flush = flush;
	}
	thread->cell_sum.ns += ns;
	thread->cell_sum.count++;
	return 0;
}

/* Distribution of interval lengths: [CPU][slot], mapped by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOT_COUNT); /* × CPUs, set at load */
	__type(key, __u32);
	__type(value, struct ledger_histogram);
} histograms SEC(".maps");

VERIFIED_ONCE int count_interval(const struct thread *thread, __u32 slot, __u64 ns)
{
	__u32 index = bpf_get_smp_processor_id() * SLOT_COUNT + slot;
	struct ledger_histogram *histogram = bpf_map_lookup_elem(&histograms, &index);
	__u32 bucket = histogram_bucket(ns);

	if (!thread || thread->flags & THREAD_OUTSIDE)
		return 0;
	if (histogram && bucket < HISTOGRAM_BUCKETS)
		histogram->buckets[bucket]++;
	else
		count_lost(LOST_MAP_FULL); /* no entry for this CPU */
	return 0;
}
