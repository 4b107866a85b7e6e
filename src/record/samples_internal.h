/* What samples.c, places.c and naming.c share, and nobody else. */
#pragma once

#include "base/map.h"
#include "record/samples.h"

#define MODULE_KERNEL (-1) /* its id in a recording; those of generated code are below it */

#define MOST_TRIES 16 /* to find out which variable a futex is */

enum code_kind { CODE_FILE, CODE_KERNEL, CODE_JIT };

/* A module of the recording. It lives as long as something refers to it. */
struct code {
	int64_t id; /* never used again for another one */
	uint64_t key;
	enum code_kind kind;
	uint32_t number; /* the mapper's of a file, the process of generated code */
	size_t uses;
};

struct function {
	int64_t id;
	uint64_t key;
	size_t uses; /* by frames */
};

/* A place in code. */
struct frame {
	int64_t id;
	struct code *code;
	uint64_t address;
	uint64_t kept_ns;            /* see places__sweep() */
	struct function **functions; /* once it was looked up; more than one if some are inlined */
	int function_count;
};

/* A futex that is a variable of a program or library. */
struct variable {
	int64_t object;
	struct code *code;
	uint64_t address;
	uint64_t found_ns;
};

struct samples {
	struct recording *recording;
	struct names *names;
	struct mapper *mapper;
	int stacks_fd;      /* the kernel half's map of stacks that it has sent */
	struct map modules; /* by key: struct code */
	int64_t last_file, last_jit;
	struct map frames; /* by frame as the kernel half has it: struct frame */
	int64_t last_frame;
	struct map stacks; /* by hash: struct seen */
	struct map nodes;  /* by parent and frame: struct node */
	int64_t last_node;
	struct frame **unnamed; /* not looked up yet, oldest first */
	size_t unnamed_count, unnamed_size;
	struct map futexes;         /* by object: struct futex */
	struct variable *variables; /* likewise */
	size_t variable_count;
	struct naming *naming; /* NULL: not begun */
	struct samples_quality quality;
};

/* The frame, made if it is new. */
int places__find(struct samples *samples, uint64_t frame, uint32_t pid, struct frame **ret);
/* The module, which stays until it is left. */
int places__hold_file(struct samples *samples, uint32_t number, struct code **ret);
int places__leave(struct samples *samples, struct code *code);
/* Drops all frames whose kept_ns is not this. */
int places__sweep(struct samples *samples, uint64_t kept_ns);
void places__release(struct samples *samples);

void naming__free(struct naming *naming);
/* The functions of a frame that is dropped. */
int naming__leave(struct naming *naming, const struct frame *frame);
/* A module that is dropped. */
void naming__leave_module(struct naming *naming, const struct code *code);
