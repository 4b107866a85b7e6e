/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limits of the cgroups that recorded processes are in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

struct confines;

int confines__new(struct recording *recording, struct confines **ret);
void confines__free(struct confines *confines);

/*
 * Writes the limits that apply to a process now. Call this when the process is first seen, and
 * again when it may be in other cgroups.
 */
int confines__add(struct confines *confines, int64_t process, uint32_t pid);
/*
 * Writes how many pages were read again in the cgroups that have a limit of memory, since the last
 * call, up to the end of this slice. Call it about once a second.
 */
int confines__write(struct confines *confines, int64_t slice);
/* At the end: writes for how long cgroups were throttled, or under pressure, since then. */
int confines__finish(struct confines *confines);

/* The path of a process in the unified hierarchy (cgroup v2); "": unknown. */
void confines__path(uint32_t pid, char *path, size_t size);
/* The id of the container that a cgroup's path names, copied into `id`; NULL: none. */
const char *confines__container(const char *cgroup, char id[65]);
