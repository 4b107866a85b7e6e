/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads without an account that a recording mentions: as wakers, as holders, on a CPU. */
#pragma once

#include <stdint.h>

#include "bpf/wire.h"
#include "recording/recording.h"

/* The name of everything beyond a limit. */
#define OTHER_NAME "other (too many to name)"

struct strangers;

struct stranger_facts {
	uint32_t tid;
	uint32_t pid;
	uint64_t start; /* tells it from other threads with this tid; the unit does not matter */
	char comm[WIRE_COMM_BYTES + 1];
	char process[WIRE_COMM_BYTES + 1];
};

int strangers__new(struct recording *recording, struct strangers **ret);
void strangers__free(struct strangers *strangers);

/* The id of the thread that has this tid now. Writes it to the recording if it is new. */
int strangers__find(struct strangers *strangers, uint64_t tid, int64_t *ret_id);
/* The id of a thread of which the kernel half has told more. Also writes its process. */
int strangers__find_named(struct strangers *strangers, const struct stranger_facts *facts,
			  int64_t *ret_id);

/* Drops those that were not used since `before_ns`; see names__forget(). */
int strangers__forget(struct strangers *strangers, uint64_t before_ns);

/* How often a thread was not named, because a limit was reached. */
uint64_t strangers__overflowed(const struct strangers *strangers);
