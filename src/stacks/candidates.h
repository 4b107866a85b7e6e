/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped files that may have a language runtime, for whoever looks for them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A file of which a process has mapped code. */
struct candidate_mapping {
	uint32_t pid;
	uint64_t start_ticks;
	int fd;
	const char *path;
	uint64_t begin; /* where some code of the file is mapped */
	uint64_t bias;  /* what to add to an address of the file to get one of the process */
};

/* Whoever looks for language runtimes in processes. All NULL: nobody does. */
struct candidate_taker {
	bool (*is_candidate)(const char *path);
	/* Called for files that are candidates: at least once for each program of a process. */
	void (*take)(void *context, const struct candidate_mapping *mapping);
	/* The process has ended, or executed another program. */
	void (*gone)(void *context, uint32_t pid, uint64_t start_ticks, bool executes);
	void *context;
};
