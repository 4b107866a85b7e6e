/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registry of files with code. A file is identified by device, inode, mtime and size. Files
 * with the same build-id, size and owner are one module. A module keeps its file open, so that its
 * inode number cannot be reused and its symbols can be read long after the file was deleted. A
 * module stays while a process has it mapped or someone holds it, and for some time after that.
 * Then its id can be given to another module.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "stacks/headers.h"
#include "stacks/quality.h"

enum module_state {
	MODULE_KNOWN,  /* no rows in the tables */
	MODULE_QUEUED, /* waits for the compiler */
	MODULE_LOADED,
	MODULE_FAILED, /* no rows can be made */
	MODULE_GONE,   /* about to be freed: no one may request it */
};

enum module_candidate { CANDIDATE_UNKNOWN, CANDIDATE_NO, CANDIDATE_YES };

/* Only the atomic fields and those after them change. */
struct module {
	uint32_t id;
	int fd; /* -1: the vDSO */
	char *path;
	char *build_id; /* hex or NULL */
	int pid;
	const void *image; /* of the vDSO, in our own memory */
	size_t image_bytes;
	struct stat stat;
	uint64_t device, inode; /* as in maps; stat() differs on layered file systems */
	struct headers headers;
	_Atomic int state;               /* enum module_state */
	_Atomic uint64_t used_ns;        /* last use */
	_Atomic bool is_leaving;         /* the compiler is to remove its rows */
	uint32_t holds;                  /* references, protected by the lock of the modules */
	uint64_t mapped_ns;              /* last time a process had it mapped; for one thread */
	enum module_candidate candidate; /* may have a language runtime; for the same thread */
	/* Used only by the compiler's thread: */
	bool is_counted;     /* its rows are in the statistics */
	uint64_t cost_ns;    /* CPU time to compile its rows */
	uint64_t evicted_ns; /* last eviction; 0: never */
};

struct modules;

int modules__new(struct quality *quality, struct modules **ret);
/* Aborts the opening of files. May be called from any thread. */
void modules__stop(struct modules *modules);
void modules__free(struct modules *modules);

/* A mapping of code, from a line of maps or from an event. */
struct module_place {
	uint32_t pid;
	uint64_t begin, end;
	uint64_t device, inode;
	const char *path;
};

/* NULL: not a usable file. Only one thread may call this: the writing thread. */
struct module *modules__at(struct modules *modules, const struct module_place *place);

/*
 * NULL: no such id. May be called from any thread. But threads other than the writing thread must
 * make sure that the module is not freed.
 */
struct module *modules__get(struct modules *modules, uint32_t id);

/* Takes a reference, until modules__leave(). NULL: no such id. May be called from any thread. */
struct module *modules__hold(struct modules *modules, uint32_t id);
void modules__leave(struct modules *modules, uint32_t id);
/* Updates used_ns. May be called from any thread. */
void modules__use(struct modules *modules, uint32_t id);

/*
 * Only for the writing thread. Frees the modules that nobody holds, that were not used since
 * `before_ns`, and that are not mapped (whose mapped_ns is not `mapped_ns`). Calls `leave` for
 * each. If a module still has rows, `leave` must have them removed, and a later sweep frees the
 * module.
 */
typedef void (*modules_leave_fn)(void *context, struct module *module);
void modules__sweep(struct modules *modules, uint64_t before_ns, uint64_t mapped_ns,
		    modules_leave_fn leave, void *context);
