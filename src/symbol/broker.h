/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the files that names come from. The process that parses them has no privileges and cannot
 * open any: it asks a process that can, which parses nothing and checks each request.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest scratch file, in bytes. */
#define BROKER_MOST_SCRATCH (UINT64_C(2) << 30)

enum broker_kind {
	BROKER_ELF,      /* `path` below `root`: must be an ELF file */
	BROKER_PERFMAP,  /* perf-PID.map of `pid` */
	BROKER_KALLSYMS, /* /proc/kallsyms */
	BROKER_SCRATCH,  /* a new file without a name, for `bytes` */
	BROKER_DOWNLOAD, /* from a debuginfod server; `path` is the build-id */
};

struct broker_request {
	enum broker_kind kind;
	int pid;
	uint64_t bytes;
	const char *root; /* "" or "/proc/PID/root" */
	const char *path; /* absolute, or the build-id */
};

/*
 * Opens a file, or asks for it after broker__redirect(). A descriptor or -errno. -ENOEXEC: not an
 * ELF file.
 */
int broker__open(const struct broker_request *request);

/* From now on, this process asks. `ask` returns a descriptor or -errno. */
void broker__redirect(int (*ask)(const void *bytes, size_t size));

/* Whether a text is hex and has the length of a build-id. It may be NULL. */
bool broker__is_build_id(const char *text);

/* Whether a request is for broker__serve_download(). It is not checked further. */
bool broker__is_download(const void *bytes, size_t size);
/* Serves a download that is not trusted: the build-id is checked. A descriptor or -errno. */
int broker__serve_download(const void *bytes, size_t size);

/*
 * Serves any other request that is not trusted: a file below a root that is no process's, a path
 * with "..", or a file of a pseudo file system is refused. A descriptor or -errno. It can block, if
 * a file system does not respond.
 */
int broker__serve(const void *bytes, size_t size);
