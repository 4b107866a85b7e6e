/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netfsd FOLDER: a file system with 100 files, each of whose attributes takes 30 ms to find out. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <fuse3/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((noinline)) static void ask_server(void)
{
	usleep(30000);
}

static int net_getattr(const char *path, struct stat *ret, struct fuse_file_info *info)
{
	(void)info;
	memset(ret, 0, sizeof(*ret));
	if (!strcmp(path, "/")) {
		ret->st_mode = S_IFDIR | 0755;
		return 0;
	}
	ask_server();
	ret->st_mode = S_IFREG | 0644;
	ret->st_size = 1000;
	return 0;
}

static int net_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t at,
		       struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	char name[32];

	(void)path, (void)at, (void)info, (void)flags;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "IMG_%04d.jpg", i);
		fill(buffer, name, NULL, 0, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct fuse_operations operations = {
		.getattr = net_getattr,
		.readdir = net_readdir,
	};
	char *arguments[] = { argv[0], "-f", "-s", "-o", "attr_timeout=0,entry_timeout=0",
			      argv[1], NULL };

	return argc == 2 ? fuse_main(6, arguments, &operations, NULL) : 2;
}
