/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a thread is to be recorded, and its id. Both come from the ledger, which applies the
 * filter of the command line, so that all signals record the same threads.
 */
#pragma once

#include "bpf/identity.h"
#include "bpf/series.bpf.h"

/* The ledger's entry of a thread, or NULL. Defined in ledger/kernel/thread.bpf.h. */
static struct identity *identity_of(struct task_struct *task);

/*
 * The process of the current thread, as in struct identity. It costs more than identity_of().
 * Defined in ledger/kernel/targets.bpf.h.
 */
static __u32 current_pid(void);

/*
 * The user stack of the current thread, for an event that ends in it: a hash, as samples have them.
 * 0: none. It takes about 2 µs, so only events that get a row of their own have one. Defined in
 * ledger/kernel/walk.bpf.h.
 */
static __u64 event_stack(void);

/*
 * For how long the current thread has run so far, of the time that was recorded; 0: it has no
 * account. Defined in ledger/kernel/thread.bpf.h.
 */
static __u64 current_run_ns(__u64 now);

/*
 * A call begins or has returned that is a window, with this depth among the calls of the current
 * thread. `place`: the number of the function's name. Defined in ledger/windows/calls.bpf.h.
 */
static void call_window_begins(__u32 depth);
static void call_window_ends(__u32 depth, __u32 place);

/* Whether a thread with an account belongs to what the signal records now. */
static __always_inline bool is_recorded(enum signal_number number, const struct identity *identity)
{
	return series[number].enabled && !(identity->flags & IDENTITY_OUTSIDE);
}

/*
 * False: the thread does not belong to the target, or recording is off. `task` must be a pointer
 * that the verifier trusts. Call this before reading the clock, which costs more.
 */
static __always_inline bool is_wanted_by(enum signal_number number, struct task_struct *task,
					 struct identity *ret)
{
	struct identity *identity;

	*ret = (struct identity) {};
	if (!series[number].enabled)
		return false;
	identity = identity_of(task);
	if (!identity)
		return series[number].every_thread;
	*ret = *identity;
	return !(identity->flags & IDENTITY_OUTSIDE);
}

static __always_inline bool is_wanted_now(enum signal_number number, struct identity *ret)
{
	return is_wanted_by(number, bpf_get_current_task_btf(), ret);
}
