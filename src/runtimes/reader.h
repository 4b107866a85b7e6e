/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The helper process "gapless-frames": files and memory of other processes in, offsets and names
 * out. It has no privileges; the descriptors come with the questions. Internal to reader.c and
 * runtimes.c. Not for use from two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/language.h"
#include "runtimes/runtimes.h"

struct reader;

int reader__new(struct reader **ret);
void reader__free(struct reader *reader);

/* A new process has been started since the last question: it knows no file and no process. */
bool reader__has_forgotten(const struct reader *reader);

/* Ends the process. The next question goes to a new one. */
void reader__restart(struct reader *reader);

/* Which runtime is in a file. `key` is the number by which it is called from now on. */
int reader__file(struct reader *reader, uint32_t key, int fd, const char *path,
		 enum runtime_kind *ret);

/* Tells about a process. The descriptors still belong to the caller; `maps_fd` may be -1. */
int reader__process(struct reader *reader, uint32_t pid, int memory_fd, int maps_fd);
void reader__forget(struct reader *reader, uint32_t pid);

struct reader_opened {
	int32_t err; /* of the language */
	struct runtime runtime;
	char version[RUNTIME_VERSION_BYTES];
};
/* Opens the runtime of a process in a file that has been told before, loaded with this bias. */
int reader__open(struct reader *reader, uint32_t pid, uint32_t file, uint64_t bias,
		 struct reader_opened *ret);

/* What is known later of a runtime that is open, in `runtime`; `err` as of refine(). */
int reader__refine(struct reader *reader, uint32_t pid, struct reader_opened *ret);

/*
 * Asks for the names of frames of one process, and calls `take` for each that has one. *ret_late:
 * those whose object is not there any more.
 */
int reader__name(struct reader *reader, uint32_t pid, const struct runtime_frame *frames,
		 size_t count, runtimes_take_fn take, void *context, uint64_t *ret_late);

/* What the threads of the runtime itself do now. The caller frees ret->list. */
int reader__fibers(struct reader *reader, uint32_t pid, struct runtime_fibers *ret);
/* What its threads have allocated; none, if its version does not tell. Likewise. */
int reader__allocated(struct reader *reader, uint32_t pid, struct runtime_allocated *ret);
