/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "core/sys.h"

#define CONTAINER_ID_DIGITS 64

DEFINE_CLEANUP(FILE *, endmntent)

int cgroups__mount(char ret[PATH_MAX])
{
	cleanup(endmntent_p) FILE *mounts = setmntent("/proc/self/mounts", "r");
	char text[2 * PATH_MAX];
	struct mntent entry;

	while (mounts && getmntent_r(mounts, &entry, text, sizeof(text))) {
		if (strcmp(entry.mnt_type, "cgroup2") || strlen(entry.mnt_dir) >= PATH_MAX)
			continue;
		snprintf(ret, PATH_MAX, "%s", entry.mnt_dir);
		return 0;
	}
	return -ENOENT;
}

/*
 * Returns 0 and the id if `path` is a cgroup of version 2, otherwise the errors of cgroups__find().
 */
static int look(const char *path, uint64_t *ret_id)
{
	struct stat info;
	struct statfs fs;

	if (stat(path, &info) || statfs(path, &fs))
		return -ENOENT;
	if (fs.f_type == CGROUP_SUPER_MAGIC)
		return -EMEDIUMTYPE;
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(info.st_mode))
		return -ENOTDIR;
	/* A cgroup's id is its folder's inode. */
	*ret_id = info.st_ino;
	return 0;
}

int cgroups__find(const char *path, uint64_t *ret_id)
{
	char below[PATH_MAX], root[PATH_MAX];
	int as_given = look(path, ret_id), err;

	if (!as_given)
		return 0;
	if (!cgroups__mount(root) &&
	    (size_t)snprintf(below, sizeof(below), "%s/%s", root, path) < sizeof(below)) {
		err = look(below, ret_id);
		if (err != -ENOENT)
			return err;
	}
	/* If version 1 is mounted too, cgroups under the usual mount point are of version 1. */
	if (as_given == -ENOENT &&
	    (size_t)snprintf(below, sizeof(below), "/sys/fs/cgroup/%s", path) < sizeof(below))
		return look(below, ret_id);
	return as_given;
}

struct search {
	bool (*fits)(const void *context, const char *name);
	const void *context;
	int (*take)(void *to, const char *path, uint64_t id);
	void *to;
	size_t root_length;
};

static bool is_populated(const char *path)
{
	char file[PATH_MAX], line[64];

	return (size_t)snprintf(file, sizeof(file), "%s/cgroup.events", path) < sizeof(file) &&
	       !sys__read_line(file, line, sizeof(line)) && !strcmp(line, "populated 1");
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the hierarchy, whose paths fit PATH_MAX */
static int search_below(const struct search *search, const char *path)
{
	cleanup(closedir_p) DIR *folder = opendir(path);
	struct dirent *entry;
	int err = 0;

	while (!err && folder && (entry = readdir(folder))) {
		char below[PATH_MAX];
		uint64_t id;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >=
			    sizeof(below) ||
		    !is_populated(below) || look(below, &id))
			continue;
		if (search->fits(search->context, entry->d_name))
			err = search->take(search->to, below + search->root_length, id);
		else
			err = search_below(search, below);
	}
	return err;
}

int cgroups__each(bool (*fits)(const void *context, const char *name), const void *context,
		  int (*take)(void *to, const char *path, uint64_t id), void *to)
{
	struct search search = { fits, context, take, to, 0 };
	char root[PATH_MAX];
	int err = cgroups__mount(root);

	if (err)
		return err;
	search.root_length = strcmp(root, "/") ? strlen(root) : 0;
	return search_below(&search, root);
}

/* systemd prefixes '_' to names that could be mistaken for control files of the kernel. */
static bool matches(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0) || (*name == '_' && !fnmatch(pattern, name + 1, 0));
}

/* The unit types of systemd.unit(5). Any other dot is part of the name, as in "php8.1-fpm". */
static bool is_unit_type(const char *word)
{
	static const char *const types[] = { "service", "scope",  "slice",    "socket",
					     "mount",   "swap",   "target",   "timer",
					     "path",    "device", "automount" };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(word, types[i]))
			return true;
	return false;
}

bool cgroups__is_unit(const void *unit, const char *name)
{
	const char *pattern = unit, *dot = strrchr(pattern, '.');
	char service[NAME_MAX + 1];

	if (dot && is_unit_type(dot + 1))
		return matches(pattern, name);
	/* A pattern may replace the type: "nginx.*". */
	if (dot && strpbrk(dot, "*?[") && matches(pattern, name))
		return true;
	/* As for systemctl, a name without a type is a service. */
	return (size_t)snprintf(service, sizeof(service), "%s.service", pattern) <
		       sizeof(service) &&
	       matches(service, name);
}

bool cgroups__is_unit_of(const char *type, const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && !strcmp(dot + 1, type);
}

static bool is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == CONTAINER_ID_DIGITS;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, or ID alone */
static bool find_id(const char *name, struct cgroups_container *ret)
{
	const char *dash = strrchr(name, '-'), *id = dash ? dash + 1 : name, *end;

	end = id + CONTAINER_ID_DIGITS;
	if (!is_id(id) || (*end && strcmp(end, ".scope")))
		return false;
	*ret = (struct cgroups_container) {
		.engine = name,
		.engine_length = dash ? (size_t)(dash - name) : 0,
		.id = id,
		.id_length = CONTAINER_ID_DIGITS,
		.has_id = true,
	};
	return true;
}

bool cgroups__container(const char *name, struct cgroups_container *ret)
{
	static const struct {
		const char *begin, *end;
	} named[] = { { "lxc.payload.", "" },
		      { "machine-", ".scope" },
		      { "systemd-nspawn@", ".service" } };

	/* The container's monitor, conmon, has a cgroup whose name contains the same id. */
	if (strstr(name, "conmon"))
		return false;
	if (find_id(name, ret))
		return true;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		size_t begin = strlen(named[i].begin), end = strlen(named[i].end);
		size_t length = strlen(name);

		if (!starts_with(name, named[i].begin) || length <= begin + end ||
		    strcmp(name + length - end, named[i].end))
			continue;
		*ret = (struct cgroups_container) {
			.engine = name,
			.engine_length = begin - 1,
			.id = name + begin,
			.id_length = length - begin - end,
		};
		return true;
	}
	return false;
}

bool cgroups__is_container(const void *context, const char *name)
{
	struct cgroups_container container;
	const char *prefix = context;

	return *prefix && cgroups__container(name, &container) && starts_with(container.id, prefix);
}
