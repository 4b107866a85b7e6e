/* Identities and names of what the kernel half only numbers: processes, culprits, objects. */
#pragma once

#include <stdint.h>

#include "ledger/ledger.h"
#include "recording/recording.h"

#define NAMES_INTERRUPT (-1)

struct names;

int names__new(struct recording *recording, struct names **ret);
void names__free(struct names *names);

/* The id of the process with this pid and start; written to the recording when it is new. */
int names__process(struct names *names, const struct ledger_record *record, int64_t *ret_id);
/* A process has the name of its first thread: written again when that changes. */
int names__renamed(struct names *names, const struct ledger_record *record, int64_t process);
/* One thread of it ended; the last one frees what is remembered. */
void names__thread_ended(struct names *names, const struct ledger_record *record);

/* A description from the kernel half. */
int names__describe(struct names *names, const struct ledger_object_record *record);

/* The recording's id of the object of a wait, 0 for none. */
int names__object(struct names *names, const struct ledger_key *key, int64_t *ret_id);

/* The recording's id of who ended a wait, 0 for nobody. */
int names__culprit(struct names *names, const struct ledger_key *key, int64_t *ret_id);
