/* Between user space and the kernel, at level full. */
#pragma once

#include "ledger/kernel/thread.bpf.h"

/*
 * From the clock that on_sys_exit reads to the one that on_sys_enter reads, if the thread does
 * nothing in between: the tail of one hook, the kernel's way out and in, and the head of the other.
 * Measured by user space at the start, 0 until then.
 */
__u64 crossing_ns;

/* At level full, a thread seeded while it ran: its first event tells where it was. */
static __always_inline void resolve(struct thread *thread, __u32 slot)
{
	if (!full || thread->account.slot != SLOT_RUN_ANY)
		return;
	thread->account.slot = slot;
	count_found(&thread->account, SLOT_RUN_ANY, -1);
	count_found(&thread->account, slot, 1);
}

/* A crossing from another state than it should be in. */
static __noinline void crosses_oddly(struct thread *thread, __u32 from, __u32 to, __u64 now)
{
	if (thread->account.slot == SLOT_NONE)
		open_account(thread, from, now);
	resolve(thread, from);
	/*
	 * If we missed that it got the CPU, the account is left to repair_switch(); it cannot have
	 * had the CPU for long.
	 */
	if (!SLOT_IS_RUN(thread->account.slot)) {
		thread->off_ns += now - thread->left_ns;
		thread->left_ns = now;
		return;
	}
	write_begin(&thread->account);
	move(thread, to, now);
	write_end(&thread->account);
}

/* Between user space and the kernel: move(), but for what is known beforehand. */
static __always_inline void crosses(struct thread *thread, __u32 from, __u32 to, __u64 now)
{
	struct ledger_account *account = &thread->account;

	if (account->slot != from || now < account->since_ns || account->since_ns < base_ns) {
		crosses_oddly(thread, from, to, now);
		return;
	}
	write_begin(account);
	account->ns[from] += now - account->since_ns;
	account->since_ns = now;
	account->slot = to;
	account->count[to]++;
	write_end(account);
}

/*
 * When the thread left user space, for a call that the hook sees at `now`. What the crossings cost
 * is the kernel's time, not the program's: it is taken off here, so that no state begins in the
 * future. An interval that is shorter than that has no time of its own.
 */
static __always_inline __u64 left_user_space(const struct thread *thread, __u64 now)
{
	const struct ledger_account *account = &thread->account;
	__u64 ns = now - account->since_ns;

	if (account->slot != SLOT_RUN_USER || (__s64)ns < 0)
		return now;
	if (ns > crossing_ns)
		return now - crossing_ns;
	if (ns < crossing_ns / 4 * 3 && account->since_ns != thread->on_ns)
		crossing_ns -= (crossing_ns - ns) / 8; /* it was measured in a bad moment */
	return account->since_ns;
}

/* When the call was over, if another hook of ours had a long look at it before. */
static __always_inline __u64 call_ended_at(struct thread *thread, __u64 now)
{
	__u64 ended_ns = thread->ended_ns;

	if (!ended_ns)
		return now;
	thread->ended_ns = 0;
	/* Unless it lost the CPU meanwhile: then the time without a CPU is not that call's. */
	return ended_ns > thread->call_ns && ended_ns > thread->on_ns ? ended_ns : now;
}
