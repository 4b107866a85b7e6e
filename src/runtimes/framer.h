/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The helper process "gapless-frames": files and memory of other processes in, offsets and names
 * out. It has no privileges; the descriptors come with the questions. Internal to framer.c and
 * runtimes.c. Not for use from two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/language.h"
#include "runtimes/runtimes.h"

struct framer;

int framer__new(struct framer **ret);
void framer__free(struct framer *framer);

/* A new process has been started since the last question: it knows no file and no process. */
bool framer__has_forgotten(const struct framer *framer);

/* Ends the process. The next question goes to a new one. */
void framer__restart(struct framer *framer);

/* Which runtime is in a file. `key` is the number by which it is called from now on. */
int framer__file(struct framer *framer, uint32_t key, int fd, const char *path,
		 enum runtime_kind *ret);

/* Tells about a process. The descriptors still belong to the caller; `maps_fd` may be -1. */
int framer__process(struct framer *framer, uint32_t pid, int memory_fd, int maps_fd);
void framer__forget(struct framer *framer, uint32_t pid);

struct framer_opened {
	int32_t err; /* of the language */
	struct runtime runtime;
	char version[RUNTIME_VERSION_BYTES];
};
/* Opens the runtime of a process in a file that has been told before, loaded with this bias. */
int framer__open(struct framer *framer, uint32_t pid, uint32_t file, uint64_t bias,
		 struct framer_opened *ret);

/* What is known later of a runtime that is open, in `runtime`; `err` as of refine(). */
int framer__refine(struct framer *framer, uint32_t pid, struct framer_opened *ret);

/*
 * Asks for the names of frames of one process, and calls `take` for each that has one. *ret_late:
 * those whose object is not there any more.
 */
int framer__name(struct framer *framer, uint32_t pid, const struct runtime_frame *frames,
		 size_t count, runtimes_take_fn take, void *context, uint64_t *ret_late);

/* What the threads of the runtime itself do now. The caller frees ret->list. */
int framer__fibers(struct framer *framer, uint32_t pid, struct runtime_fibers *ret);
/* What its threads have allocated; none, if its version does not tell. Likewise. */
int framer__allocated(struct framer *framer, uint32_t pid, struct runtime_allocated *ret);
