/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk fills the table only up to its limit. The id that a search is for is the exception: it
 * replaces the entry that was not used for the longest time. So a machine with more cgroups than
 * entries finds those that it needs, with at most one walk every ten seconds.
 *
 * Rejected: open_by_handle_at(2), which finds a cgroup by its id without a walk. It needs
 * CAP_DAC_READ_SEARCH, and the process that does this has no capabilities. inotify needs one watch
 * for each cgroup, and misses folders that are created between two calls.
 */
#include "identity/cgroup_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "core/cgroup_limits.h"

#define SECOND_NS     UINT64_C(1000000000)
#define WALK_EVERY_NS (10 * SECOND_NS)
#define NEGATIVE_NS   (60 * SECOND_NS)
#define GONE_NS       (600 * SECOND_NS)
#define MOST_DEPTH    64

struct entry {
	uint64_t id;
	uint64_t used_ns;      /* last time it was asked for; 0: never */
	uint64_t forget_at_ns; /* removed, or a negative answer; 0: neither */
	bool is_negative;
	enum cgroup_path_kind kind;
	char path[];
};

struct cgroup_names {
	struct map entries;
	size_t most;
	uint64_t walked_ns; /* when the last walk began; 0: never */
	struct cgroup_names_quality quality;
	char root[];
};

int cgroup_names__root(char ret[PATH_MAX])
{
	return cgroup_limits__mount(LIMITS_MEMORY, false, ret)
		       ? cgroup_limits__mount(LIMITS_MEMORY, true, ret)
		       : 0;
}

int cgroup_names__new(const char *root, size_t most, struct cgroup_names **ret)
{
	size_t length = strlen(root);
	struct cgroup_names *names;

	while (length && root[length - 1] == '/')
		length--;
	names = calloc(1, sizeof(*names) + length + 1);
	if (!names)
		return -ENOMEM;
	memcpy(names->root, root, length);
	names->most = most ? most : CGROUP_NAMES_MOST;
	*ret = names;
	return 0;
}

void cgroup_names__free(struct cgroup_names *names)
{
	if (!names)
		return;
	map__free_values(&names->entries);
	free(names);
}

const struct cgroup_names_quality *cgroup_names__quality(const struct cgroup_names *names)
{
	return &names->quality;
}

static void drop(struct cgroup_names *names, uint64_t id)
{
	free(map__take(&names->entries, id));
	names->quality.known = names->entries.count;
}

/* Makes room for one more: names of removed cgroups and negative answers go first. */
static void evict(struct cgroup_names *names)
{
	const struct entry *oldest = NULL, *entry;
	size_t at = 0;

	if (names->entries.count < names->most)
		return;
	while ((entry = map__next(&names->entries, &at))) {
		bool is_worse = !oldest || !entry->forget_at_ns < !oldest->forget_at_ns;

		if (is_worse || (!entry->forget_at_ns == !oldest->forget_at_ns &&
				 entry->used_ns < oldest->used_ns))
			oldest = entry;
	}
	if (!oldest)
		return;
	names->quality.evicted += !oldest->is_negative;
	drop(names, oldest->id);
}

/* `path` is NULL for a negative answer. */
static int put(struct cgroup_names *names, uint64_t id, const char *path, uint64_t used_ns)
{
	size_t length = path ? strlen(path) : 0;
	struct cgroup_path parsed = {};
	struct entry *entry;

	drop(names, id);
	evict(names);
	entry = calloc(1, sizeof(*entry) + length + 1);
	if (!entry || map__put(&names->entries, id, entry)) {
		free(entry);
		return -ENOMEM;
	}
	names->quality.known = names->entries.count;
	entry->id = id;
	entry->used_ns = used_ns;
	entry->is_negative = !path;
	if (!path) {
		entry->forget_at_ns = used_ns + NEGATIVE_NS;
		return 0;
	}
	memcpy(entry->path, path, length);
	cgroup_path__parse(path, &parsed);
	entry->kind = parsed.kind;
	return 0;
}

int cgroup_names__add(struct cgroup_names *names, uint64_t id, const char *path, uint64_t now_ns)
{
	return put(names, id, *path ? path : "/", now_ns);
}

void cgroup_names__remove(struct cgroup_names *names, uint64_t id, uint64_t now_ns)
{
	struct entry *entry = map__get(&names->entries, id);

	if (entry && !entry->is_negative)
		entry->forget_at_ns = now_ns + GONE_NS;
}

