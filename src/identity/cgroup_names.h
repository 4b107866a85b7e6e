/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The paths of cgroups by their ids. The table is filled by one walk of the hierarchy, then by
 * records of the kernel half. Reading /proc/PID/cgroup instead would be too late for processes that
 * live shortly.
 *
 * Times are those of clock__now_ns(). One thread only.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "identity/cgroup_path.h"

#define CGROUP_NAMES_MOST 4096 /* by default */

struct cgroup_names_quality {
	uint64_t known;     /* entries now */
	uint64_t walks;     /* of the hierarchy */
	uint64_t unread;    /* folders that a walk could not read; too deep, or gone meanwhile */
	uint64_t evicted;   /* names that gave way to others; found again by a walk if needed */
	uint64_t not_kept;  /* names that a walk found, but for which there was no room */
	uint64_t not_found; /* ids that a walk did not find */
};

struct cgroup_name {
	const char *path; /* "/" is the root */
	enum cgroup_path_kind kind;
};

struct cgroup_names;

/*
 * The mount point of the hierarchy whose ids the kernel half reports: that of the memory controller
 * if it is of version 1, otherwise version 2. -ENOENT: neither is mounted.
 */
int cgroup_names__root(char ret[PATH_MAX]);

/* `most` entries at most; `root` is the mount point. Reads nothing yet. -ENOMEM. */
int cgroup_names__new(const char *root, size_t most, struct cgroup_names **ret);
void cgroup_names__free(struct cgroup_names *names);

/* Adds what the hierarchy has now. -ENOENT: cannot read the root; -ENOMEM. */
int cgroup_names__walk(struct cgroup_names *names, uint64_t now_ns);

/* A cgroup was created. -ENOMEM. */
int cgroup_names__add(struct cgroup_names *names, uint64_t id, const char *path, uint64_t now_ns);
/* A cgroup was removed. Its name is kept for ten minutes, because its account may come later. */
void cgroup_names__remove(struct cgroup_names *names, uint64_t id, uint64_t now_ns);

/*
 * The name stays valid until the table changes. If the id is unknown, walks the hierarchy again, at
 * most every ten seconds. -ENOENT: no such cgroup, which is remembered for a minute; -EAGAIN: not
 * known now.
 */
int cgroup_names__find(struct cgroup_names *names, uint64_t id, uint64_t now_ns,
		       struct cgroup_name *ret);

/* Forgets names of removed cgroups and old negative answers. Call it from time to time. */
void cgroup_names__forget(struct cgroup_names *names, uint64_t now_ns);

const struct cgroup_names_quality *cgroup_names__quality(const struct cgroup_names *names);
