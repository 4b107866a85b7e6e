/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weighted stack samples. One rule covers all time: pay for a stack only if the interval turns out
 * to be long enough, and keep the weights unbiased.
 *
 * Running time: each CPU has a clock. A tick weighs one period, and user space keeps changing the
 * period at random (periods.c).
 *
 * Waiting and ready time: each interval is drawn (sampled) when it ends, with probability
 * min(1, length / period). A drawn interval weighs max(length, period), so that its expected weight
 * equals its length. The kernel stack is taken at once. The user stack cannot be, because another
 * thread is current. When it is taken depends on how the thread left the CPU:
 *
 *   in a syscall          at the end of the call or at a tick in the call, once for all pending
 *                         intervals, if the registers show that it is still the same stack
 *   outside of a syscall  when the thread leaves the CPU (page fault, preemption), because it does
 *                         not pass our hooks with that stack again. The length of the interval is
 *                         not known yet, so one stack in 2^shift is taken at random and weighs
 *                         2^shift as much. User space keeps the shift at 0 unless the rate is too
 *                         high.
 */
#pragma once

#include "ledger/kernel/holder.bpf.h"
#include "ledger/kernel/pending.bpf.h"
#include "ledger/kernel/walk.bpf.h"

/* Random bits used per draw. Periods are below 2^40 ns, so products stay below 2^64. */
#define DRAW_BITS 24

__u64 draw_period_ns; /* user space raises it when too many intervals are drawn */
__u64 draw_limit = LEDGER_FUSE;
__u64 drawn; /* intervals drawn so far */
__u64 left_limit = LEDGER_FUSE;
__u64 left_taken;       /* stacks taken at switch-out outside of syscalls so far */
__u32 switch_out_shift; /* one such stack in 2^switch_out_shift is taken; user space changes it too
			 */
__u64 unsampled_ns[SLOT_COUNT]; /* time that no sample represents */

static __always_inline bool is_drawn(__u32 random, __u64 ns, __u64 period_ns)
{
	if (ns >= period_ns)
		return true;
	return (__u64)(random >> (32 - DRAW_BITS)) * period_ns < ns << DRAW_BITS;
}

/* Counts one event. Returns true in one caller only when the count reaches the fuse. */
static __always_inline bool exceeds_rate_limit(__u64 *count, __u64 *fuse)
{
	__u64 most = *fuse;

	return __sync_fetch_and_add(count, 1) >= most &&
	       __sync_val_compare_and_swap(fuse, most, most + LEDGER_FUSE) == most;
}

static __always_inline void count_drawn(void)
{
	if (exceeds_rate_limit(&drawn, &draw_limit))
		draw_period_ns *= 2;
}

static __always_inline void fill_sample(struct sample_record *record, struct thread *thread,
					const struct pending *pending, __u64 user, __u32 none)
{
	wire_head_init(&record->head, sizeof(*record), STACK_SAMPLE, 1);
	record->head.time_ns = pending->end_ns;
	record->thread = thread->id;
	record->user = user;
	record->kernel = pending->kernel;
	record->waker = pending->waker;
	record->by = pending->by;
	record->first = pending->first;
	record->weight_ns = pending->weight_ns;
	record->wait_ns = pending->wait_ns;
	record->period_ns = pending->period_ns;
	record->pid = thread->here_pid;
	record->count = pending->count;
	record->slot = pending->slot;
	record->flags = pending->flags;
	record->none = user ? STACK_TAKEN : none ? none : STACK_NONE_LOST;
	record->by_kind = pending->by_kind;
	record->object_kind = pending->object_kind;
	record->evidence = pending->evidence;
	record->ended = pending->ended;
	record->turn = pending->turn;
	record->in_request = pending->in_request;
	__builtin_memset(record->pad, 0, sizeof(record->pad));
	record->tid = thread->here_tid;
	record->key_pid = thread->pid;
	record->cpu = SAMPLE_NO_CPU;
	record->object[0] = pending->object[0];
	record->object[1] = pending->object[1];
	record->fiber = user ? thread->fiber : FIBER_UNKNOWN;
	record->window = 0;
	if (with_windows && thread->window) {
		record->window = thread->window >> 1;
		thread->window |= WINDOW_SAMPLED;
	}
}

