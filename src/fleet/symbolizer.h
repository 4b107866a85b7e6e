/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the code of a whole fleet: takes places (module, offset) that have none from the store,
 * finds files by build-id, and writes rows of `symbols`. The files are read by the same helper
 * process as for a recording (symbol/namer.h), so names are the same as in a report.
 *
 * A module without a file is tried again after a day, and after half an hour if it is not known
 * whether there is one, because a server did not answer. Several symbolizers can share the work:
 * each takes the modules whose number leaves the same rest.
 */
#pragma once

#include "fleet/connection.h"

struct symbolizer_options {
	const char *const *directories; /* ends with NULL; may be NULL */
	uint64_t part, parts;           /* part 0 … parts - 1 */
	bool no_debuginfod;
	uint64_t now_s;
};

struct symbolizer_result {
	uint64_t places, named; /* offsets in modules */
	uint64_t modules, absent;
	uint64_t failed;         /* modules whose search failed for a reason that may pass */
	uint64_t kernel_modules; /* .ko files, which get no names; not in `absent` */
	uint64_t downloads_ended, refused; /* see struct namer_quality */
	bool is_cut;                       /* there are more places: run it again */
};

/* Called for each module that has no file here. May be NULL. */
typedef void (*symbolizer_say_fn)(const char *path, const char *build_id);

int symbolizer__run(struct connection *connection, const struct symbolizer_options *options,
		    symbolizer_say_fn say_absent, struct symbolizer_result *ret);
