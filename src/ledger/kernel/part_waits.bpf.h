/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the parts of signals which waits begin and end. */
#pragma once

#include "bpf/part_wait.h"
#include "ledger/kernel/thread.bpf.h"

/* Not on the stack, which is nearly used up where waits end (6.1 has 512 bytes for all functions).
 */
static __always_inline void fill_part_wait(struct part_wait *ret, const struct thread *thread,
					   __u32 slot, __u64 now)
{
	const struct ledger_account *account = &thread->account;
	const struct ledger_key *wait = &thread->wait;

	ret->thread = thread->id;
	ret->object[0] = wait->object[0];
	ret->object[1] = wait->object[1];
	ret->at_ns = now;
	ret->ns = 0;
	ret->ran_ns = account->ns[SLOT_RUN_USER] + account->ns[SLOT_RUN_KERNEL] +
		      account->ns[SLOT_RUN_ANY];
	ret->pid = thread->pid;
	ret->lock_flags = thread->kernel_lock_flags;
	ret->slot = slot;
	ret->object_kind = wait->object_kind;
	ret->is_handed = wait->evidence == EVIDENCE_HANDED;
	ret->is_from_thread =
		thread->waker_kind == BY_THREAD || thread->waker_kind == BY_UNACCOUNTED;
	ret->is_one_of_many = thread->released_many;
}

/* The current thread leaves its CPU for a wait. */
static __always_inline void parts_wait_begins(const struct thread *thread, __u32 slot, __u64 now)
{
	struct part_wait *wait;

#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name) && name##_takes_wait(slot, thread->wait.object_kind) &&           \
	    is_recorded(SIGNAL_##name, (const struct identity *)thread)) {                         \
		wait = name##_wait_room();                                                         \
		if (wait) {                                                                        \
			fill_part_wait(wait, thread, slot, now);                                   \
			name##_wait_begins();                                                      \
		}                                                                                  \
	}
	AT_wait(PART);
#undef PART
}

/* thread->wait ends, and is judged. Its waker is still noted. */
static __always_inline void parts_wait_ends(const struct thread *thread, __u32 slot, __u64 ns)
{
	struct part_wait *wait;

#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name) && name##_takes_wait(slot, thread->wait.object_kind) &&           \
	    is_recorded(SIGNAL_##name, (const struct identity *)thread)) {                         \
		wait = name##_wait_room();                                                         \
		if (wait) {                                                                        \
			fill_part_wait(wait, thread, slot, thread->account.since_ns + ns);         \
			wait->ns = ns;                                                             \
			name##_wait_ends();                                                        \
		}                                                                                  \
	}
	AT_wait(PART);
#undef PART
}