/* Returns false if the ring is full. */
VERIFIED_ONCE bool send_sample(struct thread *thread, const struct pending *pending, __u64 user,
			       __u32 none)
{
	struct sample_record *record;

	if (!thread || !pending)
		return false;
	record = bpf_ringbuf_reserve(&stack_ring, sizeof(*record), 0);
	if (!record) {
		count_lost(LOST_RING_FULL);
		return false;
	}
	fill_sample(record, thread, pending, user, none);
	record->cpu = (__s32)bpf_get_smp_processor_id();
	bpf_ringbuf_submit(record, ring_flags());
	return true;
}

/*
 * Sends all pending samples. Those that wait for the user stack at `ip` and `sp` get it; for the
 * others it is too late, and they go without. Samples that do not fit in the ring stay pending.
 */
VERIFIED_ONCE int settle_pending(struct thread *thread, __u64 user, __u32 none, __u64 ip, __u64 sp)
{
	struct pendings *pendings;
	__u32 kept = 0;

	if (!thread)
		return 0;
	pendings = pendings_of(thread);
	if (!pendings)
		return 0;
	/* Clear the count first: a tick that interrupts this must not send the same samples. */
	thread->pending_count = 0;
	barrier();
	for (__u32 i = 0; i < MOST_PENDING; i++) {
		struct pending *pending = &pendings->entries[i];
		bool is_late = pending->ip != ip || pending->sp != sp;

		if (!pending->count)
			continue;
		if (send_sample(thread, pending, is_late ? 0 : user,
				is_late && !none ? STACK_NONE_LATE : none))
			pending->count = 0;
		else
			kept++;
	}
	if (!kept)
		close_pendings(thread);
	barrier();
	thread->pending_count = kept;
	return 0;
}

/* Counts time in the ledger that no sample will represent. */
VERIFIED_ONCE int count_lost_sample_time(__u64 slot, __u64 ns)
{
	if (with_stacks && slot < SLOT_COUNT)
		__sync_fetch_and_add(&unsampled_ns[slot], ns);
	return 0;
}

/* How a thread left the CPU. */
enum left {
	LEFT_UNSEEN,
	LEFT_IN_CALL,
	OUT_NO_STACK,    /* outside of a syscall; its stack was not taken */
	OUT_STACK_TAKEN, /* outside of a syscall; its stack was taken */
};

/* The length to draw an interval with. 0 if it was not among the 1 in 2^shift selected. */
static __always_inline __u64 worth(const struct thread *thread, __u64 ns)
{
	if (thread->left == OUT_NO_STACK)
		return 0;
	return thread->left == OUT_STACK_TAKEN ? ns << (thread->switch_out_shift & 31) : ns;
}

/* The user stack taken when the thread left the CPU. If none was: 0, and *none is unchanged. */
static __always_inline __u64 stack_left_with(const struct thread *thread, __u32 *none)
{
	if (thread->left != OUT_STACK_TAKEN)
		return 0;
	*none = thread->left_none;
	return thread->left_stack;
}

/*
 * The variance of the estimate is weight × (weight − length). So period_ns is set to the weight if
 * the stack was one in 2^shift.
 */
static __always_inline void weigh(struct pending *new, const struct thread *thread, __u32 slot,
				  __u64 ns, __u64 period_ns, __u64 end_ns)
{
	__u64 worth_ns = worth(thread, ns);

	new->slot = slot;
	new->wait_ns = ns;
	new->weight_ns = worth_ns > period_ns ? worth_ns : period_ns;
	new->period_ns = thread->left == OUT_STACK_TAKEN ? new->weight_ns : period_ns;
	new->end_ns = end_ns;
}

static __always_inline void note_wait(struct pending *new, const struct ledger_key *wait)
{
	new->by = wait->by;
	new->first = wait->first;
	new->by_kind = wait->by_kind;
	new->evidence = wait->evidence;
	new->ended = wait->ended;
	new->turn = wait->turn;
	new->in_request = wait->in_request;
	new->object_kind = wait->object_kind;
	new->object[0] = wait->object[0];
	new->object[1] = wait->object[1];
}

/*
 * Draws the interval that is open at the freeze, as if it ended then. An iterator may visit a
 * thread twice, so the random number is a hash: repeated calls give the same result.
 */
