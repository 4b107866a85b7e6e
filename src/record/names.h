/* Identities and names of what the kernel half only numbers: processes, culprits, objects. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ledger/ledger.h"
#include "recording/recording.h"

#define NAMES_INTERRUPT (-1)
#define NAMES_TIMEOUT   (-3)

struct names;

int names__new(struct recording *recording, struct names **ret);
void names__free(struct names *names);

/* Pipes go without the name of who is at the other end (see pipes.h for what that costs). */
void names__leave_peers(struct names *names);

/*
 * The id of the process with this pid and start, for the first record of each of its threads.
 * Written to the recording when it is new, and again when the thread is the one whose name it has.
 */
int names__process(struct names *names, const struct ledger_record *record, int64_t *ret_id);
/*
 * A process has the name of the thread whose tid is its pid (until that is seen, of the first one
 * that is): written again when that changes.
 */
int names__renamed(struct names *names, const struct ledger_record *record, int64_t process);
/* One thread of the process `id` ended. It is still known: more of its threads may appear. */
void names__thread_ended(struct names *names, uint32_t pid, int64_t id);
/* Now and then: forgets processes that were without threads the last time already. */
void names__sweep(struct names *names);

/*
 * Drops objects and threads without an account that nobody asked for since `before_ns`: the
 * recording has no row any more that names them. `objects_fd`: the kernel half's map of those that
 * it has described.
 */
int names__forget(struct names *names, uint64_t before_ns, int objects_fd);

/* A description from the kernel half. */
int names__describe(struct names *names, const struct ledger_object_record *record);

/* The recording's id of the object of a wait, 0 for none. */
int names__object(struct names *names, const struct ledger_key *key, int64_t *ret_id);

/* Whether that is the one that stands for those beyond the limit. */
bool names__is_other(const struct names *names, int64_t object);

/* The recording's id of who ended a wait, 0 for nobody. */
int names__culprit(struct names *names, const struct ledger_key *key, int64_t *ret_id);

/* Likewise of the thread that held a lock first, where that is not the one that ended the wait. */
int names__first_holder(struct names *names, const struct ledger_key *key, int64_t *ret_id);

/* How many waits got an object or a culprit that stands for those beyond the limits. */
uint64_t names__overflowed(const struct names *names);
