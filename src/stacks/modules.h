/*
 * The registry of files with code. A file is known by device, inode, mtime and size; two files with
 * the same build-id and size are one module. A module has its file open: so its inode cannot become
 * another file's, and its symbols can be read when it is long deleted. It stays while a process has
 * it mapped or somebody holds it, and some time after; then its id can become another module's.
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
	MODULE_QUEUED, /* the compiler will see to it */
	MODULE_LOADED,
	MODULE_FAILED, /* nothing to be had */
	MODULE_GONE,   /* about to be freed: nobody may ask for it */
};

/* All but the atomic and the last fields stays as it was made. */
struct module {
	uint32_t id;
	int fd; /* -1: the vDSO */
	char *path;
	char *build_id; /* hex or NULL */
	int pid;
	const void *image; /* of the vDSO, in our own memory */
	size_t image_bytes;
	struct stat stat;
	uint64_t device, inode; /* as maps tells them; layered file systems stat() to others */
	struct headers headers;
	_Atomic int state;        /* enum module_state */
	_Atomic uint64_t used_ns; /* when it was last of use */
	_Atomic bool is_leaving;  /* the compiler is to take its rows out */
	uint32_t holds;           /* under the lock of the modules */
	uint64_t mapped_ns;       /* when a process was last known to have it; of one thread */
	/* Of the compiler's thread: */
	bool is_counted;     /* its rows are */
	uint64_t cost_ns;    /* CPU time that its rows took to make */
	uint64_t evicted_ns; /* when they last gave way; 0: never */
};

struct modules;

int modules__new(struct quality *quality, struct modules **ret);
/* Files that are being opened are given up. From any thread. */
void modules__stop(struct modules *modules);
void modules__free(struct modules *modules);

/* A mapping of code, as a line of maps or an event tells it. */
struct module_place {
	uint32_t pid;
	uint64_t begin, end;
	uint64_t device, inode;
	const char *path;
};

/* NULL: no file that we can use. For one thread alone. */
struct module *modules__at(struct modules *modules, const struct module_place *place);

/* NULL: no such id. From any thread; but others than that one must know that it stays. */
struct module *modules__get(struct modules *modules, uint32_t id);

/* From any thread: it stays until it is left as often. NULL: no such id. */
struct module *modules__hold(struct modules *modules, uint32_t id);
void modules__leave(struct modules *modules, uint32_t id);
/* From any thread: it was of use. */
void modules__use(struct modules *modules, uint32_t id);

/*
 * For that one thread: frees modules that nobody holds, that were of no use since `before_ns` and
 * are not mapped (mapped_ns is not `mapped_ns`). `leave` is called for each; those with rows it has
 * to have taken out, and they go the next time.
 */
typedef void (*modules_leave_fn)(void *context, struct module *module);
void modules__sweep(struct modules *modules, uint64_t before_ns, uint64_t mapped_ns,
		    modules_leave_fn leave, void *context);
