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
#include "guard/guard.h"
#include "stacks/maps.h"
#include "stacks/modules.h"

/* During a stall, the mappings of other processes are delayed. */
#define STALL_NS     1000000000ULL
#define MOST_STALLED 16
#define MEMORY_BYTES (16UL << 20)

struct opener {
	struct helper *helper;          /* opens files: with privileges, parses nothing */
	struct helper *parser;          /* reads their headers: without privileges */
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
	cleanup(free_p) struct stat *stat = calloc(1, sizeof(*stat));
	struct open_question question;
	struct module_place place;
	int fd;

	if (!stat)
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
	fd = open_place(&place, stat);
	if (fd < 0)
		return fd;
	answer->fd = fd;
	answer->bytes = TAKE(stat);
	answer->size = sizeof(*stat);
	return 0;
}

static int confine_opener(void *context)
{
	return guard__drop(GUARD_OPENER, NULL);
}

static int confine_parser(void *context)
{
	return guard__drop(GUARD_PARSER, NULL);
}

/* Runs in the process without privileges. */
static int parse(void *context, const struct helper_parcel *parcel, struct helper_parcel *answer)
{
	cleanup(free_p) struct headers *headers = calloc(1, sizeof(*headers));
	int err = headers ? headers__read(parcel->fd, headers) : -ENOMEM;

	close_p(&parcel->fd);
	if (err || !headers->segment_count)
		return err ? err : -ENOEXEC;
	answer->bytes = TAKE(headers);
	answer->size = sizeof(*headers);
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

/* Asks one of the two processes. The answer has `size` bytes, which are copied to *ret. */
static int ask(struct opener *opener, struct helper *helper, const struct helper_parcel *question,
	       uint64_t device, void *ret, size_t size, int *ret_fd)
{
	/* A device is not tried again after a stall, so in_full gives it the full time. */
	const struct helper_patience patience = { .stall_ns = STALL_NS,
						  .in_full = opener->stalled_count < MOST_STALLED,
						  .cpu_ns = STALL_NS,
						  .most_bytes = size,
						  .look = look_for_end,
						  .context = opener };
	struct helper_parcel answer = { .fd = -1 };
	int err = helper__ask(helper, question, &patience, &answer);

	if (err == -ETIMEDOUT && patience.in_full && helper__stalled(helper))
		opener->stalled[opener->stalled_count++] = device;
	if (err)
		return err;
	if (answer.size == size)
		memcpy(ret, answer.bytes, size);
	else
		err = -EBADMSG;
	if (!err && ret_fd) {
		*ret_fd = answer.fd;
		answer.fd = -1;
	}
	helper__release(&answer);
	return err;
}

static int open_file(struct opener *opener, const struct module_place *place, struct stat *ret)
{
	struct open_question question = { .begin = place->begin,
					  .end = place->end,
					  .device = place->device,
					  .inode = place->inode,
					  .pid = place->pid };
	struct helper_parcel parcel = { .fd = -1,
					.size = sizeof(question) + strlen(place->path) + 1 };
	cleanup(free_p) char *bytes = malloc(parcel.size);
	int fd = -1, err;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &question, sizeof(question));
	memcpy(bytes + sizeof(question), place->path, parcel.size - sizeof(question));
	parcel.bytes = bytes;
	err = ask(opener, opener->helper, &parcel, place->device, ret, sizeof(*ret), &fd);
	if (err)
		return err;
	/* The kernel drops a passed descriptor if the receiver has too many open files. */
	return fd < 0 ? -EMFILE : fd;
}

/* The process that read them is not trusted either. */
static bool are_sane(const struct headers *headers)
{
	return headers->segment_count && headers->segment_count <= HEADERS_MOST_SEGMENTS &&
	       headers->build_id_bytes <= HEADERS_BUILD_ID;
}

int opener__open(struct opener *opener, const struct module_place *place, struct opened *ret)
{
	struct opened opened;
	int fd, err;

	if (is_stalled(opener, place->device))
		return -ETIMEDOUT;
	fd = open_file(opener, place, &opened.stat);
	if (fd < 0)
		return fd;
	err = ask(opener, opener->parser, &(struct helper_parcel) { .fd = fd }, place->device,
		  &opened.headers, sizeof(opened.headers), NULL);
	if (!err && !are_sane(&opened.headers))
		err = -EBADMSG;
	if (err) {
		close(fd);
		return err;
	}
	*ret = opened;
	return fd;
}

int opener__new(struct opener **ret)
{
	const struct helper_work opening = { .name = "gapless-open",
					     .memory_bytes = MEMORY_BYTES,
					     .serve = serve,
					     .confine = confine_opener };
	const struct helper_work parsing = { .name = "gapless-heads",
					     .memory_bytes = MEMORY_BYTES,
					     .serve = parse,
					     .confine = confine_parser };
	struct opener *opener = calloc(1, sizeof(*opener));
	int err = opener ? helper__new(&opening, &opener->helper) : -ENOMEM;

	if (!err)
		err = helper__new(&parsing, &opener->parser);
	if (err) {
		opener__free(opener);
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
	helper__free(opener->parser);
	free(opener);
}
