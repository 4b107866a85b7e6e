/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of memory allocators, at probes that user space attaches for windows of time.
 *
 * Some functions of an allocator call others: realloc(NULL, n) of glibc jumps to malloc(), and
 * operator new may call it, and so may the malloc() of a program. The probe of the inner function
 * is hit too, but the call is one. The outer functions leave a note in the thread's storage: stack
 * pointer, return address and size. An inner hit belongs to it if it has the same size, is not far
 * below on the stack, and the return address is still in its place.
 *
 * Probes run preemptible, so sums of a CPU are added to with atomic operations.
 */
#pragma once

#include <bpf/bpf_tracing.h>

#include "bpf/identity.bpf.h"
#include "signals/heap/heap.h"

/* The stack of an outer function is at most this large at the call of the inner one. */
#define HEAP_FRAMES_BYTES 1024
#define HEAP_DRAW_BITS    24

SERIES_MAPS(heap, 1, 0, 8192);

/* Room for 16,000 samples. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} heap_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct heap_totals);
} heap_totals SEC(".maps");

/* The last call of an outer function. */
struct heap_note {
	__u64 sp;
	__u64 back; /* the return address */
	__u64 size; /* of free() and delete: the address */
	__u64 at;   /* of realloc(): the old block */
	__u64 ip;   /* which function */
	__u64 operation;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct heap_note);
} heap_notes SEC(".maps");

/* The CPU time of processes that have ended, by pid. The user half removes them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} heap_ended SEC(".maps");

struct heap_control heap_control SEC(".data.heap");

/* --- calls ------------------------------------------------------------------------------------ */

/* Without the barriers, the choice would be made before the load, which the verifier refuses. */
static __always_inline __u64 heap_argument(struct pt_regs *regs, __u64 number)
{
	__u64 first = PT_REGS_PARM1(regs), second = PT_REGS_PARM2(regs),
	      third = PT_REGS_PARM3(regs);

	barrier_var(first);
	barrier_var(second);
	barrier_var(third);
	return number == 1 ? first : number == 2 ? second : number == 3 ? third : 1;
}

static __always_inline bool heap_is_outer(__u64 cookie)
{
	__u32 operation = HEAP_COOKIE_OPERATION(cookie);

	return operation == HEAP_REALLOC || operation == HEAP_ALIGNED || operation == HEAP_NEW ||
	       operation == HEAP_DELETE || cookie & HEAP_COOKIE_WRAPS;
}

static __always_inline bool heap_is_free(__u32 operation)
{
	return operation == HEAP_FREE || operation == HEAP_DELETE;
}

/* Whether the outer function may make such a call. realloc() to no bytes only frees. */
static __always_inline bool heap_calls(const struct heap_note *note, __u32 operation, __u64 size)
{
	bool is_realloc = note->operation == HEAP_REALLOC,
	     is_free = heap_is_free(note->operation) || (is_realloc && !note->size);

	if (heap_is_free(operation) && is_realloc && note->at == size)
		return true;
	return heap_is_free(operation) == is_free && note->size == size;
}

static __always_inline __u64 heap_read_back(__u64 sp)
{
	__u64 back = 0;

#if ARCH_LINK_REGISTER
	return 0;
#endif
	bpf_probe_read_user(&back, sizeof(back), (void *)sp);
	return back;
}

/* Whether a call is part of another one, which was counted. */
static __always_inline bool heap_is_inner(struct pt_regs *regs, __u64 cookie, __u64 size)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 operation = HEAP_COOKIE_OPERATION(cookie);
	bool is_outer = heap_is_outer(cookie);
	struct heap_note *note = bpf_task_storage_get(
		&heap_notes, task, NULL, is_outer ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	__u64 sp = PT_REGS_SP(regs);
	bool is_inner;

	if (!note)
		return false;
	is_inner = note->operation && note->ip != PT_REGS_IP(regs) && sp <= note->sp &&
		   note->sp - sp < HEAP_FRAMES_BYTES && heap_calls(note, operation, size) &&
		   note->back == heap_read_back(note->sp);
	if (is_inner)
		return true;
	note->operation = 0;
	if (is_outer)
		*note = (struct heap_note) {
			sp,       heap_read_back(sp), size, PT_REGS_PARM1(regs), PT_REGS_IP(regs),
			operation
		};
	return false;
}

