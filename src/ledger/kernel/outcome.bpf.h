/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a wait ended, if the waking does not show it. A timer may wake a thread because of its
 * timeout or for another reason. Only the return value of the call shows it, at level full. So a
 * wait that a timer ended, or whose waking we missed, is booked at once with the same outcome as
 * the previous wait of its kind. If the return value contradicts that, the wait is moved. If the
 * call has not returned by the end of the recording, the wait stays where it was booked.
 */
#pragma once

#include "bpf/syscall.bpf.h"
#include "ledger/kernel/waits.bpf.h"

#define EAGAIN      11
#define ETIME       62
#define ETIMEDOUT   110
#define EINPROGRESS 115

/* Whether a wait of this kind can have a timeout that the program gave. */
static __always_inline bool can_time_out(__u32 slot)
{
	switch (slot) {
	case SLOT_WAIT_POLL:
	case SLOT_WAIT_SLEEP:
	case SLOT_WAIT_LOCK:
	case SLOT_WAIT_NET:
	case SLOT_WAIT_ACCEPT:
	case SLOT_WAIT_PIPE:
	case SLOT_WAIT_URING:
	case SLOT_WAIT_OTHER:
		return true;
	default:
		return false;
	}
}

/* Whether the return value of the call means that its wait timed out. */
static __always_inline bool says_timed_out(__u32 slot, long ret)
{
	if (slot == SLOT_WAIT_POLL || slot == SLOT_WAIT_SLEEP)
		return ret == 0 || ret == -EAGAIN; /* EAGAIN: from sigtimedwait() */
	return can_time_out(slot) &&
	       (ret == -ETIMEDOUT || ret == -EAGAIN || ret == -ETIME || ret == -EINPROGRESS);
}

/* Corrects the sample of the wait too, if it was drawn and is still pending. */
static __always_inline void correct_pending(struct thread *thread, const struct ledger_key *was)
{
	struct pendings *pendings = pendings_of(thread);

	for (__u32 i = 0; pendings && i < MOST_PENDING; i++) {
		struct pending *pending = &pendings->entries[i];

		if (pending->count == 1 && pending->slot == was->slot &&
		    pending->by_kind == was->by_kind && pending->by == was->by &&
		    pending->ended == was->ended)
			note_wait(pending, &thread->wait);
	}
}

/* How the last wait of a call ended that returns `ret`. */
static __always_inline __u8 outcome_of(__u32 slot, long ret)
{
	if (says_timed_out(slot, ret))
		return ENDED_TIMEOUT;
	if (ret == -EINTR || is_broken_off(ret))
		return ENDED_SIGNAL;
	/* The kernel's own timed pauses, such as those of writers, do not show in return values. */
	return can_time_out(slot) ? ENDED_EVENT : ENDED_UNKNOWN;
}

/* A call returns, and its last wait is not judged yet. */
VERIFIED_ONCE int judge_wait(struct thread *thread, long ret)
{
	struct ledger_key *wait, was;
	__u8 ended;
	__u64 ns;

	if (!thread)
		return 0;
	wait = &thread->wait;
	ns = thread->unjudged_ns;
	thread->unjudged_ns = 0;
	ended = outcome_of(wait->slot, ret);
	if (ended == wait->ended || !same_key(wait, &thread->cell))
		return 0;
	was = *wait;
	write_begin(&thread->account);
	thread->cell_sum.ns -= ns;
	thread->cell_sum.count--;
	flush_cell(thread);
	set_outcome(thread, wait, ended);
	thread->cell = *wait;
	thread->cell_sum = (struct ledger_sum) { ns, 1 };
	thread->cell_number++;
	write_end(&thread->account);
	if (thread->pending_count)
		correct_pending(thread, &was);
	return 0;
}
