/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Part irq: hard interrupts, softirqs and the local vectors of x86, by CPU and by the thread that
 * each one interrupts. Every interrupt of the machine counts, also those of an idle CPU and of
 * threads without an account: these have no thread.
 *
 * A softirq can be interrupted by a hard interrupt. Each gets its own time: what the inner one took
 * is subtracted from the outer one. Only the outermost one adds to the counter from which threads
 * take run.irq (bpf/interrupts.bpf.h), so no time is taken twice.
 *
 * Hooks do not see how an interrupt begins and ends: the exception, what the kernel does first and
 * last, and the rest of the hooks. For the softirqs that run at the end of a hard interrupt, the
 * time since that end is theirs. What comes before the first hook and after the last one, the
 * edges, is measured again and again (irq_edges.h), and added to each hard interrupt that
 * interrupts no other one. Both count as time that the thread lost, not as time of the interrupt.
 *
 * Rejected: the start in a hash by (CPU, number), which costs two more look-ups than a small stack
 * for each CPU, and knows nothing about nesting.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "bpf/interrupts.bpf.h"
#include "signals/irq/irq.h"

/* Time, and the part of it that a thread lost; idle CPUs lose nothing. */
SERIES_MAPS(irq, 2, 1 << 1, 16384);

/* A softirq that begins so soon after the end of a hard interrupt runs because of it. */
#define IRQ_SOON_NS 2000

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 * 1024);
} irq_ring SEC(".maps");

static __always_inline struct interruption *irq_at(struct interrupts *cpu, __u32 depth)
{
	return &cpu->open[depth & (INTERRUPTS_DEEP - 1)];
}

/* Sends an interrupt that took long. */
VERIFIED_ONCE int irq_send(const struct interruption *open, __u64 own_ns, __u64 thread, __u64 now)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct irq_record *record;

	if (!is_on(SIGNAL_irq) || !open || by_class)
		return 0;
	record = bpf_ringbuf_reserve(&irq_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(irq, LOST_RING_FULL);
		return 0;
	}
	wire_head_at(&record->head, sizeof(*record), 0, 1, now);
	record->thread = thread;
	record->total_ns = now - open->since_ns;
	record->own_ns = own_ns;
	record->place = open->place;
	record->cpu = bpf_get_smp_processor_id();
	record->tid = current->pid;
	record->pad = 0;
	BPF_CORE_READ_STR_INTO(&record->comm, current, comm);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Adds an interrupt that ends at `now`. The thread lost `around_ns` more. */
VERIFIED_ONCE int irq_add(const struct interruption *open, __u64 now, __u64 around_ns)
{
	struct series_key key = { .object = { bpf_get_smp_processor_id(), IRQ_CPU_OBJECT } };
	__u64 total_ns, values[2];
	struct identity who;

	if (!is_on(SIGNAL_irq) || !open || !series[SIGNAL_irq].enabled)
		return 0;
	if (is_wanted_now(SIGNAL_irq, &who))
		key.thread = who.id;
	key.place = open->place;
	key.operation = IRQ_PLACE_KIND(open->place);
	series_reduce(&key);
	total_ns = now - open->since_ns;
	values[0] = total_ns > open->inner_ns ? total_ns - open->inner_ns : 0;
	values[1] = bpf_get_current_task_btf()->pid ? values[0] + around_ns : 0;
	series_add(SERIES(irq), &key, values);
	if (series_is_slow(SERIES(irq), total_ns))
		irq_send(open, values[0], key.thread, now);
	return 0;
}

static __always_inline bool irq_is_soft(__u32 place)
{
	return IRQ_PLACE_KIND(place) == IRQ_SOFT;
}

/* How long ago the hard interrupt ended that this one belongs to; 0: it belongs to none. */
static __always_inline __u64 irq_before(const struct interrupts *cpu, __u32 place, __u64 now)
{
	__u64 ns = now - cpu->ended_ns;

	return irq_is_soft(place) && ns < IRQ_SOON_NS && cpu->task == bpf_get_current_task() ? ns
											     : 0;
}

