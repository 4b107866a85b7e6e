/*
 * Stacks with weights, by one rule for all time (design: pay for a stack only when the interval
 * turns out to be worth it, with unbiased weights).
 *
 * Running time: a clock tick on every CPU weighs its period, which user space keeps changing at
 * random (periods.c). Waiting and ready time: each interval is drawn when it ends, with
 * p = min(1, length / period), and weighs max(length, period), so that the expected weight is its
 * length, whatever that is. The thread's
 * kernel stack is taken at once; its user stack cannot be, for another thread is current. It is
 * taken once for all that is pending, at the thread's next return from a syscall (where it is still
 * the stack that it blocked with) or, if it was not in one, at its next tick or return (marked
 * SAMPLE_NEXT).
 */
#pragma once

#include "ledger/holder.bpf.h"
#include "ledger/walk.bpf.h"

/* Of drawn intervals in one sample. */
#define MOST_COUNT 0xffff

/* So many more may be drawn before user space looks at the rate again; then the period doubles. */
#define FUSE 4000

/* Of the random number: with periods below 2^40 ns, products stay below 2^64. */
#define DRAW_BITS 24

const volatile bool with_stacks;
const volatile __u64 tick_ns;

__u64 draw_period_ns; /* user space raises it when too many are drawn */
__u64 draw_fuse = FUSE;
__u64 drawn;                    /* intervals, so far */
__u64 unsampled_ns[SLOT_COUNT]; /* weight that found no room in the ring */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last_tick SEC(".maps");

/* By CPU; user space sets the number of entries and fills them in. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tick_clock);
} tick_clocks SEC(".maps");

static __always_inline bool is_drawn(__u32 random, __u64 ns, __u64 period_ns)
{
	if (ns >= period_ns)
		return true;
	return (__u64)(random >> (32 - DRAW_BITS)) * period_ns < ns << DRAW_BITS;
}

static __always_inline void count_drawn(void)
{
	__u64 fuse = draw_fuse;

	if (__sync_fetch_and_add(&drawn, 1) < fuse)
		return;
	if (__sync_val_compare_and_swap(&draw_fuse, fuse, fuse + FUSE) == fuse)
		draw_period_ns *= 2;
}

static __always_inline void fill_sample(struct sample_record *record, const struct thread *thread,
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
	record->tid = thread->here_tid;
	record->key_pid = thread->pid;
	record->pad = 0;
	record->object[0] = pending->object[0];
	record->object[1] = pending->object[1];
}

/* false: there was no room. */
VERIFIED_ONCE bool send_sample(const struct thread *thread, const struct pending *pending,
			       __u64 user, __u32 none)
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
	bpf_ringbuf_submit(record, ring_flags());
	return true;
}

/* All that waits for a user stack gets this one. What finds no room stays for the next time. */
VERIFIED_ONCE int settle_pending(struct thread *thread, __u64 user, __u32 none)
{
	__u32 kept = 0;

	if (!thread)
		return 0;
	/* First: a tick in the middle of this would settle the same once more. */
	thread->pending_count = 0;
	barrier();
	for (__u32 i = 0; i < MOST_PENDING; i++) {
		if (!thread->pending[i].count)
			continue;
		if (send_sample(thread, &thread->pending[i], user, none)) {
			thread->pending[i].count = 0;
		} else {
			thread->pending[i].flags |= SAMPLE_NEXT; /* what it gets is a later one */
			kept++;
		}
	}
	barrier();
	thread->pending_count = kept;
	return 0;
}

/* Time of the ledger that no sample will stand for. */
static __always_inline void lose_weight(__u32 slot, __u64 ns)
{
	__u64 index = slot;

	UNWIND_FORGET(index); /* 6.1 follows the bounds of the register that it sees compared */
	if (with_stacks && index < SLOT_COUNT)
		__sync_fetch_and_add(&unsampled_ns[index], ns);
}

static __always_inline void weigh(struct pending *new, __u32 slot, __u64 ns, __u64 period_ns,
				  __u64 end_ns)
{
	new->slot = slot;
	new->wait_ns = ns;
	new->weight_ns = ns > period_ns ? ns : period_ns;
	new->period_ns = period_ns;
	new->end_ns = end_ns;
}

