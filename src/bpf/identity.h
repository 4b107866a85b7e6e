/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The identity of a thread, for the parts of signals. */
#pragma once

#include <linux/types.h>

/* The first member of the ledger's struct for a thread. */
struct identity {
	__u64 id;  /* the serial number of the thread in a recording */
	__u32 pid; /* in gapless's own pid namespace, as in /proc; 0: not visible there */
	__u32 tid;
	__u32 flags;  /* the ledger's; signals know only IDENTITY_OUTSIDE */
	__u32 ledger; /* for the ledger only */
};
_Static_assert(sizeof(struct identity) == 24, "wire format");

/* The thread has an account, but does not belong to the target. */
#define IDENTITY_OUTSIDE 256
