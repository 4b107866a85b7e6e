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
	__u64 begin_ns; /* not 0: only this part of `ns` stands for other calls */
	__u32 weight;   /* how many calls it stands for; 0: it was not timed; see budget.bpf.h */
	__u32 nr;
	__u16 error;
};

/* The time of the calls that this one stands for. */
static __always_inline __u64 weighted(const struct ended_call *call, __u64 ns)
{
	return call->begin_ns ? ns + (call->weight - 1) * call->begin_ns : ns * call->weight;
}

static __always_inline __u64 total_of(const struct ended_call *call)
{
	return weighted(call, call->ns);
}

static __always_inline __u64 running_of(const struct ended_call *call)
{
	return weighted(call, call->ns - call->off_ns);
}

/*
 * Defined in slow.bpf.h, which needs the file helpers. send_slow_call_without_args() is for calls
 * whose arguments are no longer available.
 */
VERIFIED_ONCE int send_slow_call(struct thread *thread, const struct ended_call *call);
VERIFIED_ONCE int send_slow_call_without_args(struct thread *thread, const struct ended_call *call);

/* Defined in paths.bpf.h. */
static void draw_path(__u64 thread, const struct ended_call *call);

/* The verifier forgets the bound of a number that was saved on the stack: compute it again. */
static __always_inline bool has_path(__u32 nr)
{
	barrier_var(nr);
	return shape_of[nr & (LEDGER_SYSCALLS - 1)].path[0];
}

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
 * series[SIGNAL_syscalls].enabled switches only the events. Atomic because of `overflow`, which all
 * threads share.
 */
static __always_inline void add_to_series(const struct series_key *key, __u32 count, __u64 ns,
					  __u64 run_ns, __u64 max_ns, __u64 max_run_ns)
{
	struct series_sum *sum =
		series_sum_of(SERIES(syscalls), series_turn(SERIES(syscalls)), key);

	if (!sum)
		sum = &series[SIGNAL_syscalls].overflow;
	__sync_fetch_and_add(&sum->count, count);
	__sync_fetch_and_add(&sum->sum[0], ns);
	__sync_fetch_and_add(&sum->sum[1], run_ns);
	if (max_ns > sum->max[0])
		sum->max[0] = max_ns;
	if (max_run_ns > sum->max[1])
		sum->max[1] = max_run_ns;
}

static __always_inline void sum_up_call(__u64 thread, const struct ended_call *call)
{
	const struct series_key key = { .thread = thread,
					.operation = call->nr,
					.error = call->error };

	add_to_series(&key, 1, total_of(call), running_of(call), call->weight ? call->ns : 0,
		      call->weight ? call->ns - call->off_ns : 0);
}

/* The same for several calls that succeeded and never left the CPU. */
static __always_inline void sum_up_calls(__u64 thread, __u32 nr, __u32 count, __u64 ns,
					 __u64 max_ns)
{
	const struct series_key key = { .thread = thread, .operation = nr };

	add_to_series(&key, count, ns, ns, max_ns, max_ns);
}

static __always_inline struct ledger_call *calls_of_all(__u32 nr)
{
	__u32 index = bpf_get_smp_processor_id() * LEDGER_SYSCALLS + (nr & (LEDGER_SYSCALLS - 1));

	return bpf_map_lookup_elem(&calls, &index);
}

/* Adds calls that were not timed to the sums of all threads. */
static __always_inline void count_untimed(__u32 nr, __u32 count, __u32 errors)
{
	struct ledger_call *there = calls_of_all(nr);

	if (!there) {
		count_lost(LOST_MAP_FULL); /* no entry for this CPU */
		return;
	}
	there->count += count;
	there->untimed += count;
	there->errors += errors;
}

/* Adds a call to the sums of all threads. False: it does not count. */
static __always_inline bool count_for_all(const struct identity *who, const struct ended_call *call)
{
	struct ledger_call *there = calls_of_all(call->nr);
	__u32 bucket = histogram_bucket(call->ns);

	if (call->end_ns - call->ns < base_ns || who->flags & THREAD_OUTSIDE)
		return false; /* the call began before the recording, or is not the target's */
	if (!there || bucket >= HISTOGRAM_BUCKETS) {
		count_lost(LOST_MAP_FULL); /* no entry for this CPU */
		return false;
	}
	there->count++;
	if (call->weight) {
		there->total_ns += total_of(call);
		there->run_ns += running_of(call);
		there->spread +=
			spread_of(call->weight, call->begin_ns ? call->begin_ns : call->ns);
		there->buckets[bucket] += call->begin_ns ? 1 : call->weight;
		if (call->ns > there->max_ns)
			there->max_ns = call->ns;
	} else {
		there->untimed++;
	}
	if (call->error) {
		there->errors++;
		count_error(call->nr, call->error);
	}
	return true;
}

/* Whether the signal "syscalls" records the call as an event. */
static __always_inline bool is_event(const struct ended_call *call)
{
	return is_on(SIGNAL_syscalls) && with_slow_calls &&
	       call->ns >= series[SIGNAL_syscalls].slow_ns && series[SIGNAL_syscalls].enabled;
}

/* `here`: the call ended in the normal way, so the registers still hold its arguments. */
static __always_inline void count_call(struct thread *thread, const struct ended_call *call,
				       bool here)
{
	if (!count_for_all((const struct identity *)thread, call))
		return;
	add_to_thread(thread, call->nr, total_of(call), running_of(call), call->error);
	if (here && has_path(call->nr))
		draw_path(thread->id, call);
	if (is_on(SIGNAL_syscalls))
		sum_up_call(thread->id, call);
	if (!is_event(call))
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
		.weight = 1,
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
		.begin_ns = thread->call_begin_ns,
		.weight = thread->call_weight,
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
	thread->call_weight = 1;
	thread->call_begin_ns = 0;
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

	if (handler == SIG_DFL && takes_stacks() && is_of_program(number))
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
