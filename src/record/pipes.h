/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the processes at the ends of a pipe. The kernel knows how many have a pipe open, but not
 * which. So we scan all descriptors of all processes. A scan costs some milliseconds. Scans are
 * limited to 2 % of the time.
 */
#pragma once

#include <stddef.h>

#include "ledger/ledger.h"

struct pipes;

int pipes__new(struct pipes **ret);
void pipes__free(struct pipes *pipes);

/*
 * Appends the writers and readers of a pipe to its name, as in
 * "pipe:[123] from tar 4241 to gzip 4242". A process that has both ends open is named only for an
 * end that no other process has. An end without a known process is left out.
 */
void pipes__add_ends(struct pipes *pipes, const struct ledger_object_record *record, char *name,
		     size_t size);