/* --- the walk ------------------------------------------------------------------------------- */

struct walk {
	struct cgroup_names *names;
	uint64_t wanted; /* its entry is made even if the table is full; 0: none */
	uint64_t now_ns;
	int depth;
	char path[PATH_MAX];
	size_t root_length;
};

static int meet(struct walk *walk, uint64_t id)
{
	const char *path = walk->path + walk->root_length;
	struct cgroup_names *names = walk->names;
	struct entry *known = map__get(&names->entries, id);

	/* Paths of cgroups can change: version 1 allows renaming. */
	if (known && !known->is_negative && !strcmp(known->path, *path ? path : "/")) {
		known->forget_at_ns = 0;
		return 0;
	}
	if (!known && id != walk->wanted && names->entries.count >= names->most) {
		names->quality.not_kept++;
		return 0;
	}
	return put(names, id, *path ? path : "/", id == walk->wanted ? walk->now_ns : 0);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MOST_DEPTH levels */
static int walk_below(struct walk *walk)
{
	cleanup(closedir_p) DIR *folder = opendir(walk->path);
	size_t length = strlen(walk->path);
	struct dirent *entry;
	int fd = folder ? dirfd(folder) : -1, err;
	struct stat info;

	if (fd < 0 || fstat(fd, &info) || walk->depth == MOST_DEPTH) {
		walk->names->quality.unread++;
		return 0;
	}
	/* A cgroup's id is its folder's inode. */
	err = meet(walk, info.st_ino);
	walk->depth++;
	while (!err && (entry = readdir(folder))) {
		size_t room = sizeof(walk->path) - length;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if ((size_t)snprintf(walk->path + length, room, "/%s", entry->d_name) < room)
			err = walk_below(walk);
		else
			walk->names->quality.unread++;
		walk->path[length] = '\0';
	}
	walk->depth--;
	return err;
}

static int walk_for(struct cgroup_names *names, uint64_t wanted, uint64_t now_ns)
{
	struct walk walk = { .names = names, .wanted = wanted, .now_ns = now_ns };
	struct stat info;

	names->walked_ns = now_ns;
	names->quality.walks++;
	walk.root_length = strlen(names->root);
	if (walk.root_length >= sizeof(walk.path) || stat(*names->root ? names->root : "/", &info))
		return -ENOENT;
	memcpy(walk.path, names->root, walk.root_length + 1);
	return walk_below(&walk);
}

int cgroup_names__walk(struct cgroup_names *names, uint64_t now_ns)
{
	return walk_for(names, 0, now_ns);
}

/* --- asking --------------------------------------------------------------------------------- */

static struct entry *search(struct cgroup_names *names, uint64_t id, uint64_t now_ns)
{
	struct entry *entry = map__get(&names->entries, id);

	if (entry && entry->is_negative && entry->forget_at_ns <= now_ns) {
		drop(names, id);
		entry = NULL;
	}
	return entry;
}

int cgroup_names__find(struct cgroup_names *names, uint64_t id, uint64_t now_ns,
		       struct cgroup_name *ret)
{
	struct entry *entry = search(names, id, now_ns);
	int err;

	if (!entry) {
		if (names->walked_ns && now_ns < names->walked_ns + WALK_EVERY_NS)
			return -EAGAIN;
		err = walk_for(names, id, now_ns);
		if (err == -ENOMEM)
			return -EAGAIN;
		entry = map__get(&names->entries, id);
	}
	if (!entry) {
		names->quality.not_found++;
		/* Without memory for it, the next one asks again. */
		put(names, id, NULL, now_ns);
		return -ENOENT;
	}
	if (entry->is_negative)
		return -ENOENT;
	entry->used_ns = now_ns;
	*ret = (struct cgroup_name) { entry->path, entry->kind };
	return 0;
}

static bool is_over(void *context, uint64_t id, void *value)
{
	const struct entry *entry = value;
	const uint64_t *now_ns = context;

	if (!entry->forget_at_ns || entry->forget_at_ns > *now_ns)
		return false;
	free(value);
	return true;
}

void cgroup_names__forget(struct cgroup_names *names, uint64_t now_ns)
{
	map__sweep(&names->entries, is_over, &now_ns);
	names->quality.known = names->entries.count;
}
