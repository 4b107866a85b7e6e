/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One program, two processes: the new one gives up its privileges and does the work; the old one
 * keeps them, parses nothing, and does for the new one what a policy allows.
 *
 * Nothing here logs.
 */
#pragma once

#include <stddef.h>

#include "guard/guard.h"

#define SPLIT_MOST_BYTES 256 /* of a request, and of a reply */

struct split_reply {
	int fd; /* -1: none; it belongs to whoever receives it */
	char bytes[SPLIT_MOST_BYTES];
	size_t size;
};

/*
 * Runs in the old process. The request is untrusted. 0 or -errno; a descriptor in *ret is passed on
 * and closed.
 */
typedef int split_provide(void *context, const void *request, size_t size, struct split_reply *ret);

/*
 * Forks. Returns 0 in the new process, which has the role and, of the descriptors, only standard
 * input and output. In the old process, serves the new one
 * until it ends, and returns 1 and its status, as of waitpid(). -errno: there is no new process.
 * Call it while there are no other threads and no buffered output.
 */
int split__begin(enum guard_role role, split_provide *provide, void *context, int *ret_status);

/* In the new process. 0 or -errno; -EPIPE: the old process is gone. */
int split__ask(const void *request, size_t size, struct split_reply *ret);
