/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Checks the type first: opening a device can have side effects, and opening a FIFO can block. */
static int open_regular(int found)
{
	char path[64];
	struct stat stat;
	int fd;

	if (fstat(found, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return S_ISLNK(stat.st_mode) ? -ELOOP : -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/*
 * Without a root, links are followed, but not those of /proc that lead to anything that a process
 * has open. With a root, openat2() follows none of them either.
 */
static int open_below(const char *root, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_PATH | O_CLOEXEC),
				.resolve = *root ? RESOLVE_IN_ROOT : RESOLVE_NO_MAGICLINKS };
	cleanup(close_p) int folder = -1, found = -1;

	if (*root) {
		folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0)
			return -errno;
	}
	found = (int)syscall(SYS_openat2, *root ? folder : AT_FDCWD, path, &how, sizeof(how));
	return found < 0 ? -errno : open_regular(found);
}

int foreign__open(const char *root, const char *path)
{
	return open_below(root, path, 0);
}

int foreign__open_no_link(const char *root, const char *path)
{
	return open_below(root, path, O_NOFOLLOW);
}
