/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread does between two switches, at level full. Looking up a thread's storage costs half
 * as much as reading the clock, and a program may make a million calls a second. So the first call
 * after a switch takes the thread's account onto its CPU (`claim()`), further calls add to what is
 * there, and whoever needs the account first takes that back (`release()`): the switch, the
 * thread's exec and exit, a call that needs more, and the next call after a second.
 *
 * account.since_ns and account.slot do not change meanwhile, so the account closes even if a
 * release is missed: then the time goes to the open slot. The snapshot adds what is on the CPU to
 * its copy.
 *
 * Another thread never takes the place for its own, because it has another task. A task whose
 * memory belonged to a claimed one can do so only after a switch, which has released it.
 */
#pragma once

#include "ledger/kernel/budget.bpf.h"
#include "ledger/kernel/calls.bpf.h"
#include "ledger/kernel/crossings.bpf.h"

/* After this many calls, the account is taken back, so that the rate of timed calls can change. */
#define MOST_CALLS_HERE 4096

/* The calls of one number since the claim. None of them left the CPU. */
struct here_calls {
	__u64 total_ns, failed_ns; /* with the weights of budget.bpf.h */
	__u64 max_ns;              /* of those that did not fail */
	__u32 count, errors;       /* of calls that were timed */
	__u32 untimed, untimed_errors;
	__u32 nr, pad;
};

struct here {
	__u64 task, regs;    /* the addresses of the thread's task and registers; 0: no claim */
	struct identity who; /* a copy */
	__u32 sequence;      /* odd during a write, as in the account */
	__s32 nr;            /* the call in flight, or NR_NONE */
	__u64 since_ns;      /* in user space since then, or in the call */
	__u64 call_ns;       /* when the call began */
	__u64 user_ns, kernel_ns, irq_ns;
	__u64 call_irq_ns; /* of interrupts before the call, if not all calls are timed */
	__u32 irq_count, pad;
	__u32 user_count, kernel_count; /* intervals that began */
	__s32 last_nr;
	__u32 flush;    /* the global `flush` at the claim */
	__u32 used;     /* a bit for each cell */
	__u32 is_timed; /* the call in flight */
	__u64 left_ns;  /* when it left user space, if it is timed and not all calls are */
	struct timed_calls timed;
	struct here_calls calls[CALL_CELLS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct here);
} heres SEC(".maps");

static __always_inline struct here *here_now(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&heres, &zero);
}

/* The current thread is back in user space since `now`. Its next calls need no look-up. */
static __always_inline void claim(struct here *here, struct thread *thread,
				  struct task_struct *current, __u64 regs, __u64 now)
{
	if (thread->account.slot != SLOT_RUN_USER || thread->account.since_ns != now ||
	    thread->broken.begin_ns || now < base_ns ||
	    thread->flags & (THREAD_EXITING | THREAD_KERNEL))
		return;
	/* A switch that was not seen left the calls of another thread here. */
	if (here->task && here->used)
		count_quality(QUALITY_CALLS_DROPPED);
	open_cells(thread, current);
	/* It may not have been switched in since its account was opened. */
	thread->cpu = bpf_get_smp_processor_id();
	here->who = *(const struct identity *)thread;
	here->nr = NR_NONE;
	here->last_nr = thread->last_nr;
	here->call_ns = thread->call_ns;
	here->since_ns = now;
	here->user_ns = here->kernel_ns = here->irq_ns = 0;
	here->irq_count = 0;
	here->user_count = here->kernel_count = 0;
	here->flush = flush;
	here->used = 0;
	here->timed = thread->timed;
	here->regs = regs;
	arch_order_stores();
	here->task = (__u64)current;
}

static __always_inline void here_begins(struct here *here)
{
	*(volatile __u32 *)&here->sequence = here->sequence + 1;
	arch_order_stores();
}

static __always_inline void here_ends(struct here *here)
{
	arch_order_stores();
	*(volatile __u32 *)&here->sequence = here->sequence + 1;
}

/* left_user_space() for a claimed thread, which has been in user space since a call. */
static __always_inline __u64 left_user_space_here(const struct here *here, __u64 now)
{
	__u64 ns = now - here->since_ns;

	if (ns > crossing_ns)
		return now - crossing_ns;
	/* If calls are not timed, the interval is not only that of one crossing. */
	if (!here->timed.shift && ns < crossing_ns / 4 * 3)
		crossing_ns -= (crossing_ns - ns) / 8;
	return here->since_ns;
}

