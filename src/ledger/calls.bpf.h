/* Syscalls at level full: count, time, distribution, errors. */
#pragma once

#include "ledger/walk.bpf.h"

#define EINTR 4

const volatile __s32 nr_sigreturn;
const volatile __s64 nr_restart; /* stands for the thread's previous call */

/* Returns that mean "the call will be made again", unless a handler stands in between. */
#define ERESTART_FIRST 512
#define ERESTART_LAST  516
#define MAX_ERRNO      4095

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

static __always_inline bool will_be_made_again(long ret)
{
	return ret <= -ERESTART_FIRST && ret >= -ERESTART_LAST;
}

static __always_inline void count_error(__u32 number, long ret)
{
	struct ledger_error_key key = { number, -ret };
	__u64 *errors = bpf_map_lookup_elem(&call_errors, &key), one = 1;

	if (errors)
		(*errors)++;
	else if (bpf_map_update_elem(&call_errors, &key, &one, BPF_NOEXIST))
		count_lost(LOST_MAP_FULL);
}

static __always_inline void count_call(__s32 nr, __u64 ns, __u64 off_ns, long ret)
{
	__u32 index = bpf_get_smp_processor_id() * LEDGER_SYSCALLS + (nr & (LEDGER_SYSCALLS - 1));
	struct ledger_call *call = bpf_map_lookup_elem(&calls, &index);
	__u32 bucket = histogram_bucket(ns);

	if (!call || bucket >= HISTOGRAM_BUCKETS) {
		count_lost(LOST_MAP_FULL); /* a CPU that was not there at the start */
		return;
	}
	call->total_ns += ns;
	call->run_ns += ns - off_ns;
	call->buckets[bucket]++;
	if (ns > call->max_ns)
		call->max_ns = ns;
	if (ret >= 0 || ret < -MAX_ERRNO || nr == nr_sigreturn)
		return; /* the latter "returns" the register that it restores */
	call->errors++;
	count_error(nr, ret);
}

/* The call in flight ended. */
static __always_inline void call_ends(struct thread *thread, __u64 now, long ret)
{
	if (thread->nr < 0 || !thread->call_ns)
		return;
	if (will_be_made_again(ret)) {
		thread->broken_ns = thread->call_ns;
		thread->broken_off_ns = thread->call_off_ns;
		thread->broken_end_ns = now;
		return;
	}
	count_call(thread->nr, now - thread->call_ns, thread->off_ns - thread->call_off_ns, ret);
}

/* A call that a signal broke off was not made again: the program got EINTR. */
static __always_inline void settle_broken(struct thread *thread)
{
	__u64 ns = thread->broken_end_ns - thread->broken_ns;
	__u64 off_ns = thread->off_ns - thread->broken_off_ns;

	count_call(thread->last_nr, ns, off_ns < ns ? off_ns : ns, -EINTR);
	thread->broken_ns = 0;
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
