/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Syscalls at level full: count, time, distribution, errors. The signal "syscalls" uses the same
 * measurements: when it is on, calls are also summed by thread and errno, and slow calls are sent
 * (slow.bpf.h). It has no hooks of its own, because they would time each call twice.
 */
#pragma once

#include "bpf/series.bpf.h"
#include "bpf/slow_call.h"
#include "bpf/syscall.bpf.h"
#include "ledger/kernel/fatal.bpf.h"
#include "ledger/kernel/thread_calls.bpf.h"

SERIES_MAPS(syscalls, CALL_VALUES, 0, 8192);

const volatile bool
	with_slow_calls; /* the events of the signal "syscalls", which take the verifier long */
const volatile struct call_shape shape_of[LEDGER_SYSCALLS];
const volatile __s32 nr_sigreturn;
const volatile __s64 nr_restart; /* restart_syscall: continues the thread's previous call */

/* [CPU][syscall], mapped by user space. A hook writes only the part of its own CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LEDGER_SYSCALLS); /* × CPUs, set at load */
	__type(key, __u32);
	__type(value, struct ledger_call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 2048);
	__type(key, struct ledger_error_key);
	__type(value, __u64);
} call_errors SEC(".maps");

struct ended_call {
	__u64 ns;
	__u64 off_ns; /* part of ns that was spent without a CPU */
	__u64 end_ns;
	__s64 ret;
	__u32 nr;
	__u16 error;
};

/*
 * Defined in slow.bpf.h, which needs the file helpers. send_slow_call_without_args() is for calls
 * whose arguments are no longer available.
 */
VERIFIED_ONCE int send_slow_call(struct thread *thread, const struct ended_call *call);
VERIFIED_ONCE int send_slow_call_without_args(struct thread *thread, const struct ended_call *call);

/* Defined in paths.bpf.h. */
static void draw_path(const struct thread *thread, const struct ended_call *call);

static __always_inline void count_error(__u32 number, __u32 error)
{
	struct ledger_error_key key = { number, error };
	__u64 *errors = bpf_map_lookup_elem(&call_errors, &key), one = 1;

	if (!errors) {
		if (!bpf_map_update_elem(&call_errors, &key, &one, BPF_NOEXIST))
			return;
		/* The update also fails if another CPU has just inserted the key. */
		errors = bpf_map_lookup_elem(&call_errors, &key);
	}
	if (errors)
		(*errors)++;
	else
		count_lost(LOST_MAP_FULL);
}

/*
 * The signal counts exactly the calls that the ledger counts, so that both agree.
 * series[SIGNAL_syscalls].enabled switches only the events. The sum needs no atomics: the calls of
 * one thread end one after the other.
 */
static __always_inline void sum_up_call(const struct thread *thread, const struct ended_call *call)
{
	const __u64 values[CALL_VALUES] = { call->ns, call->ns - call->off_ns };
	const struct series_key key = { .thread = thread->id,
					.operation = call->nr,
					.error = call->error };

	series_sum_up_own(SERIES(syscalls), series_turn(SERIES(syscalls)), &key, values);
}

/* `here`: the call ended in the normal way, so the registers still hold its arguments. */
static __always_inline void count_call(struct thread *thread, const struct ended_call *call,
				       bool here)
{
	__u32 index =
		bpf_get_smp_processor_id() * LEDGER_SYSCALLS + (call->nr & (LEDGER_SYSCALLS - 1));
	struct ledger_call *there = bpf_map_lookup_elem(&calls, &index);
	__u32 bucket = histogram_bucket(call->ns);

	if (call->end_ns - call->ns < base_ns || thread->flags & THREAD_OUTSIDE)
		return; /* the call began before the recording, or is not the target's */
	if (!there || bucket >= HISTOGRAM_BUCKETS) {
		count_lost(LOST_MAP_FULL); /* no entry for this CPU */
		return;
	}
	there->total_ns += call->ns;
	there->run_ns += call->ns - call->off_ns;
	there->buckets[bucket]++;
	if (call->ns > there->max_ns)
		there->max_ns = call->ns;
	if (call->error) {
		there->errors++;
		count_error(call->nr, call->error);
	}
	add_to_thread(thread, call->nr, call->ns, call->off_ns, call->error);
	if (here && shape_of[call->nr & (LEDGER_SYSCALLS - 1)].path[0])
		draw_path(thread, call);
	if (!is_on(SIGNAL_syscalls))
		return;
	sum_up_call(thread, call);
	if (!with_slow_calls || call->ns < series[SIGNAL_syscalls].slow_ns ||
	    !series[SIGNAL_syscalls].enabled)
		return;
	if (here)
		send_slow_call(thread, call);
	else
		send_slow_call_without_args(thread, call);
}

/* rt_sigreturn "returns" the register that it restores. */
static __always_inline __u32 error_of(__s32 nr, long ret)
{
	return nr == nr_sigreturn ? 0 : errno_in(ret);
}

/*
 * A call that a signal interrupted returns one of ERESTART… to our hook. What happens next decides
 * whether the program sees the call fail with EINTR, or the kernel restarts it. A restarted call
 * counts as the same call:
 *
 *   handler, no restart    signal_deliver shows it; the call is counted there, with EINTR
 *   handler, then restart  rt_sigreturn restores the stack pointer of the call, and the next call
 *                          is the restart; calls of the handler have another stack pointer
 *   no handler             the next call is the restart
 *
 * If the next call has another number or stack pointer, it is no restart, and the interrupted call
 * is counted.
 */
