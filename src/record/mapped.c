/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/mapped.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core/devices.h"

#define FIRST_NS    UINT64_C(200000000) /* initial time budget */
#define SHARE_SPENT 50                  /* the budget grows by 1/50 of the elapsed time */

struct mapped {
	uint64_t begin_ns;
	uint64_t spent_ns;
};

int mapped__new(struct mapped **ret)
{
	struct mapped *mapped = calloc(1, sizeof(*mapped));

	if (!mapped)
		return -ENOMEM;
	mapped->begin_ns = clock__now_ns();
	*ret = mapped;
	return 0;
}

void mapped__free(struct mapped *mapped)
{
	free(mapped);
}

bool mapped__parse(const char *line, uint64_t inode, uint32_t dev, char *path, size_t size)
{
	unsigned int major, minor;
	uint64_t number;
	int at = 0;

	if (sscanf(line, "%*s %*s %*s %x:%x %" SCNu64 " %n", &major, &minor, &number, &at) != 3 ||
	    line[at] != '/')
		return false;
	if (number != inode || major != DEVICES_MAJOR(dev) || minor != DEVICES_MINOR(dev))
		return false;
	snprintf(path, size, "%.*s", (int)strcspn(line + at, "\n"), line + at);
	return true;
}

bool mapped__find(struct mapped *mapped, const struct ledger_object_record *record, char *path,
		  size_t size)
{
	uint64_t now_ns = clock__now_ns();
	cleanup(fclose_p) FILE *file = NULL;
	cleanup(free_p) char *line = NULL;
	char name[64];
	size_t room = 0;
	bool found = false;

	if (mapped->spent_ns > FIRST_NS + (now_ns - mapped->begin_ns) / SHARE_SPENT)
		return false;
	snprintf(name, sizeof(name), "/proc/%u/maps", record->pid);
	file = fopen(name, "re");
	while (file && !found && getline(&line, &room, file) > 0)
		found = mapped__parse(line, record->object[0], (uint32_t)record->object[1], path,
				      size);
	mapped->spent_ns += clock__now_ns() - now_ns;
	return found;
}
