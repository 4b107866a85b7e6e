/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of CPUs: each CPU's time is the sum of running threads, idle time and hidden time. */
#pragma once

#include "ledger/kernel/thread.bpf.h"

/* [CPU], mapped by user space. A hook writes only the part of its own CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* CPUs, set at load */
	__type(key, __u32);
	__type(value, struct ledger_cpu);
} cpus SEC(".maps");

/*
 * Accounts for CPU time that is in no thread's account: idle time, and threads without an account.
 * When all threads are accounted, the latter are threads that the kernel hides from BPF programs.
 * The kernel hides the switch away from such a thread too, so hidden time may have ended earlier,
 * when the thread that leaves now got the CPU.
 */
static __always_inline void account_cpu(struct task_struct *prev, struct task_struct *next,
					struct thread *out, struct thread *in, __u64 now)
{
	__u32 index = bpf_get_smp_processor_id();
	struct ledger_cpu *cpu = bpf_map_lookup_elem(&cpus, &index);
	__u64 since, until = now;

	if (!cpu || !start_ns || now < base_ns)
		return;
	since = cpu->switches ? cpu->since_ns : out ? 0 : base_ns;
	if (out && out->on_ns > since)
		until = out->on_ns;
	if (since && until > since) {
		if (prev->pid)
			cpu->hidden_ns += until - since;
		else
			cpu->idle_ns += until - since;
	}
	cpu->since_ns = in ? 0 : now;
	cpu->hidden = next->pid != 0;
	cpu->switches++;
}
