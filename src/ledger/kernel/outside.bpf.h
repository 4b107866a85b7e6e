/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outside threads: threads that are not wanted, but keep a wanted thread waiting. They get an
 * account too, marked THREAD_OUTSIDE, so that a report can say what they did meanwhile.
 *
 * Task storage cannot be created safely in the hooks of the scheduler, so these only take notes.
 * When a thread is due, `reseed` asks user space to run the seeding iterator, which opens its
 * account. These threads are due:
 *
 *   a thread that ends waits    at its 3rd waking, or when it ended waits of 1 ms in all
 *   a thread that was woken     when the wanted thread that woke it last has then waited for 1 ms,
 *                               probably for its answer; the snapshots look for that
 *   the owner of a kernel lock  when the wait for the lock has taken 1 ms; likewise
 *   the holder of a file lock   when user space finds it in /proc/locks
 *   siblings of any of these    if the process has few threads: a server may start a thread for
 * each request, which wakes the wanted thread only when it has answered
 *
 * Kernel threads and gapless itself are left out. Child processes of outside threads are not
 * followed, and threads that keep outside threads waiting are not noted.
 */
#pragma once

#include "ledger/kernel/targets.bpf.h"

const volatile bool with_outside;

#define OUTSIDE_LEAST_NS      1000000
#define OUTSIDE_LEAST_WAKINGS 3
#define OUTSIDE_MOST_SIBLINGS 16

enum outside_state {
	OUTSIDE_NOTED,
	OUTSIDE_DUE, /* the next seeding opens its account */
	OUTSIDE_OPENED,
	OUTSIDE_REFUSED,
};

struct outside_note {
	__u64 ns; /* of waits that it ended */
	__u32 wakings;
	__u32 state;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct outside_key);
	__type(value, struct outside_note);
} outside_notes SEC(".maps");

/* Main threads that user space asks for, by their pid in its namespace. */
struct id_set outside_pids SEC(".maps");
/* Processes of few threads, one of which has an account as an outside thread, by the kernel's pid.
 */
struct id_set outside_processes SEC(".maps");

__u32 reseed; /* incremented to ask user space to run the seeding iterator again */
__u64 outside[OUTSIDE_COUNTS];

static __always_inline bool can_be_outside(const struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_IO_WORKER)) && task->tgid != own_tgid;
}

/* The thread is due. Counts it once. */
static __always_inline void outside_is_due(struct outside_note *note)
{
	bool is_full = outside[OUTSIDE_ACCOUNTS] >= OUTSIDE_MOST;

	if (__sync_val_compare_and_swap(&note->state, OUTSIDE_NOTED,
					is_full ? OUTSIDE_REFUSED : OUTSIDE_DUE) != OUTSIDE_NOTED)
		return;
	__sync_fetch_and_add(&outside[is_full ? OUTSIDE_TOO_MANY : OUTSIDE_PENDING], 1);
	if (!is_full)
		__sync_fetch_and_add(&reseed, 1);
}

/* Notes that the thread `key` kept a wanted thread waiting for `ns`. */
VERIFIED_ONCE int note_outside(__u64 start_ns, __u32 pid, __u64 ns)
{
	const struct outside_key key = { .start_ns = start_ns, .pid = pid };
	struct outside_note *note = bpf_map_lookup_elem(&outside_notes, &key), new = {};

	if (!note) {
		/* The update fails if another CPU inserts the key at the same time. */
		bpf_map_update_elem(&outside_notes, &key, &new, BPF_NOEXIST);
		note = bpf_map_lookup_elem(&outside_notes, &key);
	}
	if (!note || note->state != OUTSIDE_NOTED)
		return 0;
	__sync_fetch_and_add(&note->ns, ns);
	__sync_fetch_and_add(&note->wakings, 1);
	if (note->ns >= OUTSIDE_LEAST_NS || note->wakings >= OUTSIDE_LEAST_WAKINGS)
		outside_is_due(note);
	return 0;
}

