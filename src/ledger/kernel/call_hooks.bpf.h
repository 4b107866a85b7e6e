/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entry and the exit of syscalls at level full, and sends and receives of sockets. */
#pragma once

#include "ledger/kernel/adopt.bpf.h"
#include "ledger/kernel/calls.bpf.h"
#include "ledger/kernel/crossings.bpf.h"
#include "ledger/kernel/outcome.bpf.h"
#include "ledger/kernel/paths.bpf.h"
#include "ledger/kernel/slow.bpf.h"
#include "ledger/kernel/speak.bpf.h"

/*
 * What the parts of signals do must count neither as the program's time nor as the call's. So the
 * call begins when they are done, and the thread is back in user space when they are done. They
 * return whether they did anything, because most have nothing to do with most calls.
 */
static __always_inline __u64 parts_at_enter(struct thread *thread, __u64 nr, __u64 now)
{
	const struct identity *who = (struct identity *)thread;

#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name)) {                                                                \
		__u64 done_ns = name##_sys_enter(who, nr);                                         \
                                                                                                   \
		if (done_ns)                                                                       \
			now = done_ns;                                                             \
	}
	AT_sys_enter(PART);
#undef PART
	return now;
}

/* The number of the call that ends; LEDGER_32BIT_CALL if it is from the other table. */
static __always_inline __u64 syscall_in(struct task_struct *current, const struct pt_regs *regs)
{
	return is_32bit(current) ? LEDGER_32BIT_CALL : syscall_of(regs);
}

static __always_inline __u64 parts_at_exit(struct thread *thread, __u64 nr, long ret, __u64 now)
{
	const struct identity *who = (struct identity *)thread;
	bool has_worked = false;
	__u64 done_ns;

#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		has_worked |= name##_sys_exit(who, nr, ret, now);
	AT_sys_exit(PART);
#undef PART
	if (!has_worked)
		return now;
	done_ns = bpf_ktime_get_ns();
	return is_over(done_ns) ? now : done_ns;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	__u64 now;

	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	if (is_over(now))
		return 0;
	crosses(thread, SLOT_RUN_USER, SLOT_RUN_KERNEL, left_user_space(thread, now));
	if (is_32bit(current))
		id = LEDGER_32BIT_CALL;
	now = parts_at_enter(thread, id, now);
	call_begins(thread, id, regs->ARCH_SP, now);
	if (will_speak(thread))
		call_speaks(thread, current, regs, now);
	return 0;
}

/* Not inlined: 6.1 allows 512 bytes of stack for all functions on a path together. */
VERIFIED_ONCE int count_ended(struct thread *thread, long ret, __u64 now, bool same_image)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (!thread)
		return 0;
	if (thread->nr >= 0 && has_spoken(thread, ret))
		call_spoke(thread, ret);
	call_ends(thread, now, ret, regs->ARCH_SP, same_image);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	bool same_image = true;
	__u64 now;

	if (user_count && (!thread || thread->flags & THREAD_OUTSIDE))
		thread = adopt_for_user(current, regs);
	if (!thread || is_over_now())
		return 0;
	if (thread->unjudged_ns)
		judge_wait(thread, ret);
	if (thread->pending_count)
		take_pending(thread, current);
	if (thread->flags & (THREAD_NEW_IMAGE | THREAD_STARTING)) {
		same_image = false;
		thread->flags &= ~(THREAD_NEW_IMAGE | THREAD_STARTING);
	}
	if (!full) {
		parts_at_exit(thread, syscall_in(current, regs), ret, 0);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (is_over(now))
		return 0;
	count_ended(thread, ret, now, same_image);
	now = parts_at_exit(thread, thread->nr < 0 ? syscall_in(current, regs) : thread->nr, ret,
			    now);
	crosses(thread, SLOT_RUN_KERNEL, SLOT_RUN_USER, now);
	thread->nr = NR_NONE;
	return 0;
}

/* For the ledger at level sched; the parts need them at both levels. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(on_sock_send, struct sock *sk, int ret)
{
	if (!full)
		sock_sends(sk, ret);
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_sock_send(sk, ret);
	AT_sock_send_length(PART);
#undef PART
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_sock_receive, struct sock *sk, int ret, int flags)
{
	if (!full)
		sock_receives(sk, ret, flags);
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_sock_receive(sk, ret, flags);
	AT_sock_recv_length(PART);
#undef PART
	return 0;
}
