/*
 * The last question of doctor: do events arrive, all of them, through the transports that the
 * profiler uses? A stimulus makes exactly CANARY_EVENTS events; each transport must show as many.
 */
#pragma once

#include "bpf/wire.h"

#define CANARY_EVENTS 1000

struct canary_record {
	struct wire_head head;
	__u64 sequence; /* 0, 1, 2, … in the order of the events */
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

/* 0 with *ret filled if it could run at all, however many events arrived; else -errno. */
int canary__run(struct features *features, struct canary_result *ret);
#endif
