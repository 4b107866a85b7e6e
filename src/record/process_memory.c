/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own counters, read once a second. Rejected: the tracepoint kmem:rss_stat, which runs
 * for every page that is mapped and names the address space by a hash; and smaps_rollup, which
 * walks the page tables of the process and holds its mmap_lock meanwhile.
 */
#include "record/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* "RssAnon:\t    1234 kB" */
static int find_bytes(const char *text, const char *name, int64_t *ret)
{
	const char *at = strstr(text, name);
	char *end;
	int64_t kilobytes;

	if (!at)
		return -ENOENT;
	at += strlen(name);
	errno = 0;
	kilobytes = strtoll(at, &end, 10);
	if (errno || end == at || kilobytes < 0 || kilobytes > INT64_MAX >> 12 ||
	    strncmp(end, " kB", 3))
		return -ENOENT;
	*ret = kilobytes * 1024;
	return 0;
}

int process_memory__parse(const char *text, struct recording_resident *ret)
{
	struct recording_resident found = *ret;

	if (find_bytes(text, "\nRssAnon:", &found.anonymous) ||
	    find_bytes(text, "\nRssFile:", &found.file) ||
	    find_bytes(text, "\nRssShmem:", &found.shared) ||
	    find_bytes(text, "\nVmSwap:", &found.swap))
		return -ENOENT;
	*ret = found;
	return 0;
}

int process_memory__write(struct recording *recording, int64_t process, uint32_t pid,
			  uint64_t time_ns)
{
	struct recording_resident found = { .time_ns = (int64_t)time_ns, .process = process };
	cleanup(close_p) int file = -1;
	char name[64], text[4096];
	ssize_t size;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/status", pid);
	file = open(name, O_RDONLY | O_CLOEXEC);
	size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (size < 0)
		return 0;
	text[size] = '\0';
	return process_memory__parse(text, &found) ? 0
						   : memory_rows__add_resident(recording, &found);
}
