/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mapper with maps of its own, and what its tests ask it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/unwind.h"
#include "stacks/mapper.h"

struct world {
	struct mapper_options options;
	int ask_fd; /* a program that sends a request */
	struct mapper *mapper;
};

void world__open(struct world *world, uint64_t budget_bytes);
void world__close(struct world *world);

/* As the kernel half asks: notes that it did, and sends. */
void world__ask(struct world *world, enum unwind_need need, uint32_t id);
bool world__was_asked(struct world *world, enum unwind_need need, uint32_t id);

/* What the kernel half knows of a process; false: nothing. */
bool world__process(struct world *world, pid_t pid, struct unwind_process *ret);
/* The id of the module with this file among a process's mappings; 0: there is none. */
uint32_t world__maps(struct world *world, pid_t pid, const char *path);
/* Its rows are there. */
bool world__has_rows(struct world *world, uint32_t module);

/* Waits up to five seconds for it to become true. */
#define EVENTUALLY(condition)                                                                      \
	do {                                                                                       \
		bool is_so_ = false;                                                               \
		for (int i_ = 0; !is_so_ && i_ < 25000; i_++) {                                    \
			is_so_ = (condition);                                                      \
			if (!is_so_)                                                               \
				usleep(200);                                                       \
		}                                                                                  \
		if (!is_so_)                                                                       \
			fail_msg("never came true: %s", #condition);                               \
	} while (0)
