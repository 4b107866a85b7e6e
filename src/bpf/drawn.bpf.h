/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User stacks for some events of a signal, drawn at random. Each stands for many, so that the
 * shares of stacks are right however few are taken.
 */
#pragma once

#include "bpf/drawn.h"
#include "bpf/series.bpf.h"

#define DRAWN_A_SECOND   400 /* about; a stack costs some microseconds */
#define DRAWN_MOST_SHIFT 30

/* What a drawn stack stands for. */
struct drawn {
	__u64 count; /* events */
	__u64 bytes;
	__u32 signal; /* enum signal_number */
	__u32 operation;
};

/*
 * Sends the user stack of the current thread, if stacks are recorded. Defined in
 * ledger/kernel/drawn.bpf.h.
 */
int send_drawn(const struct drawn *drawn);
/* The same, where the thread may be anywhere: inside of another walk, the stack is missing. */
int send_drawn_anywhere(const struct drawn *drawn);

/*
 * One more was taken: at most about `most` a second. CPUs may change the numbers at the same time;
 * then a few more are taken.
 */
static __always_inline void draw_taken(struct draw *draw, __u32 most)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 shift = draw->shift & 31;

	if (now - draw->since_ns >= 1000000000) {
		if (draw->taken < most / 4 && shift)
			draw->shift = shift - 1;
		draw->since_ns = now;
		draw->taken = 0;
	}
	if (++draw->taken >= most && shift < DRAWN_MOST_SHIFT) {
		draw->shift = shift + 1;
		draw->taken = 0;
	}
}

/* Whether to take the stack of an event, and how many events it stands for: 0, or 2^shift. */
static __always_inline __u64 draw_stack(struct draw *draw)
{
	__u32 shift = draw->shift & 31;

	if (shift && bpf_get_prandom_u32() & ((1U << shift) - 1))
		return 0;
	draw_taken(draw, DRAWN_A_SECOND);
	return 1ULL << shift;
}
