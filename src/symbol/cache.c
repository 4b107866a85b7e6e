/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/debuginfod.h>

#define FALLBACK "/var/cache/gapless-debuginfod"

static bool is_own_folder(const char *path)
{
	struct stat info;

	return !stat(path, &info) && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
	       !(info.st_mode & S_IWOTH);
}

/* Root creates nothing in the folders of others: they could not change what is below it. */
static bool make_one(const char *path)
{
	char above[PATH_MAX];
	struct stat info;

	if (!stat(path, &info))
		return S_ISDIR(info.st_mode);
	snprintf(above, sizeof(above), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (!geteuid() && (stat(*above ? above : "/", &info) || info.st_uid))
		return false;
	return !mkdir(path, 0700) || errno == EEXIST;
}

/* Creates all folders of a path. */
static bool make(const char *path)
{
	char part[PATH_MAX];

	for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		if (!make_one(part))
			return false;
	}
	return make_one(path) && is_own_folder(path);
}

static bool is_path(int length)
{
	return length > 1 && length < PATH_MAX;
}

/* The folder that libdebuginfod would take: see debuginfod_find_debuginfo(3). */
static bool name_folder(char ret[static PATH_MAX])
{
	const char *given = getenv(DEBUGINFOD_CACHE_PATH_ENV_VAR);
	const char *home = getenv("HOME"), *caches = getenv("XDG_CACHE_HOME");

	if (given && *given)
		return is_path(snprintf(ret, PATH_MAX, "%s", given));
	home = home && *home ? home : "/";
	if (is_path(snprintf(ret, PATH_MAX, "%s/.debuginfod_client_cache", home)) &&
	    is_own_folder(ret))
		return true;
	if (caches && *caches)
		return is_path(snprintf(ret, PATH_MAX, "%s/debuginfod_client", caches));
	return is_path(snprintf(ret, PATH_MAX, "%s/.cache/debuginfod_client", home));
}

int cache__prepare(char ret[static PATH_MAX])
{
	if (!name_folder(ret) || *ret != '/' || !make(ret)) {
		snprintf(ret, PATH_MAX, FALLBACK);
		if (!make(ret))
			return -EACCES;
	}
	return setenv(DEBUGINFOD_CACHE_PATH_ENV_VAR, ret, 1) ? -errno : 0;
}
