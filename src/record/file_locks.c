/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of /proc/locks (proc_locks(5)):
 *
 *   1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
 *   1: -> FLOCK  ADVISORY  WRITE 1235 08:01:5678 0 EOF
 *
 * Lines with an arrow are waiters. They follow the lock that they wait for and have its number. A
 * waiter can have waiters in turn (" ->" is indented further); these wait for the same holder.
 */
#include "record/file_locks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

struct line {
	unsigned long number;
	int pid; /* 0 or negative: unknown */
	bool waits;
};

static bool parse(const char *text, struct line *ret)
{
	char *arrow = strstr(text, "->");
	int at = 0;

	if (sscanf(text, "%lu:%n", &ret->number, &at) != 1 || !at)
		return false;
	ret->waits = arrow;
	if (arrow)
		at = (int)(arrow + 2 - text);
	/* Type, mode, access, pid. */
	return sscanf(text + at, "%*s %*s %*s %d", &ret->pid) == 1;
}

int file_locks__waiters(const char *path, file_locks_fn take, void *context)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	struct line holder = {}, line;
	char text[256];
	int err = 0;

	if (!file)
		return -errno;
	while (!err && fgets(text, sizeof(text), file)) {
		if (!parse(text, &line))
			continue;
		if (!line.waits)
			holder = line;
		else if (line.number == holder.number && line.pid > 0 && holder.pid > 0 &&
			 line.pid != holder.pid)
			err = take(context, line.pid, holder.pid);
	}
	return err;
}
