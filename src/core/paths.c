/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/paths.h"

#include <stdio.h>
#include <string.h>

bool paths__is_well_formed(const struct path_names *path)
{
	return path->bytes <= sizeof(path->names) &&
	       (!path->bytes || !path->names[path->bytes - 1]);
}

/* The names are stored in reverse order: the last component of the path comes first. */
void paths__join(const struct path_names *path, char *ret, size_t size)
{
	size_t end = path->bytes, used;

	snprintf(ret, size, "%s", path->flags & PATH_CUT ? "…" : end ? "" : "/");
	used = strlen(ret);
	while (end && used < size) {
		size_t begin = end - 1;

		while (begin && path->names[begin - 1])
			begin--;
		snprintf(ret + used, size - used, "/%s", path->names + begin);
		used += strlen(ret + used);
		end = begin;
	}
}

void paths__name(const struct path_names *path, const __u64 object[2], struct event *ret)
{
	size_t used;

	ret->kind = EVENT_NAMES;
	ret->object[0] = object[0];
	ret->object[1] = object[1];
	ret->object_kind = "file";
	ret->object_name = ret->scratch;
	paths__join(path, ret->scratch, sizeof(ret->scratch));
	used = strlen(ret->scratch);
	if (path->flags & PATH_DELETED)
		snprintf(ret->scratch + used, sizeof(ret->scratch) - used, " (deleted)");
}
