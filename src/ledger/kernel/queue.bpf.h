/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had the CPU while an accounted thread was queued for it.
 *
 * Each CPU has a list of the accounted threads that are queued there. When it switches, the time
 * since the last switch is added to the sums of (queued thread, thread that leaves the CPU). So a
 * CPU for which no accounted thread is queued costs one look at the length of its list.
 *
 * The CPU's run queue is locked in all hooks that change its list, except in on_migrate() for the
 * CPU that a thread moves to. So the list has two parts: places that are taken under the lock, and
 * places that need atomic operations.
 *
 * A thread that always waits for the same other one keeps the sum itself, until that changes.
 *
 * Rejected: a journal of all switches of a CPU, read when the thread gets the CPU. It costs a clock
 * read for every switch of every thread.
 */
#pragma once

#include "bpf/spare.bpf.h"
#include "ledger/kernel/quota.bpf.h"
#include "ledger/kernel/targets.bpf.h"
#include "ledger/kernel/waits.bpf.h"

/* Threads in one list. There is rarely more than one. */
#define MOST_QUEUED 16
#define MOST_LOCKED 8 /* of these, the places that are taken under the lock come first */
#define CLAIMED     (~0ULL)

/* An accounted thread in the list of a CPU. */
struct place {
	__u64 id;       /* the thread's; 0: free; CLAIMED: being filled in */
	__u64 since_ns; /* all before is booked */
	__u64 left_ns;  /* when the thread moved to another CPU; 0: it is still here */
	struct throttle throttle;
	struct spare spare;
};

struct queue {
	__u32 count; /* places in use */
	__u32 moved; /* the same for places that are taken without the lock */
	__s64 idle;  /* of the CPU, see spare.bpf.h */
	struct place places[MOST_QUEUED];
};

/* [CPU] */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* CPUs, set at load */
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

/* As with the maps of waits, two take turns. */
struct occupants_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ledger_occupant_key);
	__type(value, struct ledger_occupant);
};

struct occupants_map occupants_a SEC(".maps");
struct occupants_map occupants_b SEC(".maps");

/*
 * Whether to note who had the CPU. On a busy machine that is the dearest part of a switch, because
 * it is noted for each thread in the list. Without it, only threads with a CPU quota are listed.
 */
const volatile bool with_occupants = true;

static __always_inline struct queue *queue_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&queues, &cpu);
}

/* thread.place: 0 for none, otherwise 1 + CPU × MOST_QUEUED + index. */
static __always_inline struct place *place_at(__u32 number, struct queue **ret_queue)
{
	struct queue *queue = queue_of((number - 1) / MOST_QUEUED);

	if (!queue)
		return NULL;
	*ret_queue = queue;
	return &queue->places[(number - 1) & (MOST_QUEUED - 1)];
}

/* --- sums --------------------------------------------------------------------------------- */

/* The thread that leaves the CPU, as in ledger_occupant_key.by. */
static __always_inline __u64 occupant(const struct thread *out, struct task_struct *prev)
{
	if (out)
		return out->id;
	if (!prev->pid)
		return 0;
	return OCCUPANT_UNACCOUNTED | (prev->start_time >> 20 & 0x7fffffff) << 32 |
	       (__u32)prev->pid;
}

/* The names of the current thread, because it may be gone when the sum is read. */
static __noinline void describe_occupant(struct ledger_occupant *sum)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct task_struct *leader = BPF_CORE_READ(current, group_leader);

	sum->tid = number_here(BPF_CORE_READ(current, thread_pid));
	sum->pid = number_here(BPF_CORE_READ(leader, thread_pid));
	BPF_CORE_READ_STR_INTO(&sum->comm, current, comm);
	BPF_CORE_READ_STR_INTO(&sum->process, leader, comm);
}

static __always_inline bool add_to_occupant(void *map, const struct ledger_occupant_key *key,
					    __u64 ns)
{
	struct ledger_occupant *there = bpf_map_lookup_elem(map, key), sum = { .ns = ns };

	/* No atomics: a thread is queued on one CPU at a time. */
	if (there) {
		there->ns += ns;
		return true;
	}
	if (key->by & OCCUPANT_UNACCOUNTED)
		describe_occupant(&sum);
	return !bpf_map_update_elem(map, key, &sum, BPF_NOEXIST);
}

/* The current thread had the CPU for `ns`. */
static __always_inline void add_occupant(__u64 id, __u64 by, __u64 ns)
{
	struct ledger_occupant_key key = { id, by };

	if (!with_occupants)
		return;
	if (active ? !add_to_occupant(&occupants_b, &key, ns) &&
			     !add_to_occupant(&occupants_a, &key, ns)
		   : !add_to_occupant(&occupants_a, &key, ns) &&
			     !add_to_occupant(&occupants_b, &key, ns))
		__sync_fetch_and_add(&quality[QUALITY_OCCUPANTS_LOST_NS], ns);
}

