/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A wait of the ledger, as the parts of signals get it when it begins and when it ends. */
#pragma once

#include "bpf/wire.h"

struct part_wait {
	__u64 thread; /* the waiter's id */
	__u64 object[2];
	__u64 at_ns;      /* when it began, or ended */
	__u64 ns;         /* its length, when it ends */
	__u64 ran_ns;     /* the waiter's time on a CPU so far */
	__u32 pid;        /* the kernel's tgid of the waiter */
	__u32 lock_flags; /* of a kernel lock: LCB_F_… */
	__u8 slot;
	__u8 object_kind;
	__u8 is_handed;      /* others held the lock between the start and the end of the wait */
	__u8 is_from_thread; /* a thread ended the wait */
	__u8 is_one_of_many; /* the call that ended it asked to wake more than one */
	__u8 pad[3];
};
_Static_assert(sizeof(struct part_wait) == 64, "no padding but the named one");
