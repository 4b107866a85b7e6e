/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal to the files of Go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/language.h"

/* Where things are in the structures of the runtime. */
struct go_layout {
	uint16_t first_minor, last_minor; /* Go 1.N */
	uint16_t g_bytes;                 /* that are read of each g */
	uint16_t sched_bp;                /* in g, as all that follow; sp and pc are at its begin */
	uint16_t status, id, reason;
	uint16_t created_at, start;
	uint16_t curg; /* in m */
	uint16_t sudog_bytes;
	uint16_t waitlink; /* in sudog */
};

#define GO_G_M        48 /* in g; the same in all versions */
#define GO_G_SCHED    56
#define GO_SUDOG_G    0
#define GO_SUDOG_NEXT 8 /* in a tree of semaphores: the right one; the left one follows */
#define GO_SUDOG_ELEM 24

/* NULL: this version is not known. */
const struct go_layout *go_layout__find(unsigned minor);

/* A Go program. */
struct go {
	const struct go_layout *layout;
	bool by_registers; /* arguments of functions are in ARCH_GO_ARG1, ARCH_GO_ARG2 … */
	uint64_t allgs;    /* address of runtime.allgs, a slice */
	uint64_t semtable; /* of runtime.semtable; 0: unknown */
	uint64_t reasons;  /* of runtime.waitReasonStrings; 0: unknown */
	uint64_t main;     /* of the function runtime.main; 0: unknown */
	size_t reason_count;
	bool has_texts;
	char texts[FIBER_REASONS][FIBER_REASON_BYTES]; /* of the reasons */
	int64_t tls; /* from the thread pointer to the pointer to g; 0: unknown */
	/* The last list of goroutines, by address. */
	uint64_t *raw, *list;
	size_t count;
	uint8_t *window; /* what is read at once */
};

/* Finds what a stripped program has no symbols for, by its table of functions. 0, or -ENOENT. */
int go_stripped__find(struct subject *subject, struct go *go);

/* As in struct language. */
int go_fibers__read(struct subject *subject, struct runtime_fibers *ret);
