/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The minimum cost of exact syscall durations: both hooks read the clock and do nothing else. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sys_enter")
int on_sys_enter(void *ctx)
{
	bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(void *ctx)
{
	bpf_ktime_get_ns();
	return 0;
}
