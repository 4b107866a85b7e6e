/*
 * Where a command's result goes: a file, a device or pipe, or standard output. A file is there
 * whole or not at all, and never in the place of a recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct output {
	const char *path;              /* "-": standard output */
	const char *option;            /* what named it, for the remedy: "-o" */
	const char *const *recordings; /* those that are read, which may be broken ones */
	size_t recording_count;
};

/* 0 or -errno. That `out` failed need not be said. */
typedef int output_write(FILE *out, void *context);

bool output__is_stdout(const struct output *output);
/* Whether writing would be the end of a recording, one of `recordings` or any other; logs it. */
bool output__is_recording(const struct output *output);
/*
 * Calls `write` for all that the output shall have, unless output__is_recording(). Logs what is
 * wrong, and names the output for it: what can fail for another reason is better done before.
 * Ctrl-C leaves no part of a file behind.
 */
int output__write(const struct output *output, output_write *write, void *context);
