/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Headers older than the kernel that we run on lack some of these. */
#define FS_EXECUTE   (UINT64_C(1) << 0)
#define FS_READ_FILE (UINT64_C(1) << 2)
#define FS_READ_DIR  (UINT64_C(1) << 3)
#define FS_ABI_1     ((UINT64_C(1) << 13) - 1)
#define FS_REFER     (UINT64_C(1) << 13) /* ABI 2, Linux 5.19 */
#define FS_TRUNCATE  (UINT64_C(1) << 14) /* ABI 3, Linux 6.2 */
#define FS_IOCTL_DEV (UINT64_C(1) << 15) /* ABI 5, Linux 6.10 */
#define NET_TCP      UINT64_C(3)         /* bind, connect; ABI 4, Linux 6.7 */
#define SCOPES       UINT64_C(3)         /* abstract UNIX sockets, signals; ABI 6, Linux 6.12 */

/* As in linux/landlock.h of Linux 6.12. The kernel accepts a shorter one. */
struct ruleset {
	uint64_t fs, net, scoped;
};

static long create_ruleset(const struct ruleset *ruleset, size_t size, uint32_t flags)
{
	return syscall(SYS_landlock_create_ruleset, ruleset, size, flags);
}

static struct ruleset all_rights(long abi, bool network)
{
	struct ruleset all = { .fs = FS_ABI_1 };

	if (abi >= 2)
		all.fs |= FS_REFER;
	if (abi >= 3)
		all.fs |= FS_TRUNCATE;
	if (abi >= 4 && !network)
		all.net = NET_TCP;
	if (abi >= 5)
		all.fs |= FS_IOCTL_DEV;
	if (abi >= 6)
		all.scoped = SCOPES;
	return all;
}

static int allow(int ruleset, const char *path, uint64_t rights)
{
	cleanup(close_p) int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = folder };

	if (folder < 0)
		return -errno;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0)
		       ? -errno
		       : 0;
}

/* Rights for directories are refused for a file. */
static int allow_reading(int ruleset, const char *path)
{
	cleanup(close_p) int place = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .parent_fd = place };
	struct stat info;

	if (place < 0 || fstat(place, &info))
		return 0;
	rule.allowed_access = S_ISDIR(info.st_mode) ? FS_READ_FILE | FS_READ_DIR : FS_READ_FILE;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0)
		       ? -errno
		       : 0;
}

int landlock__restrict(const struct landlock_wish *wish)
{
	long abi = create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset all = all_rights(abi, wish->network);
	size_t size = abi >= 6   ? sizeof(all)
		      : abi >= 4 ? offsetof(struct ruleset, scoped)
				 : offsetof(struct ruleset, net);
	cleanup(close_p) int ruleset = -1;
	int err = 0;

	if (abi <= 0)
		return 0;
	ruleset = (int)create_ruleset(&all, size, 0);
	if (ruleset < 0)
		return -errno;
	/* A library that is loaded at run time is executed. */
	if (wish->read)
		err = allow(ruleset, "/", FS_READ_FILE | FS_READ_DIR | FS_EXECUTE);
	for (size_t i = 0; !wish->read && wish->readable && wish->readable[i] && !err; i++)
		err = allow_reading(ruleset, wish->readable[i]);
	if (!err && wish->writable)
		err = allow(ruleset, wish->writable, all.fs);
	if (!err && syscall(SYS_landlock_restrict_self, ruleset, 0))
		err = -errno;
	return err;
}
