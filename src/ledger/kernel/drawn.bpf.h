/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user stacks that parts of signals ask for. */
#pragma once

#include "bpf/drawn.bpf.h"
#include "ledger/kernel/walk.bpf.h"

static __always_inline void submit_drawn(const struct drawn *drawn, const struct thread *thread,
					 __u64 user)
{
	struct drawn_record *record = bpf_ringbuf_reserve(&stack_ring, sizeof(*record), 0);

	if (!record) {
		count_lost(LOST_RING_FULL);
		return;
	}
	wire_head_init(&record->head, sizeof(*record), STACK_DRAWN, 1);
	record->thread = thread->id;
	record->user = user;
	record->count = drawn->count;
	record->bytes = drawn->bytes;
	record->signal = drawn->signal;
	record->operation = drawn->operation;
	bpf_ringbuf_submit(record, ring_flags());
}

/*
 * The thread is in a syscall that ends, or in a page fault of user mode: no other walk in this
 * place can be under way on this CPU.
 */
VERIFIED_ONCE int send_drawn(const struct drawn *drawn)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread;
	__u8 none;
	__u64 user;

	if (!drawn || !takes_stacks())
		return 0;
	thread = find(current);
	if (!thread || thread->flags & THREAD_OUTSIDE || is_over_now())
		return 0;
	none = why_no_user_stack(thread, current);
	user = none ? 0 : user_stack(thread->here_pid, WALK_SYSCALL);
	submit_drawn(drawn, thread, user);
	return 0;
}

VERIFIED_ONCE int send_drawn_anywhere(const struct drawn *drawn)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread;

	if (!drawn || !takes_stacks())
		return 0;
	thread = find(current);
	if (thread && !(thread->flags & THREAD_OUTSIDE) && !is_over_now())
		submit_drawn(drawn, thread, event_stack());
	return 0;
}