enum broken_state {
	BROKEN_OFF, /* the next call is the restart, unless a handler runs first */
	BROKEN_IN_HANDLER,
	BROKEN_RETURNED, /* the handler has returned: the next call is the restart */
};

#define SA_RESTART 0x10000000
#define SIG_DFL    0
#define SIG_IGN    1

static __always_inline void note_interrupted(struct thread *thread, __u64 now, long ret, __u64 sp)
{
	thread->broken = (struct interrupted_call) {
		.begin_ns = thread->call_ns,
		.off_ns = thread->call_off_ns,
		.end_ns = now,
		.waited_ns = thread->off_ns - thread->call_off_ns,
		.sp = sp,
		.nr = thread->nr,
		.restart = -ret,
		.state = BROKEN_OFF,
	};
}

/* The kernel does not restart the interrupted call: count it. */
static __always_inline void count_interrupted(struct thread *thread, long ret, bool here)
{
	struct ended_call call = {
		.ns = thread->broken.end_ns - thread->broken.begin_ns,
		.off_ns = thread->broken.waited_ns, /* excludes waits of the handler */
		.end_ns = thread->broken.end_ns,
		.ret = ret,
		.nr = thread->broken.nr & (LEDGER_SYSCALLS - 1),
		.error = errno_in(ret),
	};

	count_call(thread, &call, here);
	thread->broken.begin_ns = 0;
}

/* The call in flight ended. */
static __always_inline void call_ends(struct thread *thread, __u64 now, long ret, __u64 sp,
				      bool here)
{
	struct ended_call call;

	if (thread->nr < 0 || !thread->call_ns)
		return;
	if (thread->nr == nr_sigreturn) {
		if (thread->broken.begin_ns && thread->broken.sp == sp)
			thread->broken.state = BROKEN_RETURNED;
	} else if (is_broken_off(ret)) {
		/* Interrupted inside a handler: we track only one interrupted call at a time. */
		if (thread->broken.begin_ns)
			count_interrupted(thread, -EINTR, false);
		note_interrupted(thread, now, ret, sp);
		return;
	}
	call = (struct ended_call) {
		.ns = now - thread->call_ns,
		.off_ns = thread->off_ns - thread->call_off_ns,
		.end_ns = now,
		.ret = ret,
		.nr = thread->nr & (LEDGER_SYSCALLS - 1),
		.error = error_of(thread->nr, ret),
	};
	count_call(thread, &call, here);
}

/* The thread exits in a call. Not inlined, to keep the scheduler hooks small. */
VERIFIED_ONCE int last_call_ends(struct thread *thread, __u64 now)
{
	if (!thread)
		return 0;
	/* If the signal itself killed the thread, the call returned no error to it. */
	if (thread->broken.begin_ns)
		count_interrupted(thread, thread->broken.state == BROKEN_IN_HANDLER ? -EINTR : 0,
				  false);
	call_ends(thread, now, 0, 0, false);
	return 0;
}

/* A handler is about to run. The first handler decides whether the interrupted call restarts. */
static __always_inline void handler_begins(struct thread *thread, unsigned long sa_flags)
{
	struct interrupted_call *broken = &thread->broken;

	if (broken->state == BROKEN_OFF && broken->restart != ERESTARTNOINTR &&
	    (broken->restart != ERESTARTSYS || !(sa_flags & SA_RESTART)))
		count_interrupted(thread, -EINTR, true);
	else
		broken->state = BROKEN_IN_HANDLER;
}

/* A call begins while an interrupted one is open. True if it is the restart of that one. */
static __noinline bool is_restart(struct thread *thread, __s64 nr, __u64 sp)
{
	struct interrupted_call *broken = &thread->broken;

	if (broken->state == BROKEN_IN_HANDLER && sp != broken->sp)
		return false; /* the handler's own call */
	if (broken->state != BROKEN_IN_HANDLER && nr == broken->nr && sp == broken->sp)
		return true;
	count_interrupted(thread, -EINTR, false); /* the handler left by longjmp() */
	return false;
}

/* A call begins. A restart continues the times of the interrupted call. */
static __always_inline void call_begins(struct thread *thread, __s64 nr, __u64 sp, __u64 now)
{
	thread->call_ns = now;
	thread->call_off_ns = thread->off_ns;
	thread->no_talk = 0;
	if (nr == nr_restart && thread->last_nr != NR_NONE)
		nr = thread->last_nr;
	thread->nr = nr;
	thread->last_nr = nr;
	if (thread->broken.begin_ns && is_restart(thread, nr, sp)) {
		thread->call_ns = thread->broken.begin_ns;
		thread->call_off_ns = thread->broken.off_ns;
		thread->broken.begin_ns = 0;
	}
}

/* Runs in the thread's own context, on its way back to user space. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal_deliver, int number, struct kernel_siginfo *info, struct k_sigaction *action)
{
	unsigned long handler = (unsigned long)action->sa.sa_handler;
	struct thread *thread;

	if (handler == SIG_DFL && with_stacks && is_of_program(number))
		/* The verifier of 6.12 takes `info` for a number: the kernel also passes 0 to 2. */
		note_fatal(bpf_get_current_task_btf(), number, BPF_CORE_READ(info, si_code),
			   (__u64)BPF_CORE_READ(info, _sifields._sigfault._addr));
	if (handler <= SIG_IGN)
		return 0; /* no handler runs */
	thread = find(bpf_get_current_task_btf());
	if (thread && thread->broken.begin_ns && !is_over_now())
		handler_begins(thread, action->sa.sa_flags);
	return 0;
}
