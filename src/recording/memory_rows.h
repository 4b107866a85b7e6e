/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a recording about memory. */
#pragma once

#include "recording/recording.h"

/* The resident memory of a process at one moment, in bytes. */
struct recording_resident {
	int64_t time_ns, process;
	int64_t anonymous, file, shared, swap;
};
int memory_rows__add_resident(struct recording *recording,
			      const struct recording_resident *resident);

/*
 * What a thread allocated between two readings, in bytes. No bytes, in no time: it is known from
 * then on; a thread without such a row is known from its beginning on.
 */
struct recording_allocated {
	int64_t begin_ns, end_ns, thread, bytes;
};
int memory_rows__add_allocated(struct recording *recording,
			       const struct recording_allocated *allocated);
