/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for locks: futexes, file locks, System V semaphores, and the kernel's mutexes and
 * semaphores. The ledger knows when a thread waits, for what, and who ended it. This part has no
 * hooks: the ledger tells it where such a wait begins and ends (bpf/part_wait.h).
 *
 * For each lock it keeps how many threads wait, and when the lock was last given to a waiter. The
 * time between two such moments, while somebody waits, is a turn: the sum of the turns is the time
 * in which somebody waited, and the average turn is how long the lock was kept from the waiters
 * each time. A lock with a queue and short turns is a convoy; one with long turns is held for long.
 *
 * Each of the first LOCKS_NUMBERED locks has a number, which is the place of its sums. So it has
 * histograms of its own. Later ones share place 0.
 */
#pragma once

#include "bpf/futex.h"
#include "bpf/identity.bpf.h"
#include "bpf/part_wait.h"
#include "signals/locks/locks.h"
#include "vocabulary/slots.h"

/* wait, waiters, turn, handed, in vain, wakings */
SERIES_MAPS(locks, 6, 1 << 3 | 1 << 4 | 1 << 5, 16384);

#define LOCKS_F_OFD_SETLKW 38
/* A thread that is woken and then runs no longer than this before it waits again did no work. */
#define LOCKS_VAIN_NS 50000
/* Threads that one call wakes are awake within this time. */
#define LOCKS_WAKING_NS 1000000

const volatile struct locks_numbers locks_numbers SEC(".rodata.locks");

/* Room for some 6,000 long waits; user space reads every 100 ms. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} locks_ring SEC(".maps");

struct locks_lock {
	__u64 given_ns; /* the last end of a wait for it, or the start of the first */
	__u64 woken_ns; /* when several waiters were last woken together */
	__u32 waiters;
	__u32 number;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64[2]);
	__type(value, struct locks_lock);
} locks_known SEC(".maps");

struct locks_waiter {
	__u64 object[2];
	__u64 ran_ns; /* when it was woken, together with others */
	__u32 operation;
	__u8 is_open;     /* it waits, and is counted as a waiter of the lock */
	__u8 was_in_vain; /* it was woken from this lock just before this wait */
	__u8 pad[2];
};

/* By the thread's id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, struct locks_waiter);
} locks_waiters SEC(".maps");

__u32 locks_last_number;

/*
 * What the stack has no room for. Waits begin and end where interrupts are off, so one for each CPU
 * is enough.
 */
struct locks_room {
	struct part_wait wait;
	struct series_key key;
	__u64 values[6];
	struct locks_waiter waiter;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct locks_room);
} locks_rooms SEC(".maps");

static __always_inline struct locks_room *locks_room(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&locks_rooms, &zero);
}

/* Where the ledger puts a wait before it calls one of the functions below. */
static __always_inline struct part_wait *locks_wait_room(void)
{
	struct locks_room *room = locks_room();

	return room ? &room->wait : NULL;
}

/* Whether a wait is for a lock. */
static __always_inline bool locks_takes_wait(__u32 slot, __u32 object_kind)
{
	return slot == SLOT_WAIT_LOCK || slot == SLOT_WAIT_LOCK_OWNED ||
	       (slot == SLOT_WAIT_KERNEL && object_kind == OBJECT_KERNEL);
}

/* As in the series: a futex address is valid only in its process. */
static __always_inline void locks_object(const struct part_wait *wait, __u64 *ret)
{
	ret[0] = wait->object[0];
	ret[1] = wait->object_kind == OBJECT_FUTEX ? wait->pid : wait->object[1];
}

static __always_inline __u16 locks_kind_of_kernel_lock(__u32 flags)
{
	/* LCB_F_… of include/trace/events/lock.h */
	if (flags & 8)
		return LOCKS_RT;
	if (flags & 16)
		return LOCKS_PERCPU;
	if (flags & 32)
		return LOCKS_KERNEL_MUTEX;
	return flags & 2 ? LOCKS_READ : flags & 4 ? LOCKS_WRITE : LOCKS_KERNEL;
}

