/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread owns a user space lock, read from the lock's memory in the waiter's context. */
#pragma once

#include "bpf/common.h"

#define FUTEX_WAIT        0
#define FUTEX_LOCK_PI     6
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

/* A robust mutex holds its owner twice: in the futex word and in the owner field. */
static __always_inline __u32 owner_of_robust(__u64 address, __u32 word)
{
	struct glibc_mutex mutex;

	if (bpf_probe_read_user(&mutex, sizeof(mutex), (void *)address) || mutex.word != word ||
	    !(mutex.kind & GLIBC_ROBUST) || mutex.owner != (word & FUTEX_TID_MASK))
		return 0;
	return mutex.owner;
}

/*
 * Many locks set the futex to 2 while others wait, Rust's and Go's too. Other data follows their
 * word, and may look like a tid by chance. So all fields must fit a glibc mutex.
 */
static __always_inline bool is_glibc_mutex(const struct glibc_mutex *mutex)
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

/* Called through syscall(SYS_futex, …), so the lock is not one of the C library. */
static __always_inline bool is_raw_syscall(struct pt_regs *regs)
{
	__u64 code = 0;

	bpf_probe_read_user(&code, sizeof(code), (void *)(regs->ARCH_PC - sizeof(code)));
	return code == ARCH_SYSCALL_BY_HAND_CODE;
}

/*
 * The tid of the thread that holds the lock; 0 if unknown. The waker need not have been the holder,
 * so only the lock's own memory counts: the word of a PI futex, or the owner that glibc keeps 8
 * bytes behind the word of a contended mutex. The caller must check that the tid is a thread of the
 * same process; otherwise the bytes were other data.
 */
static __always_inline __u32 owner_of(__u64 address, __u32 op, __u32 expected)
{
	struct glibc_mutex mutex;

	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2) {
		if (bpf_probe_read_user(&mutex.word, sizeof(mutex.word), (void *)address))
			return 0;
		return mutex.word & FUTEX_TID_MASK;
	}
	if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET)
		return 0;
	if (expected & FUTEX_WAITERS)
		return owner_of_robust(address, expected);
	if (expected != GLIBC_CONTENDED)
		return 0;
	if (bpf_probe_read_user(&mutex, sizeof(mutex), (void *)address) ||
	    mutex.word != GLIBC_CONTENDED || !is_glibc_mutex(&mutex))
		return 0;
	return mutex.owner;
}
