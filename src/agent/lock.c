/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

int lock__take(const char *folder)
{
	char path[PATH_MAX];
	int fd, err;

	if (snprintf(path, sizeof(path), "%s/agent.lock", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (mkdir(folder, 0700) && errno != EEXIST) {
		log_error("the state directory '%s' cannot be made: %s", folder, strerror(errno));
		return -errno;
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	err = errno == EWOULDBLOCK ? EBUSY : errno;
	if (err == EBUSY)
		log_error("another agent runs on this machine: it has '%s' locked", path);
	else
		log_error("'%s' cannot be locked: %s", path, strerror(err));
	if (fd >= 0)
		close(fd);
	return -err;
}
