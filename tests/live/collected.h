/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collector, known processes, and the sums of its steps. */
#pragma once

#include <sys/types.h>

#include "agent/collector.h"
#include "vocabulary/states.h"

/* The last cgroup with "gapless-test" in its path that was made or removed. */
struct collected_cgroup {
	uint64_t id;
	char path[LEDGER_CGROUP_BYTES];
	bool is_gone;
};
const struct collected_cgroup *collected__cgroup(void);

/* The workload of a process here is its cgroup and its name. */
uint64_t collected__workload(void *context, const struct folding_process *process);

/* Loaded, attached, and all accounts are open. */
struct collector *collected__open(bool with_occupants);

/* Sums of the rows of a group of threads over all steps. */
struct collected {
	const char *group;
	uint64_t ns[SLOT_COUNT], count[SLOT_COUNT];
	uint64_t thread_ns, unexplained_ns;
	uint64_t workload;
	const char *by;      /* a group of culprits, */
	int evidence;        /* with this evidence, */
	uint64_t culprit_ns; /* and the time that they are blamed for */
	uint64_t kind_ns[KIND_COUNT];
	char object[64]; /* of the longest row */
	uint64_t object_ns;
};

/* Adds the rows of the group, and fails the test if the step does not close. */
void collected__add(struct collected *sums, const struct bucket *step);
void collected__step(struct collector *collector, struct collected *sums, bool is_whole);
/* Of all states. */
uint64_t collected__total(const struct collected *sums);

/* A process with this name that does the work and ends with success. */
pid_t collected__child(const char *name, void (*work)(void));
/*
 * Waits for the end of a child, and for the last record of its thread, which comes when the thread
 * leaves its CPU for the last time. Returns its status.
 */
int collected__await(pid_t pid);
void collected__sleep_ms(long ms);
