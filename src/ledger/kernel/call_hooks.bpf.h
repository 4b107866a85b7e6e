/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entry and the exit of syscalls at level full, and sends and receives of sockets. */
#pragma once

#include "ledger/kernel/adopt.bpf.h"
#include "ledger/kernel/calls.bpf.h"
#include "ledger/kernel/crossings.bpf.h"
#include "ledger/kernel/here.bpf.h"
#include "ledger/kernel/outcome.bpf.h"
#include "ledger/kernel/paths.bpf.h"
#include "ledger/kernel/slow.bpf.h"
#include "ledger/kernel/speak.bpf.h"

/*
 * What the parts of signals do must count neither as the program's time nor as the call's. So the
 * call begins when they are done, and the thread is back in user space when they are done. They
 * return whether they did anything, because most have nothing to do with most calls.
 */
static __always_inline __u64 parts_at_enter(const struct identity *who, __u64 nr, __u64 now)
{
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

static __always_inline __u64 parts_at_exit(const struct identity *who, __u64 nr, long ret,
					   __u64 now)
{
	bool has_worked = false;
	__u64 done_ns;

#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		has_worked |= name##_sys_exit(who, nr, ret, now);
	AT_sys_exit(PART);
#undef PART
	if (!has_worked || !now)
		return now;
	done_ns = bpf_ktime_get_ns();
	return is_over(done_ns) ? now : done_ns;
}

static __always_inline __u32 talk_kind(__u64 nr)
{
	return talk_of[nr & (LEDGER_SYSCALLS - 1)];
}

/*
 * The programs of windows take over at the end. A call that has left the CPU may have waited for
 * something in the thread's window.
 */
static __always_inline void windows_at_enter(void *ctx, __u32 kind)
{
	if (with_requests && kind >= TALK_POLL)
		bpf_tail_call(ctx, &windows_enter, 0);
}

static __always_inline void windows_at_exit(void *ctx, __u32 kind, __u64 window)
{
	if (with_requests &&
	    (window || (kind && kind != TALK_CLOSE && kind != TALK_PAIR && kind != TALK_ACCEPT)))
		bpf_tail_call(ctx, &windows_exit, 0);
}

/* --- entry ---------------------------------------------------------------------------------- */

/* Calls that need the account: the kernel's own ones behind a signal, and 32-bit ones. */
static __always_inline bool is_plain(struct task_struct *current, long nr)
{
	return nr >= 0 && nr != nr_sigreturn && nr != nr_restart && !is_32bit(current);
}

/* The call that begins is timed. Returns when it began, after the work of the parts. */
static __always_inline __u64 begin_timed(struct here *here, long nr, __u64 now)
{
	__u64 left_ns = left_user_space_here(here, now);

	here_begins(here);
	if (here->timed.shift) {
		here->left_ns = left_ns;
		here->call_irq_ns = interrupts_pending();
	} else {
		here->user_ns += without_interrupts_here(here, left_ns - here->since_ns);
		here->since_ns = left_ns;
	}
	here->nr = nr;
	here->kernel_count++;
	here_ends(here);
	now = parts_at_enter(&here->who, nr, now);
	here->call_ns = now;
	return now;
}

/* The current thread has claimed this CPU. */
static __always_inline void enters_here(struct here *here, struct task_struct *current,
					struct pt_regs *regs, long nr)
{
	bool is_timed = !here->timed.shift || is_turn(&here->timed);
	__u64 now = is_timed || end_ns ? bpf_ktime_get_ns() : 0;
	struct thread *thread;

	if (is_over(now))
		return;
	here->is_timed = is_timed;
	here->last_nr = nr;
	if (is_timed) {
		now = begin_timed(here, nr, now);
	} else {
		here->nr = nr;
		here->kernel_count++;
		/* Requests need the begin of those calls that concern them. */
		if (with_requests && talk_kind(nr))
			here->call_ns = now ? now : bpf_ktime_get_ns();
		parts_at_enter(&here->who, nr, 0);
		now = 0;
	}
	if (!will_speak(talk_kind(nr)))
		return;
	thread = find(current);
	if (!thread)
		return;
	thread->last_nr = nr;
	call_speaks(thread, current, regs, now);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct here *here = here_now();
	struct thread *thread;
	__u64 now;

	if (here && here->task == (__u64)current && here->nr == NR_NONE && is_plain(current, id)) {
		enters_here(here, current, regs, id);
		windows_at_enter(ctx, talk_kind(id));
		return 0;
	}
	thread = find(current);
	if (!thread)
		return 0;
	now = bpf_ktime_get_ns();
	if (is_over(now))
		return 0;
	release_here(thread, current, now);
	crosses(thread, SLOT_RUN_USER, SLOT_RUN_KERNEL, left_user_space(thread, now));
	if (is_32bit(current))
		id = LEDGER_32BIT_CALL;
	now = parts_at_enter((struct identity *)thread, id, now);
	call_begins(thread, id, regs->ARCH_SP, now);
	if (will_speak(talk_in_flight(thread)))
		call_speaks(thread, current, regs, now);
	if (id != LEDGER_32BIT_CALL)
		windows_at_enter(ctx, talk_kind(id));
	return 0;
}

/* --- exit ----------------------------------------------------------------------------------- */

/* The number of the call that ends; LEDGER_32BIT_CALL if it is from the other table. */
static __always_inline __u64 syscall_in(struct task_struct *current, const struct pt_regs *regs)
{
	return is_32bit(current) ? LEDGER_32BIT_CALL : syscall_of(regs);
}

/* Whether the call in flight began and ends on this CPU, without a switch in between. */
static __always_inline bool ends_here(const struct here *here, const struct pt_regs *regs, long ret)
{
	return here && here->regs == (__u64)regs && here->nr != NR_NONE && here->flush == flush &&
	       here->kernel_count < MOST_CALLS_HERE && !is_broken_off(ret);
}

/* Makes room for the sums of another number. */
static __always_inline void make_room_here(struct here *here, __u32 nr)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);

	if (thread)
		release_calls(thread, cells_of(thread, current), here, cell_of(nr));
	else
		count_quality(QUALITY_CALLS_DROPPED);
}

