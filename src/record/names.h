/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ids and names for processes, culprits and objects, which are numbers in the kernel half. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ledger/ledger.h"
#include "recording/recording.h"

#define NAMES_INTERRUPT (-1)
#define NAMES_TIMEOUT   (-3)

struct names;
struct runtimes;

int names__new(struct recording *recording, struct names **ret);
void names__free(struct names *names);

/* From now on, locks of Java are named after their classes. */
void names__set_runtimes(struct names *names, struct runtimes *runtimes);

/* Do not look up the processes at the ends of pipes (pipes.h explains the cost). */
void names__skip_peers(struct names *names);

/*
 * The id of the process with this pid and start time. Call this for the first record of each of its
 * threads. Writes the process to the recording when it is new, and again for its group leader.
 */
int names__process(struct names *names, const struct ledger_record *record, int64_t *ret_id);
/* The id of a process that is known; `start_ticks` as in /proc/PID/stat. 0: it is not known yet. */
int64_t names__process_since(const struct names *names, uint32_t pid, uint64_t start_ticks);
/*
 * A thread changed its name or tid. A process has the name of its group leader (until that is seen,
 * of the first thread seen). Writes the process again if the thread is the leader.
 */
int names__renamed(struct names *names, const struct ledger_record *record, int64_t process);
/* A thread of the process `id` ended. The process is kept: more of its threads may appear. */
void names__thread_ended(struct names *names, uint32_t pid, int64_t id);
/* At the end of the recording: writes the limits of cgroups. */
int names__finish(struct names *names);
/*
 * Writes refaults of cgroups (see confines__write()) and the resident memory of processes as of
 * `time_ns`, which is now or the end of the recording.
 */
int names__write_memory(struct names *names, int64_t slice, uint64_t time_ns);
/* Call regularly: forgets processes that have had no threads for two sweeps. */
void names__sweep(struct names *names);

/*
 * Drops objects, and threads without an account, that were not used since `before_ns`. The
 * recording must have no rows left that refer to them. `objects_fd`: the kernel half's map of
 * objects that it has described.
 */
int names__forget(struct names *names, uint64_t before_ns, int objects_fd);

/* Takes a description from the kernel half. */
int names__describe(struct names *names, const struct ledger_object_record *record);

/* The id of a wait's object in the recording; 0 for none. */
int names__object(struct names *names, const struct ledger_key *key, int64_t *ret_id);

/* The same for a signal with objects of waits: a `find` of struct publish_finder. */
int names__object_of_signal(void *context, uint32_t kind, const __u64 numbers[2], int64_t *ret_id);

/* Whether `object` is the shared one for all objects beyond the limit. */
bool names__is_other(const struct names *names, int64_t object);

/* The id in the recording of the thread that ended a wait, or NAMES_…; 0 if unknown. */
int names__culprit(struct names *names, const struct ledger_key *key, int64_t *ret_id);

/* The id in the recording of a thread that had a CPU; 0: none, the CPU was idle. */
int names__occupant(struct names *names, const struct ledger_occupant_key *key,
		    const struct ledger_occupant *sum, int64_t *ret_id);

/* The id of the thread that held a lock first, if the lock was handed on; 0 otherwise. */
int names__first_holder(struct names *names, const struct ledger_key *key, int64_t *ret_id);

/* The number of waits with the shared object or culprit, because a limit was reached. */
uint64_t names__overflowed(const struct names *names);
