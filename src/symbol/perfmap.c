/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/perfmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "symbol/broker.h"
#include "symbol/foreign.h"
#include "symbol/rangemap.h"

/* The maps of large Java and JavaScript programs have 10 to 50 MB. */
#define MOST_BYTES (UINT32_C(256) << 20)

struct perfmap {
	char **names;
	size_t count;
	struct rangemap ranges; /* values are indices into `names` */
};

void perfmap__free(struct perfmap *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->count; i++)
		free(map->names[i]);
	free(map->names);
	rangemap__release(&map->ranges);
	free(map);
}
DEFINE_CLEANUP(struct perfmap *, perfmap__free)

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* Reads a number and skips the blanks after it. NULL if there is none or it exceeds 64 bits. */
static char *read_hex(char *at, uint64_t *ret)
{
	const char *first;
	uint64_t value = 0;

	if (at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	first = at;
	for (; digit_of(*at) >= 0; at++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)digit_of(*at);
	}
	if (at == first || (*at != ' ' && *at != '\t'))
		return NULL;
	*ret = value;
	return at + strspn(at, " \t");
}

/* Adds one line, which ends with 0. -ENOMEM. */
static int add_line(struct perfmap *map, const struct addresses *wanted, char *line)
{
	uint64_t start, size;
	char *name = read_hex(line, &start), **added;
	int err;

	name = name ? read_hex(name, &size) : NULL;
	if (!name || !*name)
		return 0;
	if (size > UINT64_MAX - start)
		size = UINT64_MAX - start;
	if (wanted && !addresses__any(wanted, start, start + size))
		return 0;
	added = APPEND(&map->names, &map->count);
	if (!added)
		return -ENOMEM;
	*added = strdup(name);
	if (!*added)
		return -ENOMEM;
	err = rangemap__add(&map->ranges, start, start + size, (uint32_t)(map->count - 1));
	return err == -ENOMEM ? err : 0;
}

int perfmap__new(struct perfmap **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

int perfmap__read(FILE *file, const struct addresses *wanted, struct perfmap **ret)
{
	cleanup(perfmap__free_p) struct perfmap *map = NULL;
	cleanup(free_p) char *line = NULL;
	size_t capacity = 0, total = 0;
	ssize_t length;
	int err = perfmap__new(&map);

	while (!err && (length = getline(&line, &capacity, file)) > 0) {
		/* The process may still write to it. */
		total += (size_t)length;
		if (total > MOST_BYTES)
			return -EFBIG;
		if (line[length - 1] == '\n')
			line[--length] = '\0';
		if (length && line[length - 1] == '\r')
			line[length - 1] = '\0';
		err = add_line(map, wanted, line);
	}
	/* A line longer than the memory there is, or an error of the disk. */
	if (!err && !feof(file))
		err = -EFBIG;
	if (!err)
		err = rangemap__seal(&map->ranges);
	if (!err)
		*ret = TAKE(map);
	return err;
}

struct owner {
	int64_t uid, effective_uid; /* -1: unknown */
	long pid_inside;            /* in its own pid namespace */
};

static struct owner owner_of(int pid)
{
	struct owner owner = { .uid = -1, .effective_uid = -1, .pid_inside = pid };
	char path[64], line[512];
	cleanup(fclose_p) FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			owner.pid_inside = strtol(last, NULL, 10);
		if (!strncmp(line, "Uid:", 4) && sscanf(line, "Uid: %" SCNd64 " %" SCNd64,
							&owner.uid, &owner.effective_uid) != 2)
			owner.uid = owner.effective_uid = -1;
	}
	/* The process has ended: accept a file that we could have written ourselves. */
	if (!file)
		owner.uid = owner.effective_uid = (int64_t)geteuid();
	return owner;
}

/*
 * Whether the process can have written the file. A process can put any file there that it can name,
 * by a link or by a mount of its own, and we would then print the lines of that file as names. So
 * the file must have only one link, and its owner, as the host sees it, must be the user of the
 * process.
 */
static bool is_own(const struct stat *stat, const struct owner *owner)
{
	return stat->st_nlink == 1 &&
	       (stat->st_uid == owner->uid || stat->st_uid == owner->effective_uid);
}

static int open_checked(const char *root, long pid, const struct owner *owner)
{
	struct stat stat;
	char path[64];
	int fd, err = -EPERM;

	snprintf(path, sizeof(path), "/tmp/perf-%ld.map", pid);
	fd = foreign__open_no_link(root, path);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &stat) && is_own(&stat, owner))
		err = stat.st_size > MOST_BYTES ? -EFBIG : 0;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int perfmap__open_file(int pid)
{
	struct owner owner = owner_of(pid);
	char root[64];
	int fd;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	fd = open_checked(root, owner.pid_inside, &owner);
	return fd < 0 ? open_checked("", pid, &owner) : fd;
}

int perfmap__open(int pid, const struct addresses *wanted, struct perfmap **ret)
{
	int fd = broker__open(&(struct broker_request) { .kind = BROKER_PERFMAP, .pid = pid });
	cleanup(fclose_p) FILE *file = NULL;

	if (fd < 0)
		return fd;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	return perfmap__read(file, wanted, ret);
}

const char *perfmap__find(const struct perfmap *map, uint64_t address)
{
	uint32_t at;

	return rangemap__find(&map->ranges, address, &at) ? map->names[at] : NULL;
}
