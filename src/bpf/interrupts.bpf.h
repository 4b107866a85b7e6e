/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time that interrupts take from whatever runs on a CPU. Hooks of interrupts only add to a
 * counter of their CPU; the next transition of the thread that runs there takes what the counter
 * has (ledger/kernel/thread.bpf.h). So an account keeps one writer.
 *
 * The counter belongs to one thread, `task`, and begins again when an interrupt hits another one.
 *
 * Rejected: to clear the counter when a thread gets the CPU. Some threads run without a switch that
 * was seen: a command at its exec, and a thread whose switch the kernel hid. These took what others
 * had lost before them.
 *
 * `taken_ns` is one word, so that a snapshot on another CPU reads it in one piece: the time that no
 * transition has taken yet, or, while an interrupt runs, that time minus the moment at which the
 * interrupt began. The latter is negative, because no CPU can have lost more time than has passed.
 */
#pragma once

#include "bpf/common.h"
#include "bpf/interrupts.h"

/* Set by the signal whose hooks count interrupts. */
const volatile bool with_interrupts SEC(".rodata.interrupts");

/*
 * What a hard interrupt takes before the hook of its begin reads the clock and after that of its
 * end does. Measured by the user half; 0: not known.
 */
__u64 interrupt_edges_ns SEC(".data.interrupts");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct interrupts);
} interrupts_of_cpu SEC(".maps");

static __always_inline struct interrupts *interrupts_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&interrupts_of_cpu, &zero);
}

/*
 * The outermost interrupt of this CPU begins or ends. Defined in ledger/kernel/thread.bpf.h, which
 * knows when the recording begins and ends.
 */
static void interrupts_begin(struct interrupts *cpu, __u64 now);
static void interrupts_end(struct interrupts *cpu, __u64 now);

/* What runs on this CPU now is no interrupt, so what is still open has ended unseen. */
static __always_inline void interrupts_reset(struct interrupts *cpu)
{
	cpu->depth = 0;
	cpu->taken_ns = 0;
}

/* The current thread loses time from now on. The snapshot reads `task` before and after the word.
 */
static __always_inline void interrupts_hit(struct interrupts *cpu)
{
	__u64 current = bpf_get_current_task();

	if (cpu->task == current)
		return;
	*(volatile __u64 *)&cpu->task = 0;
	arch_order_stores();
	*(volatile __s64 *)&cpu->taken_ns = 0;
	arch_order_stores();
	*(volatile __u64 *)&cpu->task = current;
}

/* Whether an interrupt is open that hit another thread: then its end was not seen. */
static __always_inline bool interrupts_are_stale(const struct interrupts *cpu)
{
	return cpu->depth && cpu->task != bpf_get_current_task();
}

/* The counter of the current thread; NULL: it has lost nothing. */
static __always_inline struct interrupts *interrupts_of_current(void)
{
	struct interrupts *cpu = with_interrupts ? interrupts_here() : NULL;

	return cpu && cpu->task == bpf_get_current_task() ? cpu : NULL;
}

/* A thread gets this CPU, or its account begins here. It has lost nothing yet. */
static __always_inline void interrupts_forget(const struct task_struct *task)
{
	struct interrupts *cpu = with_interrupts ? interrupts_here() : NULL;

	/* Its memory may have belonged to a thread that has ended. */
	if (cpu && cpu->task == (__u64)task)
		interrupts_reset(cpu);
}

/* How much was taken from the current thread. For an estimate only. */
static __always_inline __u64 interrupts_pending(void)
{
	struct interrupts *cpu = interrupts_of_current();

	return cpu && cpu->taken_ns > 0 ? cpu->taken_ns : 0;
}

/*
 * Takes the time of interrupts within the `most_ns` of the current thread that end now. What is
 * more has to wait: the interval ends where the hook read its clock, and an interrupt may come
 * behind that.
 */
static __always_inline __u64 interrupts_take(__u64 most_ns)
{
	struct interrupts *cpu = interrupts_of_current();
	__s64 ns;

	if (!cpu)
		return 0;
	ns = *(volatile __s64 *)&cpu->taken_ns;
	if (ns < 0)
		interrupts_reset(cpu);
	if (ns <= 0)
		return 0;
	if ((__u64)ns > most_ns)
		ns = most_ns;
	/* An interrupt may add to it at any moment. */
	__sync_fetch_and_add(&cpu->taken_ns, -ns);
	return ns;
}

/* The word of another CPU, for the snapshot; 0 if it is not the one of `task`. */
static __always_inline __s64 interrupts_word(__u32 number, const struct task_struct *task)
{
	__u32 zero = 0;
	struct interrupts *cpu =
		with_interrupts ? bpf_map_lookup_percpu_elem(&interrupts_of_cpu, &zero, number)
				: NULL;
	__s64 word;

	if (!cpu || *(volatile __u64 *)&cpu->task != (__u64)task)
		return 0;
	arch_order_loads();
	word = *(volatile __s64 *)&cpu->taken_ns;
	arch_order_loads();
	return *(volatile __u64 *)&cpu->task == (__u64)task ? word : 0;
}
