/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds places for probes in an ELF file: functions by name, probes that the program declares, and
 * the function at an offset. Files are read in a process without privileges, which another one
 * opens them for (confine.h). Nothing here logs. Not for use from two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/instruction.h"
#include "symbol/usdt.h"

#define FINDER_NAME_BYTES 256

struct finder;

enum finder_kind {
	FINDER_FUNCTIONS, /* whose names match `pattern` */
	FINDER_ADDRESS,   /* the place at the ELF address `at` */
	FINDER_OFFSET,    /* the name of the function at the offset `at` of the file */
	FINDER_PROBES,    /* USDT probes whose "provider:name" matches `pattern` */
};

struct finder_question {
	enum finder_kind kind;
	const char *root;    /* "" or "/proc/PID/root" */
	const char *path;    /* below it, absolute */
	const char *pattern; /* see name_pattern.h */
	uint64_t at;
	uint64_t behind; /* FINDER_FUNCTIONS: the place is this far behind the function's start */
	bool for_go; /* FINDER_FUNCTIONS: a cheap place with the arguments in registers is enough */
	size_t most; /* places; 0: no limit but that of the answer */
};

enum finder_flags {
	FINDER_GO = 1,       /* in a Go program: no probe may be at the return */
	FINDER_AT_ENTRY = 2, /* registers and stack are as at the entry of the function */
	/*
	 * An exception of C++ or a panic of Rust may pass through the function. A probe at its
	 * return replaces the return address, so the unwinder finds no caller and ends the program.
	 */
	FINDER_MAY_THROW = 4,
};

struct finder_place {
	uint64_t offset;    /* in the file; FINDER_OFFSET: of the function's start */
	uint64_t semaphore; /* its offset in the file; 0: none */
	uint32_t flags;     /* enum finder_flags */
	uint32_t cost;      /* enum instruction_cost */
	uint32_t argument_count;
	uint32_t pad;
	struct usdt_argument arguments[USDT_MOST_ARGUMENTS];
	char name[FINDER_NAME_BYTES]; /* as in the source; or "provider:name" */
	char text[FINDER_NAME_BYTES]; /* of a USDT probe: its arguments as the file has them */
};

/* Ends the answer with any result but 0, which finder__ask() returns. */
typedef int (*finder_take_fn)(void *context, const struct finder_place *place);

int finder__new(struct finder **ret);
void finder__free(struct finder *finder);

/*
 * Calls `take` for each place, in the order of the file. *ret_more: there are more than `most`. 0,
 * also if there is none. -ENOEXEC: not an ELF file; -ENOTSUP: all that match are indirect functions
 * (IFUNC), whose code is elsewhere; -ENOENT, -EACCES …: it cannot be opened; -ETIMEDOUT.
 */
int finder__ask(struct finder *finder, const struct finder_question *question, finder_take_fn take,
		void *context, bool *ret_more);

/* What the process does: searches an open file. *ret has *ret_count places and is the caller's. */
int finder__search(int fd, const struct finder_question *question, struct finder_place **ret,
		   size_t *ret_count, bool *ret_more);