/* The outermost interrupt ends. Returns what the thread lost around it. */
static __always_inline __u64 irq_leaves(struct interrupts *cpu, const struct interruption *open,
					__u64 now)
{
	bool is_soft = irq_is_soft(open->place);

	cpu->total_ns += now - open->since_ns + open->before_ns;
	cpu->hard_count += !is_soft;
	cpu->ended_ns = is_soft && !open->before_ns ? 0 : now;
	return is_soft ? open->before_ns : interrupt_edges_ns;
}

/*
 * Another interrupt can come between any two of these lines. It finds its own place, because the
 * depth is raised first.
 */
VERIFIED_ONCE int irq_begins(__u32 place)
{
	struct interrupts *cpu;
	struct interruption *open;
	__u32 depth;

	if (!is_on(SIGNAL_irq) || !series[SIGNAL_irq].enabled)
		return 0;
	cpu = interrupts_here();
	if (!cpu)
		return 0;
	depth = cpu->depth;
	if (depth >= INTERRUPTS_DEEP || interrupts_are_stale(cpu)) {
		__sync_fetch_and_add(&series[SIGNAL_irq].unpaired, depth);
		interrupts_reset(cpu);
		depth = 0;
	}
	*(volatile __u32 *)&cpu->depth = depth + 1;
	open = irq_at(cpu, depth);
	open->place = place;
	open->inner_ns = open->before_ns = 0;
	open->since_ns = bpf_ktime_get_ns();
	if (depth)
		return 0;
	open->before_ns = irq_before(cpu, place, open->since_ns);
	interrupts_begin(cpu, open->since_ns - open->before_ns);
	return 0;
}

VERIFIED_ONCE int irq_ends(__u32 place)
{
	struct interrupts *cpu;
	struct interruption *open;
	__u64 now, around_ns;
	__u32 depth;

	if (!is_on(SIGNAL_irq))
		return 0;
	cpu = interrupts_here();
	/* 0: it began before anything was counted. */
	if (!cpu || !cpu->depth)
		return 0;
	depth = cpu->depth - 1;
	open = irq_at(cpu, depth);
	now = bpf_ktime_get_ns();
	if (open->place != place) {
		__sync_fetch_and_add(&series[SIGNAL_irq].unpaired, 1);
		interrupts_reset(cpu);
		return 0;
	}
	around_ns = depth ? 0 : irq_leaves(cpu, open, now);
	irq_add(open, now, around_ns);
	if (depth)
		irq_at(cpu, depth - 1)->inner_ns += now - open->since_ns;
	else
		interrupts_end(cpu, irq_is_soft(place) ? now : now + around_ns);
	*(volatile __u32 *)&cpu->depth = depth;
	return 0;
}

/* The ledger's programs call these two. */
static __always_inline void irq_softirq_entry(unsigned int vector)
{
	irq_begins(IRQ_PLACE(IRQ_SOFT, vector));
}

static __always_inline void irq_softirq_exit(unsigned int vector)
{
	irq_ends(IRQ_PLACE(IRQ_SOFT, vector));
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_on_handler_entry, int irq)
{
	irq_begins(IRQ_PLACE(IRQ_HARD, (__u32)irq));
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_on_handler_exit, int irq)
{
	irq_ends(IRQ_PLACE(IRQ_HARD, (__u32)irq));
	return 0;
}

#define IRQ_VECTOR_PROGRAMS(name, number)                                                          \
	SEC("tp_btf/" #name "_entry")                                                              \
	int BPF_PROG(irq_on_##name##_entry)                                                        \
	{                                                                                          \
		irq_begins(IRQ_PLACE(IRQ_VECTOR, number));                                         \
		return 0;                                                                          \
	}                                                                                          \
                                                                                                   \
	SEC("tp_btf/" #name "_exit")                                                               \
	int BPF_PROG(irq_on_##name##_exit)                                                         \
	{                                                                                          \
		irq_ends(IRQ_PLACE(IRQ_VECTOR, number));                                           \
		return 0;                                                                          \
	}

IRQ_VECTOR_PROGRAMS(local_timer, IRQ_LOCAL_TIMER)
IRQ_VECTOR_PROGRAMS(reschedule, IRQ_RESCHEDULE)
IRQ_VECTOR_PROGRAMS(call_function, IRQ_CALL_FUNCTION)
IRQ_VECTOR_PROGRAMS(call_function_single, IRQ_CALL_FUNCTION_SINGLE)
IRQ_VECTOR_PROGRAMS(irq_work, IRQ_WORK)
