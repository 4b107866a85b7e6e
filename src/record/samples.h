/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the kernel half's stacks and samples (bpf/stack.h) into rows of a recording: modules,
 * frames, a tree of stacks, samples; and, at the end, names for all frames.
 */
#pragma once

#include <stdint.h>

#include "bpf/wire.h"
#include "core/signal.h"
#include "record/names.h"
#include "recording/recording.h"
#include "runtimes/runtimes.h"
#include "stacks/mapper.h"
#include "symbol/namer.h"

struct samples;

/*
 * `recording`, `names`, `mapper` and `runtimes` (may be NULL) belong to the caller. `stacks_fd` is
 * the kernel half's map of stacks that it has sent. `parts` are those of the recorded signals and
 * stay the caller's, too.
 */
int samples__new(struct recording *recording, struct names *names, struct mapper *mapper,
		 struct runtimes *runtimes, int stacks_fd, const struct part *parts,
		 struct samples **ret);
void samples__free(struct samples *samples);

/* Callback for ledger__open(): takes a stack or a sample. `context`: the samples. */
int samples__take(void *context, const struct wire_head *head);

/*
 * The id of a user stack that was sent at time_ns or before, from its hash; 0: its frames did not
 * arrive.
 */
int samples__find(struct samples *samples, uint64_t hash, uint64_t time_ns, int64_t *ret);

/*
 * Names an object after the variable at `address`, if there is one. Call it while the process
 * exists, once for each use: after some calls it gives up.
 */
struct samples_variable {
	int64_t object;
	const char *kind; /* of the object: a constant */
	uint32_t pid;
	uint64_t address;
	uint64_t time_ns;
};
int samples__look_for_variable(struct samples *samples, const struct samples_variable *what);

/*
 * Names the frames of language runtimes that have arrived. Call it soon after them: the program may
 * end, or free or move what is read.
 */
int samples__name_objects(struct samples *samples);

/*
 * Call once, at the end: names every frame. Logs progress if it takes long. When `is_interrupted`
 * (may be NULL) returns true, downloads are no longer waited for.
 */
int samples__name(struct samples *samples, bool (*is_interrupted)(void));
/*
 * May be called any number of times before: names unnamed frames and variables until `until_ns`,
 * and leaves the rest. Downloads and logs nothing.
 */
int samples__name_until(struct samples *samples, uint64_t until_ns);

/*
 * Drops stacks, frames, functions and modules that no sample has used since `before_ns`. The
 * recording must not contain older samples.
 */
int samples__forget(struct samples *samples, uint64_t before_ns);

struct samples_quality {
	uint64_t lost;      /* stacks whose frames did not arrive */
	uint64_t malformed; /* records that were not understood */
	int64_t naming_ns;  /* CPU time for names */
	struct namer_quality names;
};
struct samples_quality samples__quality(const struct samples *samples);
