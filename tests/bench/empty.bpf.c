/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An empty program, to measure what any program costs at a hook. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sys_enter") /* hooks.c replaces the tracepoint */
int on_empty(void *ctx)
{
	return 0;
}
