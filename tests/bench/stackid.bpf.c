/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of the kernel's own frame-pointer walk, to compare with ours: user stacks into a map. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

SEC("perf_event")
int on_stackid(void *ctx)
{
	bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	return 0;
}

SEC("perf_event")
int on_nothing(void *ctx)
{
	return 0;
}
