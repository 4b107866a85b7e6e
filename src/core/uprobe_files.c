/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files a specification may mean. A library is looked up in the mappings of the target's
 * processes, because they may be in containers, or have several versions of it. A command that does
 * not run yet has no mappings: for it, the usual folders are searched.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/uprobes.h"
#include "stacks/maps.h"

#define MOST_FILES 256

struct looking {
	const struct uprobe_spec *spec;
	struct uprobe_file *files;
	size_t count;
	int err;
};

/* Whether the path leads to the same file in our root and mounts. */
static bool is_here(const char *path, const struct stat *info)
{
	struct stat here;

	return !stat(path, &here) && here.st_dev == info->st_dev && here.st_ino == info->st_ino;
}

/* If it is the same file here, our path is kept: it works even after the process has ended. */
static void add_file(struct looking *looking, const char *root, const char *path)
{
	char whole[PATH_MAX + 32];
	struct uprobe_file *file;
	struct stat info;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	if (strlen(path) >= sizeof(file->path) || stat(whole, &info) || !S_ISREG(info.st_mode))
		return;
	for (size_t i = 0; i < looking->count; i++)
		if (looking->files[i].device == info.st_dev &&
		    looking->files[i].inode == info.st_ino)
			return;
	if (looking->count == MOST_FILES) {
		looking->err = -E2BIG;
		return;
	}
	file = APPEND(&looking->files, &looking->count);
	if (!file) {
		looking->err = -ENOMEM;
		return;
	}
	snprintf(file->root, sizeof(file->root), "%s", is_here(path, &info) ? "" : root);
	snprintf(file->path, sizeof(file->path), "%s", path);
	file->device = info.st_dev;
	file->inode = info.st_ino;
}

/* Whether a file name is that of the library or program: "libc" means "libc.so.6". */
static bool is_named(const char *base, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(base, name, length) != 0)
		return false;
	base += length;
	return !*base || !strncmp(base, ".so", 3) || (*base == '-' && strstr(base, ".so"));
}

/* --- processes -------------------------------------------------------------------------------- */

static void add_program(struct looking *looking, pid_t pid, const char *root)
{
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return;
	path[length] = '\0';
	add_file(looking, root, path);
}

static void add_mapped(struct looking *looking, pid_t pid, const char *root)
{
	const struct uprobe_spec *spec = looking->spec;
	cleanup(fclose_p) FILE *maps = NULL;
	char path[64], line[PATH_MAX + 128];
	struct maps_line mapped;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		if (!maps__parse(line, &mapped) && mapped.executable && *mapped.path == '/' &&
		    (!*spec->file || is_named(uprobes__base(mapped.path), spec->file)))
			add_file(looking, root, mapped.path);
	}
}

static void look_at(void *context, pid_t pid)
{
	struct looking *looking = context;
	const struct uprobe_spec *spec = looking->spec;
	char root[32];

	/* Its mounts may differ from ours even if its root is ours. */
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	if (strchr(spec->file, '/'))
		add_file(looking, root, spec->file);
	else if (!*spec->file && spec->kind != UPROBE_PROBE)
		add_program(looking, pid, root);
	else
		add_mapped(looking, pid, root);
}

static void look_at_all(struct looking *looking)
{
	cleanup(closedir_p) DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && !looking->err && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0)
			look_at(looking, atoi(entry->d_name));
}

/* --- files that no process has yet ------------------------------------------------------------ */