static __always_inline bool draw_open(const struct thread *thread, struct pending *new)
{
	__u32 slot = thread->account.slot;
	__u64 ns = end_ns - open_since(&thread->account);
	__u32 random = unwind_hash(end_ns, thread->id) >> 32;

	if ((!SLOT_IS_WAIT(slot) && !SLOT_IS_READY(slot)) || (__s64)ns <= 0 ||
	    !is_drawn(random, worth(thread, ns), draw_period_ns))
		return false;
	weigh(new, thread, slot, ns, draw_period_ns, end_ns);
	if (SLOT_IS_WAIT(slot)) {
		note_wait(new, &thread->wait);
		new->ended = ENDED_OPEN;
	}
	if (SLOT_IS_WAIT(slot) && is_handed_on(thread)) {
		new->first = first_holder(&thread->wait);
		new->by = 0;
		new->by_kind = BY_NOBODY;
		new->evidence = EVIDENCE_HANDED;
	}
	new->count = 1;
	return true;
}

/* The thread ends after the freeze, and the last iterator has not visited it. */
VERIFIED_ONCE int give_up_open(struct thread *thread)
{
	__u32 none = STACK_NONE_EXIT;
	struct pending new = {};
	__u64 user;

	if (!thread || !takes_stacks() || !draw_open(thread, &new))
		return 0;
	user = stack_left_with(thread, &none);
	if (!send_sample(thread, &new, user, none))
		count_lost_sample_time(new.slot, new.weight_ns);
	return 0;
}

/* The thread exits or executes a new program: pending samples will never get a user stack. */
static __always_inline void give_up_pending(struct thread *thread, __u32 none)
{
	struct pendings *pendings;

	if (!thread->has_pending)
		return;
	settle_pending(thread, 0, none, 0, 0);
	pendings = pendings_of(thread);
	if (!pendings)
		return;
	for (__u32 i = 0; i < MOST_PENDING; i++) {
		if (pendings->entries[i].count)
			count_lost_sample_time(pendings->entries[i].slot,
					       pendings->entries[i].weight_ns);
		pendings->entries[i].count = 0;
	}
	thread->pending_count = 0;
	close_pendings(thread);
}

VERIFIED_ONCE int add_pending(struct thread *thread, const struct pending *new)
{
	struct pendings *pendings;
	struct pending *pending;

	if (!thread || !new)
		return 0;
	pendings = open_pendings(thread);
	pending = pendings ? find_pending(pendings, new) : NULL;
	if (!pending) {
		if (!send_sample(thread, new, 0, STACK_NONE_CROWDED))
			count_lost_sample_time(new->slot, new->weight_ns);
		return 0;
	}
	if (!pending->count) {
		*pending = *new;
		thread->pending_count++;
		return 0;
	}
	pending->weight_ns += new->weight_ns;
	pending->wait_ns += new->wait_ns;
	pending->end_ns = new->end_ns;
	pending->flags |= new->flags;
	pending->count++;
	return 0;
}

/*
 * Is the thread in a syscall whose exit hook is still to come? After that hook, on the way out, the
 * registers still hold the syscall number. Level full tracks the call itself. Level sched cannot
 * tell, so it answers no in doubtful cases.
 */
static __always_inline bool is_in_call(const struct thread *thread, struct task_struct *task,
				       __u32 slot)
{
	struct pt_regs *regs;

	if (thread->flags & THREAD_KERNEL)
		return true;
	if (full)
		return thread->nr != NR_NONE;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return syscall_of(regs) >= 0 && !SLOT_IS_READY(slot) && slot != SLOT_WAIT_STOPPED;
}

/* The current thread leaves the CPU. */
static __always_inline void note_left(struct thread *thread, struct task_struct *current,
				      __u32 slot)
{
	__u32 shift = switch_out_shift & 31;

	if (!with_stacks)
		return;
	thread->left = LEFT_UNSEEN;
	if (!is_sampling)
		return;
	thread->left = LEFT_IN_CALL;
	if (is_in_call(thread, current, slot))
		return;
	thread->left = OUT_NO_STACK;
	if (shift && bpf_get_prandom_u32() & ((1U << shift) - 1))
		return;
	if (exceeds_rate_limit(&left_taken, &left_limit))
		switch_out_shift++;
	thread->left = OUT_STACK_TAKEN;
	thread->switch_out_shift = shift;
	thread->left_none = why_no_user_stack(thread, current);
	thread->left_stack = thread->left_none ? 0 : user_stack(thread->here_pid, WALK_SCHEDULER);
	thread->fiber = fiber_at(WALK_SCHEDULER);
}

