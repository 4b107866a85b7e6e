/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transitions between user space and the kernel, at level full. */
#pragma once

#include "ledger/kernel/thread.bpf.h"

/*
 * Time from the clock read in on_sys_exit to the one in on_sys_enter if the thread does nothing in
 * between: the rest of the exit hook, the kernel's exit and entry code, and the start of the entry
 * hook. Measured by user space at the start; 0 until then.
 */
__u64 crossing_ns;

/*
 * At level full, it is unknown whether a thread that was seeded on a CPU was in user space. Its
 * first event shows it.
 */
static __always_inline void resolve(struct thread *thread, __u32 slot)
{
	if (!full || thread->account.slot != SLOT_RUN_ANY)
		return;
	thread->account.slot = slot;
	count_found(&thread->account, SLOT_RUN_ANY, -1);
	count_found(&thread->account, slot, 1);
}

/* The slow path of crosses(): the account is not in the expected state. */
static __noinline void cross_slow_path(struct thread *thread, __u32 from, __u32 to, __u64 now)
{
	if (thread->account.slot == SLOT_NONE)
		open_account(thread, from, now);
	resolve(thread, from);
	/*
	 * We missed the switch to this thread. It cannot have had the CPU for long, so the time
	 * until now counts as time without a CPU. repair_switch() will correct the account.
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

/* Between user space and the kernel: move() without the cases that cannot occur here. */
static __always_inline void crosses(struct thread *thread, __u32 from, __u32 to, __u64 now)
{
	struct ledger_account *account = &thread->account;

	if (account->slot != from || now < account->since_ns || account->since_ns < base_ns) {
		cross_slow_path(thread, from, to, now);
		return;
	}
	write_begin(account);
	account->ns[from] += without_interrupts(account, now - account->since_ns);
	account->since_ns = now;
	account->slot = to;
	account->count[to]++;
	write_end(account);
}

/*
 * When the thread left user space, for a call that the hook sees at `now`. The cost of the
 * crossings is kernel time, not the program's. It is subtracted here, at the end of the interval,
 * so that no state begins in the future. A shorter interval gets no user time.
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
		crossing_ns -= (crossing_ns - ns) / 8; /* the measured cost was too high */
	return account->since_ns;
}
