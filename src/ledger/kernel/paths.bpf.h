/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of syscalls, drawn at random when the calls end: which files a program looks for. One call
 * in 2^shift is drawn and stands for 2^shift calls, so that the sums are unbiased. The shift is 0
 * while there are few such calls; user space raises it, and the kernel half does so itself in a
 * burst. The draw is random because programs search in turns: every eighth path of a search in 40
 * folders would always be one of the same five.
 *
 * A call that is not drawn costs about 10 ns, one that is drawn 0.4 µs.
 */
#pragma once

#include "ledger/kernel/cause.bpf.h"

#define MOST_PATH_SHIFT 20

struct ledger_path_stream path_streams[LEDGER_PATH_STREAMS];

static __always_inline struct ledger_path_stream *stream_of(const struct ended_call *call)
{
	__u32 at = 2 * (call->nr & (LEDGER_SYSCALLS - 1)) + !!call->error;

	return &path_streams[at & (LEDGER_PATH_STREAMS - 1)];
}

static __always_inline void count_drawn_path(struct ledger_path_stream *stream)
{
	__u64 most = stream->limit;

	if (__sync_fetch_and_add(&stream->drawn, 1) >= most &&
	    __sync_val_compare_and_swap(&stream->limit, most, most + LEDGER_PATH_FUSE) == most &&
	    stream->shift < MOST_PATH_SHIFT)
		stream->shift++;
}

VERIFIED_ONCE int send_path(__u64 thread, const struct ended_call *call, __u32 shift)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct ledger_path_record *record;
	__u64 address;
	char first = 0;
	long length;

	if (!call)
		return 0;
	address = shape_of[call->nr & (LEDGER_SYSCALLS - 1)].path[0] == 1 ? regs->ARCH_ARG1
									  : regs->ARCH_ARG2;
	/* No path, or an empty one, which means a descriptor (AT_EMPTY_PATH): each fstat(). */
	if (bpf_probe_read_user(&first, sizeof(first), (void *)address) || !first)
		return 0;
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record) {
		count_lost(LOST_RING_FULL);
		return 0;
	}
	wire_head_at(&record->head, sizeof(*record), LEDGER_PATH, 1,
		     call->end_ns ? call->end_ns : bpf_ktime_get_ns());
	record->thread = thread;
	record->weight = 1ULL << (shift & 31);
	record->number = call->nr;
	record->error = call->error;
	record->pad = 0;
	length = bpf_probe_read_user_str(record->path, sizeof(record->path), (void *)address);
	if (length <= 0 || record->path[0] == '\0') {
		bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
		return 0;
	}
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	count_drawn_path(stream_of(call));
	return 0;
}

/* The registers must still hold the call's arguments. */
static void draw_path(__u64 thread, const struct ended_call *call)
{
	__u32 shift = stream_of(call)->shift & 31;

	if (shift && bpf_get_prandom_u32() & ((1U << shift) - 1))
		return;
	send_path(thread, call, shift);
}
