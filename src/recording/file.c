/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/owner.h"

/* Removes only regular files: `--force -o /dev/null` as root must not delete /dev/null. */
static int remove_file(const char *path)
{
	struct stat stat;

	if (lstat(path, &stat))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	if (owner__is_trap(path))
		return -EACCES;
	return unlink(path) ? -errno : 0;
}

/*
 * Removes what an earlier recording of this name left. SQLite would replay an old journal into the
 * new file.
 */
static int remove_leftovers(const char *path)
{
	static const char *const tails[] = { "-journal", "-wal", "-shm" };

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		cleanup(free_p) char *leftover = NULL;
		int err;

		if (asprintf(&leftover, "%s%s", path, tails[i]) < 0) {
			leftover = NULL;
			return -ENOMEM;
		}
		err = remove_file(leftover);
		if (err)
			return err;
	}
	return 0;
}

int file__resolve(const char *path, char **ret)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	cleanup(free_p) char *folder = NULL;
	cleanup(free_p) char *real_folder = NULL;

	if (!*name)
		return *path ? -EISDIR : -ENOENT;
	folder = slash ? strndup(path, slash - path + 1) : strdup(".");
	if (!folder)
		return -ENOMEM;
	real_folder = realpath(folder, NULL);
	if (!real_folder)
		return -errno;
	return asprintf(ret, "%s/%s", real_folder[1] ? real_folder : "", name) < 0 ? -ENOMEM : 0;
}

int file__make(const char *path, bool force, int *ret)
{
	struct stat stat;
	int fd, err;

	if (!force && !lstat(path, &stat))
		return -EEXIST;
	err = remove_file(path);
	if (!err)
		err = remove_leftovers(path);
	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	owner__give(fd);
	*ret = fd;
	return 0;
}

bool file__is_at(const char *path, int fd)
{
	struct stat made, found;

	return !fstat(fd, &made) && !lstat(path, &found) && made.st_dev == found.st_dev &&
	       made.st_ino == found.st_ino;
}