/* `current` has no account and wakes `thread`. */
static __always_inline void note_waker(const struct thread *thread, struct task_struct *current)
{
	const struct ledger_account *account = &thread->account;
	__u64 ns = 0;

	if (!with_outside || !start_ns || thread->flags & THREAD_OUTSIDE ||
	    !can_be_outside(current))
		return;
	if (SLOT_IS_WAIT(account->slot))
		ns = bpf_ktime_get_ns() - open_since(account);
	note_outside(current->start_boottime, current->pid, (__s64)ns > 0 ? ns : 0);
}

/* Whether a wait in this slot can be for another thread that the waiter woke before. */
static __always_inline bool can_wait_for_another(__u32 slot)
{
	return slot == SLOT_WAIT_NET || slot == SLOT_WAIT_POLL || slot == SLOT_WAIT_PIPE ||
	       slot == SLOT_WAIT_LOCK || slot == SLOT_WAIT_KERNEL || slot == SLOT_WAIT_URING ||
	       slot == SLOT_WAIT_OTHER;
}

/* A snapshot visits a thread that has a suspect: has it been waiting for long? */
static __always_inline void look_for_outside(struct thread *thread)
{
	const struct outside_key suspect = thread->suspect;
	__u64 ns = bpf_ktime_get_ns() - open_since(&thread->account);

	if (!can_wait_for_another(thread->account.slot) || (__s64)ns < OUTSIDE_LEAST_NS)
		return;
	thread->suspect.pid = 0;
	note_outside(suspect.start_ns, suspect.pid, ns);
}

static __always_inline bool has_few_threads(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, nr_threads) <= OUTSIDE_MOST_SIBLINGS;
}

static __always_inline bool is_outside_process(struct task_struct *task)
{
	__u64 process = BPF_CORE_READ(task, tgid);

	return bpf_map_lookup_elem(&outside_processes, &process) && has_few_threads(task);
}

/* Takes the place of an account. False: there are too many, which is counted. */
static __always_inline bool take_outside_place(void)
{
	if (__sync_fetch_and_add(&outside[OUTSIDE_ACCOUNTS], 1) < OUTSIDE_MOST)
		return true;
	__sync_fetch_and_add(&outside[OUTSIDE_ACCOUNTS], -1);
	__sync_fetch_and_add(&outside[OUTSIDE_TOO_MANY], 1);
	return false;
}

/* The process has an outside thread. The next seeding finds those of its threads that come first.
 */
static __always_inline void note_outside_process(struct task_struct *task)
{
	__u64 process = BPF_CORE_READ(task, tgid);
	const __u8 yes = 1;

	if (has_few_threads(task) &&
	    !bpf_map_update_elem(&outside_processes, &process, &yes, BPF_NOEXIST))
		__sync_fetch_and_add(&reseed, 1);
}

/* For the seeding: whether a thread that is not wanted gets an account as an outside thread. */
static __noinline bool is_due_outside(struct task_struct *task)
{
	struct outside_key key = { .start_ns = BPF_CORE_READ(task, start_boottime),
				   .pid = BPF_CORE_READ(task, pid) };
	__u64 pid = number_here(BPF_CORE_READ(task, thread_pid));
	struct outside_note *note = bpf_map_lookup_elem(&outside_notes, &key);
	const struct outside_note refused = { .state = OUTSIDE_REFUSED };
	bool is_due = note && note->state == OUTSIDE_DUE;

	if (!is_due && !bpf_map_lookup_elem(&outside_pids, &pid) && !is_outside_process(task))
		return false;
	if (BPF_CORE_READ(task, tgid) == own_tgid)
		return false;
	if (note && note->state == OUTSIDE_REFUSED)
		return false; /* it is counted already */
	if (is_due)
		__sync_fetch_and_add(&outside[OUTSIDE_PENDING], -1);
	if (!take_outside_place()) {
		bpf_map_update_elem(&outside_notes, &key, &refused, BPF_ANY);
		return false;
	}
	if (note)
		note->state = OUTSIDE_OPENED;
	note_outside_process(task);
	return true;
}