static __always_inline void note_wait(struct pending *new, const struct ledger_key *wait)
{
	new->by = wait->by;
	new->first = wait->first;
	new->by_kind = wait->by_kind;
	new->evidence = wait->evidence;
	new->object_kind = wait->object_kind;
	new->object[0] = wait->object[0];
	new->object[1] = wait->object[1];
}

/*
 * What a thread has open when nothing changes any more, as if it ended now. The draw is the same
 * however often it is asked for: an iterator may show a thread twice.
 */
static __always_inline bool draw_open(const struct thread *thread, struct pending *new)
{
	__u32 slot = thread->account.slot;
	__u64 ns = frozen_ns - open_since(&thread->account);
	__u32 random = unwind_hash(frozen_ns, thread->id) >> 32;

	if ((!SLOT_IS_WAIT(slot) && !SLOT_IS_READY(slot)) || (__s64)ns <= 0 ||
	    !is_drawn(random, ns, draw_period_ns))
		return false;
	weigh(new, slot, ns, draw_period_ns, frozen_ns);
	if (SLOT_IS_WAIT(slot))
		note_wait(new, &thread->wait);
	if (SLOT_IS_WAIT(slot) && is_handed_on(thread)) {
		new->first = first_holder(&thread->wait);
		new->by = 0;
		new->by_kind = BY_NOBODY;
		new->evidence = EVIDENCE_HANDED;
	}
	new->count = 1;
	return true;
}

/* It ends after the end, and was not shown by the iterator before. */
static __always_inline void give_up_open(struct thread *thread)
{
	struct pending new = {};

	if (with_stacks && draw_open(thread, &new) &&
	    !send_sample(thread, &new, 0, STACK_NONE_EXIT))
		lose_weight(new.slot, new.weight_ns);
}

/* The thread ends, or its program does: there will be no user stack for what is pending. */
static __always_inline void give_up_pending(struct thread *thread, __u32 none)
{
	if (!thread->pending_count)
		return;
	settle_pending(thread, 0, none);
	for (__u32 i = 0; i < MOST_PENDING; i++) {
		if (thread->pending[i].count)
			lose_weight(thread->pending[i].slot, thread->pending[i].weight_ns);
		thread->pending[i].count = 0;
	}
	thread->pending_count = 0;
}

/* Its place among what is pending: one of the same kind, or a free one; NULL if neither. */
static __always_inline struct pending *find_pending(struct thread *thread, __u32 slot, __u64 kernel)
{
	struct pending *free = NULL;

	for (__u32 i = 0; i < MOST_PENDING; i++) {
		struct pending *pending = &thread->pending[i];

		if (!pending->count)
			free = pending;
		else if (pending->slot == slot && pending->kernel == kernel &&
			 pending->count < MOST_COUNT)
			return pending;
	}
	return free;
}