/* Adds such a call to all sums. */
VERIFIED_ONCE int count_here(struct here *here, long ret, __u64 now)
{
	struct ended_call call = { .end_ns = now, .ret = ret, .error = errno_in(ret) };
	struct thread *thread;

	if (!here)
		return 0;
	call.nr = here->nr & (LEDGER_SYSCALLS - 1);
	call.ns = now - here->call_ns;
	call.weight = weight_of(&here->timed);
	if (!count_for_all(&here->who, &call))
		return 0;
	if (!add_call_here(here, &call)) {
		make_room_here(here, call.nr);
		add_call_here(here, &call);
	}
	if (has_path(call.nr))
		draw_path(here->who.id, &call);
	/* The others are added by release_calls(). */
	if (is_on(SIGNAL_syscalls) && call.error)
		sum_up_call(here->who.id, &call);
	if (!is_event(&call))
		return 0;
	thread = find(bpf_get_current_task_btf());
	if (thread)
		send_slow_call(thread, &call);
	return 0;
}

/* The same for a call that was not timed, if it needs more than to be counted. */
VERIFIED_ONCE int count_untimed_here(struct here *here, long ret)
{
	struct ended_call call = { .ret = ret, .error = errno_in(ret) };

	if (!here)
		return 0;
	call.nr = here->nr & (LEDGER_SYSCALLS - 1);
	if (!add_untimed_here(here, call.nr, call.error)) {
		make_room_here(here, call.nr);
		add_untimed_here(here, call.nr, call.error);
	}
	if (call.error)
		count_error(call.nr, call.error);
	if (has_path(call.nr))
		draw_path(here->who.id, &call);
	if (is_on(SIGNAL_syscalls) && call.error)
		sum_up_call(here->who.id, &call);
	return 0;
}

static __always_inline void end_untimed(struct here *here, long ret)
{
	__u32 nr = here->nr & (LEDGER_SYSCALLS - 1);

	if (!(here->who.flags & THREAD_OUTSIDE) &&
	    (errno_in(ret) || has_path(nr) || !add_untimed_here(here, nr, false)))
		count_untimed_here(here, ret);
	parts_at_exit(&here->who, nr, ret, 0);
	here->nr = NR_NONE;
	here->user_count++;
}

