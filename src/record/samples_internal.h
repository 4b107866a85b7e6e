/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to samples.c, samples_forget.c, places.c and naming.c. */
#pragma once

#include "base/map.h"
#include "record/samples.h"
#include "runtimes/runtimes.h"

#define MODULE_KERNEL (-1) /* the kernel's id in a recording; ids of generated code are lower */

#define MOST_TRIES 16 /* most lookups of the variable behind a futex */

enum code_kind { CODE_FILE, CODE_KERNEL, CODE_JIT, CODE_RUNTIME };

/* A module of the recording. It lives as long as something refers to it. */
struct code {
	int64_t id; /* never reused */
	uint64_t key;
	enum code_kind kind;
	uint32_t number; /* the mapper's number, the pid (CODE_JIT), or enum runtime_kind */
	size_t uses;
};

struct function {
	int64_t id;
	uint64_t key;
	size_t uses; /* number of frames that refer to it */
};

/* A place in code. */
struct frame {
	int64_t id;
	struct code *code;
	uint64_t address;
	uint64_t kept_ns;            /* see places__sweep() */
	struct function **functions; /* NULL until named; several if some are inlined */
	int function_count;
	uint32_t pid; /* CODE_RUNTIME */
	struct runtime_frame words;
};

/* A futex or semaphore that is a variable of a program or library. */
struct variable {
	int64_t object;
	const char *kind; /* of the object */
	struct code *code;
	uint64_t address;
	uint64_t found_ns;
};

/* Most files to remember per stack. Samples mark these as used, to keep their unwind rows. */
#define MOST_USED 16

/* A stack whose frames arrived. */
struct seen {
	uint64_t used_ns; /* last use by a sample, or arrival */
	uint32_t count;
	uint8_t end, how;
	uint64_t unsent_ns; /* before_ns when it was deleted from the kernel half's map; 0: not */
	uint8_t used_count;
	uint32_t used[MOST_USED];
	struct frame *frames[]; /* innermost first */
};

/* A node of the tree: a frame, called by the frame of its parent. */
struct node {
	int64_t id;
	uint64_t used_ns;
};

/* A futex that may be a variable of a program or library. */
struct futex {
	unsigned tries;
	uint64_t used_ns;
};

struct samples {
	struct recording *recording;
	struct names *names;
	struct mapper *mapper;
	int stacks_fd; /* the kernel half's map of stacks that it has sent */
	const struct part *parts;
	struct map modules; /* by key: struct code */
	int64_t last_file, last_jit;
	struct map frames; /* by the kernel half's value of the frame: struct frame */
	int64_t last_frame;
	struct map stacks; /* by hash: struct seen */
	struct map nodes;  /* by parent and frame: struct node */
	int64_t last_node;
	struct frame **unnamed; /* not named yet, oldest first */
	size_t unnamed_count;
	struct runtimes *runtimes; /* NULL: nobody looks for runtimes */
	struct frame **objects;    /* the same for frames of runtimes */
	size_t object_count;
	struct map futexes;         /* by object: struct futex */
	struct variable *variables; /* not named yet */
	size_t variable_count;
	struct naming *naming; /* NULL: not started */
	struct samples_quality quality;
};

/* The frame, created if it is new. `raw`: its words, two if FRAME_IS_RUNTIME(). */
int places__find(struct samples *samples, const uint64_t *raw, uint32_t pid, struct frame **ret);
/* The module of a file. Holds a reference, which places__leave() drops. */
int places__hold_file(struct samples *samples, uint32_t number, struct code **ret);
int places__leave(struct samples *samples, struct code *code);
/* Drops all frames whose kept_ns differs from `kept_ns`. */
int places__sweep(struct samples *samples, uint64_t kept_ns);
void places__release(struct samples *samples);

void naming__free(struct naming *naming);
/* Drops the references of a frame to its functions. */
int naming__leave(struct naming *naming, const struct frame *frame);
/* Forgets a module that is being dropped. `naming` may be NULL. */
void naming__forget_module(struct naming *naming, const struct code *code);
