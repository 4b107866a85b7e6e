/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch is written to a temporary file, which is then renamed, so a name always stands for a
 * whole file if the agent is killed. There is no fsync: it would make a busy disk, which may be
 * what the user is looking for, wait for the profiler every minute. The price is that a power cut
 * can lose or tear the files of the last half minute. Torn files are recognised by their checksum.
 *
 * A batch is renamed again before it is first sent. So after a restart it is known which batches
 * may already be in the store, and since when.
 *
 * Files whose names are not those of batches are counted and left alone: the folder may have been
 * set to one that is not ours.
 */
#include "store/spool_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define ASIDE_SHARE 8

int spool__lock(struct spool *spool)
{
	spool->lock = openat(spool->folder, SPOOL_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	/* On a read-only disk nobody else writes either. */
	if (spool->lock < 0) {
		spool->totals.error = -errno;
		return 0;
	}
	return flock(spool->lock, LOCK_EX | LOCK_NB) ? -EBUSY : 0;
}

void spool__measure_aside(struct spool *spool)
{
	int fd = openat(spool->folder, SPOOL_ASIDE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(closedir_p) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat about;

	while (dir && (entry = readdir(dir)))
		if (!fstatat(fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(about.st_mode))
			spool->aside_bytes += (uint64_t)about.st_size;
}

static int write_all(int fd, const void *bytes, size_t size)
{
	for (const char *at = bytes; size;) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_temporary(struct spool *spool, const void *bytes, size_t size)
{
	int fd = openat(spool->folder, SPOOL_TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);
	int err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, bytes, size);
	/* Some file systems report a full disk here. */
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int spool__write_file(struct spool *spool, const struct spool_entry *entry, const void *bytes)
{
	char name[BATCH_TEXT_BYTES];
	int err = spool->folder < 0 ? spool->totals.error : 0;

	if (err)
		return err;
	batch__file_name(&entry->id, entry->named_s, name);
	err = write_temporary(spool, bytes, entry->bytes);
	if (!err && renameat(spool->folder, SPOOL_TEMPORARY, spool->folder, name))
		err = -errno;
	if (err)
		unlinkat(spool->folder, SPOOL_TEMPORARY, 0);
	spool->totals.error = err;
	return err;
}

int spool__read_file(struct spool *spool, const struct spool_entry *entry, void **ret)
{
	cleanup(free_p) char *bytes = malloc(entry->bytes ?: 1);
	cleanup(close_p) int fd = -1;
	char name[BATCH_TEXT_BYTES];
	size_t size = 0;

	if (!bytes)
		return -ENOMEM;
	batch__file_name(&entry->id, entry->named_s, name);
	fd = openat(spool->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT || errno == ELOOP ? -EBADMSG : -EIO;
	while (size < entry->bytes) {
		ssize_t n = read(fd, bytes + size, entry->bytes - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -EIO;
		if (!n)
			return -EBADMSG;
		size += (size_t)n;
	}
	*ret = TAKE(bytes);
	return 0;
}

void spool__delete_file(struct spool *spool, const struct spool_entry *entry)
{
	char name[BATCH_TEXT_BYTES];

	if (entry->content)
		return;
	batch__file_name(&entry->id, entry->named_s, name);
	if (unlinkat(spool->folder, name, 0) && errno != ENOENT)
		spool->totals.error = -errno;
}

/* The folder aside is for people to look at; it has no part in delivery. */
void spool__move_aside(struct spool *spool, const struct spool_entry *entry)
{
	char name[BATCH_TEXT_BYTES], aside[BATCH_TEXT_BYTES + sizeof(SPOOL_ASIDE) + 1];

	if (entry->content)
		return;
	batch__file_name(&entry->id, entry->named_s, name);
	snprintf(aside, sizeof(aside), SPOOL_ASIDE "/%s", name);
	mkdirat(spool->folder, SPOOL_ASIDE, 0700);
	if (spool->aside_bytes + entry->bytes > spool->limits.most_bytes / ASIDE_SHARE ||
	    renameat(spool->folder, name, spool->folder, aside))
		spool__delete_file(spool, entry);
	else
		spool->aside_bytes += entry->bytes;
}