static __always_inline void end_timed(struct here *here, long ret, __u64 now)
{
	count_here(here, ret, now);
	now = parts_at_exit(&here->who, (__u32)here->nr, ret, now);
	here_begins(here);
	if (here->timed.shift) {
		divide(here, call_stands_for(here, now), now);
	} else {
		here->kernel_ns += without_interrupts_here(here, now - here->since_ns);
		here->since_ns = now;
	}
	here->nr = NR_NONE;
	here->user_count++;
	here_ends(here);
}

static __always_inline void exits_here(struct here *here, long ret)
{
	__u64 now = here->is_timed || end_ns ? bpf_ktime_get_ns() : 0;
	struct thread *thread;

	if (is_over(now))
		return;
	if (has_spoken(talk_kind(here->nr), false, ret)) {
		thread = find(bpf_get_current_task_btf());
		if (thread) {
			thread->last_nr = here->nr;
			call_spoke(thread, ret);
		}
	}
	if (here->is_timed)
		end_timed(here, ret, now);
	else
		end_untimed(here, ret);
}

/* Settles what the call leaves behind. Returns whether the user stack is still the one it had. */
static __always_inline bool settle_call(struct thread *thread, struct task_struct *current,
					long ret)
{
	if (thread->unjudged_ns)
		judge_wait(thread, ret);
	if (thread->pending_count)
		take_pending(thread, current);
	if (!(thread->flags & (THREAD_NEW_IMAGE | THREAD_STARTING)))
		return true;
	thread->flags &= ~(THREAD_NEW_IMAGE | THREAD_STARTING);
	return false;
}

/* Not inlined: 6.1 allows 512 bytes of stack for all functions on a path together. */
VERIFIED_ONCE int count_ended(struct thread *thread, long ret, __u64 now, bool same_image)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (!thread)
		return 0;
	if (thread->nr >= 0 && has_spoken(talk_in_flight(thread), thread->no_talk, ret))
		call_spoke(thread, ret);
	call_ends(thread, now, ret, regs->ARCH_SP, same_image);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct here *here = full && !user_count ? here_now() : NULL;
	struct task_struct *current;
	struct thread *thread;
	bool same_image;
	__u64 now;

	if (ends_here(here, regs, ret)) {
		exits_here(here, ret);
		windows_at_exit(ctx, talk_kind(syscall_of(regs)), 0);
		return 0;
	}
	current = bpf_get_current_task_btf();
	thread = find(current);
	if (user_count && (!thread || thread->flags & THREAD_OUTSIDE))
		thread = adopt_for_user(current, regs);
	if (!thread && here && here->task == (__u64)current)
		here->task = here->regs = 0; /* its account was deleted, see calibrate.c */
	if (!thread || is_over_now())
		return 0;
	/* The call has ended, so no rest of it is to be timed. */
	if (here && here->task == (__u64)current) {
		now = bpf_ktime_get_ns();
		if (!is_over(now))
			release(thread, cells_of(thread, current), here, now);
	}
	same_image = settle_call(thread, current, ret);
	if (!full) {
		parts_at_exit((struct identity *)thread, syscall_in(current, regs), ret, 0);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (is_over(now))
		return 0;
	count_ended(thread, ret, now, same_image);
	now = parts_at_exit((struct identity *)thread,
			    thread->nr < 0 ? syscall_in(current, regs) : (__u32)thread->nr, ret,
			    now);
	crosses(thread, SLOT_RUN_KERNEL, SLOT_RUN_USER, now);
	thread->nr = NR_NONE;
	if (here)
		claim(here, thread, current, (__u64)regs, now);
	if (!is_32bit(current))
		windows_at_exit(ctx, talk_kind(syscall_of(regs)), thread->window);
	return 0;
}

/* For the ledger at level sched, and for io_uring; the parts need them at both levels. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(on_sock_send, struct sock *sk, int ret)
{
	if (!full || is_in_ring())
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
	if (!full || is_in_ring())
		sock_receives(sk, ret, flags);
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_sock_receive(sk, ret, flags);
	AT_sock_recv_length(PART);
#undef PART
	return 0;
}