/* The ledger found the owner in the memory of the lock, so it is a lock of glibc, or a PI futex. */
static __always_inline __u16 locks_kind_of_owned(const struct pt_regs *regs)
{
	__u32 op = (__u32)regs->ARCH_ARG2 & FUTEX_CMD_MASK;

	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return LOCKS_PI;
	return (__u32)regs->ARCH_ARG3 & FUTEX_WAITERS ? LOCKS_ROBUST : LOCKS_MUTEX;
}

/* The current thread begins this wait. */
static __always_inline __u16 locks_kind_of(const struct part_wait *wait)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	__s64 nr = syscall_of((struct pt_regs *)regs);

	if (wait->object_kind == OBJECT_KERNEL)
		return locks_kind_of_kernel_lock(wait->lock_flags);
	if (wait->object_kind == OBJECT_MONITOR)
		return LOCKS_MONITOR;
	if (wait->object_kind == OBJECT_JAVA_LOCK)
		return LOCKS_JAVA;
	if (wait->slot == SLOT_WAIT_LOCK_OWNED)
		return locks_kind_of_owned(regs);
	if (wait->object_kind == OBJECT_FUTEX)
		return LOCKS_FUTEX;
	if (nr == locks_numbers.flock)
		return LOCKS_FLOCK;
	if (nr == locks_numbers.fcntl)
		return regs->ARCH_ARG2 == LOCKS_F_OFD_SETLKW ? LOCKS_OFD : LOCKS_FCNTL;
	return nr == locks_numbers.futex_waitv ? LOCKS_WAITV : LOCKS_SEMOP;
}

static __always_inline __u16 locks_kind_unseen(const struct part_wait *wait)
{
	if (wait->object_kind == OBJECT_KERNEL)
		return LOCKS_KERNEL;
	if (OBJECT_IS_OF_JAVA(wait->object_kind))
		return wait->object_kind == OBJECT_MONITOR ? LOCKS_MONITOR : LOCKS_JAVA;
	return wait->object_kind == OBJECT_FILE ? LOCKS_FILE : LOCKS_FUTEX;
}

/* The lock's entry, made if there is none; NULL: no room. */
static __always_inline struct locks_lock *locks_find(const __u64 *object)
{
	struct locks_lock *lock = bpf_map_lookup_elem(&locks_known, object);
	struct locks_lock new = {};

	if (lock)
		return lock;
	/* A number that another CPU makes superfluous is not used. */
	new.number = __sync_fetch_and_add(&locks_last_number, 1) + 1;
	if (new.number > LOCKS_NUMBERED)
		new.number = 0;
	bpf_map_update_elem(&locks_known, object, &new, BPF_NOEXIST);
	lock = bpf_map_lookup_elem(&locks_known, object);
	if (!lock)
		COUNT_LOST(locks, LOST_MAP_FULL);
	return lock;
}

/* Whether the thread was woken from this lock together with others, and has done nothing since. */
static __always_inline bool locks_is_in_vain(const struct locks_waiter *waiter, const __u64 *object,
					     __u64 ran_ns)
{
	return waiter->ran_ns && waiter->object[0] == object[0] && waiter->object[1] == object[1] &&
	       ran_ns - waiter->ran_ns <= LOCKS_VAIN_NS;
}

/* Counts a waiter of the lock. */
static __always_inline void locks_join(const struct part_wait *wait, const __u64 *object)
{
	struct locks_lock *lock = object[0] ? locks_find(object) : NULL;

	if (lock && !__sync_fetch_and_add(&lock->waiters, 1))
		lock->given_ns = wait->at_ns;
}

/* A thread that waits for another lock meanwhile, a mutex behind a condition, keeps its entry. */
VERIFIED_ONCE int locks_wait_begins(void)
{
	struct locks_room *room = is_on(SIGNAL_locks) ? locks_room() : NULL;
	struct locks_waiter *new, *old;
	struct part_wait *wait;
	__u64 *object, thread;

	if (!room || by_class)
		return 0;
	wait = &room->wait;
	new = &room->waiter;
	object = room->key.object;
	thread = wait->thread;
	locks_object(wait, object);
	*new = (struct locks_waiter) {};
	new->operation = locks_kind_of(wait);
	new->is_open = 1;
	locks_join(wait, object);
	old = bpf_map_lookup_elem(&locks_waiters, &thread);
	if (!old) {
		if (bpf_map_update_elem(&locks_waiters, &thread, new, BPF_ANY))
			COUNT_LOST(locks, LOST_MAP_FULL);
		return 0;
	}
	old->was_in_vain = locks_is_in_vain(old, object, wait->ran_ns);
	if (old->was_in_vain)
		old->ran_ns = 0;
	old->operation = new->operation;
	old->is_open = 1;
	return 0;
}

