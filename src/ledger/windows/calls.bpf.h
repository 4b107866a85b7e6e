/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls as windows: from the entry to the return of a function, on one thread. The signal functions
 * has the probes and keeps the stack of calls; the account at the entry is kept here, by the depth
 * of the call in that stack.
 *
 * Programs of uprobes may lose the CPU to one another, so nothing here is per CPU, and sums are
 * added atomically.
 */
#pragma once

#include "ledger/windows/worker.bpf.h"

#define CALL_DEPTH 32

struct window_call {
	__u64 serial;
	__u64 begin_ns;
	__u64 outer; /* thread.window before */
	__u64 parent;
	__u64 base[SLOT_COUNT];
};

struct window_calls {
	struct window_call at[CALL_DEPTH];
	struct window done;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct window_calls);
} windows_calls SEC(".maps");

/* The current thread in the middle of a state. */
static __always_inline __u64 time_in_state(struct here *here)
{
	__u64 now = bpf_ktime_get_ns();

	if (here && here->timed.shift) {
		here_begins(here);
		divide(here, 0, now);
		here_ends(here);
	}
	return now;
}

static __always_inline struct window_call *call_at(struct window_calls *calls, __u32 depth)
{
	__u64 at = depth;

	barrier_var(at);
	return at < CALL_DEPTH ? &calls->at[at] : NULL;
}

/* A call begins, the one with this depth in the thread's stack of calls. */
static void call_window_begins(__u32 depth)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct window_worker *worker = worker_of(current, false);
	struct here *here = full ? claimed_by(current) : NULL;
	struct window_calls *calls;
	struct window_call *call;

	if (!thread || !with_windows)
		return;
	calls = bpf_task_storage_get(&windows_calls, current, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	call = calls ? call_at(calls, depth) : NULL;
	if (!call) {
		count_window(WINDOWS_LOST, 1);
		return;
	}
	call->serial = __sync_fetch_and_add(&windows_last_serial, 1) + 1;
	count_window(WINDOWS_CALLS_OPEN, 1);
	call->outer = thread->window;
	call->parent = worker ? worker->serial : 0;
	call->begin_ns = time_in_state(here);
	__builtin_memset(call->base, 0, sizeof(call->base));
	add_account(call->base, NULL, thread, here, call->begin_ns);
	thread->window = WINDOW_OF(call->serial);
}

/* What the samples of the thread belong to from now on. */
static __always_inline __u64 outer_of(const struct window_calls *calls,
				      const struct window_call *call, __u32 depth,
				      const struct window_worker *worker)
{
	struct window_call *below = depth ? call_at((void *)calls, depth - 1) : NULL;

	if (below && below->serial && below->serial == call->outer >> 1)
		return call->outer;
	return worker ? WINDOW_OF(worker->serial) | (call->outer & WINDOW_SAMPLED) : 0;
}

VERIFIED_ONCE int count_returned(struct window *done, __u32 place, __u32 marked)
{
	struct window_class_key key = { .kind = WINDOW_CALL, .port = place };

	if (!done || !with_windows)
		return 0;
	return count_done(done, NULL, class_of_window(&key, done, NULL, 0), marked);
}

/* It returned. `place`: the number of the function's name. */
static void call_window_ends(__u32 depth, __u32 place)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct here *here = full ? claimed_by(current) : NULL;
	struct window_calls *calls;
	struct window_call *call;
	struct window *done;
	__u64 now, was;

	if (!thread || !with_windows)
		return;
	calls = bpf_task_storage_get(&windows_calls, current, NULL, 0);
	call = calls ? call_at(calls, depth) : NULL;
	if (!call || !call->serial)
		return;
	now = time_in_state(here);
	if (is_over(now) || !base_ns)
		return;
	count_window(WINDOWS_CALLS_OPEN, -1);
	if (call->begin_ns < base_ns) {
		call->serial = 0;
		return;
	}
	done = &calls->done;
	__builtin_memset(done, 0, sizeof(*done));
	done->serial = call->serial;
	done->thread = thread->id;
	done->ready_ns = done->read_ns = call->begin_ns;
	done->end_ns = now;
	done->n = done->segments = 1;
	done->parent = call->parent;
	done->evidence = call->parent ? WINDOW_BY_SEGMENT : WINDOW_BY_NONE;
	add_account(done->ns, call->base, thread, here, now);
	was = thread->window;
	if (was >> 1 == call->serial)
		thread->window = outer_of(calls, call, depth, worker_of(current, false));
	count_returned(done, place, was & WINDOW_SAMPLED);
	call->serial = 0;
}