/* A wait or ready interval ended and was drawn. */
static __noinline void add_interval(struct thread *thread, struct task_struct *task,
				    struct pending *new)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 none = STACK_NONE_BEFORE;
	__u64 user = stack_left_with(thread, &none);

	new->count = 1;
	count_drawn();
	new->kernel = kernel_stack_of(task, WALK_SCHEDULER);
	if (thread->flags & THREAD_KERNEL) {
		none = STACK_NONE_KERNEL;
	} else if (thread->left == LEFT_IN_CALL ||
		   (thread->left == LEFT_UNSEEN && syscall_of(regs) >= 0)) {
		new->ip = regs->ARCH_PC;
		new->sp = regs->ARCH_SP;
		add_pending(thread, new);
		return;
	}
	if (!send_sample(thread, new, user, none))
		count_lost_sample_time(new->slot, new->weight_ns);
}

/* The stack of the current thread, which is the waker. */
static __always_inline __u64 stack_of_waker(void)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *waker = find(current);
	__u8 none;

	if (!waker)
		return 0;
	none = why_no_user_stack(waker, current);
	if (none == STACK_NONE_KERNEL)
		return kernel_stack_of(current, WALK_SCHEDULER);
	return none == STACK_TAKEN ? user_stack(waker->here_pid, WALK_SCHEDULER) : 0;
}

/*
 * A wait is about to end. The waker is current now, but maybe not at sched_wakeup, which can run on
 * another CPU. So draw the wait already, with its length so far, and take the waker's stack. The
 * final draw uses the same random number. If it succeeds only because the wait has become longer,
 * the sample has no waker stack.
 */
static __always_inline void draw_early(struct thread *thread)
{
	__u64 since_ns = thread->account.since_ns;

	if (!takes_stacks() || !SLOT_IS_WAIT(thread->account.slot))
		return;
	thread->waking_since = since_ns;
	thread->random = bpf_get_prandom_u32();
	thread->waker_stack = 0;
	if (thread->waker_kind == BY_THREAD &&
	    is_drawn(thread->random, worth(thread, bpf_ktime_get_ns() - since_ns), draw_period_ns))
		thread->waker_stack = stack_of_waker();
}

static __always_inline void draw_wait(struct thread *thread, struct task_struct *task, __u32 slot,
				      __u64 ns, __u64 end_ns)
{
	bool is_early = thread->waking_since == (__u32)(end_ns - ns);
	__u64 period_ns = draw_period_ns;
	struct pending new = {};

	if (!takes_stacks() || !is_drawn(is_early ? thread->random : bpf_get_prandom_u32(),
					 worth(thread, ns), period_ns))
		return;
	weigh(&new, thread, slot, ns, period_ns, end_ns);
	note_wait(&new, &thread->wait);
	if (is_early)
		new.waker = thread->waker_stack;
	add_interval(thread, task, &new);
}

static __always_inline void draw_ready(struct thread *thread, struct task_struct *task, __u32 slot,
				       __u64 ns, __u64 end_ns)
{
	__u64 period_ns = draw_period_ns;
	struct pending new = {};

	if (!takes_stacks() || !is_drawn(bpf_get_prandom_u32(), worth(thread, ns), period_ns))
		return;
	weigh(&new, thread, slot, ns, period_ns, end_ns);
	add_interval(thread, task, &new);
}

/* At the end of a syscall, the user stack is still the one that the thread blocked with. */
static __noinline void take_pending(struct thread *thread, struct task_struct *current)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	__u8 none = why_no_user_stack(thread, current);
	__u64 user;

	thread->pending_count = 0; /* as in settle_pending() */
	user = none ? 0 : user_stack(thread->here_pid, WALK_SYSCALL);
	thread->fiber = fiber_at(WALK_SYSCALL);
	settle_pending(thread, user, none, regs->ARCH_PC, regs->ARCH_SP);
}

/* Per CPU: the buffer for stacks of events is in use. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} event_walks SEC(".maps");

__u64 event_stacks_missed; /* because the buffer was in use */

static __always_inline __u32 *event_walk(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&event_walks, &zero);
}

/*
 * The pid of the current thread, whose stack can be walked for an event; 0: it cannot. Counts as an
 * interval that was drawn, so that the limit of their rate covers it too.
 */
static __noinline __u32 begin_event_walk(void)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = takes_stacks() ? find(current) : NULL;
	__u32 *is_busy = event_walk();

	if (!thread || !is_busy || why_no_user_stack(thread, current))
		return 0;
	if (__sync_val_compare_and_swap(is_busy, 0, 1)) {
		__sync_fetch_and_add(&event_stacks_missed, 1);
		return 0;
	}
	count_drawn();
	return thread->here_pid;
}

static __noinline int end_event_walk(void)
{
	__u32 *is_busy = event_walk();

	if (is_busy)
		*(volatile __u32 *)is_busy = 0;
	return 0;
}
