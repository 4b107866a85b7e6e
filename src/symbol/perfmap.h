/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf-PID.map: the names that a JIT compiler gives to its generated code. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "symbol/addresses.h"

struct perfmap;

/* An empty map. -ENOMEM. */
int perfmap__new(struct perfmap **ret);

/*
 * Reads lines "START SIZE name" that contain wanted addresses (NULL: all lines). If lines overlap,
 * the later one wins. Other lines are skipped. -EFBIG, -ENOMEM.
 */
int perfmap__read(FILE *file, const struct addresses *wanted, struct perfmap **ret);

/*
 * Opens the map of a process, in the /tmp that the process sees, or else in ours. A descriptor, or
 * the errors of perfmap__open(). For broker.c.
 */
int perfmap__open_file(int pid);

/*
 * Reads the map of a process, in the /tmp that the process sees, or else in ours. -EPERM if the
 * file does not belong to the user of the process, or has more than one link, because anybody may
 * write to /tmp. -EFBIG, -ENOENT and others.
 */
int perfmap__open(int pid, const struct addresses *wanted, struct perfmap **ret);
void perfmap__free(struct perfmap *map);

/* NULL if there is no name. The name is valid as long as the map. */
const char *perfmap__find(const struct perfmap *map, uint64_t address);
