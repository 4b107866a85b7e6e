/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/owner.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

/* UINT32_MAX, which is not a valid id: not set, or not a number. */
static uint32_t id_of(const char *name)
{
	const char *text = getenv(name);
	uint64_t id;

	return text && !parse__number(text, 0, UINT32_MAX - 1, &id) ? (uint32_t)id : UINT32_MAX;
}

/* Under sudo, files that owner__give() gave away still count as ours. */
static bool is_ours(uint32_t uid)
{
	return uid == geteuid() || (!geteuid() && uid == id_of("SUDO_UID"));
}

static bool is_trap(const char *path, const struct stat *info)
{
	const char *slash = strrchr(path, '/');
	cleanup(free_p) char *folder =
		slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	struct stat around;

	return folder && !stat(folder, &around) && around.st_mode & S_ISVTX &&
	       around.st_mode & (S_IWGRP | S_IWOTH) && !is_ours(info->st_uid) &&
	       info->st_uid != around.st_uid;
}

bool owner__is_trap(const char *path)
{
	struct stat info;

	return !lstat(path, &info) && is_trap(path, &info);
}

bool owner__is_trap_fd(const char *path, int fd)
{
	struct stat info;

	return !fstat(fd, &info) && is_trap(path, &info);
}

void owner__give(int fd)
{
	uint32_t uid = id_of("SUDO_UID"), gid = id_of("SUDO_GID");

	/* Not an error on a file system without owners. */
	if (!geteuid() && uid != UINT32_MAX && gid != UINT32_MAX)
		(void)!fchown(fd, uid, gid);
}
