/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One tiny program per capability of the kernel. probes.c loads one at a time, attaches it,
 * triggers the stimulus and checks that `seen` was incremented. That is the only proof that a hook
 * delivers.
 *
 * The programs recognise the stimulus by a nonce in its arguments, not by gapless's pid: inside a
 * pid namespace, the kernel's pid for gapless differs from the one that gapless knows.
 */
#include "bpf/common.h"

#include <bpf/usdt.bpf.h>

#include "core/probe.h"

const volatile __u64 nonce;
const volatile long stimulus; /* the syscall that carries the nonce */
__u64 seen;
__u64 result;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} probe_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} probe_storage SEC(".maps");

static __always_inline void saw(__u64 value)
{
	if (value == nonce)
		__sync_fetch_and_add(&seen, 1);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(probe_tp_btf, struct pt_regs *regs, long id)
{
	if (id == stimulus)
		saw(BPF_CORE_READ(regs, ARCH_ARG1));
	return 0;
}

SEC("raw_tp/sys_enter")
int BPF_PROG(probe_raw_tp, struct pt_regs *regs, long id)
{
	if (id == stimulus)
		saw(BPF_CORE_READ(regs, ARCH_ARG1));
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int probe_tracepoint(struct trace_event_raw_sys_enter *ctx)
{
	if (BPF_CORE_READ(ctx, id) == stimulus)
		saw(BPF_CORE_READ(ctx, args[0]));
	return 0;
}

/*
 * hrtimer_nanosleep(rqtp, mode, clock): every clock_nanosleep calls it. It has this name since
 * 4.12.
 */
SEC("fentry/hrtimer_nanosleep")
int BPF_PROG(probe_fentry, __s64 rqtp)
{
	saw(rqtp);
	return 0;
}

SEC("fexit/hrtimer_nanosleep")
int BPF_PROG(probe_fexit, __s64 rqtp)
{
	saw(rqtp);
	return 0;
}

SEC("kprobe/hrtimer_nanosleep")
int BPF_KPROBE(probe_kprobe, __s64 rqtp)
{
	saw(rqtp);
	return 0;
}

SEC("perf_event")
int probe_perf_event(void *ctx)
{
	__sync_fetch_and_add(&seen, 1);
	return 0;
}

SEC("uprobe")
int BPF_KPROBE(probe_uprobe, __u64 argument)
{
	saw(argument);
	return 0;
}

SEC("uretprobe")
int BPF_KRETPROBE(probe_uretprobe, __u64 returned)
{
	saw(returned);
	return 0;
}

SEC("usdt")
int BPF_USDT(probe_usdt, __u64 argument)
{
	saw(argument);
	return 0;
}

/*
 * An iterator emits the nonce only for the thread whose storage or memory holds it: once, for us.
 */
SEC("iter/task")
int probe_iterator(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 value = nonce;

	if (task)
		bpf_seq_write(ctx->meta->seq, &value, sizeof(value));
	return 0;
}

const volatile __u64 own_address;

SEC("iter.s/task")
int probe_sleepable_iterator(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 value = 0;

	if (!task || bpf_copy_from_user_task(&value, sizeof(value), (void *)own_address, task, 0))
		return 0;
	if (value == nonce)
		bpf_seq_write(ctx->meta->seq, &value, sizeof(value));
	return 0;
}

/* The other programs need no hook: BPF_PROG_TEST_RUN runs them once, in our own context. */
SEC("raw_tp/sys_enter")
int probe_ring_buffer(void *ctx)
{
	__u64 *record = bpf_ringbuf_reserve(&probe_ring, sizeof(*record), 0);

	if (!record)
		return 0;
	*record = nonce;
	bpf_ringbuf_submit(record, 0);
	return 0;
}

SEC("raw_tp/sys_enter")
int probe_task_storage(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 *value =
		bpf_task_storage_get(&probe_storage, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!value)
		return 0;
	*value = nonce;
	value = bpf_task_storage_get(&probe_storage, task, NULL, 0);
	if (value)
		saw(*value);
	return 0;
}

/* The registers saved at kernel entry hold the current syscall: our own bpf(). */
SEC("raw_tp/sys_enter")
int probe_pt_regs(void *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	result = (__s64)BPF_CORE_READ(regs, ARCH_CALL);
	__sync_fetch_and_add(&seen, 1);
	return 0;
}

static __u64 stack[32];

SEC("raw_tp/sys_enter")
int probe_task_stack(void *ctx)
{
	long bytes = bpf_get_task_stack(bpf_get_current_task_btf(), stack, sizeof(stack), 0);

	if (bytes > 0)
		__sync_fetch_and_add(&seen, 1);
	return 0;
}

static long add_one(__u32 index, void *context)
{
	(*(__u64 *)context)++;
	return 0;
}

SEC("raw_tp/sys_enter")
int probe_loop(void *ctx)
{
	__u64 turns = 0;

	bpf_loop(PROBE_LOOP_TURNS, add_one, &turns, 0);
	result = turns;
	__sync_fetch_and_add(&seen, 1);
	return 0;
}