/* File locks wake all waiters when one is released. */
static __always_inline bool locks_wakes_many(const struct part_wait *wait)
{
	return wait->is_from_thread && (wait->is_one_of_many || wait->object_kind == OBJECT_FILE);
}

/*
 * Takes the waiter off the lock: a turn ends. The number of waiters falls only here, so it is now
 * the largest since the end of the previous wait.
 */
static __always_inline void locks_leave(struct locks_lock *lock, const struct part_wait *wait,
					__u64 *values)
{
	__u64 given_ns = lock->given_ns, now = wait->at_ns;

	values[1] = __sync_fetch_and_add(&lock->waiters, -1);
	lock->given_ns = now;
	/* Two CPUs can end waits for one lock in either order. */
	values[2] = given_ns && given_ns < now ? now - given_ns : 0;
	if (!locks_wakes_many(wait))
		return;
	values[5] = (__s64)(now - lock->woken_ns) > LOCKS_WAKING_NS;
	lock->woken_ns = now;
}

/* The thread no longer waits. */
static __always_inline void locks_close(const struct part_wait *wait, struct locks_waiter *waiter,
					const __u64 *object)
{
	waiter->is_open = 0;
	if (!locks_wakes_many(wait))
		return;
	waiter->object[0] = object[0];
	waiter->object[1] = object[1];
	waiter->ran_ns = wait->ran_ns;
}

static __always_inline void locks_send(const struct part_wait *wait, const struct series_key *key,
				       const __u64 *values)
{
	struct locks_record *record = bpf_ringbuf_reserve(&locks_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(locks, LOST_RING_FULL);
		return;
	}
	wire_head_at(&record->head, sizeof(*record), 0, 1, wait->at_ns);
	record->thread = key->thread;
	record->object[0] = key->object[0];
	record->object[1] = key->object[1];
	record->wait_ns = wait->ns;
	record->turn_ns = values[2];
	record->place = key->place;
	record->waiters = values[1];
	record->operation = key->operation;
	record->is_handed = wait->is_handed;
	__builtin_memset(record->pad, 0, sizeof(record->pad));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Takes the waiter's entry and the lock's into account. */
static __always_inline void locks_close_wait(struct locks_room *room)
{
	struct locks_lock *lock = bpf_map_lookup_elem(&locks_known, room->key.object);
	struct locks_waiter *waiter = bpf_map_lookup_elem(&locks_waiters, &room->key.thread);

	if (lock)
		room->key.place = lock->number;
	if (!waiter)
		return;
	if (waiter->is_open) {
		room->key.operation = waiter->operation;
		room->values[4] = waiter->was_in_vain;
		if (lock)
			locks_leave(lock, &room->wait, room->values);
	}
	locks_close(&room->wait, waiter, room->key.object);
}

VERIFIED_ONCE int locks_wait_ends(void)
{
	struct locks_room *room = is_on(SIGNAL_locks) ? locks_room() : NULL;
	struct part_wait *wait;

	if (!room)
		return 0;
	wait = &room->wait;
	__builtin_memset(&room->key, 0, sizeof(room->key));
	__builtin_memset(room->values, 0, sizeof(room->values));
	room->key.thread = wait->thread;
	locks_object(wait, room->key.object);
	room->key.operation = locks_kind_unseen(wait);
	room->values[0] = wait->ns;
	room->values[1] = 1;
	room->values[3] = wait->is_handed;
	if (!by_class)
		locks_close_wait(room);
	series_reduce(&room->key);
	series_add_own(SERIES(locks), &room->key, room->values);
	if (!by_class && series_is_slow(SERIES(locks), wait->ns))
		locks_send(wait, &room->key, room->values);
	return 0;
}
