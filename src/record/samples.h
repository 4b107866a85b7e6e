/*
 * From the kernel half's stacks and samples (bpf/stack.h) to rows of a recording: modules, frames,
 * a tree of stacks, samples; and, at the end, names for all of it.
 */
#pragma once

#include <stdint.h>

#include "bpf/wire.h"
#include "record/names.h"
#include "recording/recording.h"
#include "stacks/mapper.h"
#include "symbol/namer.h"

struct samples;

/*
 * `recording`, `names` and `mapper` stay the caller's. `stacks_fd` is the kernel half's map of
 * stacks that it has sent.
 */
int samples__new(struct recording *recording, struct names *names, struct mapper *mapper,
		 int stacks_fd, struct samples **ret);
void samples__free(struct samples *samples);

/* For ledger__open: takes a stack or a sample. The context is the samples. */
int samples__take(void *context, const struct wire_head *head);

/*
 * Once, at the end: a name for every frame. Logs progress if it takes long. When `is_interrupted`
 * (may be NULL) says that somebody wants an end, downloads are not waited for any more.
 */
int samples__name(struct samples *samples, bool (*is_interrupted)(void));
/*
 * Before that, as often as wanted: names for frames that have none yet, until the time is over.
 * Nothing is downloaded and nothing logged then.
 */
int samples__name_some(struct samples *samples, uint64_t until_ns);

/*
 * Drops what no sample since `before_ns` has used: stacks, frames, functions, modules. The
 * recording has no older sample any more.
 */
int samples__forget(struct samples *samples, uint64_t before_ns);

struct samples_quality {
	uint64_t lost;      /* stacks whose frames did not arrive */
	uint64_t malformed; /* records that were not understood */
	int64_t naming_ns;  /* CPU time for names */
	struct namer_quality names;
};
struct samples_quality samples__quality(const struct samples *samples);