static void search_folders(struct looking *looking, const char *name)
{
	static const char *const folders[] = { "/lib/x86_64-linux-gnu",
					       "/lib/aarch64-linux-gnu",
					       "/lib64",
					       "/lib",
					       "/usr/lib/x86_64-linux-gnu",
					       "/usr/lib/aarch64-linux-gnu",
					       "/usr/lib64",
					       "/usr/lib",
					       "/usr/local/lib",
					       "/usr/local/lib64",
					       NULL };

	for (size_t i = 0; folders[i]; i++) {
		cleanup(closedir_p) DIR *folder = opendir(folders[i]);
		const struct dirent *entry;
		char path[PATH_MAX];

		while (folder && (entry = readdir(folder))) {
			const char *end = strstr(entry->d_name, ".so");

			if (!end || !is_named(entry->d_name, name))
				continue;
			snprintf(path, sizeof(path), "%s/%s", folders[i], entry->d_name);
			add_file(looking, "", path);
		}
	}
}

/* As execvp() finds it. */
static void add_command(struct looking *looking, const char *command)
{
	const char *list = getenv("PATH");
	char whole[PATH_MAX], *real;

	if (!list || !*list)
		list = "/usr/local/bin:/usr/bin:/bin";
	do {
		size_t length = strcspn(list, ":");

		if (strchr(command, '/'))
			snprintf(whole, sizeof(whole), "%s", command);
		else
			snprintf(whole, sizeof(whole), "%.*s/%s", (int)length, list, command);
		real = access(whole, X_OK) ? NULL : realpath(whole, NULL);
		list += length + (list[length] == ':');
	} while (!real && *list && !strchr(command, '/'));
	if (real)
		add_file(looking, "", real);
	free(real);
}

static void look_for_command(struct looking *looking, const char *command)
{
	const struct uprobe_spec *spec = looking->spec;
	char library[FINDER_NAME_BYTES + 4], *colon;

	if (!*spec->file || !strcmp(spec->file, uprobes__base(command)))
		add_command(looking, command);
	if (*spec->file)
		search_folders(looking, spec->file);
	if (*spec->file || spec->kind != UPROBE_PROBE)
		return;
	/* Many providers have the name of their library. */
	snprintf(library, sizeof(library), "lib%s", spec->name);
	colon = strchr(library, ':');
	if (colon)
		*colon = '\0';
	search_folders(looking, library);
	search_folders(looking, library + strlen("lib"));
}

static void add_executables(struct looking *looking, const struct target *target)
{
	char link[64], path[PATH_MAX];

	for (size_t i = 0; i < target->exe_count; i++) {
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", target->exe_fds[i]);
		length = readlink(link, path, sizeof(path) - 1);
		path[length > 0 ? length : 0] = '\0';
		add_file(looking, "", path);
	}
}

static void look_for_targets(struct looking *looking, const struct target *target)
{
	const struct uprobe_spec *spec = looking->spec;

	if (!*spec->file && spec->kind == UPROBE_FUNCTION)
		add_executables(looking, target);
	if (target->pids.count || target->name_count)
		target__processes(target, look_at, looking);
	else if (!looking->count && !strchr(spec->file, '/'))
		look_at_all(looking);
	if (!looking->count && *spec->file && !strchr(spec->file, '/'))
		search_folders(looking, spec->file);
}

int uprobes__files(const struct uprobe_spec *spec, const struct uprobe_scope *scope,
		   struct uprobe_file **ret, size_t *ret_count)
{
	struct uprobe_spec whole = *spec;
	struct looking looking = { .spec = &whole };
	cleanup(free_p) char *real = NULL;

	/* A relative path is one from here; an absolute one may be a container's. */
	if (strchr(spec->file, '/') && *spec->file != '/') {
		real = realpath(spec->file, NULL);
		if (!real)
			return -errno;
		snprintf(whole.file, sizeof(whole.file), "%s", real);
	}
	if (scope->command && !strchr(whole.file, '/'))
		look_for_command(&looking, scope->command);
	else if (!scope->command)
		look_for_targets(&looking, scope->target);
	if (!looking.count && strchr(whole.file, '/'))
		add_file(&looking, "", whole.file);
	if (looking.err || !looking.count) {
		free(looking.files);
		return looking.err ? looking.err : -ENOENT;
	}
	*ret = looking.files;
	*ret_count = looking.count;
	return 0;
}
