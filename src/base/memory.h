/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory is available to this process. */
#pragma once

#include <stdint.h>

/* The machine's memory, or the limit of the tightest cgroup that contains us. In bytes. */
uint64_t memory__limit(void);

/* That limit divided by `share`, within bounds. */
uint64_t memory__share(uint64_t share, uint64_t least, uint64_t most);

/*
 * The limit of our cgroups; UINT64_MAX: none. For tests, the paths are arguments: `self` is like
 * /proc/self/cgroup.
 */
uint64_t memory__cgroup_limit(const char *self, const char *mounts);
