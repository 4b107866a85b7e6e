/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "stacks/maps.h"
#include "stacks/modules.h"

/* During a stall, the mappings of other processes are delayed. */
#define STALL_NS     1000000000ULL
#define MOST_STALLED 16
#define MEMORY_BYTES (16UL << 20)

struct opener {
	struct helper *helper;
	uint64_t stalled[MOST_STALLED]; /* devices that did not respond: their files are skipped */
	size_t stalled_count;
	_Atomic bool stopping;
};

/* First with O_PATH, which does not open the file: opening a device can have side effects. */
static int open_regular(const char *path, struct stat *ret_stat)
{
	cleanup(close_p) int handle = open(path, O_PATH | O_CLOEXEC);
	char name[64];
	int fd;

	if (handle < 0 || fstat(handle, ret_stat))
		return -errno;
	if (!S_ISREG(ret_stat->st_mode))
		return -ENOEXEC;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", handle);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* map_files also has deleted files and those of other mount namespaces, but needs privileges. */
static int open_place(const struct module_place *place, struct stat *ret_stat)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%lx-%lx", place->pid, place->begin,
		 place->end);
	fd = open_regular(path, ret_stat);
	if (fd >= 0 || fd == -ENOEXEC || fd == -EMFILE || place->path[0] != '/')
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", place->pid, place->path);
	fd = open_regular(path, ret_stat);
	if (fd >= 0 &&
	    (MAPS_DEVICE(major(ret_stat->st_dev), minor(ret_stat->st_dev)) != place->device ||
	     ret_stat->st_ino != place->inode)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* A request to the helper process; the path follows it. */
struct open_question {
	uint64_t begin, end, device, inode;
	uint32_t pid, padding;
};

/* Runs in the helper process, because even open() can block forever. */
static int serve(void *context, const struct helper_parcel *parcel, struct helper_parcel *answer)
{
	cleanup(free_p) struct opened *opened = calloc(1, sizeof(*opened));
	struct open_question question;
	struct module_place place;
	int fd, err;

	if (!opened)
		return -ENOMEM;
	if (parcel->size <= sizeof(question) || ((const char *)parcel->bytes)[parcel->size - 1])
		return -EBADMSG;
	memcpy(&question, parcel->bytes, sizeof(question));
	place = (struct module_place) { .pid = question.pid,
					.begin = question.begin,
					.end = question.end,
					.device = question.device,
					.inode = question.inode,
					.path = (const char *)parcel->bytes + sizeof(question) };
	fd = open_place(&place, &opened->stat);
	if (fd < 0)
		return fd;
	err = headers__read(fd, &opened->headers);
	answer->fd = fd;
	if (err || !opened->headers.segment_count)
		return err ? err : -ENOEXEC;
	answer->bytes = TAKE(opened);
	answer->size = sizeof(*opened);
	return 0;
}

static int look_for_end(void *context)
{
	struct opener *opener = context;

	return opener->stopping ? -ECANCELED : 0;
}

static bool is_stalled(struct opener *opener, uint64_t device)
{
	for (size_t i = 0; i < opener->stalled_count; i++)
		if (opener->stalled[i] == device)
			return true;
	return false;
}

int opener__open(struct opener *opener, const struct module_place *place, struct opened *ret)
{
	/* A device is not tried again after a stall, so in_full gives it the full time. */
	const struct helper_patience patience = { .stall_ns = STALL_NS,
						  .in_full = opener->stalled_count < MOST_STALLED,
						  .cpu_ns = STALL_NS,
						  .most_bytes = sizeof(*ret),
						  .look = look_for_end,
						  .context = opener };
	struct open_question question = { .begin = place->begin,
					  .end = place->end,
					  .device = place->device,
					  .inode = place->inode,
					  .pid = place->pid };
	struct helper_parcel parcel = { .fd = -1,
					.size = sizeof(question) + strlen(place->path) + 1 };
	struct helper_parcel answer = { .fd = -1 };
	cleanup(free_p) char *bytes = malloc(parcel.size);
	int fd, err;

	if (!bytes)
		return -ENOMEM;
	if (is_stalled(opener, place->device))
		return -ETIMEDOUT;
	memcpy(bytes, &question, sizeof(question));
	memcpy(bytes + sizeof(question), place->path, parcel.size - sizeof(question));
	parcel.bytes = bytes;
	err = helper__ask(opener->helper, &parcel, &patience, &answer);
	if (err == -ETIMEDOUT && patience.in_full && helper__stalled(opener->helper))
		opener->stalled[opener->stalled_count++] = place->device;
	if (err)
		return err;
	fd = answer.fd;
	answer.fd = -1;
	if (answer.size == sizeof(*ret))
		memcpy(ret, answer.bytes, sizeof(*ret));
	else
		err = -EBADMSG;
	helper__release(&answer);
	if (err) {
		close_p(&fd);
		return err;
	}
	/* The kernel drops a passed descriptor if the receiver has too many open files. */
	return fd < 0 ? -EMFILE : fd;
}

int opener__new(struct opener **ret)
{
	const struct helper_work work = { .name = "gapless-open",
					  .memory_bytes = MEMORY_BYTES,
					  .serve = serve };
	struct opener *opener = calloc(1, sizeof(*opener));
	int err = opener ? helper__new(&work, &opener->helper) : -ENOMEM;

	if (err) {
		free(opener);
		return err;
	}
	*ret = opener;
	return 0;
}

void opener__stop(struct opener *opener)
{
	opener->stopping = true;
}

void opener__free(struct opener *opener)
{
	if (!opener)
		return;
	helper__free(opener->helper);
	free(opener);
}
