/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol.h in a helper process (base/helper.h): a bad file can cost its own names, but never the
 * recording.
 *
 * If there is not enough memory for a file, only its symbol tables are read; if that fails too, the
 * file is skipped. If a file system does not respond, all of its files are skipped. Each case is
 * counted. Nothing here logs. Not for use from two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

struct namer;

struct namer_options {
	bool no_debuginfod;    /* false: debuginfod is used if DEBUGINFOD_URLS is set */
	uint64_t memory_bytes; /* for the helper; 0: 48 MB */
	/* The user wants to stop: downloads get 2 s more. May be NULL. */
	bool (*is_interrupted)(void);
	/* Called about once a second during a download. May be NULL. */
	void (*say_download)(const char *what, long done, long total);
};

enum namer_kind { NAMER_MODULE, NAMER_VARIABLE, NAMER_KERNEL, NAMER_JIT, NAMER_VDSO };

/* Addresses in the same module, process or kernel. */
struct namer_question {
	enum namer_kind kind;
	struct symbol_module module; /* of NAMER_MODULE and NAMER_VARIABLE */
	int pid;                     /* of NAMER_JIT */
	const uint64_t *addresses;
	size_t count;
};

/* For a variable, the chain has one frame, and `offset` is the address's offset in it. */
typedef int (*namer_take_fn)(void *context, size_t index, const struct symbol_chain *chain,
			     uint64_t offset);

int namer__new(const struct namer_options *options, struct namer **ret);
void namer__free(struct namer *namer);

/*
 * Calls `take` for each address with a known name, in order. The strings are valid only during the
 * call. -ENOMEM, or the first error of `take`.
 */
int namer__ask(struct namer *namer, const struct namer_question *question, namer_take_fn take,
	       void *context);

/*
 * Promises that there are no further questions about the module with this key, or about the JIT
 * code of this process. The helper process keeps every file open that it was asked about. When many
 * files are no longer needed, it is stopped, and the next question starts a new one.
 */
void namer__leave(struct namer *namer, enum namer_kind kind, uint64_t key);

struct namer_quality {
	uint64_t without_debug; /* files whose DWARF was skipped: memory, CPU time or a stall */
	uint64_t without_lines; /* compilation units with too many lines for the memory there is */
	uint64_t too_large;     /* files with tables larger than those of any real program */
	uint64_t refused;       /* files that were skipped */
	uint64_t stalled;       /* those of them on a file system that did not respond */
	uint64_t downloads_ended;
	/*
	 * What stayed without an answer for a reason that may pass: requests to servers
	 * (download__unanswered()), files that stalled, and questions without a helper process.
	 */
	uint64_t unanswered;
};
struct namer_quality namer__quality(const struct namer *namer);
