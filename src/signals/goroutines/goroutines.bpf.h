/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Part goroutines: how long each goroutine was in each state, by a probe where Go changes the
 * state of one. The arguments there are its g, the old state and the new one.
 *
 * The time since the last change is added to the sums of the old state. So nothing is lost if a
 * goroutine is seen for the first time in the middle of its life: its state began when the process
 * came to be followed, or before. What is in a state at the end is added by user space.
 *
 * A g is the key, because Go gives a new goroutine its number only after its first change. The
 * number is read when a state ends.
 */
#pragma once

#include "bpf/arch/arch.h"
#include "bpf/go_status.h"
#include "bpf/identity.bpf.h"
#include "signals/goroutines/goroutines.h"

/* As many as there can be changes in a second, and some more. */
SERIES_MAPS(goroutines, 1, 0, 32768);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct goroutines_process);
} goroutines_processes SEC(".maps");

/* Those that changed, and those that user space has found. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 131072);
	__type(key, struct goroutines_key);
	__type(value, struct goroutine);
} goroutines_known SEC(".maps");

/* Hits of each probe, by whomever: the cost is theirs too. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} goroutines_hits SEC(".maps");

/* The thread that the sums of a process belong to: its main thread, if that has an account. */
VERIFIED_ONCE __u64 goroutines_thread(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct identity *who;

	if (!is_on(SIGNAL_goroutines))
		return 0;
	who = identity_of(task->group_leader);
	if (who)
		return who->id;
	who = identity_of(task);
	return who ? who->id : 0;
}

/* NULL: it is not followed, or does not belong to the target. */
static __always_inline struct goroutines_process *goroutines_process(__u32 *ret_pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct identity *who = identity_of(task);
	struct goroutines_process *process;

	/* With -t, other threads of the process change states too. */
	*ret_pid = who ? who->pid : current_pid();
	process = bpf_map_lookup_elem(&goroutines_processes, ret_pid);
	if (!process || process->ended_ns || (who && who->flags & IDENTITY_OUTSIDE))
		return NULL;
	if (!process->thread)
		process->thread = goroutines_thread();
	return process;
}

static __always_inline __u16 goroutines_operation(const struct goroutines_process *process, __u64 g)
{
	__u8 reason = 0;

	bpf_probe_read_user(&reason, sizeof(reason), (void *)(g + process->reason_at));
	return process->operations[reason & (FIBER_REASONS - 1)];
}

/* The old state has ended now. */
static __always_inline void goroutines_book(const struct goroutines_process *process,
					    const struct goroutines_key *at,
					    const struct goroutine *old, __u64 now)
{
	__u64 since_ns = series[SIGNAL_goroutines].since_ns, ns;
	struct series_key key = {};
	__u32 turn = series_turn(SERIES(goroutines));
	bool is_cut = old->began_before;

	if (since_ns < process->since_ns)
		since_ns = process->since_ns;
	if (old->since_ns < since_ns)
		is_cut = true;
	else
		since_ns = old->since_ns;
	ns = now > since_ns ? now - since_ns : 0;
	key.thread = process->thread;
	key.object[0] = GOROUTINES_OBJECT(at->pid, old->id);
	key.object[1] = old->start;
	key.place = old->state + 1;
	key.operation = old->operation;
	series_reduce(&key);
	series_sum_up(SERIES(goroutines), turn, &key, &ns);
	if (!is_cut)
		series_distribute(SERIES(goroutines), turn, &key, &ns);
}

static __always_inline void goroutines_change(const struct goroutines_process *process,
					      const struct goroutines_key *at, __u32 from, __u32 to,
					      bool is_preempted)
{
	struct goroutine *known = bpf_map_lookup_elem(&goroutines_known, at), now = {};
	__u64 now_ns = bpf_ktime_get_ns();

	bpf_probe_read_user(&now.id, sizeof(now.id), (void *)(at->g + process->id_at));
	bpf_probe_read_user(&now.start, sizeof(now.start), (void *)(at->g + process->start_at));
	if (from != FIBER_STATES) {
		now.state = from;
		now.operation = from == FIBER_WAITING ? goroutines_operation(process, at->g) : 0;
		now.since_ns = known ? known->since_ns : 0;
		now.began_before = known ? known->began_before : 1;
		/* It may have changed where there is no probe: then the time is of neither state.
		 */
		if (known && known->state != from)
			__sync_fetch_and_add(&series[SIGNAL_goroutines].unpaired, 1);
		else
			goroutines_book(process, at, &now, now_ns);
	} else {
		now.id = 0; /* still that of the last one */
	}
	now.state = to;
	now.since_ns = now_ns;
	now.began_before = 0;
	now.operation = 0;
	/* The reason of a preemption is set later. */
	if (to == FIBER_WAITING && !is_preempted)
		now.operation = goroutines_operation(process, at->g);
	if (known)
		*known = now;
	else if (bpf_map_update_elem(&goroutines_known, at, &now, BPF_ANY))
		COUNT_LOST(goroutines, LOST_MAP_FULL);
}

static __always_inline int goroutines_hit(struct pt_regs *ctx)
{
	__u32 number = is_on(SIGNAL_goroutines) ? bpf_get_attach_cookie(ctx) : 0;
	__u32 from, to;
	__u64 *hits;
	const struct goroutines_process *process;
	struct goroutines_key at = {};

	if (!number)
		return 0;
	hits = bpf_map_lookup_elem(&goroutines_hits, &number);
	if (hits)
		__sync_fetch_and_add(hits, 1);
	if (!series[SIGNAL_goroutines].enabled)
		return 0;
	process = goroutines_process(&at.pid);
	if (!process)
		return 0;
	at.g = ctx->ARCH_GO_ARG1;
	from = go_state(ctx->ARCH_GO_ARG2);
	to = go_state(ctx->ARCH_GO_ARG3);
	/* Moving its stack is no change. */
	if (from != to)
		goroutines_change(process, &at, from, to,
				  (ctx->ARCH_GO_ARG3 & ~GO_STATUS_SCAN) == GO_PREEMPTED);
	return 0;
}

SEC("uprobe")
int goroutines_on_change(struct pt_regs *ctx)
{
	return is_on(SIGNAL_goroutines) ? goroutines_hit(ctx) : 0;
}

static __always_inline int goroutines_end(struct task_struct *task)
{
	struct identity *who = identity_of(task);
	__u32 pid = who ? who->pid : current_pid();
	struct goroutines_process *process = bpf_map_lookup_elem(&goroutines_processes, &pid);

	if (process && !process->ended_ns)
		process->ended_ns = bpf_ktime_get_ns();
	return 0;
}

/* The current thread exits. */
VERIFIED_ONCE int goroutines_exits(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_on(SIGNAL_goroutines) || task->signal->live.counter)
		return 0;
	return goroutines_end(task);
}

/* The process executes another program. Clang would not pass an argument that is not looked at. */
VERIFIED_ONCE int goroutines_starts(__u64 file)
{
	return is_on(SIGNAL_goroutines) && file ? goroutines_end(bpf_get_current_task_btf()) : 0;
}