/* --- lists -------------------------------------------------------------------------------- */

static __always_inline bool has_queued(const struct queue *queue)
{
	return queue && (queue->count | queue->moved);
}

static __always_inline void free_place(struct queue *queue, struct place *place)
{
	place->id = 0;
	if (place < &queue->places[MOST_LOCKED])
		queue->count--;
	else
		__sync_fetch_and_add(&queue->moved, -1);
}

/* The CPU of the list switches away from `by`, which is current. */
VERIFIED_ONCE int account_place(struct place *place, __u64 by, __u64 now)
{
	__u64 end_ns, from_ns;

	if (!place)
		return 0;
	end_ns = place->left_ns ? place->left_ns : now;
	from_ns = place->since_ns;
	if (place->throttle.queue && !place->left_ns)
		from_ns = look_at_throttle(&place->throttle, !by, from_ns, now);
	if (from_ns < base_ns)
		from_ns = base_ns;
	if (end_ns > from_ns && place->id != by)
		add_occupant(place->id, by, end_ns - from_ns);
	place->since_ns = now;
	return 0;
}

VERIFIED_ONCE int account_queue(__u32 cpu, __u64 by, __u64 now)
{
	struct queue *queue = queue_of(cpu);
	__u32 left;

	if (!queue)
		return 0;
	left = queue->count + queue->moved;
	for (__u32 i = 0; i < MOST_QUEUED && left; i++) {
		struct place *place = &queue->places[i];

		if (!place->id || place->id == CLAIMED)
			continue;
		left--;
		account_place(place, by, now);
		if (place->left_ns)
			free_place(queue, place);
	}
	return 0;
}

/* `locked`: the CPU's run queue is. Returns the number of the place; 0: there is none. */
VERIFIED_ONCE int claim_place(__u32 cpu, __u32 locked)
{
	struct queue *queue = queue_of(cpu);

	if (!queue)
		return 0;
	for (__u32 i = 0; i < MOST_LOCKED && locked; i++)
		if (!queue->places[i].id) {
			queue->count++;
			return 1 + cpu * MOST_QUEUED + i;
		}
	for (__u32 i = MOST_LOCKED; i < MOST_QUEUED; i++)
		if (!queue->places[i].id &&
		    !__sync_val_compare_and_swap(&queue->places[i].id, 0, CLAIMED)) {
			__sync_fetch_and_add(&queue->moved, 1);
			return 1 + cpu * MOST_QUEUED + i;
		}
	count_quality(QUALITY_UNLISTED);
	return 0;
}

/*
 * The thread gets a CPU. Returns how long it was throttled since it became ready. Without a place
 * in a list that is not known: then it was throttled all the time if it was when it became ready.
 */
static __always_inline __u64 leave_queue(struct thread *thread, __u64 now)
{
	__u64 ns = thread->account.slot == SLOT_READY_THROTTLED ? now : 0;
	__u32 number = thread->place;
	struct queue *queue;
	struct place *place;

	thread->place = 0;
	place = number ? place_at(number, &queue) : NULL;
	if (!place || place->id != thread->id)
		return ns;
	ns = place->throttle.ns;
	if (place->throttle.since_ns && now > place->throttle.since_ns)
		ns += now - place->throttle.since_ns;
	free_place(queue, place);
	return ns;
}

/* The thread is queued for `cpu` from `now` on. `locked`: as in claim_place(). */
static __always_inline int join_queue(struct thread *thread, const struct throttle *throttle,
				      __u32 cpu, __u64 now, bool locked)
{
	__u32 number = claim_place(cpu, locked);
	struct place *place;
	struct queue *queue;

	place = number ? place_at(number, &queue) : NULL;
	if (!place)
		return 0;
	place->since_ns = now;
	place->left_ns = 0;
	if (throttle->queue) {
		place->throttle = *throttle;
	} else {
		place->throttle.queue = 0;
		place->throttle.since_ns = 0;
		place->throttle.ns = throttle->ns;
	}
	arch_order_stores();
	place->id = thread->id;
	thread->place = number;
	return 0;
}

/* The same for what spare.bpf.h measures. `ns`: on CPUs for which it was queued before. */
static __always_inline void note_spare(const struct thread *thread, __u64 ns, __u64 now)
{
	struct queue *queue;
	struct place *place =
		is_on(SIGNAL_cpu) && thread->place ? place_at(thread->place, &queue) : NULL;

	if (place)
		spare_begins(&place->spare, &queue->idle, ns, now);
}

/* How long a thread that gets a CPU was ready while only others were idle, or SPARE_…. */
static __always_inline __u64 spare_of(const struct thread *thread, const struct task_struct *task,
				      __u64 now)
{
	struct queue *queue;
	struct place *place =
		is_on(SIGNAL_cpu) && thread->place ? place_at(thread->place, &queue) : NULL;

	if (!is_on(SIGNAL_cpu))
		return 0;
	if (task->nr_cpus_allowed == 1)
		return SPARE_PINNED;
	if ((__u32)task->nr_cpus_allowed < online_cpus)
		return SPARE_CONFINED;
	if (!place || place->id != thread->id)
		return 0;
	return spare_until(&place->spare, &queue->idle, now);
}

