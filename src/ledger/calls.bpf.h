/* Syscalls at level full: count, time, distribution, errors. */
#pragma once

#include "ledger/thread.bpf.h"

/* Returns that mean "the call will be made again", not an error. */
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

static __always_inline void count_call(const struct thread *thread, __u64 now, long ret)
{
	__u32 index =
		bpf_get_smp_processor_id() * LEDGER_SYSCALLS + (thread->nr & (LEDGER_SYSCALLS - 1));
	struct ledger_call *call = bpf_map_lookup_elem(&calls, &index);
	__u64 ns = now - thread->call_ns;
	__u32 bucket = histogram_bucket(ns);
	struct ledger_error_key key;
	__u64 *errors, one = 1;

	if (!call || bucket >= HISTOGRAM_BUCKETS)
		return;
	call->total_ns += ns;
	call->run_ns += ns - (thread->off_ns - thread->call_off_ns);
	if (ret <= -ERESTART_FIRST && ret >= -ERESTART_LAST)
		return; /* it will be made again, and counted then */
	call->buckets[bucket]++;
	if (ns > call->max_ns)
		call->max_ns = ns;
	if (ret >= 0 || ret < -MAX_ERRNO)
		return;
	call->errors++;
	key = (struct ledger_error_key) { thread->nr, -ret };
	errors = bpf_map_lookup_elem(&call_errors, &key);
	if (errors)
		(*errors)++;
	else if (bpf_map_update_elem(&call_errors, &key, &one, BPF_NOEXIST))
		count_lost(LOST_MAP_FULL);
}
