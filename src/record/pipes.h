/*
 * Who is at the ends of a pipe. The kernel does not keep that: a pipe knows how many have it
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
 * Appends to the name of a pipe who writes to it and who reads from it, as in
 * "pipe:[123] from tar 4241 to gzip 4242". Who has both ends is named only where nobody else is.
 * An end that nobody was found at is left out.
 */
void pipes__add_ends(struct pipes *pipes, const struct ledger_object_record *record, char *name,
		     size_t size);
