/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of syscalls per (thread, number). A thread makes few different calls, so its sums stay in a
 * small cache in task storage, and go into a map when another number needs the place, once after
 * each change of `flush`, and at the end. There are two maps, which change places together with
 * those of waits (waits.bpf.h).
 *
 * What a thread moves into the map before it has lived for SHORT_LIFE_NS counts for thread 0.
 * Otherwise a program that starts thousands of threads or processes would fill the maps.
 */
#pragma once

#include "ledger/kernel/waits.bpf.h"

#define SHORT_LIFE_NS 100000000ULL

/*
 * Preallocated: the end of a thread inserts several sums with interrupts off, and then the kernel
 * has only a few elements at hand.
 */
struct thread_calls_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ledger_thread_call);
	__type(value, struct ledger_call_sum);
};

struct thread_calls_map thread_calls_a SEC(".maps");
struct thread_calls_map thread_calls_b SEC(".maps");

static __always_inline bool add_calls_to(void *map, const struct ledger_thread_call *key,
					 const struct ledger_call_sum *sum)
{
	struct ledger_call_sum *there = bpf_map_lookup_elem(map, key);

	if (!there) {
		if (!bpf_map_update_elem(map, key, sum, BPF_NOEXIST))
			return true;
		/* The update also fails if another CPU has just inserted the key. */
		there = bpf_map_lookup_elem(map, key);
		if (!there)
			return false;
	}
	/* Atomic because of thread 0, which stands for many. */
	__sync_fetch_and_add(&there->total_ns, sum->total_ns);
	__sync_fetch_and_add(&there->run_ns, sum->run_ns);
	__sync_fetch_and_add(&there->count, sum->count);
	__sync_fetch_and_add(&there->errors, sum->errors);
	return true;
}

/* Moves one sum into the map. */
VERIFIED_ONCE int flush_calls_of(struct thread *thread, __u32 at)
{
	struct ledger_thread_call key = {};
	struct ledger_call_sum sum = {};
	struct call_cell *cell;
	bool is_added;

	if (!thread || at >= CALL_CELLS)
		return 0;
	cell = &thread->calls[at];
	/* The last iterator and the end of the thread may both come here. */
	sum.count = __sync_lock_test_and_set(&cell->count, 0);
	if (!sum.count)
		return 0;
	if (thread->account.since_ns - thread->account.first_ns >= SHORT_LIFE_NS)
		key.thread = thread->id;
	key.number = cell->nr;
	sum.errors = cell->errors;
	sum.total_ns = cell->total_ns;
	sum.run_ns = cell->run_ns;
	if (active)
		is_added = add_calls_to(&thread_calls_b, &key, &sum) ||
			   add_calls_to(&thread_calls_a, &key, &sum);
	else
		is_added = add_calls_to(&thread_calls_a, &key, &sum) ||
			   add_calls_to(&thread_calls_b, &key, &sum);
	if (!is_added)
		count_lost(LOST_MAP_FULL);
	return 0;
}

/* Moves all sums of a thread into the map. */
VERIFIED_ONCE int flush_calls(struct thread *thread)
{
	if (!thread)
		return 0;
	for (__u32 i = 0; i < CALL_CELLS; i++)
		flush_calls_of(thread, i);
	return 0;
}

/* The multiplier gives the calls that servers make most different places. */
static __always_inline __u32 cell_of(__u32 nr)
{
	return nr * 89 >> 6 & (CALL_CELLS - 1);
}

/* The cell at place `at`, ready for sums of the call `nr`. */
static __always_inline struct call_cell *cell_for(struct thread *thread, __u32 at, __u32 nr)
{
	struct call_cell *cell = &thread->calls[at & (CALL_CELLS - 1)];

	if (cell->nr != nr || cell->flush != flush || !cell->count) {
		flush_calls_of(thread, at);
		*cell = (struct call_cell) { .nr = nr, .flush = flush };
	}
	return cell;
}

static __always_inline void add_to_thread(struct thread *thread, __u32 nr, __u64 ns, __u64 run_ns,
					  bool failed)
{
	struct call_cell *cell = cell_for(thread, cell_of(nr), nr);

	cell->total_ns += ns;
	cell->run_ns += run_ns;
	cell->errors += failed;
	cell->count++;
}
