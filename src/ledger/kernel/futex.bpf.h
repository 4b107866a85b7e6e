/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread owns a user space lock, read from the lock's memory in the waiter's context. */
#pragma once

#include "bpf/common.h"
#include "bpf/futex.h"

/* Called through syscall(SYS_futex, …), so the lock is not one of the C library. */
static __always_inline bool is_raw_syscall(struct pt_regs *regs)
{
	__u64 code = 0;

	bpf_probe_read_user(&code, sizeof(code), (void *)(regs->ARCH_PC - sizeof(code)));
	return code == ARCH_SYSCALL_BY_HAND_CODE;
}

/* The owner, as in futex_owner(). */
static __always_inline __u32 owner_of(__u64 address, __u32 op, __u32 expected)
{
	struct glibc_mutex mutex = {};
	__u32 bytes = futex_bytes(op, expected);

	if (!bytes)
		return 0;
	if (bytes == sizeof(mutex)
		    ? bpf_probe_read_user(&mutex, sizeof(mutex), (void *)address)
		    : bpf_probe_read_user(&mutex.word, sizeof(mutex.word), (void *)address))
		return 0;
	return futex_owner(&mutex, op, expected);
}
