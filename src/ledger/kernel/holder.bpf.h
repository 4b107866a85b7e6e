/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Did the thread that held a lock when a wait for it began hold it until the end?
 *
 * Releasing a contended lock wakes one of its waiters: unlocking a contended futex is a FUTEX_WAKE,
 * and the kernel's mutexes and semaphores wake the first waiter in their queue. A lock of Java
 * wakes the first waiter at a futex of that thread's own. So we count wakings as releases. If the
 * lock was not released between the start of a wait and the waking that ends it, and the waker is
 * the thread that held the lock at the start, then no other thread held it in between. Otherwise
 * the lock was handed on, and only its first and last holder are known.
 *
 * Locks with the same hash share a counter. A collision can make a wait count as handed on although
 * it was not; then we claim less than we could. Releases that wake threads without an account are
 * not seen.
 */
#pragma once

#include "ledger/kernel/thread.bpf.h"

__u32 releases[1 << RELEASE_BITS];

static __always_inline __u32 *releases_of(__u64 lock, __u32 pid)
{
	return &releases[release_index(lock, pid)];
}

static __always_inline __u32 *releases_of_wait(const struct ledger_key *wait)
{
	return releases_of(wait->object[0],
			   OBJECT_IS_OF_PROCESS(wait->object_kind) ? wait->pid : 0);
}

/* The waker of this thread releases `lock`. */
static __always_inline void note_release(struct thread *thread, __u64 lock, __u32 pid)
{
	thread->released = lock;
	thread->released_before = __sync_fetch_and_add(releases_of(lock, pid), 1);
}

static __always_inline __u64 first_holder(const struct ledger_key *wait)
{
	return wait->by_kind == BY_UNACCOUNTED ? wait->by | FIRST_UNACCOUNTED : wait->by;
}

/* True if the lock of the open wait was released since the wait began. */
static __always_inline bool is_handed_on(const struct thread *thread)
{
	return thread->wait.evidence == EVIDENCE_OWNER &&
	       *releases_of_wait(&thread->wait) != thread->releases;
}

/* thread->wait ends. The owner of its lock was known when it began. */
static __always_inline void judge_holder(struct thread *thread)
{
	struct ledger_key *wait = &thread->wait;
	bool is_release = thread->waker_kind != BY_NOBODY &&
			  LOCK_OF(thread->released) == LOCK_OF(wait->object[0]);
	__u32 count = is_release ? thread->released_before : *releases_of_wait(wait);
	bool is_same = thread->waker == wait->by && thread->waker_kind == wait->by_kind;

	/* Signed: a waking from before the start of the wait has a lower count. */
	if ((__s32)(count - thread->releases) <= 0 && (!is_release || is_same))
		return;
	wait->first = first_holder(wait);
	wait->by = is_release ? thread->waker : 0;
	wait->by_kind = is_release ? thread->waker_kind : BY_NOBODY;
	wait->evidence = EVIDENCE_HANDED;
}
