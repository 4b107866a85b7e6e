/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* UINT64_MAX: the file does not exist, or says "max". */
static uint64_t read_number(const char *path)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	uint64_t number;

	return file && fscanf(file, "%" SCNu64, &number) == 1 ? number : UINT64_MAX;
}

/* The minimum of the file `name` in the folder of a cgroup and of all its ancestors. */
static uint64_t least_above(const char *mount, char *group, const char *name)
{
	uint64_t least = UINT64_MAX, number;
	char path[PATH_MAX];

	for (char *end = group + strlen(group);; end = strrchr(group, '/')) {
		if (!end)
			break;
		*end = '\0';
		if (snprintf(path, sizeof(path), "%s%s/%s", mount, group, name) >=
		    (int)sizeof(path))
			break;
		number = read_number(path);
		if (number < least)
			least = number;
		if (end == group)
			break;
	}
	return least;
}

uint64_t memory__cgroup_limit(const char *self, const char *mounts)
{
	cleanup(fclose_p) FILE *file = fopen(self, "re");
	char line[PATH_MAX], mount[PATH_MAX];
	uint64_t least = UINT64_MAX, number;

	/* "4:memory:/group" or "0::/group" */
	while (file && fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
		bool is_second;

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		is_second = !names[1];
		if (!is_second && strcmp(names + 1, "memory") != 0)
			continue;
		snprintf(mount, sizeof(mount), "%s%s", mounts, is_second ? "" : "/memory");
		number = least_above(mount, group,
				     is_second ? "memory.max" : "memory.limit_in_bytes");
		if (number < least)
			least = number;
	}
	return least;
}

uint64_t memory__limit(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t all = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t group = memory__cgroup_limit("/proc/self/cgroup", "/sys/fs/cgroup");

	return group < all ? group : all;
}

uint64_t memory__share(uint64_t share, uint64_t least, uint64_t most)
{
	uint64_t bytes = memory__limit() / share;

	if (bytes < least)
		return least;
	return bytes < most ? bytes : most;
}
