/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process is in one cgroup of each hierarchy, and the limits of all cgroups above it apply too.
 * The files of a cgroup are read once, when a process in it is first seen: most processes share
 * their cgroups with others.
 */
#include "record/confines.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "core/cgroup_limits.h"
#include "record/pressures.h"

/* A limit, because a run may last for weeks. Cgroups beyond it have no rows. */
#define MOST_GROUPS 4096
/* Each is a file that the kernel makes up when it is read, once a second. */
#define MOST_READ 64

struct group {
	enum cgroup_limits_kind kind;
	bool v2;
	bool has_stat; /* throttled_ns is known */
	uint64_t throttled_ns;
	bool has_refaults; /* `refaults` are known */
	struct cgroup_limits_refaults refaults;
	char limit[256]; /* "": none */
	char *folder;
	const char *path; /* the end of `folder`, as in /proc/PID/cgroup */
};

struct confines {
	struct recording *recording;
	struct pressures *pressures;
	struct map groups; /* by a hash of kind, version and path */
	size_t read_count; /* groups whose refaults are read */
	int64_t written;   /* the last slice with refaults */
	/* Mount points by version and kind; "": the controller is not there. */
	char mounts[2][LIMITS_KINDS][PATH_MAX];
};

int confines__new(struct recording *recording, struct confines **ret)
{
	struct confines *confines = calloc(1, sizeof(*confines));
	int err;

	if (!confines)
		return -ENOMEM;
	confines->recording = recording;
	err = pressures__new(recording, &confines->pressures);
	if (err) {
		free(confines);
		return err;
	}
	for (int v2 = 0; v2 < 2; v2++)
		for (enum cgroup_limits_kind kind = 0; kind < LIMITS_KINDS; kind++)
			if (cgroup_limits__mount(kind, v2, confines->mounts[v2][kind]))
				confines->mounts[v2][kind][0] = '\0';
	*ret = confines;
	return 0;
}

void confines__free(struct confines *confines)
{
	struct group *group;
	size_t at = 0;

	if (!confines)
		return;
	while ((group = map__next(&confines->groups, &at)))
		free(group->folder);
	pressures__free(confines->pressures);
	map__free_values(&confines->groups);
	free(confines);
}

static uint64_t hash_of(enum cgroup_limits_kind kind, bool v2, const char *path, size_t length)
{
	uint64_t hash = map__mix(map__mix(map__mix(0, kind), v2), length);

	for (size_t i = 0; i < length; i++)
		hash = map__mix(hash, (unsigned char)path[i]);
	return hash;
}

static int read_group(struct confines *confines, enum cgroup_limits_kind kind, bool v2,
		      const char *path, size_t length, struct group **ret)
{
	const char *mount = confines->mounts[v2][kind];
	struct group *group = calloc(1, sizeof(*group));

	if (!group || asprintf(&group->folder, "%s%.*s", mount, (int)length, path) < 0) {
		free(group);
		return -ENOMEM;
	}
	group->kind = kind;
	group->v2 = v2;
	group->path = group->folder + strlen(mount);
	cgroup_limits__read(kind, v2, group->folder, group->limit, sizeof(group->limit));
	group->has_stat = kind == LIMITS_CPU && group->limit[0] &&
			  !cgroup_limits__throttled_ns(v2, group->folder, &group->throttled_ns);
	group->has_refaults = kind == LIMITS_MEMORY && group->limit[0] &&
			      confines->read_count < MOST_READ &&
			      !cgroup_limits__refaults(group->folder, &group->refaults);
	confines->read_count += group->has_refaults;
	*ret = group;
	return 0;
}

/* *ret is NULL if there are too many. */
static int find_group(struct confines *confines, enum cgroup_limits_kind kind, bool v2,
		      const char *path, size_t length, struct group **ret)
{
	uint64_t hash = hash_of(kind, v2, path, length);
	int err;

	*ret = map__get(&confines->groups, hash);
	if (*ret || confines->groups.count >= MOST_GROUPS)
		return 0;
	err = read_group(confines, kind, v2, path, length, ret);
	if (!err && map__put(&confines->groups, hash, *ret)) {
		free((*ret)->folder);
		free(*ret);
		err = -ENOMEM;
	}
	return err;
}

