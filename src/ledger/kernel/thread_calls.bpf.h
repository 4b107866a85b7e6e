/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of syscalls per (thread, number). A thread makes few different calls, so its sums stay in a
 * small cache in task storage, and go into a map when another number needs the place, once after
 * each change of `flush`, and at the end. There are two maps, which change places together with
 * those of waits (waits.bpf.h).
 *
 * The cache is a storage of its own, which a thread gets when it returns from a call at level full.
 * The calls of a thread without one go into the map one by one.
 *
 * What a thread moves into the map before it has lived for SHORT_LIFE_NS counts for thread 0.
 * Otherwise a program that starts thousands of threads or processes would fill the maps.
 */
#pragma once

#include "ledger/kernel/waits.bpf.h"

#define SHORT_LIFE_NS 100000000ULL

/* Sums of the calls with one number. count 0: free. */
struct call_cell {
	__u64 total_ns, run_ns;
	__u32 count, errors;
};
#define CALL_CELLS 16

struct call_cells {
	struct call_cell cells[CALL_CELLS];
	__u16 nr[CALL_CELLS]; /* of each cell */
	__u32 flush;          /* as in struct thread */
	__u32 pad;
};
_Static_assert(FITS_SLAB(struct call_cells, 512), "the storage of one thread");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_cells);
} call_sums SEC(".maps");

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

/* The sums of the thread's calls; NULL if it has no storage for them. */
static __always_inline struct call_cells *cells_of(const struct thread *thread,
						   struct task_struct *task)
{
	return thread->has_calls ? bpf_task_storage_get(&call_sums, task, NULL, 0) : NULL;
}

/*
 * Makes that storage for the current thread. Not from the scheduler's hooks: up to 6.3, the kernel
 * allocates a storage in a way that may wake a thread.
 */
static __always_inline void open_cells(struct thread *thread, struct task_struct *current)
{
	if (!thread->has_calls &&
	    bpf_task_storage_get(&call_sums, current, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
		thread->has_calls = 1;
}

/* Moves one sum into the map. */
VERIFIED_ONCE int flush_calls_of(const struct thread *thread, struct call_cell *cell, __u32 nr)
{
	struct ledger_thread_call key = {};
	struct ledger_call_sum sum = {};
	bool is_added;

	if (!thread || !cell)
		return 0;
	/* The last iterator and the end of the thread may both come here. */
	sum.count = __sync_lock_test_and_set(&cell->count, 0);
	if (!sum.count)
		return 0;
	if (thread->account.since_ns - thread->account.first_ns >= SHORT_LIFE_NS)
		key.thread = thread->id;
	key.number = nr;
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
VERIFIED_ONCE int flush_calls(const struct thread *thread, struct call_cells *cells)
{
	if (!thread || !cells)
		return 0;
	for (__u32 i = 0; i < CALL_CELLS; i++)
		flush_calls_of(thread, &cells->cells[i], cells->nr[i]);
	cells->flush = flush;
	return 0;
}

/* The multiplier gives the calls that servers make most different places. */
static __always_inline __u32 cell_of(__u32 nr)
{
	return nr * 89 >> 6 & (CALL_CELLS - 1);
}

/* Adds calls with the number `nr`, whose place is `at`, to the sums of the thread. */
VERIFIED_ONCE int add_to_cell(const struct thread *thread, struct call_cells *cells, __u32 at,
			      __u32 nr, struct call_cell *more)
{
	struct call_cell *cell;

	if (!thread || !more)
		return 0;
	if (!cells)
		return flush_calls_of(thread, more, nr);
	at &= CALL_CELLS - 1;
	cell = &cells->cells[at];
	if (cells->flush != flush)
		flush_calls(thread, cells);
	if (cells->nr[at] != nr || !cell->count) {
		flush_calls_of(thread, cell, cells->nr[at]);
		cells->nr[at] = nr;
		*cell = *more;
		return 0;
	}
	cell->total_ns += more->total_ns;
	cell->run_ns += more->run_ns;
	cell->errors += more->errors;
	cell->count += more->count;
	return 0;
}

/* Adds a call of the current thread. */
static __always_inline void add_to_thread(const struct thread *thread, __u32 nr, __u64 ns,
					  __u64 run_ns, bool failed)
{
	struct call_cell call = { .total_ns = ns, .run_ns = run_ns, .count = 1, .errors = failed };

	add_to_cell(thread, cells_of(thread, bpf_get_current_task_btf()), cell_of(nr), nr, &call);
}
