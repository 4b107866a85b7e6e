/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of cgroups, of version 1 or 2, in words. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cgroup_limits_kind { LIMITS_CPU, LIMITS_MEMORY, LIMITS_IO, LIMITS_KINDS };

/* "cpu", "memory", "io" */
const char *cgroup_limits__name(enum cgroup_limits_kind kind);

/* Whether `controllers`, of a line of /proc/PID/cgroup, has the one for this kind. Version 1. */
bool cgroup_limits__is_in(enum cgroup_limits_kind kind, const char *controllers);

/* Where the hierarchy with the controller for this kind is mounted. -ENOENT: nowhere. */
int cgroup_limits__mount(enum cgroup_limits_kind kind, bool v2, char ret[PATH_MAX]);

/*
 * The limit that is set for the cgroup in `folder`: "20 ms per 100 ms", "64 MiB",
 * "sda wbps=1048576"; "" if there is none.
 */
void cgroup_limits__read(enum cgroup_limits_kind kind, bool v2, const char *folder, char *ret,
			 size_t size);

/* For how long the cgroup was without CPU quota, summed over CPUs. -ENOENT: unknown. */
int cgroup_limits__throttled_ns(bool v2, const char *folder, uint64_t *ret);

/* For how long threads lacked something, since the cgroup exists. */
struct cgroup_limits_pressure {
	uint64_t some_ns; /* at least one of them */
	uint64_t full_ns; /* all that had work; 0 if the kernel does not say it */
};

/* From the file KIND.pressure. -ENOENT: there is none. */
int cgroup_limits__pressure(enum cgroup_limits_kind kind, const char *folder,
			    struct cgroup_limits_pressure *ret);

/* Pages that were read again after they had been evicted, since the cgroup exists. */
struct cgroup_limits_refaults {
	uint64_t file, anonymous;
};

/* Those of the cgroup and of the cgroups below it. -ENOENT: unknown. */
int cgroup_limits__refaults(const char *folder, struct cgroup_limits_refaults *ret);
