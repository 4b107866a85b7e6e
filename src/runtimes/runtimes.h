/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the language runtimes of processes, tells the walk about them, and names their frames.
 *
 * A thread of its own looks at the files that a process maps. If one has a runtime, it waits until
 * the runtime has started, and reports what the walk has to know. Everything that is read of files
 * and processes is parsed in a helper process without privileges.
 *
 * All functions may be called from any thread. Nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime.h"
#include "bpf/stack.h"
#include "symbol/symbol.h"

struct runtimes;

struct runtime_found {
	uint32_t pid;
	uint64_t start_ticks;
	enum runtime_kind kind;
	enum runtime_state state;
	const char *version;           /* "": unknown */
	const char *path;              /* of the file that has the runtime */
	const struct runtime *runtime; /* NULL, unless it is known */
};

struct runtimes_options {
	/* Called from the thread, when something has become known. */
	void (*found)(void *context, const struct runtime_found *found);
	void *context;
};
int runtimes__new(const struct runtimes_options *options, struct runtimes **ret);
/* Ends the thread. Names can still be asked for. */
void runtimes__stop(struct runtimes *runtimes);
void runtimes__free(struct runtimes *runtimes);

/* A file that a process has mapped. Only a copy of `fd` is kept. */
struct runtimes_mapping {
	uint32_t pid;
	uint64_t start_ticks;
	int fd;
	const char *path;
	uint64_t begin; /* where some code of the file is mapped */
	uint64_t bias;  /* what to add to an address of the file to get one of the process */
};

/* Whether a file with this name may have a runtime. */
bool runtimes__is_candidate(const char *path);
void runtimes__mapped(struct runtimes *runtimes, const struct runtimes_mapping *mapping);
/* Whether files are still being looked at. Runtimes that have not started yet do not count. */
bool runtimes__is_busy(struct runtimes *runtimes);
/* The process has ended or has executed another program. */
void runtimes__gone(struct runtimes *runtimes, uint32_t pid);

/* A runtime frame, as in the two words of bpf/stack.h. */
struct runtime_frame {
	uint64_t object;
	uint32_t position, cookie;
};
/* A cookie that no frame has: the object is a class of Java. */
#define RUNTIME_CLASS_COOKIE (1U << FRAME_COOKIE_BITS)

/* The strings are valid only during the call. */
typedef int (*runtimes_take_fn)(void *context, size_t index, const struct symbol_chain *chain);

/*
 * Names frames of one process, while it exists: calls `take` for each frame with a name. -ENOMEM,
 * or the first error of `take`.
 */
int runtimes__name(struct runtimes *runtimes, uint32_t pid, const struct runtime_frame *frames,
		   size_t count, runtimes_take_fn take, void *context);

/*
 * The name of the class of Java at an address of the process. -ENOENT: it cannot be read; -ENOMEM.
 */
int runtimes__class(struct runtimes *runtimes, uint32_t pid, uint64_t address, char *to,
		    size_t size);

/* A thread of a runtime's own, such as a goroutine. */
struct runtime_fiber {
	uint64_t at;         /* address of what the runtime keeps of it: of a g */
	uint64_t id;         /* not reused as long as the process lives */
	uint64_t start;      /* address of its first function */
	uint64_t created_at; /* in the function that made it; 0: unknown */
	uint64_t pc, sp, bp; /* where it goes on; all 0 if it runs */
	uint64_t saved_at;   /* address of the sp and the pc, as long as it does not run */
	uint64_t object;     /* address of what it waits for, if that is known; otherwise 0 */
	uint32_t state;      /* enum fiber_state */
	uint32_t reason;     /* why it waits: an index in `reasons`; 0: not known, or it does not */
};

#define FIBER_REASON_BYTES 40

struct runtime_fibers {
	uint64_t left_out; /* more than can be read at once */
	uint32_t count;
	/* In what the runtime keeps of each; 0: changes of state cannot be followed. */
	uint16_t id_at, reason_at, start_at;
	uint16_t pad;
	char reasons[FIBER_REASONS][FIBER_REASON_BYTES]; /* words of the runtime; "": none */
	struct runtime_fiber *list;                      /* free() */
};

/* `fibers` is valid only during the call. */
typedef int (*runtimes_fibers_fn)(void *context, uint32_t pid, uint64_t start_ticks,
				  const struct runtime_fibers *fibers);

/*
 * Reads the fibers of every process that has some, and calls `take` for each process. -ENOMEM, or
 * the first error of `take`.
 */
int runtimes__read_fibers(struct runtimes *runtimes, runtimes_fibers_fn take, void *context);

/* What a thread of the program has allocated since it began. */
struct runtime_allocation {
	uint64_t bytes;
	uint32_t tid; /* in its own pid namespace */
	uint32_t pad;
};

struct runtime_allocated {
	uint32_t count;
	uint32_t is_cut;                 /* there are more threads */
	struct runtime_allocation *list; /* free() */
};

/* `allocated` is valid only during the call. */
typedef int (*runtimes_allocated_fn)(void *context, uint32_t pid, uint64_t start_ticks,
				     const struct runtime_allocated *allocated);

/*
 * Reads what the threads of every process have allocated whose runtime tells, and calls `take` for
 * each process. -ENOMEM, or the first error of `take`.
 */
int runtimes__read_allocated(struct runtimes *runtimes, runtimes_allocated_fn take, void *context);

struct runtimes_quality {
	uint64_t processes;  /* with a runtime that is known */
	uint64_t unknown;    /* with one that is not, or that cannot be read */
	uint64_t names_late; /* frames whose object was gone before it could be read */
	uint64_t failed;     /* questions that the helper process did not answer */
};
struct runtimes_quality runtimes__quality(struct runtimes *runtimes);