/* without_interrupts() for a claimed thread. */
static __always_inline __u64 without_interrupts_here(struct here *here, __u64 ns)
{
	__u64 taken_ns = interrupts_take(ns);

	if (taken_ns) {
		here->irq_ns += taken_ns;
		here->irq_count++;
	}
	return ns - taken_ns;
}

/* What a call that is timed, and left user space at left_ns, stands for. */
static __always_inline __u64 call_stands_for(struct here *here, __u64 now)
{
	__u64 ns = now - here->left_ns, taken_ns = interrupts_pending();

	if (taken_ns > here->call_irq_ns && taken_ns - here->call_irq_ns < ns)
		ns -= taken_ns - here->call_irq_ns;
	return stands_for(&here->timed, ns);
}

/*
 * Divides the time since the last such moment, if not every call is timed. `kernel_ns` is what the
 * calls timed since then stand for.
 */
static __always_inline void divide(struct here *here, __u64 kernel_ns, __u64 now)
{
	__u64 ns = without_interrupts_here(here, now - here->since_ns);

	kernel_ns = part_in_kernel(&here->timed, kernel_ns, ns);
	here->kernel_ns += kernel_ns;
	here->user_ns += ns - kernel_ns;
	here->since_ns = now;
}

/* Adds the sums of one call number to those in the thread's storage, and to the signal's. */
VERIFIED_ONCE int release_calls(const struct thread *thread, struct call_cells *cells,
				struct here *here, __u32 at)
{
	const struct here_calls *from;
	struct call_cell sum;
	__u32 count, errors;

	if (!thread || !here || at >= CALL_CELLS)
		return 0;
	from = &here->calls[at];
	errors = from->errors + from->untimed_errors;
	count = from->count + from->untimed;
	sum = (struct call_cell) { from->total_ns, from->total_ns, count, errors };
	add_to_cell(thread, cells, at, from->nr, &sum);
	if (from->untimed)
		count_untimed(from->nr, from->untimed, from->untimed_errors);
	if (is_on(SIGNAL_syscalls) && count > errors)
		sum_up_calls(thread->id, from->nr, count - errors, from->total_ns - from->failed_ns,
			     from->max_ns);
	here->used &= ~(1U << at);
	return 0;
}

/*
 * What is known of the call in flight, for the time after the claim. One that is not timed begins
 * at `now`.
 */
static __always_inline void release_call(struct thread *thread, const struct here *here, __u64 now)
{
	thread->nr = here->nr;
	thread->last_nr = here->last_nr;
	thread->call_ns = here->call_ns;
	thread->call_off_ns = thread->off_ns;
	thread->call_weight = 1;
	thread->call_begin_ns = 0;
	thread->no_talk = 0;
	if (!here->timed.shift || here->nr == NR_NONE)
		return;
	thread->call_weight = here->is_timed ? weight_of(&here->timed) : 0;
	if (!here->is_timed)
		thread->call_ns = now;
}

/* Takes the account of a claimed thread back into its storage. `cells`: see cells_of(). */
VERIFIED_ONCE int release(struct thread *thread, struct call_cells *cells, struct here *here,
			  __u64 now)
{
	struct ledger_account *account;

	if (!thread || !here)
		return 0;
	if (here->timed.shift || (here->timed.owed_ns && here->nr == NR_NONE)) {
		here_begins(here);
		divide(here, here->nr != NR_NONE && here->is_timed ? call_stands_for(here, now) : 0,
		       now);
		here_ends(here);
	}
	account = &thread->account;
	write_begin(account);
	account->ns[SLOT_RUN_USER] += here->user_ns;
	account->ns[SLOT_RUN_KERNEL] += here->kernel_ns;
	account->ns[SLOT_RUN_IRQ] += here->irq_ns;
	account->count[SLOT_RUN_IRQ] += here->irq_count;
	account->count[SLOT_RUN_USER] += here->user_count;
	account->count[SLOT_RUN_KERNEL] += here->kernel_count;
	account->since_ns = here->since_ns;
	account->slot = here->nr == NR_NONE ? SLOT_RUN_USER : SLOT_RUN_KERNEL;
	account->spread += here->timed.spread;
	here->timed.spread = 0;
	here->task = here->regs = 0;
	write_end(account);
	release_call(thread, here, now);
	for (__u32 i = 0; i < CALL_CELLS; i++)
		if (here->used & 1U << i)
			release_calls(thread, cells, here, i);
	thread->timed = here->timed;
	if (call_budget)
		keep_budget(thread);
	return 0;
}

