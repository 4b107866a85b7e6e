/*
 * The least that exact durations of system calls can cost: both hooks, the clock read on each, and
 * nothing done with it.
 */
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
