/*
 * Waits that ended because their time was up. At the wakeup that is an interrupt like any other;
 * what the call returns tells, at level full. So a wait that an interrupt ended, or whose wakeup
 * was not shown to us, is booked at once, as what the last one of its kind was, and moved should
 * its call say otherwise. A wait whose call has not returned when the recording ends stays where it
 * was booked.
 */
#pragma once

#include "bpf/syscall.bpf.h"
#include "ledger/kernel/waits.bpf.h"

#define EAGAIN      11
#define ETIME       62
#define ETIMEDOUT   110
#define EINPROGRESS 115

/* For a wait that ended in an interrupt. */
static __always_inline bool says_timed_out(__u32 slot, long ret)
{
	switch (slot) {
	case SLOT_WAIT_POLL:
	case SLOT_WAIT_SLEEP:
		return ret == 0 || ret == -EAGAIN; /* EAGAIN: of sigtimedwait */
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

/* The sample of the wait, if it was drawn and waits for its stack. */
static __always_inline void correct_pending(struct thread *thread, const struct ledger_key *was)
{
	for (__u32 i = 0; i < MOST_PENDING; i++) {
		struct pending *pending = &thread->pending[i];

		if (pending->count == 1 && pending->slot == was->slot &&
		    pending->by_kind == was->by_kind && pending->by == was->by)
			note_wait(pending, &thread->wait);
	}
}

/* The call returns whose last wait was left unjudged. */
VERIFIED_ONCE int judge_wait(struct thread *thread, long ret)
{
	struct ledger_key *wait, was;
	bool timed_out;
	__u64 ns;

	if (!thread)
		return 0;
	wait = &thread->wait;
	ns = thread->unjudged_ns;
	thread->unjudged_ns = 0;
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
