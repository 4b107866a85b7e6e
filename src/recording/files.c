/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Not by open(): closing would drop the locks of a writer in this process. */
static char *resolve(const char *path)
{
	cleanup(free_p) char *plain = realpath(path, NULL);

	return plain && !euidaccess(plain, R_OK) ? TAKE(plain) : NULL;
}

static int open_file(const char *path, int flags, int mode)
{
	return open(path, flags, mode);
}

static const struct recording_files direct = { .resolve = resolve,
					       .open = open_file,
					       .stat = stat,
					       .lstat = lstat,
					       .access = access,
					       .unlink = unlink };
const struct recording_files *recording_files = &direct;

/* Its result only serves to write directories to the disk; without it, SQLite skips that. */
static int open_no_directory(const char *path, int *ret)
{
	return SQLITE_CANTOPEN;
}

int recording_files__use(const struct recording_files *files)
{
	const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} calls[] = {
		{ "open", (sqlite3_syscall_ptr)files->open },
		{ "stat", (sqlite3_syscall_ptr)files->stat },
		{ "lstat", (sqlite3_syscall_ptr)files->lstat },
		{ "access", (sqlite3_syscall_ptr)files->access },
		{ "unlink", (sqlite3_syscall_ptr)files->unlink },
		{ "openDirectory", (sqlite3_syscall_ptr)open_no_directory },
	};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (!vfs || vfs->iVersion < 3 || !vfs->xSetSystemCall)
		return -ENOTSUP;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call))
			return -ENOTSUP;
	recording_files = files;
	return 0;
}
