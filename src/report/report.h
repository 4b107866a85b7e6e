/* The report on a recording: where the time went, who held it up, what that means in words. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/redact.h"

enum report_by {
	REPORT_BY_NONE,
	REPORT_BY_THREAD,
	REPORT_BY_PROCESS,
	REPORT_BY_CGROUP,
	REPORT_BY_COMM,
};

/* All zero: the whole recording as text, as wide as the terminal. */
struct report_options {
	bool json;
	enum report_by by;
	uint64_t from_ns;        /* the cut, as offsets from the start */
	uint64_t to_ns;          /* 0: the end */
	const char *const *busy; /* causes to call delaying, up to a NULL; or NULL */
	const char *const *idle; /* causes to call idle */
	size_t top;              /* rows per table; 0: what fits a screen */
	int width;               /* columns; 0: those of `out` */
	enum redact_args args;   /* of programs and system calls */
	json_t *diff;            /* only on a page: what a comparison says; NULL: none */
};

/*
 * Prints the report. Errors of recording__open(); -ENOKEY: a cause in busy or idle that the
 * recording does not have; -ERANGE: the cut holds nothing of it; -E2BIG: more call paths than can
 * be held; -EIO: `out` or the file failed.
 */
int report__print(const char *path, const struct report_options *options, FILE *out);

/* What an error of report__print() or recording__open() means, for "'PATH': …". */
const char *report__why(int err);
