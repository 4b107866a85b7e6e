/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes in programs and libraries: what users write, turned into offsets of files, and attached
 * there. A probe is in a file, so it is hit by all processes that map it, those that start later
 * too; the kernel half asks the ledger which of them are wanted.
 *
 * Nothing here logs. Files are read by finder.h, without privileges.
 */
#pragma once

#include <bpf/libbpf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/target.h"
#include "symbol/finder.h"

/* Places of all specifications together: each needs up to two perf events. */
#define UPROBES_MOST 64

enum uprobe_kind {
	UPROBE_FUNCTION, /* by name */
	UPROBE_ADDRESS,
	UPROBE_PROBE,  /* USDT */
	UPROBE_KERNEL, /* a function of the kernel */
};

struct uprobe_spec {
	enum uprobe_kind kind;
	char file[PATH_MAX]; /* a path; a library's name; "": the main program, or any for USDT */
	char name[FINDER_NAME_BYTES]; /* "provider:name" for USDT */
	uint64_t at;                  /* the address, or the offset behind the function's start */
};

/*
 * "path:symbol", "path:symbol+0x10", "path:0x1234", "libc:malloc", "symbol", "kernel:symbol".
 * -EINVAL, -ENAMETOOLONG; then *ret is unchanged.
 */
int uprobes__parse(const char *text, struct uprobe_spec *ret);
/* "path:provider:name", "provider:name". */
int uprobes__parse_usdt(const char *text, struct uprobe_spec *ret);

/* A program or library. */
struct uprobe_file {
	char root[32]; /* "" or "/proc/PID/root" */
	char path[PATH_MAX];
	uint64_t device, inode;
};

/* Where to look for files. */
struct uprobe_scope {
	const struct target *target;
	const char *command; /* a program that is not running yet; NULL: the target's processes */
};

/*
 * The files that a specification may mean, each once; *ret is the caller's. -ENOENT: none; -E2BIG:
 * more than anybody can mean.
 */
int uprobes__files(const struct uprobe_spec *spec, const struct uprobe_scope *scope,
		   struct uprobe_file **ret, size_t *ret_count);

struct uprobe_site {
	char *file; /* to attach to; NULL: the kernel */
	struct finder_place place;
	struct uprobe_file where;
};

/* All zeroes: empty. */
struct uprobe_sites {
	struct uprobe_site *all;
	size_t count;
	bool more;     /* there are more than UPROBES_MOST */
	char why[256]; /* if uprobes__resolve() has failed */
};

/*
 * Appends the places that a specification means. -ENOENT: no such file; -ESRCH: no such function;
 * -ENOTSUP: cannot be probed; or another error. `why` says it in words.
 */
int uprobes__resolve(struct finder *finder, const struct uprobe_spec *spec,
		     const struct uprobe_scope *scope, struct uprobe_sites *sites);
void uprobes__release(struct uprobe_sites *sites);

/* Attaches a program at a place, in all processes. */
int uprobes__attach(const struct bpf_object *object, const char *program,
		    const struct uprobe_site *site, uint64_t cookie, struct bpf_link **ret);

/* The last component of a path. */
const char *uprobes__base(const char *path);
