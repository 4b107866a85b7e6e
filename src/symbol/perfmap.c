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
#include "symbol/foreign.h"
#include "symbol/rangemap.h"

/* The maps of large Java and JavaScript programs have 10 to 50 MB. */
#define MOST_BYTES (UINT32_C(256) << 20) /* also: offsets in the text fit into 32 bits */

struct perfmap {
	char *text; /* lines end with 0 */
	struct rangemap ranges;
};

void perfmap__free(struct perfmap *map)
{
	if (!map)
		return;
	free(map->text);
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
static int add_line(struct perfmap *map, char *line)
{
	uint64_t start, size;
	char *name = read_hex(line, &start);
	int err;

	name = name ? read_hex(name, &size) : NULL;
	if (!name || !*name)
		return 0;
	if (size > UINT64_MAX - start)
		size = UINT64_MAX - start;
	err = rangemap__add(&map->ranges, start, start + size, (uint32_t)(name - map->text));
	return err == -ENOMEM ? err : 0;
}

int perfmap__parse(char *text, size_t size, struct perfmap **ret)
{
	cleanup(perfmap__free_p) struct perfmap *map = calloc(1, sizeof(*map));
	char *end = text + size;
	int err = 0;

	if (!map)
		return -ENOMEM;
	map->text = text;
	for (char *line = text; line < end && !err;) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		if (!line_end)
			line_end = end;
		*line_end = '\0';
		if (line_end > line && line_end[-1] == '\r')
			line_end[-1] = '\0';
		err = add_line(map, line);
		line = line_end + 1;
	}
	if (!err)
		err = rangemap__seal(&map->ranges);
	if (err) {
		map->text = NULL;
		return err;
	}
	*ret = TAKE(map);
	return 0;
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

int perfmap__open(int pid, struct perfmap **ret)
{
	struct owner owner = owner_of(pid);
	cleanup(close_p) int fd = -1;
	cleanup(free_p) char *text = NULL;
	char root[64];
	size_t size;
	int err;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	fd = open_checked(root, owner.pid_inside, &owner);
	if (fd < 0)
		fd = open_checked("", pid, &owner);
	if (fd < 0)
		return fd;
	err = foreign__read(fd, MOST_BYTES, &text, &size);
	if (!err)
		err = perfmap__parse(text, size, ret);
	if (!err)
		text = NULL;
	return err;
}

const char *perfmap__find(const struct perfmap *map, uint64_t address)
{
	uint32_t at;

	return rangemap__find(&map->ranges, address, &at) ? map->text + at : NULL;
}
