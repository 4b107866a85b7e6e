/*
 * The processes that are known, and where their files are. One thread calls all of these, but for
 * tracker__locate() and tracker__locate_variable(), which any thread may.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stacks/events.h"
#include "stacks/modules.h"
#include "stacks/quality.h"

struct tracker;

struct tracker_options {
	int processes_fd, asked_fd;
	struct modules *modules;
	struct quality *quality;
	bool has_events; /* else what is known is read again and again */
	/* A process has this one mapped. */
	void (*take_module)(void *context, struct module *module);
	void *context;
};
int tracker__new(const struct tracker_options *options, struct tracker **ret);
void tracker__free(struct tracker *tracker);

/* Reads what a process has mapped now, and follows it from now on. */
void tracker__learn(struct tracker *tracker, uint32_t pid);

/* What the kernel tells; `context` is the tracker. */
void tracker__take(void *context, const struct event *event);

/* What is to be done every now and then: forgets processes that have ended, for one. */
void tracker__sweep(struct tracker *tracker);
/* Sets mapped_ns of every module that a process has mapped. */
void tracker__mark(struct tracker *tracker, uint64_t now_ns);

bool tracker__locate(struct tracker *tracker, uint32_t pid, uint64_t address, uint32_t *ret_module,
		     uint64_t *ret_address);
/* Likewise for what lies in the memory of a file, but is not code. */
bool tracker__locate_variable(struct tracker *tracker, uint32_t pid, uint64_t address,
			      uint32_t *ret_module, uint64_t *ret_address);
