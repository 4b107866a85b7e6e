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
#include "ledger/walk.bpf.h"

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

	if (errors)
		(*errors)++;
	else if (bpf_map_update_elem(&call_errors, &key, &one, BPF_NOEXIST))
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

/* The call in flight ended. */
static __always_inline void call_ends(struct thread *thread, __u64 now, long ret, bool here)
{
	struct ended_call call;

	if (thread->nr < 0 || !thread->call_ns)
		return;
	if (will_be_made_again(ret)) {
		thread->broken_ns = thread->call_ns;
		thread->broken_off_ns = thread->call_off_ns;
		thread->broken_waited_ns = thread->off_ns - thread->call_off_ns;
		thread->broken_end_ns = now;
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

/* A call that a signal broke off was not made again: the program got EINTR. */
static __always_inline void settle_broken(struct thread *thread)
{
	struct ended_call call = {
		.ns = thread->broken_end_ns - thread->broken_ns,
		.off_ns = thread->broken_waited_ns, /* not what the handler waited */
		.end_ns = thread->broken_end_ns,
		.ret = -EINTR,
		.nr = thread->last_nr & (LEDGER_SYSCALLS - 1),
		.error = EINTR,
	};

	count_call(thread, &call, false);
	thread->broken_ns = 0;
}

/* So does the thread. A function, to leave the hooks of the scheduler small. */
VERIFIED_ONCE int last_call_ends(struct thread *thread, __u64 now)
{
	if (!thread)
		return 0;
	if (thread->broken_ns)
		settle_broken(thread);
	call_ends(thread, now, 0, false);
	return 0;
}

/* A call begins; the second part of one that was broken off goes on where it was. */
static __always_inline void call_begins(struct thread *thread, __s64 nr, __u64 now)
{
	bool again = nr == nr_restart || nr == thread->last_nr;

	thread->call_ns = now;
	thread->call_off_ns = thread->off_ns;
	if (nr == nr_restart && thread->last_nr != NR_NONE)
		nr = thread->last_nr;
	thread->nr = nr;
	if (thread->broken_ns) {
		if (nr == nr_sigreturn)
			return; /* the handler's end: what comes next decides */
		if (again) {
			thread->call_ns = thread->broken_ns;
			thread->call_off_ns = thread->broken_off_ns;
			thread->broken_ns = 0;
		} else {
			settle_broken(thread);
		}
	}
	thread->last_nr = nr;
}
