/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/pressures.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "core/cgroup_limits.h"

/* Each has three files. Cgroups beyond that have no rows. */
#define MOST_GROUPS 256

struct group {
	uint64_t since_ns;
	bool has[LIMITS_KINDS];
	struct cgroup_limits_pressure before[LIMITS_KINDS];
	char *folder;
	const char *path; /* the end of `folder` */
};

struct pressures {
	struct recording *recording;
	struct map groups;    /* by a hash of the path */
	char mount[PATH_MAX]; /* "": there is no hierarchy of version 2 */
};

int pressures__new(struct recording *recording, struct pressures **ret)
{
	struct pressures *pressures = calloc(1, sizeof(*pressures));

	if (!pressures)
		return -ENOMEM;
	pressures->recording = recording;
	if (cgroup_limits__mount(LIMITS_CPU, true, pressures->mount))
		pressures->mount[0] = '\0';
	*ret = pressures;
	return 0;
}

void pressures__free(struct pressures *pressures)
{
	struct group *group;
	size_t at = 0;

	if (!pressures)
		return;
	while ((group = map__next(&pressures->groups, &at)))
		free(group->folder);
	map__free_values(&pressures->groups);
	free(pressures);
}

static uint64_t hash_of(const char *path)
{
	uint64_t hash = 0;

	while (*path)
		hash = map__mix(hash, (unsigned char)*path++);
	return hash;
}

int pressures__add(struct pressures *pressures, const char *path)
{
	uint64_t hash = hash_of(path);
	struct group *group;

	if (!pressures->mount[0] || map__get(&pressures->groups, hash) ||
	    pressures->groups.count >= MOST_GROUPS)
		return 0;
	group = calloc(1, sizeof(*group));
	if (!group || asprintf(&group->folder, "%s%s", pressures->mount, path) < 0) {
		free(group);
		return -ENOMEM;
	}
	if (map__put(&pressures->groups, hash, group)) {
		free(group->folder);
		free(group);
		return -ENOMEM;
	}
	group->path = group->folder + strlen(pressures->mount);
	group->since_ns = clock__now_ns();
	for (enum cgroup_limits_kind kind = 0; kind < LIMITS_KINDS; kind++)
		group->has[kind] =
			!cgroup_limits__pressure(kind, group->folder, &group->before[kind]);
	return 0;
}

static int write_row(const struct pressures *pressures, const struct group *group,
		     enum cgroup_limits_kind kind, uint64_t now_ns)
{
	const struct cgroup_limits_pressure *before = &group->before[kind];
	struct cgroup_limits_pressure now;

	if (!group->has[kind] || cgroup_limits__pressure(kind, group->folder, &now) ||
	    now.some_ns < before->some_ns || now.full_ns < before->full_ns)
		return 0;
	return recording__put_pressure(
		pressures->recording,
		&(struct recording_pressure) { .cgroup = group->path,
					       .kind = cgroup_limits__name(kind),
					       .some_ns = (int64_t)(now.some_ns - before->some_ns),
					       .full_ns = (int64_t)(now.full_ns - before->full_ns),
					       .of_ns = (int64_t)(now_ns - group->since_ns) });
}

int pressures__finish(struct pressures *pressures)
{
	uint64_t now_ns = clock__now_ns();
	struct group *group;
	size_t at = 0;
	int err = 0;

	while (!err && (group = map__next(&pressures->groups, &at)))
		for (enum cgroup_limits_kind kind = 0; !err && kind < LIMITS_KINDS; kind++)
			err = write_row(pressures, group, kind, now_ns);
	return err;
}