static __always_inline void heap_draw(const struct identity *who, __u32 operation, __u64 bytes)
{
	__u64 period = heap_control.period_bytes;
	struct heap_sample *record;
	__u64 stack;

	/* Sizes beyond the period are certain, so the product stays below 2^64. */
	if (!bytes || period >> (64 - HEAP_DRAW_BITS))
		return;
	if (bytes < period &&
	    (bpf_get_prandom_u32() >> (32 - HEAP_DRAW_BITS)) * period >= bytes << HEAP_DRAW_BITS)
		return;
	stack = event_stack();
	record = bpf_ringbuf_reserve(&heap_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(heap, LOST_RING_FULL);
		return;
	}
	wire_head_init(&record->head, sizeof(*record), 0, 1);
	record->thread = who->id;
	record->stack = stack;
	record->bytes = bytes;
	record->weight_bytes = bytes > period ? bytes : period;
	record->operation = operation;
	record->pad = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* The size, or the address that is freed. */
static __always_inline __u64 heap_size(struct pt_regs *regs, __u64 cookie)
{
	return heap_argument(regs, HEAP_COOKIE_SIZE(cookie)) *
	       heap_argument(regs, HEAP_COOKIE_FACTOR(cookie));
}

static __always_inline void heap_count(struct pt_regs *regs, __u64 cookie,
				       const struct identity *who, struct heap_totals *totals)
{
	__u32 operation = HEAP_COOKIE_OPERATION(cookie);
	bool is_free = heap_is_free(operation);
	__u64 size = heap_size(regs, cookie), bytes = is_free ? 0 : size;
	struct series_key key = { .thread = who->id, .operation = operation };

	if (heap_is_inner(regs, cookie, size))
		return;
	series_reduce(&key);
	series_add_own(SERIES(heap), &key, &bytes);
	if (is_free) {
		__sync_fetch_and_add(&totals->frees, 1);
		return;
	}
	__sync_fetch_and_add(&totals->calls, 1);
	__sync_fetch_and_add(&totals->bytes, bytes);
	heap_draw(who, operation, bytes);
}

SEC("uprobe")
int heap_on_call(struct pt_regs *ctx)
{
	__u64 begin_ns = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx);
	struct heap_totals *totals;
	struct identity who;
	__u32 zero = 0;

	if (!is_on(SIGNAL_heap) || HEAP_COOKIE_OPERATION(cookie) == HEAP_NONE)
		return 0;
	totals = bpf_map_lookup_elem(&heap_totals, &zero);
	if (!totals)
		return 0;
	if (!is_wanted_now(SIGNAL_heap, &who)) {
		__sync_fetch_and_add(&totals->others, 1);
		return 0;
	}
	__sync_fetch_and_add(&totals->hits, 1);
	if (cookie & HEAP_COOKIE_STEPPED)
		__sync_fetch_and_add(&totals->stepped, 1);
	if (*(volatile __u32 *)&heap_control.is_open)
		heap_count(ctx, cookie, &who, totals);
	__sync_fetch_and_add(&totals->inside_ns, bpf_ktime_get_ns() - begin_ns);
	return 0;
}

/* --- processes -------------------------------------------------------------------------------- */

/* The current thread exits. The last one of a process leaves the CPU time of all. */
VERIFIED_ONCE int heap_exits(void)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader;
	struct identity who;
	__u64 cpu_ns;
	__u32 pid;

	if (!is_on(SIGNAL_heap) || !is_wanted_by(SIGNAL_heap, task, &who) ||
	    task->signal->live.counter || task->flags & PF_KTHREAD)
		return 0;
	leader = task->group_leader;
	cpu_ns = task->signal->sum_sched_runtime + task->se.sum_exec_runtime;
	if (leader != task)
		cpu_ns += leader->se.sum_exec_runtime;
	pid = who.pid;
	if (bpf_map_update_elem(&heap_ended, &pid, &cpu_ns, BPF_ANY))
		COUNT_LOST(heap, LOST_MAP_FULL);
	return 0;
}

/* Lists the target's processes. */
SEC("iter/task")
int heap_on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct identity who;
	__u32 pid;

	if (!is_on(SIGNAL_heap) || !task || task->pid != task->tgid || task->flags & PF_KTHREAD ||
	    !is_wanted_by(SIGNAL_heap, task, &who))
		return 0;
	/* Without an account, the kernel's number is the only one that is known. */
	pid = task->tgid;
	barrier_var(pid); /* or one load would serve two kinds of pointers */
	if (who.id)
		pid = who.pid;
	if (pid)
		bpf_seq_write(ctx->meta->seq, &pid, sizeof(pid));
	return 0;
}