/* The thread became ready, in `slot`. */
static __always_inline void is_queued(struct thread *thread, struct task_struct *task, __u32 slot,
				      __u64 now)
{
	struct throttle throttle = {};

	if (has_quotas() &&
	    (throttles_itself() ? slot == SLOT_READY_THROTTLED : task->prio >= MAX_RT_PRIO)) {
		throttle.queue = (__u64)task->se.cfs_rq;
		if (slot == SLOT_READY_THROTTLED)
			throttle_begins(&throttle, now);
	}
	if (with_occupants || throttle.queue)
		join_queue(thread, &throttle, cpu_of(task), now, true);
	note_spare(thread, 0, now);
}

/* A queued thread changes its CPU. What the old one did until now is booked when it switches. */
static __always_inline void changes_queue(struct thread *thread, __u32 to, __u64 now)
{
	struct throttle throttle;
	struct queue *queue;
	struct place *place = place_at(thread->place, &queue);
	__u64 spare_ns;

	if (!place || place->id != thread->id)
		return;
	spare_ns = is_on(SIGNAL_cpu) ? spare_until(&place->spare, &queue->idle, now) : 0;
	if (place->throttle.queue)
		place->since_ns = look_at_throttle(&place->throttle, false, place->since_ns, now);
	throttle = place->throttle;
	place->left_ns = now;
	if (!throttle.since_ns)
		throttle.queue = 0; /* it has another run queue now, which is not known yet */
	thread->place = 0;
	join_queue(thread, &throttle, to, now, false);
	note_spare(thread, spare_ns, now);
}

/* The open ready interval ends at `now`. */
static __noinline void ready_ends(struct thread *thread, struct task_struct *task, __u32 to,
				  __u64 now)
{
	struct ledger_account *account = &thread->account;
	bool is_whole = account->since_ns >= base_ns;
	__u32 slot = account->slot;
	__u64 ns;

	write_begin(account);
	ns = move(thread, to, now);
	write_end(account);
	if (is_whole)
		count_interval(thread, slot, ns);
	draw_ready(thread, task, slot, ns, now);
}

/* Divides the open ready interval if the thread was throttled for a part of it. */
static __always_inline void leaves_queue(struct thread *thread, struct task_struct *task, __u64 now)
{
	__u64 ns = leave_queue(thread, now), open_ns = now - thread->account.since_ns;

	if (!ns || (__s64)open_ns <= 0)
		return;
	if (thread->account.slot != SLOT_READY_THROTTLED)
		ready_ends(thread, task, SLOT_READY_THROTTLED, ns < open_ns ? now - ns : now);
	else if (ns < open_ns)
		ready_ends(thread, task, SLOT_READY_PREEMPTED, now - (open_ns - ns));
}

/* Moves the sum that the thread keeps itself into the map. */
VERIFIED_ONCE int flush_occupant(struct thread *thread)
{
	__u64 ns;

	if (!thread)
		return 0;
	/* The last iterator and the end of the thread may both come here. */
	ns = __sync_lock_test_and_set(&thread->occupant_ns, 0);
	if (ns)
		add_occupant(thread->id, thread->occupant, ns);
	return 0;
}

/*
 * If the thread that gets the CPU is the only one that was queued for it, there is no list to walk.
 * The names of a thread without an account are noted at once, so that one is left to the list.
 */
static __always_inline bool takes_over(struct thread *in, struct queue *queue, __u32 cpu, __u64 by,
				       __u64 now)
{
	__u32 number = in->place;
	struct place *place;
	__u64 from_ns;

	if (!number || queue->count + queue->moved != 1 || (number - 1) / MOST_QUEUED != cpu ||
	    by & OCCUPANT_UNACCOUNTED)
		return false;
	place = &queue->places[(number - 1) & (MOST_QUEUED - 1)];
	if (place->id != in->id || place->throttle.queue)
		return false;
	from_ns = place->since_ns > base_ns ? place->since_ns : base_ns;
	if (in->occupant != by || in->occupant_flush != flush) {
		flush_occupant(in);
		in->occupant = by;
		in->occupant_flush = flush;
	}
	if (now > from_ns && in->id != by)
		in->occupant_ns += now - from_ns;
	place->since_ns = now;
	return true;
}

/* A new thread is ready since on_newtask(), but only now does it have a CPU to wait for. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	struct thread *thread = find(task);
	__u64 now;

	if (!thread || thread->account.slot != SLOT_READY_WOKEN)
		return 0;
	now = bpf_ktime_get_ns();
	if (!is_over(now))
		is_queued(thread, task, SLOT_READY_WOKEN, now);
	return 0;
}
