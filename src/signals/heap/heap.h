/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations of the heap. Shared by heap.bpf.h and the user half. Pids are those of gapless's own
 * pid namespace, as in the ledger.
 */
#pragma once

#include "bpf/wire.h"

enum heap_operation {
	HEAP_NONE, /* a hit that only measures what a hit costs */
	HEAP_MALLOC,
	HEAP_CALLOC,
	HEAP_REALLOC,
	HEAP_ALIGNED,
	HEAP_NEW,
	HEAP_FREE,
	HEAP_DELETE,
	HEAP_WINDOW, /* of events: not a call, but an account of a slot of time */
	HEAP_OPERATIONS,
};

/* The cookie of a probe: the operation, and which arguments have the size, counted from 1. */
#define HEAP_COOKIE(operation, size, factor)                                                       \
	((__u64)(operation) | (__u64)(size) << 8 | (__u64)(factor) << 16)
#define HEAP_COOKIE_OPERATION(cookie) ((cookie) & 0xff)
#define HEAP_COOKIE_SIZE(cookie)      ((cookie) >> 8 & 0xff)
#define HEAP_COOKIE_FACTOR(cookie)    ((cookie) >> 16 & 0xff)
/* The function may call that of the same name in the C library. */
#define HEAP_COOKIE_WRAPS ((__u64)1 << 24)
/* The kernel executes the probed instruction in a single step, which costs several times as much.
 */
#define HEAP_COOKIE_STEPPED ((__u64)1 << 25)

/* Set by the user half. */
struct heap_control {
	__u32 is_open;      /* calls count now */
	__u32 pad;          /* 0 */
	__u64 period_bytes; /* a call of n bytes is drawn with probability n/period */
};
_Static_assert(sizeof(struct heap_control) == 16, "shared variable");

/* Grows only. */
struct heap_totals {
	__u64 others;    /* hits by threads that are not recorded */
	__u64 hits;      /* by those that are */
	__u64 stepped;   /* of these, with HEAP_COOKIE_STEPPED */
	__u64 inside_ns; /* their time in the BPF program */
	/* In windows: */
	__u64 calls; /* that allocate */
	__u64 bytes;
	__u64 frees;
};
_Static_assert(sizeof(struct heap_totals) == 56, "wire format");

/* An allocation that was drawn. */
struct heap_sample {
	struct wire_head head;
	__u64 thread; /* the ledger's id */
	__u64 stack;  /* 0: none */
	__u64 bytes;
	__u64 weight_bytes; /* what it stands for */
	__u32 operation;
	__u32 pad; /* 0 */
};
_Static_assert(sizeof(struct heap_sample) == sizeof(struct wire_head) + 40, "wire format");
