/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the tracker share: tracker.c, tracker_proc.c, tracker_runtimes.c. */
#pragma once

#include <pthread.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "bpf/unwind.h"
#include "stacks/maps.h"
#include "stacks/ranges.h"
#include "stacks/tracker.h"

#define MOST_OFFERED 16

struct process {
	uint32_t pid;
	uint64_t start_ticks;
	uint64_t known_ns; /* when the fields below were valid */
	struct ranges ranges;
	uint64_t gone_ns; /* 0: alive */
	bool is_single;   /* known to have one thread only */
	bool is_ending;   /* its main thread has ended */
	bool is_crowded;
	bool is_placed; /* it is in the kernel half's map */
	struct runtime runtime;
	uint32_t offered[MOST_OFFERED]; /* modules that may have a runtime */
	size_t offered_count;
};

struct tracker {
	struct tracker_options options;
	pthread_mutex_t lock; /* protects processes and ranges: one thread writes, others read */
	struct map processes; /* by pid */
	struct unwind_process scratch;
	bool must_reread; /* kernel records were lost */
	uint64_t next_reread_ns;
};

/* --- tracker_proc.c --------------------------------------------------------------------------- */

/* -ESRCH: it does not exist any more, or is a zombie. */
int tracker__read_stat(uint32_t pid, struct maps_stat *ret);
/* A mapping without a file, or of an unusable file, still replaces the previous ranges. */
void tracker__add_range(struct tracker *tracker, struct ranges *ranges,
			const struct module_place *at, uint64_t offset);
/* Reads its mappings. -ESRCH: it has ended; -ENODATA: a kernel thread. */
int tracker__read_process(struct tracker *tracker, uint32_t pid, struct process **ret);
void tracker__free_process(struct process *process);
DEFINE_CLEANUP(struct process *, tracker__free_process)

/* --- tracker_runtimes.c ----------------------------------------------------------------------- */

/* Hands over each file that may have a language runtime, once. */
void tracker__offer_all(struct tracker *tracker, struct process *process);
/* It is no longer the program that a runtime was found in. */
void tracker__drop_runtime(struct tracker *tracker, struct process *process, bool executes);
