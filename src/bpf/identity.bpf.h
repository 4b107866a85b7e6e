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
