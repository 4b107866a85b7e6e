/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the stimulus in task storage and sends each event through the ring buffer. */
#include "bpf/common.h"

#include "core/canary.h"

const volatile __u64 nonce;
const volatile long stimulus; /* the syscall that carries the nonce */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline int on_event(struct pt_regs *regs, long id)
{
	struct canary_record *record;
	__u64 *count;

	if (id != stimulus || BPF_CORE_READ(regs, ARCH_ARG1) != nonce)
		return 0;
	count = bpf_task_storage_get(&counts, bpf_get_current_task_btf(), NULL,
				     BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!count) {
		count_lost(LOST_NO_STORAGE);
		return 0;
	}
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (record) {
		wire_head_init(&record->head, sizeof(*record), 0, 1);
		record->sequence = *count;
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	} else {
		count_lost(LOST_RING_FULL);
	}
	(*count)++;
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter_btf, struct pt_regs *regs, long id)
{
	return on_event(regs, id);
}

SEC("raw_tp/sys_enter")
int BPF_PROG(on_sys_enter_raw, struct pt_regs *regs, long id)
{
	return on_event(regs, id);
}

SEC("iter/task")
int on_snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 *count;

	if (!task)
		return 0;
	count = bpf_task_storage_get(&counts, task, NULL, 0);
	if (count)
		bpf_seq_write(ctx->meta->seq, count, sizeof(*count));
	return 0;
}
