/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cgroups of the unified hierarchy (v2). The kernel half compares only ids of v2. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The mount point of cgroup v2: /sys/fs/cgroup, or often its folder "unified" if v1 is mounted too.
 * -ENOENT: not mounted.
 */
int cgroups__mount(char ret[PATH_MAX]);

/*
 * The id of the cgroup at `path`, which is a folder or the path after "0::" in /proc/PID/cgroup.
 * -ENOENT: no such cgroup; -EMEDIUMTYPE: a cgroup of version 1; -ENOTDIR: a file or folder that is
 * not a cgroup.
 */
int cgroups__find(const char *path, uint64_t *ret_id);

/*
 * Calls `take` for each cgroup for which `fits` holds and which has processes in it or below it.
 * The path is the one after "0::" in /proc/PID/cgroup. Does not descend into a cgroup that was
 * taken.
 */
int cgroups__each(bool (*fits)(const void *context, const char *name), const void *context,
		  int (*take)(void *to, const char *path, uint64_t id), void *to);

/* Whether `name` is the name of the cgroup of a systemd unit; `unit` may be a pattern. */
bool cgroups__is_unit(const void *unit, const char *name);

/*
 * Whether `name` is the name of the cgroup of a container whose id or name starts with `prefix`:
 * docker-ID.scope and the like, ID alone, lxc.payload.NAME, machine-NAME.scope.
 */
bool cgroups__is_container(const void *prefix, const char *name);

/* What the name of a container's cgroup consists of. The texts are parts of the name. */
struct cgroups_container {
	const char
		*engine; /* "docker", "cri-containerd", "lxc.payload"; empty if it is an id alone */
	size_t engine_length;
	const char *id; /* or the container's name, escaped by systemd, if has_id is false */
	size_t id_length;
	bool has_id;
};

/* Whether `name` is the name of the cgroup of a container. */
bool cgroups__container(const char *name, struct cgroups_container *ret);

/* Whether `name` is the name of a systemd unit of this type: "service", "scope". */
bool cgroups__is_unit_of(const char *type, const char *name);
