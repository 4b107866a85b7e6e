/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slowfile FOLDER FILE DELAYS: mounts a folder with one file, `disk`, which is FILE but slower:
 * DELAYS has the microseconds that a read, a write and an fsync take longer, as text. It is read
 * anew whenever it has changed.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ, WRITE, SYNC, DELAYS };

static int backing;
static const char *delays_path;

static void delay(int what)
{
	unsigned int delay_us[DELAYS] = { 0 };
	FILE *file = fopen(delays_path, "re");

	if (!file)
		return;
	if (fscanf(file, "%u %u %u", &delay_us[READ], &delay_us[WRITE], &delay_us[SYNC]) ==
		    DELAYS &&
	    delay_us[what])
		usleep(delay_us[what]);
	fclose(file);
}

static int slow_getattr(const char *path, struct stat *ret, struct fuse_file_info *info)
{
	(void)info;
	if (strcmp(path, "/disk") == 0)
		return fstat(backing, ret) == 0 ? 0 : -errno;
	if (strcmp(path, "/") != 0)
		return -ENOENT;
	memset(ret, 0, sizeof(*ret));
	ret->st_mode = S_IFDIR | 0755;
	ret->st_nlink = 2;
	return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
	(void)info;
	return strcmp(path, "/disk") == 0 ? 0 : -ENOENT;
}

static int slow_read(const char *path, char *bytes, size_t size, off_t offset,
		     struct fuse_file_info *info)
{
	ssize_t count;

	(void)path;
	(void)info;
	delay(READ);
	count = pread(backing, bytes, size, offset);
	return count < 0 ? -errno : (int)count;
}

static int slow_write(const char *path, const char *bytes, size_t size, off_t offset,
		      struct fuse_file_info *info)
{
	ssize_t count;

	(void)path;
	(void)info;
	delay(WRITE);
	count = pwrite(backing, bytes, size, offset);
	return count < 0 ? -errno : (int)count;
}

static int slow_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
	(void)path;
	(void)data_only;
	(void)info;
	delay(SYNC);
	return 0;
}

int main(int argc, char **argv)
{
	const struct fuse_operations operations = {
		.getattr = slow_getattr,
		.open = slow_open,
		.read = slow_read,
		.write = slow_write,
		.fsync = slow_fsync,
	};
	char *arguments[] = { argv[0], "-f", argv[1], NULL };

	if (argc != 4)
		return 2;
	backing = open(argv[2], O_RDWR | O_CLOEXEC);
	delays_path = argv[3];
	return backing < 0 ? 1 : fuse_main(3, arguments, &operations, NULL);
}