/* The cgroup at `path` and those above it. The root has no limits. */
static int add_path(struct confines *confines, int64_t process, enum cgroup_limits_kind kind,
		    bool v2, const char *path)
{
	int err = 0;

	if (!confines->mounts[v2][kind][0])
		return 0;
	for (size_t length = strlen(path); !err && length > 1; length--) {
		struct group *group;

		if (path[length] && path[length] != '/')
			continue;
		err = find_group(confines, kind, v2, path, length, &group);
		if (!err && group && group->limit[0])
			err = recording__put_cgroup_limit(confines->recording,
							  &(struct recording_cgroup_limit) {
								  .process = process,
								  .cgroup = group->path,
								  .kind = cgroup_limits__name(kind),
								  .value = group->limit });
	}
	return err;
}

int confines__add(struct confines *confines, int64_t process, uint32_t pid)
{
	cleanup(fclose_p) FILE *file = NULL;
	char name[64], line[PATH_MAX];
	int err = 0;

	snprintf(name, sizeof(name), "/proc/%u/cgroup", pid);
	file = fopen(name, "re");
	/* "4:cpu,cpuacct:/path", or "0::/path" for version 2. */
	while (!err && file && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':'), *path;

		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		controllers++;
		if (!*controllers)
			err = pressures__add(confines->pressures, path);
		for (enum cgroup_limits_kind kind = 0; !err && kind < LIMITS_KINDS; kind++)
			if (!*controllers || cgroup_limits__is_in(kind, controllers))
				err = add_path(confines, process, kind, !*controllers, path);
	}
	return err;
}

int confines__write(struct confines *confines, int64_t slice)
{
	int64_t from = confines->written < slice ? confines->written + 1 : slice;
	struct group *group;
	size_t at = 0;
	int err = 0;

	confines->written = slice;
	while (!err && (group = map__next(&confines->groups, &at))) {
		struct cgroup_limits_refaults now, *then = &group->refaults;
		struct recording_refaults added = { .cgroup = group->path, from, slice };

		if (!group->has_refaults || cgroup_limits__refaults(group->folder, &now) ||
		    now.file < then->file || now.anonymous < then->anonymous)
			continue;
		added.file = (int64_t)(now.file - then->file);
		added.anonymous = (int64_t)(now.anonymous - then->anonymous);
		*then = now;
		if (added.file || added.anonymous)
			err = recording__add_refaults(confines->recording, &added);
	}
	return err;
}

int confines__finish(struct confines *confines)
{
	struct group *group;
	size_t at = 0;
	int err = 0;

	while (!err && (group = map__next(&confines->groups, &at))) {
		uint64_t throttled_ns;

		if (!group->has_stat ||
		    cgroup_limits__throttled_ns(group->v2, group->folder, &throttled_ns) ||
		    throttled_ns < group->throttled_ns)
			continue;
		err = recording__set_throttled(confines->recording,
					       cgroup_limits__name(group->kind), group->path,
					       (int64_t)(throttled_ns - group->throttled_ns));
	}
	return err ? err : pressures__finish(confines->pressures);
}

/* In the line "0::/path". */
void confines__path(uint32_t pid, char *path, size_t size)
{
	cleanup(fclose_p) FILE *file = NULL;
	char name[64], line[512];

	path[0] = '\0';
	snprintf(name, sizeof(name), "/proc/%u/cgroup", pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			snprintf(path, size, "%s", line + 3);
	}
}

/* Container runtimes put the container's id, 64 hex digits, into the cgroup's name. */
const char *confines__container(const char *cgroup, char id[65])
{
	for (const char *at = cgroup; *at; at++) {
		size_t digits = strspn(at, "0123456789abcdef");

		if (digits == 64) {
			memcpy(id, at, 64);
			id[64] = '\0';
			return id;
		}
		if (digits)
			at += digits - 1;
	}
	return NULL;
}
