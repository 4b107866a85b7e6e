/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes the records of a snapshot, and looks at what has to be done for their threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ledger/reader/attach.h"
#include "record/collect.h"
#include "record/samples.h"
#include "stacks/mapper.h"

struct intake {
	struct ledger *ledger;
	struct collect *collect;
	struct mapper *mapper;   /* NULL: do not prepare unwind tables */
	struct samples *samples; /* NULL: no stacks */
	bool outside;     /* look for threads that hold the file locks which others wait for */
	bool started;     /* the first snapshot was taken */
	uint32_t watched; /* the last process passed to mapper__watch() */
	bool locked;      /* a thread of this snapshot waits for a file lock */
};

/*
 * Takes a snapshot of the accounts that changed after `changed_after_ns` (0: all of them) and
 * passes it to `collect`. Then opens the accounts of outside threads that are due.
 */
int intake__snapshot(struct intake *intake, uint64_t changed_after_ns);

/*
 * The id of a stack that the kernel half has sent at time_ns or before; 0: none. `context`: the
 * intake.
 */
int intake__find_stack(void *context, uint64_t hash, uint64_t time_ns, int64_t *ret);
