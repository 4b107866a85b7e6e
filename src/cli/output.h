/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of a command's result: a file, a device or pipe, or standard output. A file is
 * written completely or not at all, and never replaces a recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct output {
	const char *path;              /* "-": standard output */
	const char *option;            /* the option that named it, for the remedy: "-o" */
	const char *const *recordings; /* the recordings that are read; they may be damaged */
	size_t recording_count;
};

/* Returns 0 or -errno. Errors of `out` need not be reported. */
typedef int output_write(FILE *out, void *context);

bool output__is_stdout(const struct output *output);
/* Whether writing would destroy a recording, one of `recordings` or any other; logs that. */
bool output__is_recording(const struct output *output);
/*
 * Calls `write` to produce the whole output, unless output__is_recording(). Logs errors and
 * attributes them to the output, so do work that can fail for other reasons before. Ctrl-C leaves
 * no partial file.
 */
int output__write(const struct output *output, output_write *write, void *context);

/* The parts of output__write(). */
struct output_file {
	int fd;
	const char *path;
	char *temporary; /* NULL: written in place */
};
/* The caller closes ret->fd, and then calls output__finish(). 0 or -errno. */
int output__open(const struct output *output, struct output_file *ret);
/* `err`: the result of writing. If it is not 0, nothing is left. 0 or -errno. */
int output__finish(struct output_file *file, int err);

/* How output__write() does these: a process without privileges asks another one. */
struct output_way {
	int (*open)(const struct output *output, struct output_file *ret);
	int (*finish)(struct output_file *file, int err);
	bool (*is_recording)(const struct output *output);
};
void output__set_way(const struct output_way *way);
