/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of threads of a runtime's own that no thread of the system carries, such as parked
 * goroutines. They are walked in the memory of the process while it runs.
 *
 * Most of them are where others are, or where they were at the last reading. So the innermost part
 * of each stack is read, many at once, and what in it may be return addresses tells which known
 * stack it is. Only others are walked, for a limited time in each reading.
 */
#pragma once

#include "record/samples.h"
#include "stacks/mapper.h"

struct fiber_stacks;

struct fiber_stacks_options {
	struct mapper *mapper;
	struct samples *samples;
	int processes_fd, pages_fd; /* as in struct mapper_options */
};
int fiber_stacks__new(const struct fiber_stacks_options *options, struct fiber_stacks **ret);
void fiber_stacks__free(struct fiber_stacks *stacks);

/* Begins a reading, in which walks may take `most_ns`. */
void fiber_stacks__begin(struct fiber_stacks *stacks, uint64_t most_ns);
/*
 * Sets ret[i] to the hash of the stack of each, for samples__find(); 0: it runs, or its stack is
 * not known. `start`: the first one to look at, since the time may not be enough for all.
 */
int fiber_stacks__find(struct fiber_stacks *stacks, uint32_t pid,
		       const struct runtime_fibers *fibers, size_t start, uint64_t *ret);
/* The stack whose only frame is at `address`. *ret is 0 if that is in no known file. */
int fiber_stacks__place(struct fiber_stacks *stacks, uint32_t pid, uint64_t address, uint64_t *ret);
/* Must be called when the samples forget stacks. */
void fiber_stacks__forget(struct fiber_stacks *stacks);

struct fiber_stacks_quality {
	uint64_t walked;
	uint64_t moved; /* went on while they were read */
	uint64_t late;  /* there was no time to walk them */
};
struct fiber_stacks_quality fiber_stacks__quality(const struct fiber_stacks *stacks);
