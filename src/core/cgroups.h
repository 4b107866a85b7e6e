/* Folders of the unified cgroup hierarchy (v2), the only one whose ids the kernel half compares. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Where it is mounted, /sys/fs/cgroup or, beside cgroup v1, often its folder "unified". -ENOENT. */
int cgroups__mount(char ret[PATH_MAX]);

/*
 * The id of the cgroup at `path`: a folder, or what stands behind "0::" in /proc/PID/cgroup.
 * -ENOENT: there is none; -EMEDIUMTYPE: it is a cgroup of version 1; -ENOTDIR: a file or folder
 * that is no cgroup.
 */
int cgroups__find(const char *path, uint64_t *ret_id);

/*
 * Calls `take` for each cgroup that has processes in it or below and for which `fits` holds; the
 * path is the one behind "0::". Those below one that was taken are not looked at.
 */
int cgroups__each(bool (*fits)(const void *context, const char *name), const void *context,
		  int (*take)(void *to, const char *path, uint64_t id), void *to);

/* Whether a cgroup of this name is that of a systemd unit; `unit` may be a pattern. */
bool cgroups__is_unit(const void *unit, const char *name);

/*
 * Whether a cgroup of this name is that of a container whose id or name starts with `prefix`:
 * docker-ID.scope and the like, ID alone, lxc.payload.NAME, machine-NAME.scope.
 */
bool cgroups__is_container(const void *prefix, const char *name);
