/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by both halves of the signal drops: operations, and knobs. */
#pragma once

#include "bpf/wire.h"

/* By the protocol of the packet. */
enum drops_operation {
	DROPS_OTHER,
	DROPS_IPV4,
	DROPS_IPV6,
	DROPS_OPERATIONS,
};

/* The only variable of the section .rodata.drops: values of enum skb_drop_reason, which differ. */
struct drops_knobs {
	__u32 none;     /* SKB_NOT_DROPPED_YET */
	__u32 consumed; /* SKB_CONSUMED; before 6.3, the same as `none` */
};

#ifndef __bpf__
#include <stddef.h>

/* "SKB_DROP_REASON_NO_SOCKET" becomes "no socket". Truncates to `size`. */
void drops__word(const char *name, char *ret, size_t size);
#endif