VERIFIED_ONCE int add_pending(struct thread *thread, const struct pending *new)
{
	struct pending *pending;

	if (!thread || !new)
		return 0;
	pending = find_pending(thread, new->slot, new->kernel);
	if (!pending) {
		if (!send_sample(thread, new, 0, STACK_NONE_CROWDED))
			lose_weight(new->slot, new->weight_ns);
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
 * Did it leave the CPU outside of a call? On the way out of one, behind our hook, the registers
 * still have its number; level sched has no mark of its own there, and says so rather too often.
 */
static __always_inline bool is_outside_calls(const struct thread *thread, __s64 nr, __u32 slot)
{
	if (nr < 0)
		return true;
	if (full)
		return thread->nr == NR_NONE;
	return slot == SLOT_READY_PREEMPTED || slot == SLOT_WAIT_STOPPED;
}

/* An interval without a CPU ended, and was drawn. */
static __noinline void add_interval(struct thread *thread, struct task_struct *task,
				    struct pending *new)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	new->count = 1;
	count_drawn();
	new->kernel = kernel_stack_of(task, WALK_SCHEDULER);
	if (is_outside_calls(thread, (__s64)regs->orig_ax, new->slot))
		new->flags |= SAMPLE_NEXT;
	if (thread->flags & THREAD_KERNEL) {
		new->flags = 0;
		if (!send_sample(thread, new, 0, STACK_NONE_KERNEL))
			lose_weight(new->slot, new->weight_ns);
		return;
	}
	add_pending(thread, new);
}

/* The stack of the current thread, which is waking another one. */
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
 * A wait is about to end. Whoever ends it is the current thread now, and maybe not when it has
 * ended: that may be on another CPU. So it is drawn already, for what it is worth now; should it be
 * drawn in the end for what it became worth meanwhile, it has no such stack.
 */
static __always_inline void draw_early(struct thread *thread)
{
	__u64 since_ns = thread->account.since_ns;

	if (!with_stacks || !SLOT_IS_WAIT(thread->account.slot))
		return;
	thread->waking_since_ns = since_ns;
	thread->random = bpf_get_prandom_u32();
	thread->waker_stack = 0;
	if (thread->waker_kind == BY_THREAD &&
	    is_drawn(thread->random, bpf_ktime_get_ns() - since_ns, draw_period_ns))
		thread->waker_stack = stack_of_waker();
}

static __always_inline void draw_wait(struct thread *thread, struct task_struct *task, __u32 slot,
				      __u64 ns, __u64 end_ns)
{
	bool is_early = thread->waking_since_ns == end_ns - ns;
	__u64 period_ns = draw_period_ns;
	struct pending new = {};

	if (!with_stacks ||
	    !is_drawn(is_early ? thread->random : bpf_get_prandom_u32(), ns, period_ns))
		return;
	weigh(&new, slot, ns, period_ns, end_ns);
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

	if (!with_stacks || !is_drawn(bpf_get_prandom_u32(), ns, period_ns))
		return;
	weigh(&new, slot, ns, period_ns, end_ns);
	add_interval(thread, task, &new);
}

/* At the end of a syscall: the user stack is the one that it blocked with. */
static __noinline void take_pending(struct thread *thread, struct task_struct *current)
{
	__u8 none = why_no_user_stack(thread, current);
	__u64 user;

	thread->pending_count = 0; /* as in settle_pending() */
	user = none ? 0 : user_stack(thread->here_pid, WALK_SYSCALL);
	settle_pending(thread, user, none);
}

/* How often a clock has ticked since its period was changed, by the time that it is. */
static __always_inline __u64 ticks_at(const struct tick_clock *clock, __u64 now)
{
	return now > clock->since_ns ? (now - clock->since_ns) / clock->period_ns : 0;
}

/*
 * A machine that is late (its CPU was taken away, interrupts were off) gets one tick for all that
 * were due; those since the thread got the CPU are its own.
 */
static __always_inline __u64 weigh_tick(const struct thread *thread, __u64 now)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id();
	__u64 *last = bpf_map_lookup_elem(&last_tick, &zero);
	struct tick_clock *clock = bpf_map_lookup_elem(&tick_clocks, &cpu);
	__u64 at, due, own;

	if (!last || !clock || !clock->period_ns)
		return tick_ns;
	at = ticks_at(clock, now);
	due = at - ticks_at(clock, *last);
	own = at - ticks_at(clock, thread->on_ns);
	*last = now;
	if (own < due)
		due = own;
	return (due > 1 ? due : 1) * clock->weight_ns;
}

/* The state that a tick found its thread in. */
static __always_inline __u32 tick_slot(const struct thread *thread, bool in_kernel)
{
	__u32 slot = thread->account.slot;

	if (!full)
		return SLOT_RUN_ANY;
	if (slot == SLOT_RUN_USER || slot == SLOT_RUN_KERNEL)
		return slot;
	return in_kernel ? SLOT_RUN_KERNEL : SLOT_RUN_USER;
}

static __always_inline void take_tick(void *context, struct thread *thread,
				      struct task_struct *current)
{
	struct unwind *walk = walk_at(WALK_TICK);
	__u8 none = why_no_user_stack(thread, current);
	struct pending new = { .count = 1, .flags = SAMPLE_TICK };
	__u64 user = 0;
	long bytes;

	if (!walk)
		return;
	bytes = bpf_get_stack(context, walk->frames, STACK_MOST_KERNEL * sizeof(__u64), 0);
	new.kernel = remember_kernel_stack(walk, bytes);
	new.slot = tick_slot(thread, bytes > 0);
	if (bytes > 0)
		new.flags |= SAMPLE_KERNEL;
	new.period_ns = tick_ns;
	new.end_ns = bpf_ktime_get_ns();
	new.weight_ns = weigh_tick(thread, new.end_ns);
	if (!none)
		user = user_stack(thread->here_pid, WALK_TICK);
	if (!send_sample(thread, &new, user, none))
		lose_weight(new.slot, new.weight_ns);
	if (thread->pending_count)
		settle_pending(thread, user, none);
}
