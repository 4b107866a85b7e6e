/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a thread was when a signal killed its process. signal_deliver runs in the thread's own
 * context when the signal is taken from the queue, with the action that the kernel is about to
 * carry out, and the registers are still those of the fault. Rejected: signal_generate, at which
 * the action may still change and the thread need not be current.
 */
#pragma once

#include "ledger/kernel/walk.bpf.h"

#define SIGILL  4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGBUS  7
#define SIGFPE  8
#define SIGSEGV 11
#define SIGSYS  31
#define BIT(n)  (1ULL << (n))

#define FAULTS (BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV))

#define SIGNAL_UNKILLABLE 0x00000040

/* The signals of a program that went wrong. Others come from outside. */
static __always_inline bool is_of_program(int number)
{
	return number > 0 && number < 64 && BIT(number) & (FAULTS | BIT(SIGABRT) | BIT(SIGSYS));
}

/* The signal has its default action, which is to kill. */
static __noinline int note_fatal(struct task_struct *current, int number, int code, __u64 address)
{
	struct thread *thread = find(current);
	struct fatal_record *record;
	__u8 none;
	__u64 user;

	if (!thread || thread->flags & THREAD_OUTSIDE ||
	    current->signal->flags & SIGNAL_UNKILLABLE || is_over_now())
		return 0;
	none = why_no_user_stack(thread, current);
	/* Interrupts are off here, as in the scheduler. */
	user = none ? 0 : user_stack(thread->here_pid, WALK_SCHEDULER);
	record = bpf_ringbuf_reserve(&stack_ring, sizeof(*record), 0);
	if (!record) {
		count_lost(LOST_RING_FULL);
		return 0;
	}
	wire_head_init(&record->head, sizeof(*record), STACK_FATAL, 1);
	record->thread = thread->id;
	record->user = user;
	/* Only faults have an address, and only if the kernel itself reports them. */
	record->address = code > 0 && BIT(number & 63) & FAULTS ? address : 0;
	record->signal = number;
	record->code = code;
	bpf_ringbuf_submit(record, ring_flags());
	return 0;
}
