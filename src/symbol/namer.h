/*
 * symbol.h, asked through a helper process (base/helper.h): what a file does to it costs that
 * file's names, never the recording.
 *
 * A file for which there is not enough memory is asked again for its symbol tables alone, then left
 * out; one on a file system that does not answer is left out, with all others of it. Each is
 * counted. Nothing here logs. Not for use from two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

struct namer;

struct namer_options {
	bool no_debuginfod;    /* else: asked if DEBUGINFOD_URLS is set */
	uint64_t memory_bytes; /* for the helper; 0: a share of what there is */
	/* Somebody wants an end: downloads get 2 s more. May be NULL. */
	bool (*is_interrupted)(void);
	/* Called about once a second during a download. May be NULL. */
	void (*say_download)(const char *what, long done, long total);
};

enum namer_kind { NAMER_MODULE, NAMER_VARIABLE, NAMER_KERNEL, NAMER_JIT, NAMER_VDSO };

/* Addresses that are in the same place. */
struct namer_question {
	enum namer_kind kind;
	struct symbol_module module; /* of NAMER_MODULE and NAMER_VARIABLE */
	int pid;                     /* of NAMER_JIT */
	const uint64_t *addresses;
	size_t count;
};

/* A variable is a chain of one, and `offset` tells how far into it the address is. */
typedef int (*namer_take_fn)(void *context, size_t index, const struct symbol_chain *chain,
			     uint64_t offset);

int namer__new(const struct namer_options *options, struct namer **ret);
void namer__free(struct namer *namer);

/* Calls `take` for each address that a name is known for, in their order; strings are valid
 * meanwhile. -ENOMEM, or the first error of `take`. */
int namer__ask(struct namer *namer, const struct namer_question *question, namer_take_fn take,
	       void *context);

/*
 * Nothing more will be asked about the module with this key, or about generated code of this
 * process. The helper keeps every file open that it was asked about; when there are many that
 * nobody needs, it ends, and the next question starts another.
 */
void namer__leave(struct namer *namer, enum namer_kind kind, uint64_t key);

struct namer_quality {
	uint64_t without_debug; /* files whose DWARF was left out: memory, CPU time or a stall */
	uint64_t too_large;     /* files with tables larger than any program's */
	uint64_t refused;       /* files that were given up */
	uint64_t stalled;       /* of them, on a file system that did not answer */
	uint64_t downloads_ended;
};
struct namer_quality namer__quality(const struct namer *namer);
