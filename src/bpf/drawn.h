/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many events of a signal get a stack; see drawn.bpf.h. */
#pragma once

#include <linux/types.h>

/* One event in 2^shift is drawn. There is one for each source of events. */
struct draw {
	__u64 since_ns; /* start of the current second */
	__u32 taken;    /* in this second */
	__u32 shift;
};
