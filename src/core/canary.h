/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor's last check: do all events arrive through the transports that the profiler uses? A
 * stimulus makes exactly CANARY_EVENTS events, and each transport must deliver that number.
 */
#pragma once

#include "bpf/wire.h"

#define CANARY_EVENTS 1000

struct canary_record {
	struct wire_head head;
	__u64 sequence; /* 0, 1, 2, … in event order */
};
_Static_assert(sizeof(struct canary_record) == 32, "wire format");

#ifndef __bpf__
#include <stdint.h>

#include "core/features.h"

struct canary_result {
	uint64_t ring;         /* records through the ring buffer, in the right order */
	uint64_t iterator;     /* events counted in task storage, read by the iterator */
	const char *hook_kind; /* which kind of hook was used */
};

/*
 * Returns 0 and fills *ret if the check could run, however many events arrived; otherwise -errno.
 */
int canary__run(struct features *features, struct canary_result *ret);
#endif
