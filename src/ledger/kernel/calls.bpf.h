/*
 * Syscalls at level full: count, time, distribution, errors. The signal syscalls is a view of the
 * same: with it, calls are also summed up by thread and errno, and those that took long are sent
 * (slow.bpf.h). It has no hooks of its own, which would time each call twice.
 */
#pragma once

#include "bpf/slow_call.h"
#define SERIES_USED CALL_VALUES

#include "bpf/series.bpf.h"
#include "bpf/syscall.bpf.h"
#include "ledger/kernel/walk.bpf.h"

const volatile bool with_syscalls;   /* the signal */
const volatile bool with_slow_calls; /* its events; long to verify */
const volatile __s32 nr_sigreturn;
const volatile __s64 nr_restart; /* stands for the thread's previous call */

/* [CPU][syscall], mapped by user space: a hook writes its own CPU's part only. */
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

/* As it is counted. */
struct ended_call {
	__u64 ns;
	__u64 off_ns; /* of that, without a CPU */
	__u64 end_ns;
	__s64 ret;
	__u32 nr;
	__u16 error;
};

/* In slow.bpf.h, which needs to know files. The latter is for calls without arguments. */
VERIFIED_ONCE int took_long(struct thread *thread, const struct ended_call *call);
VERIFIED_ONCE int took_long_somehow(struct thread *thread, const struct ended_call *call);

static __always_inline void count_error(__u32 number, __u32 error)
{
	struct ledger_error_key key = { number, error };
	__u64 *errors = bpf_map_lookup_elem(&call_errors, &key), one = 1;

	if (!errors) {
		if (!bpf_map_update_elem(&call_errors, &key, &one, BPF_NOEXIST))
			return;
		/* Or another CPU was first. */
		errors = bpf_map_lookup_elem(&call_errors, &key);
	}
	if (errors)
		(*errors)++;
	else
		count_lost(LOST_MAP_FULL);
}

/*
 * The signal counts what the ledger counts, from its first to its last call, so that both agree;
 * `enabled` is only about events. A thread's calls end one after the other.
 */
static __always_inline void sum_up_call(const struct thread *thread, const struct ended_call *call)
{
	const __u64 values[SERIES_USED] = { call->ns, call->ns - call->off_ns };
	const struct series_key key = { .thread = thread->id,
					.operation = call->nr,
					.error = call->error };

	series_sum_up_own(series_turn(), &key, values);
}

/* `here`: it ended in the normal way, so its arguments are still to be seen. */
static __always_inline void count_call(struct thread *thread, const struct ended_call *call,
				       bool here)
{
	__u32 index =
		bpf_get_smp_processor_id() * LEDGER_SYSCALLS + (call->nr & (LEDGER_SYSCALLS - 1));
	struct ledger_call *there = bpf_map_lookup_elem(&calls, &index);
	__u32 bucket = histogram_bucket(call->ns);

	if (call->end_ns - call->ns < base_ns)
		return; /* it began before the recording */
	if (!there || bucket >= HISTOGRAM_BUCKETS) {
		count_lost(LOST_MAP_FULL); /* a CPU that was not there at the start */
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
	if (!with_syscalls)
		return;
	sum_up_call(thread, call);
	if (!with_slow_calls || call->ns < series.slow_ns || !series.enabled)
		return;
	if (here)
		took_long(thread, call);
	else
		took_long_somehow(thread, call);
}

/* rt_sigreturn "returns" the register that it restores. */
static __always_inline __u32 error_of(__s32 nr, long ret)
{
	return nr == nr_sigreturn ? 0 : errno_in(ret);
}

/*
 * A call that a signal broke off: one of ERESTART… is what it returns to our hook. What comes next
 * decides whether the program sees it end (EINTR) or the kernel makes it again, which is still the
 * same call:
 *
 *   a handler that ends it      signal_deliver tells: counted there, with EINTR
 *   a handler, then a restart   rt_sigreturn brings the stack pointer of the call back, and the
 *                               next call with it is the restart; those of the handler have another
 *   no handler                  the next call is the restart
 */
enum broken_state {
	BROKEN_OFF, /* the next call is the restart, unless a handler comes first */
	BROKEN_IN_HANDLER,
	BROKEN_RETURNED, /* from the handler: the next call is the restart */
};

#define SA_RESTART 0x10000000
#define SIG_IGN    1

static __always_inline void break_off(struct thread *thread, __u64 now, long ret, __u64 sp)
{
	thread->broken = (struct broken_call) {
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

/* It is not made again. */
static __always_inline void settle_broken(struct thread *thread, long ret, bool here)
{
	struct ended_call call = {
		.ns = thread->broken.end_ns - thread->broken.begin_ns,
		.off_ns = thread->broken.waited_ns, /* not what the handler waited */
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
		/* Inside the handler of another one: we follow one call at a time. */
		if (thread->broken.begin_ns)
			settle_broken(thread, -EINTR, false);
		break_off(thread, now, ret, sp);
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

/* So does the thread. A function, to leave the hooks of the scheduler small. */
VERIFIED_ONCE int last_call_ends(struct thread *thread, __u64 now)
{
	if (!thread)
		return 0;
	/* Killed by the signal itself, the thread saw no error. */
	if (thread->broken.begin_ns)
		settle_broken(thread, thread->broken.state == BROKEN_IN_HANDLER ? -EINTR : 0,
			      false);
	call_ends(thread, now, 0, 0, false);
	return 0;
}

/* A handler is about to run; the first one decides about a call that was broken off. */
static __always_inline void handler_begins(struct thread *thread, unsigned long sa_flags)
{
	struct broken_call *broken = &thread->broken;

	if (broken->state == BROKEN_OFF && broken->restart != ERESTARTNOINTR &&
	    (broken->restart != ERESTARTSYS || !(sa_flags & SA_RESTART)))
		settle_broken(thread, -EINTR, true);
	else
		broken->state = BROKEN_IN_HANDLER;
}

/* While a call is broken off, another one begins: true if that is the restart. */
static __noinline bool is_made_again(struct thread *thread, __s64 nr, __u64 sp)
{
	struct broken_call *broken = &thread->broken;

	if (broken->state == BROKEN_IN_HANDLER && sp != broken->sp)
		return false; /* the handler's own call */
	if (broken->state != BROKEN_IN_HANDLER && nr == broken->nr && sp == broken->sp)
		return true;
	settle_broken(thread, -EINTR, false); /* the handler did not return, but jumped */
	return false;
}

/* A call begins; the second part of one that was broken off goes on where it was. */
static __always_inline void call_begins(struct thread *thread, __s64 nr, __u64 sp, __u64 now)
{
	thread->call_ns = now;
	thread->call_off_ns = thread->off_ns;
	if (nr == nr_restart && thread->last_nr != NR_NONE)
		nr = thread->last_nr;
	thread->nr = nr;
	thread->last_nr = nr;
	if (thread->broken.begin_ns && is_made_again(thread, nr, sp)) {
		thread->call_ns = thread->broken.begin_ns;
		thread->call_off_ns = thread->broken.off_ns;
		thread->broken.begin_ns = 0;
	}
}

/* In the thread's own context, on its way back to user space. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal_deliver, int number, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct thread *thread;

	if ((unsigned long)action->sa.sa_handler <= SIG_IGN)
		return 0; /* the default, or nothing */
	thread = find(bpf_get_current_task_btf());
	if (thread && thread->broken.begin_ns && !frozen)
		handler_begins(thread, action->sa.sa_flags);
	return 0;
}
