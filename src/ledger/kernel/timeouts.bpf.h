/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits that timed out. At the wakeup, a timeout looks like any other interrupt. Only the return
 * value of the call shows it, at level full. So a wait that ended by an interrupt, or whose wakeup
 * we missed, is booked at once under the same cause as the previous wait of its kind. If the return
 * value contradicts that, the wait is moved. If the call has not returned by the end of the
 * recording, the wait stays where it was booked.
 */
#pragma once

#include "bpf/syscall.bpf.h"
#include "ledger/kernel/waits.bpf.h"

#define EAGAIN      11
#define ETIME       62
#define ETIMEDOUT   110
#define EINPROGRESS 115

/* Whether the return value of the call means that its wait timed out. */
static __always_inline bool says_timed_out(__u32 slot, long ret)
{
	switch (slot) {
	case SLOT_WAIT_POLL:
	case SLOT_WAIT_SLEEP:
		return ret == 0 || ret == -EAGAIN; /* EAGAIN: from sigtimedwait() */
	case SLOT_WAIT_LOCK:
	case SLOT_WAIT_NET:
	case SLOT_WAIT_ACCEPT:
	case SLOT_WAIT_PIPE:
	case SLOT_WAIT_URING:
	case SLOT_WAIT_OTHER:
		return ret == -ETIMEDOUT || ret == -EAGAIN || ret == -ETIME || ret == -EINPROGRESS;
	default:
		return false;
	}
}

/* Corrects the sample of the wait too, if it was drawn and is still pending. */
static __always_inline void correct_pending(struct thread *thread, const struct ledger_key *was)
{
	for (__u32 i = 0; i < MOST_PENDING; i++) {
		struct pending *pending = &thread->pending[i];

		if (pending->count == 1 && pending->slot == was->slot &&
		    pending->by_kind == was->by_kind && pending->by == was->by)
			note_wait(pending, &thread->wait);
	}
}

/* A call returns whose last wait may have timed out. */
VERIFIED_ONCE int resolve_timeout(struct thread *thread, long ret)
{
	struct ledger_key *wait, was;
	bool timed_out;
	__u64 ns;

	if (!thread)
		return 0;
	wait = &thread->wait;
	ns = thread->maybe_timeout_ns;
	thread->maybe_timeout_ns = 0;
	timed_out = says_timed_out(wait->slot, ret);
	if (timed_out == (wait->by_kind == BY_TIMEOUT) || !same_key(wait, &thread->cell))
		return 0;
	was = *wait;
	write_begin(&thread->account);
	thread->cell_sum.ns -= ns;
	thread->cell_sum.count--;
	flush_cell(thread);
	wait->by = timed_out ? 0 : thread->unjudged_by;
	wait->by_kind = timed_out ? BY_TIMEOUT : thread->unjudged_by_kind;
	if (timed_out)
		wait->evidence = EVIDENCE_TIMEOUT;
	else
		wait->evidence = wait->by_kind == BY_NOBODY ? EVIDENCE_NONE : EVIDENCE_WAKER;
	thread->cell = *wait;
	thread->cell_sum = (struct ledger_sum) { ns, 1 };
	write_end(&thread->account);
	if (thread->pending_count)
		correct_pending(thread, &was);
	return 0;
}
