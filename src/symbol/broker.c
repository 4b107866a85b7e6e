/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile file may take over the process that parses it, which can then ask for anything. It gets
 * what it could get honestly: files that are programs, libraries or their debug information. Those
 * hold no secrets of other users in general. It can pass them on only as names, and, if there is a
 * debuginfod server, to that server, as build-ids of 64 bytes.
 */
#include "symbol/broker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/fetch.h"
#include "symbol/foreign.h"
#include "symbol/image.h"
#include "symbol/perfmap.h"

#define SCRATCH_FOLDER "/var/tmp"
/* A scratch file may take this share of the free space. */
#define SPACE_SHARE 4
/*
 * There is none if less than this share of the whole space is free. Whoever asks can write more
 * than it announced, up to BROKER_MOST_SCRATCH, and ask again.
 */
#define LEAST_SHARE 16

static int (*ask_for)(const void *bytes, size_t size);

/* A request as bytes; the root and the path follow, each with its 0. */
struct wire {
	uint32_t kind;
	int32_t pid;
	uint64_t bytes;
	uint32_t root_size, path_size;
};

void broker__redirect(int (*ask)(const void *bytes, size_t size))
{
	ask_for = ask;
}

static int ask(const struct broker_request *request)
{
	const char *root = request->root ? request->root : "";
	const char *path = request->path ? request->path : "";
	struct wire wire = { .kind = request->kind,
			     .pid = request->pid,
			     .bytes = request->bytes,
			     .root_size = (uint32_t)strlen(root) + 1,
			     .path_size = (uint32_t)strlen(path) + 1 };
	char bytes[sizeof(wire) + 64 + PATH_MAX];

	if (wire.root_size > 64 || wire.path_size > PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(bytes, &wire, sizeof(wire));
	memcpy(bytes + sizeof(wire), root, wire.root_size);
	memcpy(bytes + sizeof(wire) + wire.root_size, path, wire.path_size);
	return ask_for(bytes, sizeof(wire) + wire.root_size + wire.path_size);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* /proc/kcore is an ELF file too, with the memory of the kernel. */
static bool is_pseudo(int fd)
{
	static const long types[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC,      DEBUGFS_MAGIC,
				      TRACEFS_MAGIC,    SECURITYFS_MAGIC, BPF_FS_MAGIC };
	struct statfs info;

	if (fstatfs(fd, &info))
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if ((long)info.f_type == types[i])
			return true;
	return false;
}

static int check_elf(int fd)
{
	unsigned char head[EI_NIDENT + 2];
	unsigned type;

	if (is_pseudo(fd))
		return -EACCES;
	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, ELFMAG, SELFMAG))
		return -ENOEXEC;
	type = head[EI_DATA] == ELFDATA2MSB ? head[EI_NIDENT] << 8U | head[EI_NIDENT + 1]
					    : head[EI_NIDENT + 1] << 8U | head[EI_NIDENT];
	/* A core file has the memory of somebody's process. */
	return type == ET_EXEC || type == ET_DYN || type == ET_REL ? 0 : -ENOEXEC;
}

static int open_elf(const char *root, const char *path)
{
	int fd = foreign__open(root, path), err = fd < 0 ? 0 : check_elf(fd);

	if (!err)
		return fd;
	close(fd);
	return err;
}

static int open_kallsyms(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* overlayfs has O_TMPFILE since Linux 6.10 (9a87907de359). */
static int open_without_name(void)
{
	char path[] = SCRATCH_FOLDER "/gapless-XXXXXX";
	int fd = open(SCRATCH_FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd < 0 ? -errno : fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* -ENOTSUP if it would be in memory. */
static int open_scratch(uint64_t bytes)
{
	int fd = bytes > BROKER_MOST_SCRATCH ? -EFBIG : open_without_name(), err = 0;
	struct statfs info;

	if (fd < 0)
		return fd;
	if (fstatfs(fd, &info))
		err = -errno;
	else if (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC)
		err = -ENOTSUP;
	else if (info.f_bavail * (uint64_t)info.f_frsize / SPACE_SHARE < bytes ||
		 info.f_bavail < info.f_blocks / LEAST_SHARE)
		err = -ENOSPC;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int open_file(const struct broker_request *request)
{
	switch (request->kind) {
	case BROKER_ELF:
		return open_elf(request->root ? request->root : "", request->path);
	case BROKER_PERFMAP:
		return perfmap__open_file(request->pid);
	case BROKER_KALLSYMS:
		return open_kallsyms();
	case BROKER_SCRATCH:
		return open_scratch(request->bytes);
	case BROKER_DOWNLOAD:
		return fetch__debug_file(request->path);
	}
	return -EINVAL;
}

int broker__open(const struct broker_request *request)
{
	return ask_for ? ask(request) : open_file(request);
}

/* --- requests of others ----------------------------------------------------------------------- */

static bool is_root(const char *root)
{
	char expected[64];
	int pid, length = 0;

	if (!*root)
		return true;
	if (sscanf(root, "/proc/%9d/root%n", &pid, &length) != 1 || !length || pid <= 0)
		return false;
	/* Also without signs, blanks and leading zeroes. */
	snprintf(expected, sizeof(expected), "/proc/%d/root", pid);
	return !strcmp(root, expected);
}

static bool is_plain_path(const char *path)
{
	if (*path != '/')
		return false;
	for (; path; path = strchr(path + 1, '/'))
		if (!strncmp(path, "/..", 3) && (path[3] == '/' || !path[3]))
			return false;
	return true;
}

static int unpack(const char *bytes, size_t size, struct broker_request *ret)
{
	struct wire wire;

	if (size < sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bytes, sizeof(wire));
	bytes += sizeof(wire);
	size -= sizeof(wire);
	if (!wire.root_size || !wire.path_size || wire.root_size > size ||
	    wire.path_size != size - wire.root_size ||
	    memchr(bytes, 0, size) != bytes + wire.root_size - 1 ||
	    memchr(bytes + wire.root_size, 0, wire.path_size) != bytes + size - 1)
		return -EBADMSG;
	*ret = (struct broker_request) { .kind = wire.kind,
					 .pid = wire.pid,
					 .bytes = wire.bytes,
					 .root = bytes,
					 .path = bytes + wire.root_size };
	return 0;
}

/* The text becomes part of a path and of a URL. */
bool broker__is_build_id(const char *text)
{
	size_t length = text ? strlen(text) : 0;

	return length >= 4 && length < BUILD_ID_TEXT_BYTES &&
	       strspn(text, "0123456789abcdef") == length;
}

bool broker__is_download(const void *bytes, size_t size)
{
	struct wire wire;

	if (size < sizeof(wire))
		return false;
	memcpy(&wire, bytes, sizeof(wire));
	return wire.kind == BROKER_DOWNLOAD;
}

int broker__serve_download(const void *bytes, size_t size)
{
	struct broker_request request;
	int err = unpack(bytes, size, &request);

	if (err)
		return err;
	if (request.kind != BROKER_DOWNLOAD || !broker__is_build_id(request.path))
		return -EACCES;
	return open_file(&request);
}

int broker__serve(const void *bytes, size_t size)
{
	struct broker_request request;
	int err = unpack(bytes, size, &request);

	if (err)
		return err;
	if (request.kind == BROKER_DOWNLOAD)
		return -EACCES;
	if (request.kind == BROKER_ELF && (!is_root(request.root) || !is_plain_path(request.path)))
		return -EACCES;
	if (request.kind == BROKER_PERFMAP && request.pid <= 0)
		return -EINVAL;
	return open_file(&request);
}