/* The call in flight leaves the CPU, or goes on after the claim: from now on it is timed. */
static __always_inline void time_the_rest(struct thread *thread, __u64 now)
{
	if (thread->nr < 0)
		return;
	if (!thread->call_weight)
		thread->call_weight = 1; /* it begins now, see release_call() */
	else if (thread->call_weight > 1)
		thread->call_begin_ns = now > thread->call_ns ? now - thread->call_ns : 1;
}

/* The current thread needs its account. */
static __always_inline void release_here(struct thread *thread, struct task_struct *current,
					 __u64 now)
{
	struct here *here = full ? here_now() : NULL;

	if (here && here->task == (__u64)current) {
		release(thread, cells_of(thread, current), here, now);
		time_the_rest(thread, now);
	}
}

/*
 * The same after the end of the recording, when accounts no longer change. The last snapshot and
 * the end of the thread may both come here.
 */
static __always_inline void release_at_end(struct thread *thread, struct task_struct *task)
{
	__u32 zero = 0;
	struct here *here = full ? bpf_map_lookup_percpu_elem(&heres, &zero, thread->cpu) : NULL;
	__u64 claimed = (__u64)task;

	if (here && __sync_val_compare_and_swap(&here->task, claimed, 0) == claimed)
		release(thread, cells_of(thread, task), here, end_ns);
}

/* The sums of the call number `nr`. NULL: another number has the place. */
static __always_inline struct here_calls *calls_here(struct here *here, __u32 nr)
{
	__u32 at = cell_of(nr);
	struct here_calls *cell = &here->calls[at];

	if (!(here->used & 1U << at)) {
		here->used |= 1U << at;
		*cell = (struct here_calls) { .nr = nr };
	}
	return cell->nr == nr ? cell : NULL;
}

/* Adds a call that ended to the sums of its number. False: another number has the place. */
static __always_inline bool add_call_here(struct here *here, const struct ended_call *call)
{
	struct here_calls *cell = calls_here(here, call->nr);
	__u64 ns = call->ns * call->weight;

	if (!cell)
		return false;
	cell->count++;
	cell->total_ns += ns;
	if (call->error) {
		cell->failed_ns += ns;
		cell->errors++;
	} else if (call->ns > cell->max_ns) {
		cell->max_ns = call->ns;
	}
	return true;
}

/* The same for a call that was not timed. */
static __always_inline bool add_untimed_here(struct here *here, __u32 nr, bool failed)
{
	struct here_calls *cell = calls_here(here, nr);

	if (!cell)
		return false;
	cell->untimed++;
	cell->untimed_errors += failed;
	return true;
}

/* --- for the snapshot ------------------------------------------------------------------------ */

static __always_inline struct here *here_of(const struct thread *thread,
					    const struct task_struct *task)
{
	__u32 zero = 0;
	struct here *here = full ? bpf_map_lookup_percpu_elem(&heres, &zero, thread->cpu) : NULL;

	return here && *(volatile __u64 *)&here->task == (__u64)task ? here : NULL;
}

/*
 * Adds what is on the thread's CPU to a copy of its account, and reads the word of interrupts, see
 * interrupts.bpf.h. False: it changed meanwhile.
 *
 * Neither this one nor copy_account() is inlined: for a loop with 64 rounds, that would take the
 * verifier four times as many steps.
 */
static __noinline bool add_here(struct ledger_account *copy, const struct thread *thread,
				const struct task_struct *task, __s64 *ret_interrupts)
{
	struct here *here = here_of(thread, task);
	__u32 before;

	*ret_interrupts = interrupts_word(thread->cpu, task);
	if (!here)
		return true;
	before = *(volatile __u32 *)&here->sequence;
	if (before & 1)
		return false;
	arch_order_loads();
	copy->ns[SLOT_RUN_USER] += here->user_ns;
	copy->ns[SLOT_RUN_KERNEL] += here->kernel_ns;
	copy->ns[SLOT_RUN_IRQ] += here->irq_ns;
	copy->count[SLOT_RUN_IRQ] += here->irq_count;
	copy->count[SLOT_RUN_USER] += here->user_count;
	copy->count[SLOT_RUN_KERNEL] += here->kernel_count;
	copy->spread += here->timed.spread;
	copy->since_ns = here->since_ns;
	copy->slot = here->nr == NR_NONE ? SLOT_RUN_USER : SLOT_RUN_KERNEL;
	*ret_interrupts = interrupts_word(thread->cpu, task);
	arch_order_loads();
	return *(volatile __u32 *)&here->sequence == before &&
	       *(volatile __u64 *)&here->task == (__u64)task;
}
