/*
 * Walks the stack of a thread that sleeps, from outside, with the kernel half's own tables and the
 * kernel half's own code (bpf/unwind.h).
 */
#pragma once

#include <stdint.h>

#include "bpf/unwind.h"

struct walker;

struct walker_registers {
	uint64_t pc, sp, bp;
	uint64_t link; /* the link register, if the machine has one */
};

/* The maps stay the caller's: those of struct mapper_options. */
int walker__new(int processes_fd, int pages_fd, struct walker **ret);
void walker__free(struct walker *walker);

/*
 * From these registers of a thread of the process. What was found is in *ret, with walk->need if
 * tables were missing; it is right only if the thread did not move meanwhile.
 */
void walker__walk(struct walker *walker, uint32_t pid, const struct walker_registers *registers,
		  struct unwind *ret);
/* Forgets what it keeps of tables that were missing. */
void walker__refresh(struct walker *walker);
