/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the memory of a user space lock says about its owner. Used by both halves. */
#pragma once

#include "bpf/wire.h"

#define FUTEX_WAIT        0
#define FUTEX_LOCK_PI     6
#define FUTEX_UNLOCK_PI   7
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2    13
#define FUTEX_CMD_MASK    0x7f
#define FUTEX_TID_MASK    0x3fffffff
#define FUTEX_WAITERS     0x80000000

/* glibc's pthread_mutex_t. */
struct glibc_mutex {
	__u32 word; /* the futex */
	__u32 count;
	__u32 owner;
	__u32 users;
	__u32 kind;
	__u16 spins;
	__u16 elision;
	__u64 list[2];
};
#define GLIBC_CONTENDED 2
/* Values of glibc_mutex.kind (nptl/pthreadP.h): the type in the lowest bits, flags above. */
#define GLIBC_TYPE       0x003
#define GLIBC_RECURSIVE  0x001
#define GLIBC_ADAPTIVE   0x003
#define GLIBC_ROBUST     0x010
#define GLIBC_PRIORITY   0x060 /* inherited or protected */
#define GLIBC_KNOWN_KIND 0x3f3
#define MOST_TIDS        (1 << 22)

/*
 * Many locks set the futex to 2 while others wait, Rust's and Go's too. Other data follows their
 * word, and may look like a tid by chance. So all fields must fit a glibc mutex.
 */
static inline bool is_glibc_mutex(const struct glibc_mutex *mutex)
{
	__u32 type = mutex->kind & GLIBC_TYPE;

	if (mutex->kind & ~GLIBC_KNOWN_KIND || !mutex->users || mutex->users > MOST_TIDS)
		return false;
	if (type == GLIBC_RECURSIVE
		    ? !mutex->count
		    : mutex->count && !(mutex->kind & (GLIBC_ROBUST | GLIBC_PRIORITY)))
		return false;
	if (mutex->spins && type != GLIBC_ADAPTIVE)
		return false;
	return mutex->kind & GLIBC_ROBUST || !(mutex->list[0] | mutex->list[1]);
}

/* How much of the lock's memory futex_owner() needs; 0: this call cannot show an owner. */
static inline __u32 futex_bytes(__u32 op, __u32 expected)
{
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return sizeof(__u32);
	if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
		return 0;
	return expected & FUTEX_WAITERS || expected == GLIBC_CONTENDED ? sizeof(struct glibc_mutex)
								       : 0;
}

/*
 * The tid of the thread that holds the lock; 0 if unknown. The waker need not have been the holder,
 * so only the lock's own memory counts: the word of a PI futex, or the owner that glibc keeps 8
 * bytes behind the word of a contended mutex. A robust mutex has its owner in both places. The
 * caller must check that the tid is a thread of the same process; otherwise the bytes were other
 * data.
 */
static inline __u32 futex_owner(const struct glibc_mutex *mutex, __u32 op, __u32 expected)
{
	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return mutex->word & FUTEX_TID_MASK;
	if (mutex->word != expected)
		return 0;
	if (expected & FUTEX_WAITERS)
		return mutex->kind & GLIBC_ROBUST && mutex->owner == (expected & FUTEX_TID_MASK)
			       ? mutex->owner
			       : 0;
	return is_glibc_mutex(mutex) ? mutex->owner : 0;
}
