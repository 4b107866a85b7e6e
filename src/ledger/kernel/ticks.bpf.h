/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of running time, taken by a clock tick on every CPU; see samples.bpf.h. */
#pragma once

#include "ledger/kernel/here.bpf.h"
#include "ledger/kernel/samples.bpf.h"

const volatile __u64 tick_ns;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last_tick SEC(".maps");

/* Indexed by CPU. User space sets the number of entries and fills them in. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tick_clock);
} tick_clocks SEC(".maps");

/* Ticks due at `now` since the period of the clock was last changed. */
static __always_inline __u64 ticks_at(const struct tick_clock *clock, __u64 now)
{
	return now > clock->since_ns ? (now - clock->since_ns) / clock->period_ns : 0;
}

/*
 * If ticks were delayed (a hypervisor took the CPU, or interrupts were off), one tick arrives for
 * all that were due. The thread is charged for those since it got the CPU.
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

/* The clock is an interrupt itself. A second one is open if it interrupted a softirq. */
static __always_inline bool in_interrupt_at_tick(void)
{
	struct interrupts *cpu = with_interrupts ? interrupts_here() : NULL;

	return cpu && cpu->depth > 1;
}

/* The slot that a tick is charged to. */
static __always_inline __u32 tick_slot(const struct thread *thread,
				       const struct task_struct *current, bool in_kernel)
{
	struct here *here = here_now();
	__u32 slot = thread->account.slot;

	if (in_interrupt_at_tick())
		return SLOT_RUN_IRQ;
	if (!full)
		return SLOT_RUN_ANY;
	if (here && here->task == (__u64)current)
		return here->nr == NR_NONE ? SLOT_RUN_USER : SLOT_RUN_KERNEL;
	if (slot == SLOT_RUN_USER || slot == SLOT_RUN_KERNEL)
		return slot;
	return in_kernel ? SLOT_RUN_KERNEL : SLOT_RUN_USER;
}

static __always_inline void take_tick(void *context, struct thread *thread,
				      struct task_struct *current)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct unwind *walk = walk_at(WALK_TICK);
	__u8 none = why_no_user_stack(thread, current);
	struct pending new = { .count = 1, .flags = SAMPLE_TICK };
	__u64 user = 0;
	long bytes;

	if (!walk)
		return;
	bytes = bpf_get_stack(context, walk->frames, STACK_MOST_KERNEL * sizeof(__u64), 0);
	new.kernel = remember_kernel_stack(walk, bytes);
	new.slot = tick_slot(thread, current, bytes > 0);
	if (bytes > 0)
		new.flags |= SAMPLE_KERNEL;
	new.period_ns = tick_ns;
	new.end_ns = bpf_ktime_get_ns();
	new.weight_ns = weigh_tick(thread, new.end_ns);
	if (!none)
		user = user_stack(thread->here_pid, WALK_TICK);
	thread->fiber = fiber_at(WALK_TICK);
	if (!send_sample(thread, &new, user, none))
		count_lost_sample_time(new.slot, new.weight_ns);
	if (thread->pending_count)
		settle_pending(thread, user, none, regs->ARCH_PC, regs->ARCH_SP);
}
