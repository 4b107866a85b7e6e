/*
 * Who is at the other end of a pipe. The kernel does not keep that: a pipe knows how many have it
 * open, not who. So all descriptors of all processes are looked at, which costs some milliseconds,
 * and seldom enough to stay below 2 % of the time.
 */
#pragma once

#include <stddef.h>

#include "ledger/ledger.h"

struct pipes;

int pipes__new(struct pipes **ret);
void pipes__free(struct pipes *pipes);

/*
 * Appends to the name of a pipe whom its process writes to or reads from, as in
 * "pipe:[123] to cat 4242": other processes, or itself if it has both ends alone. Leaves it alone
 * if nobody was found.
 */
void pipes__add_peer(struct pipes *pipes, const struct ledger_object_record *record, char *name,
		     size_t size);
