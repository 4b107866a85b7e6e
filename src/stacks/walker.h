/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the stack of a sleeping thread from outside, with the tables and the code of the kernel
 * half (bpf/unwind.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct walker;

struct walker_registers {
	uint64_t pc, sp, bp;
	uint64_t link;           /* the link register, if the machine has one */
	uint64_t thread_pointer; /* of thread-local variables; 0: unknown */
};

/* The maps are those of struct mapper_options; they still belong to the caller. */
int walker__new(int processes_fd, int pages_fd, struct walker **ret);
void walker__free(struct walker *walker);

/*
 * Walks from these registers of a thread in process `pid`. *ret has the result, and ret->need if
 * tables were missing. It is valid only if the thread did not run meanwhile.
 */
void walker__walk(struct walker *walker, uint32_t pid, const struct walker_registers *registers,
		  struct unwind *ret);
/* The mapped code around `pc`. false: it is in no known file. */
bool walker__find_code(struct walker *walker, uint32_t pid, uint64_t pc, uint64_t *ret_begin,
		       uint64_t *ret_end);
/* Makes the next walk read the table of its process again, in case it was missing before. */
void walker__refresh(struct walker *walker);
