/* Who a thread is, as kernel halves other than the ledger's know it. */
#pragma once

#include <linux/types.h>

/* The ledger keeps this at the beginning of what it knows of a thread. */
struct identity {
	__u64 id;  /* the serial by which a recording knows the thread */
	__u32 pid; /* in gapless's own pid namespace, as /proc has it; 0: not to be seen there */
	__u32 tid;
	__u64 ended_ns; /* when a hook that ran before the ledger's saw the end of its call */
};
_Static_assert(sizeof(struct identity) == 24, "wire format");
