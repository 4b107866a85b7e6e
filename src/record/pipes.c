/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/pipes.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "record/describe.h"

/* Limits of one scan of /proc. Ends beyond them are not found. */
#define MOST_PROCESSES   2000
#define MOST_DESCRIPTORS 50000
#define MOST_ENDS        16384

#define MOST_NAMED 2

#define FRESH_NS    UINT64_C(100000000) /* a scan is reused for this long */
#define FIRST_NS    UINT64_C(200000000) /* initial time budget for scans */
#define SHARE_SPENT 50                  /* the budget grows by 1/50 of the elapsed time */

/* A descriptor of a pipe. */
struct end {
	uint64_t inode;
	uint32_t pid;
	bool writes;
};

struct pipes {
	struct end *ends;
	size_t count;
	size_t descriptors; /* seen in this scan */
	uint64_t begin_ns;
	uint64_t looked_ns; /* 0: never */
	uint64_t spent_ns;
};

int pipes__new(struct pipes **ret)
{
	struct pipes *pipes = calloc(1, sizeof(*pipes));

	if (!pipes)
		return -ENOMEM;
	pipes->ends = calloc(MOST_ENDS, sizeof(*pipes->ends));
	if (!pipes->ends) {
		free(pipes);
		return -ENOMEM;
	}
	pipes->begin_ns = clock__now_ns();
	*ret = pipes;
	return 0;
}

void pipes__free(struct pipes *pipes)
{
	if (!pipes)
		return;
	free(pipes->ends);
	free(pipes);
}

/*
 * Returns false if the descriptor is not an anonymous pipe. The mode of the symbolic link shows how
 * the descriptor was opened: the link is writable if the descriptor is.
 */
static bool read_end(const char *path, struct end *ret)
{
	ssize_t length;
	struct stat about;
	char link[64];

	length = readlink(path, link, sizeof(link) - 1);
	if (length <= 0)
		return false;
	link[length] = '\0';
	if (sscanf(link, "pipe:[%" SCNu64 "]", &ret->inode) != 1 || lstat(path, &about))
		return false;
	ret->writes = about.st_mode & S_IWUSR;
	return true;
}

static void scan_process(struct pipes *pipes, uint32_t pid)
{
	cleanup(closedir_p) DIR *folder = NULL;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) && pipes->count < MOST_ENDS &&
	       pipes->descriptors++ < MOST_DESCRIPTORS) {
		struct end *end = &pipes->ends[pipes->count];

		snprintf(path, sizeof(path), "/proc/%u/fd/%.16s", pid, entry->d_name);
		if (!read_end(path, end))
			continue;
		end->pid = pid;
		pipes->count++;
	}
}

static void look(struct pipes *pipes)
{
	uint64_t begin_ns = clock__now_ns();
	cleanup(closedir_p) DIR *folder = opendir("/proc");
	const struct dirent *entry;
	size_t processes = 0;

	pipes->count = pipes->descriptors = 0;
	while (folder && (entry = readdir(folder)) && processes < MOST_PROCESSES)
		if (isdigit((unsigned char)entry->d_name[0])) {
			scan_process(pipes, (uint32_t)strtoul(entry->d_name, NULL, 10));
			processes++;
		}
	pipes->looked_ns = clock__now_ns();
	pipes->spent_ns += pipes->looked_ns - begin_ns;
}

static bool may_look(const struct pipes *pipes)
{
	uint64_t now_ns = clock__now_ns();

	if (pipes->looked_ns && now_ns - pipes->looked_ns < FRESH_NS)
		return false;
	return pipes->spent_ns < FIRST_NS + (now_ns - pipes->begin_ns) / SHARE_SPENT;
}

static void add_process(uint32_t pid, bool is_first, const char *word, char *name, size_t size)
{
	size_t used = strlen(name);
	char comm[32];

	describe__comm(pid, comm, sizeof(comm));
	if (is_first)
		snprintf(name + used, size - used, " %s %s %u", word, comm, pid);
	else
		snprintf(name + used, size - used, ", %s %u", comm, pid);
}

/* The first matching descriptor of the process at `at`, from `at` on; pipes->count if none. */
static size_t find_end(const struct pipes *pipes, size_t at, const struct end *wanted)
{
	uint32_t pid = pipes->ends[at].pid;

	for (; at < pipes->count && pipes->ends[at].pid == pid; at++)
		if (pipes->ends[at].inode == wanted->inode &&
		    pipes->ends[at].writes == wanted->writes)
			return at;
	return pipes->count;
}

/*
 * Appends the processes that have this end open and returns their number. With `only`, skips
 * processes that have the other end too.
 */
static size_t add_end(const struct pipes *pipes, const struct end *end, bool only, char *name,
		      size_t size)
{
	struct end other = { .inode = end->inode, .writes = !end->writes };
	size_t found = 0, used;

	for (size_t i = 0; i < pipes->count; i++) {
		/* The descriptors of a process are adjacent: visit each process once. */
		if (i && pipes->ends[i].pid == pipes->ends[i - 1].pid)
			continue;
		if (find_end(pipes, i, end) == pipes->count ||
		    (only && find_end(pipes, i, &other) != pipes->count))
			continue;
		if (found++ < MOST_NAMED)
			add_process(pipes->ends[i].pid, found == 1, end->writes ? "from" : "to",
				    name, size);
	}
	used = strlen(name);
	if (found > MOST_NAMED)
		snprintf(name + used, size - used, " and %zu more", found - MOST_NAMED);
	return found;
}

void pipes__add_ends(struct pipes *pipes, const struct ledger_object_record *record, char *name,
		     size_t size)
{
	struct end own;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", record->pid, record->fd);
	/* The descriptor may refer to another file by now. */
	if (!read_end(path, &own) || own.inode != record->object[0])
		return;
	if (may_look(pipes))
		look(pipes);
	for (int i = 0; i < 2; i++) {
		struct end end = { .inode = own.inode, .writes = !i };

		/*
		 * A process that has both ends open probably does not use an end that another
		 * process has too. So prefer processes with only this end.
		 */
		if (!add_end(pipes, &end, true, name, size))
			add_end(pipes, &end, false, name, size);
	}
}
