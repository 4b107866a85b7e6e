/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The minimum cost of exact syscall durations: both hooks read the clock and do nothing else. If
 * with_clock is 0, they do nothing at all.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

const volatile int with_clock = 1;

SEC("tp_btf/sys_enter")
int on_sys_enter(void *ctx)
{
	if (with_clock)
		bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(void *ctx)
{
	if (with_clock)
		bpf_ktime_get_ns();
	return 0;
}
