/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which lock of Java the current thread is about to wait for, and who holds it.
 *
 * HotSpot keeps threads at futexes of their own, so the futex does not tell. A thread that blocks
 * at a monitor has noted it in its JavaThread, and the monitor has its owner. A thread that parks
 * for a lock of java.util.concurrent has noted an object in its Thread (parkBlocker); if that is an
 * AbstractOwnableSynchronizer, it has its owner. All other objects are not owned by a thread: those
 * who park there may wait for work.
 *
 * An object can be moved while it is read here, because collectors do not wait for a thread that is
 * about to block. A reference that is out of date leads to memory that has the old contents or no
 * object; the class of what is found is compared, and a number that is not a thread's of the same
 * process is not believed.
 */
#pragma once

#include "ledger/kernel/holder.bpf.h"
#include "ledger/kernel/walk.bpf.h"

/* In an object: its class. */
#define JAVA_CLASS 8

/* The id of the thread with this number in its own pid namespace; 0: no account. */
static __always_inline __u64 thread_by_tid(struct thread *thread, __u32 ns_tid)
{
	struct tid_key key = { .pid = thread->pid, .ns_tid = ns_tid };
	__u64 *id = bpf_map_lookup_elem(&tids, &key);

	return id ? *id : 0;
}

/* Reads a pointer; false: there is none. */
static __always_inline bool java_follow(__u64 *at, __u32 offset)
{
	return !bpf_probe_read_user(at, sizeof(*at), (void *)(*at + offset)) && *at;
}

/* The same for a reference, or a class. */
static __always_inline bool java_follow_short(__u64 *at, __u32 offset, __u64 base, __u32 shift)
{
	__u32 number = 0;

	if (bpf_probe_read_user(&number, sizeof(number), (void *)(*at + offset)) || !number)
		return false;
	*at = base + ((__u64)number << (shift & 31));
	return true;
}

static __always_inline bool java_follow_oop(__u64 *at, __u32 offset,
					    const struct runtime_java_locks *locks)
{
	return locks->flags & JAVA_SHORT_OOPS
		       ? java_follow_short(at, offset, locks->oop_base, locks->oop_shift)
		       : java_follow(at, offset);
}

/* The class of the object at `object`; 0: it cannot be read. */
static __noinline __u64 java_class(const struct runtime_java_locks *locks, __u64 object)
{
	if (locks->flags & JAVA_SHORT_CLASSES
		    ? java_follow_short(&object, JAVA_CLASS, locks->class_base, locks->class_shift)
		    : java_follow(&object, JAVA_CLASS))
		return object;
	return 0;
}

/* The number of a JavaThread in its own pid namespace. */
static __always_inline __u32 java_tid(const struct runtime_java_locks *locks, __u64 java_thread)
{
	__u32 tid = 0;

	if (!java_follow(&java_thread, locks->os_thread) ||
	    bpf_probe_read_user(&tid, sizeof(tid), (void *)(java_thread + locks->tid)))
		return 0;
	return tid;
}

/* Until a monitor's first owner has left, it has the address of something on the owner's stack. */
static __always_inline bool is_java_thread(const struct runtime_java_locks *locks, __u64 at)
{
	return java_follow(&at, 0) && at == locks->kind;
}

/* The JavaThread of the current thread; 0: unknown, or it is not one of the program. */
static __always_inline __u64 java_self(const struct runtime_java_locks *locks)
{
	__u64 at = arch_thread_pointer(bpf_get_current_task_btf());

	if (!locks->block || !java_follow(&at, sizeof(at)) || !java_follow(&at, locks->block) ||
	    !java_follow(&at, locks->in_block) || !is_java_thread(locks, at))
		return 0;
	return at;
}

/* Books the thread with the JavaThread `owner` as the one that holds the lock. */
static __noinline int java_book_owner(struct thread *thread, const struct runtime_java_locks *locks,
				      __u64 owner)
{
	__u64 id;

	if (!is_java_thread(locks, owner))
		return 0;
	id = thread_by_tid(thread, java_tid(locks, owner));
	if (!id || id == thread->id)
		return 0;
	thread->wait.by = id;
	thread->wait.by_kind = BY_THREAD;
	thread->wait.evidence = EVIDENCE_OWNER;
	return 1;
}

/* Waits at a monitor. It is a lock, even if its owner is not known. */
static __always_inline __u32 java_waits_for_monitor(struct thread *thread,
						    const struct runtime_java_locks *locks,
						    __u64 monitor)
{
	struct ledger_key *wait = &thread->wait;
	__u64 at = monitor;

	wait->object_kind = OBJECT_MONITOR;
	wait->object[0] = monitor;
	if (locks->synchronizer && java_follow(&at, locks->object) &&
	    (!(locks->flags & JAVA_MONITOR_HANDLE) || java_follow(&at, 0)))
		wait->object[1] = java_class(locks, at);
	thread->releases = *releases_of_wait(wait); /* read this before the owner */
	at = monitor;
	if (locks->owner && java_follow(&at, locks->owner))
		java_book_owner(thread, locks, at);
	return SLOT_WAIT_LOCK_OWNED;
}

/* The object for which the current thread parks; 0: none. */
static __always_inline __u64 java_blocker(const struct runtime_java_locks *locks, __u64 self)
{
	__u64 at = self;

	if (!locks->synchronizer || !java_follow(&at, locks->own_object) ||
	    (locks->flags & JAVA_THREAD_HANDLE && !java_follow(&at, 0)) ||
	    !java_follow_oop(&at, locks->blocker, locks))
		return 0;
	return at;
}

static __always_inline __u32 java_parks(struct thread *thread,
					const struct runtime_java_locks *locks, __u64 self)
{
	struct ledger_key *wait = &thread->wait;
	__u64 blocker = java_blocker(locks, self), class, at;

	class = blocker ? java_class(locks, blocker) : 0;
	at = class;
	if (!class || !java_follow(&at, locks->ancestor) || at != locks->synchronizer)
		return SLOT_NONE;
	wait->object_kind = OBJECT_JAVA_LOCK;
	wait->object[0] = blocker;
	wait->object[1] = class;
	thread->releases = *releases_of_wait(wait); /* read this before the owner */
	at = blocker;
	if (java_follow_oop(&at, locks->exclusive, locks) && java_follow(&at, locks->java_thread) &&
	    java_book_owner(thread, locks, at))
		return SLOT_WAIT_LOCK_OWNED;
	return SLOT_WAIT_LOCK;
}

/* The slot of a wait of the current thread at a futex; SLOT_NONE: it is not for a lock of Java. */
static __noinline __u32 cause_of_java(struct thread *thread, const struct runtime_java_locks *locks)
{
	__u64 self = java_self(locks), monitor = 0;

	if (!self)
		return SLOT_NONE;
	if (bpf_probe_read_user(&monitor, sizeof(monitor), (void *)(self + locks->pending)))
		return SLOT_NONE;
	if (monitor)
		return java_waits_for_monitor(thread, locks, monitor);
	/* Object.wait(): for what another thread tells it, not for a lock. */
	if (bpf_probe_read_user(&monitor, sizeof(monitor), (void *)(self + locks->waiting)) ||
	    monitor)
		return SLOT_NONE;
	return java_parks(thread, locks, self);
}
