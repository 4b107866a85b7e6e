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

/* One look at the machine goes no further than that; who comes after is not found. */
#define MOST_PROCESSES   2000
#define MOST_DESCRIPTORS 50000
#define MOST_ENDS        16384

#define MOST_NAMED 2

#define FRESH_NS    UINT64_C(100000000) /* so long a look serves others too */
#define FIRST_NS    UINT64_C(200000000) /* what may be spent at once … */
#define SHARE_SPENT 50                  /* … and later, one part in so many of the time */

/* A descriptor of a pipe. */
struct end {
	uint64_t inode;
	uint32_t pid;
	bool writes;
};

struct pipes {
	struct end *ends;
	size_t count;
	size_t descriptors; /* seen in this look */
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
 * False if it is no pipe without a name. The link of a descriptor has the descriptor's mode: it is
 * writable if that is open for writing.
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

static void look_at_process(struct pipes *pipes, uint32_t pid)
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
			look_at_process(pipes, (uint32_t)strtoul(entry->d_name, NULL, 10));
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

/* The first descriptor, from `at` on, of the same process for this end; `count` if there is none.
 */
static size_t find_end(const struct pipes *pipes, size_t at, const struct end *wanted)
{
	uint32_t pid = pipes->ends[at].pid;

	for (; at < pipes->count && pipes->ends[at].pid == pid; at++)
		if (pipes->ends[at].inode == wanted->inode &&
		    pipes->ends[at].writes == wanted->writes)
			return at;
	return pipes->count;
}

/* The number of processes that have this end; with `only`, and not the other one as well. */
static size_t add_end(const struct pipes *pipes, const struct end *end, bool only, char *name,
		      size_t size)
{
	struct end other = { .inode = end->inode, .writes = !end->writes };
	size_t found = 0, used;

	for (size_t i = 0; i < pipes->count; i++) {
		/* A process's descriptors stand together. */
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
	/* The descriptor may be another file's by now. */
	if (!read_end(path, &own) || own.inode != record->object[0])
		return;
	if (may_look(pipes))
		look(pipes);
	for (int i = 0; i < 2; i++) {
		struct end end = { .inode = own.inode, .writes = !i };

		/* Who has both ends does not use one of them, if somebody else has it too. */
		if (!add_end(pipes, &end, true, name, size))
			add_end(pipes, &end, false, name, size);
	}
}
