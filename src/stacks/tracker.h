/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The known processes and their mappings. One thread calls all of these functions, except for
 * tracker__locate() and tracker__locate_variable(), which any thread may call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime.h"
#include "stacks/candidates.h"
#include "stacks/events.h"
#include "stacks/modules.h"
#include "stacks/quality.h"

struct tracker;

struct tracker_options {
	int processes_fd, asked_fd;
	struct modules *modules;
	struct quality *quality;
	bool has_events; /* false: /proc is read again periodically */
	/* Called for each module that a process has mapped. */
	void (*take_module)(void *context, struct module *module);
	void *context;
	struct candidate_taker languages;
};
int tracker__new(const struct tracker_options *options, struct tracker **ret);
void tracker__free(struct tracker *tracker);

/* Reads the current mappings of a process, and follows it from now on if it has not ended. */
void tracker__follow(struct tracker *tracker, uint32_t pid);

/* Takes a record of the kernel; `context` is the tracker. */
void tracker__take(void *context, const struct event *event);

/* Periodic work: forgets processes that have ended, and reads /proc again after lost records. */
void tracker__sweep(struct tracker *tracker);
/* Sets mapped_ns of every module that a process has mapped. */
void tracker__mark(struct tracker *tracker, uint64_t now_ns);

/* What the walk has to know of the runtime of a process. Without effect if it is another one now.
 */
void tracker__set_runtime(struct tracker *tracker, uint32_t pid, uint64_t start_ticks,
			  const struct runtime *runtime);

bool tracker__locate(struct tracker *tracker, uint32_t pid, uint64_t address, uint32_t *ret_module,
		     uint64_t *ret_address);
/* The same for a data address in a mapped file. */
bool tracker__locate_variable(struct tracker *tracker, uint32_t pid, uint64_t address,
			      uint32_t *ret_module, uint64_t *ret_address);
