/* What samples.c and naming.c share, and nobody else. */
#pragma once

#include "base/map.h"
#include "record/samples.h"

/* Ids of modules in a recording: the mapper's for files; this for the kernel; jits are below it. */
#define MODULE_KERNEL (-1)

#define MOST_TRIES 16 /* to find out which variable a futex is */

/* A place in code. */
struct place {
	int64_t module;
	uint64_t address;
	uint32_t pid; /* a process that was there */
};

/* A futex that is a variable of a program or library. */
struct variable {
	int64_t object;
	struct place place;
};

struct samples {
	struct recording *recording;
	struct names *names;
	struct mapper *mapper;
	struct map modules;   /* by id: those that are written */
	struct map jits;      /* by pid: numbers from 1 */
	struct map frame_ids; /* by frame as the kernel half has it */
	struct map stacks;    /* by hash: struct seen */
	struct map nodes;     /* by parent << 32 | frame: ids from 1 */
	struct place *frames; /* the frame with id i is at i − 1 */
	size_t frame_count, frame_size;
	struct map futexes; /* by object: how often it was looked for, or MOST_TRIES */
	struct variable *variables;
	size_t variable_count;
	struct naming *naming;  /* NULL: not begun */
	size_t named;           /* so many frames, the first ones, were looked up … */
	size_t named_variables; /* … and so many variables */
	struct samples_quality quality;
};

void naming__free(struct naming *naming);
