/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/helper_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A write beyond the limit fails with EFBIG, because the signal for it is ignored. */
static void limit_files(uint64_t bytes)
{
	const struct rlimit limit = { (rlim_t)bytes, (rlim_t)bytes };

	setrlimit(RLIMIT_FSIZE, &limit);
}

static void limit_memory(uint64_t bytes)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;

	/* Field 6, "data": private writable memory, in pages. */
	if (file) {
		if (fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	limit.rlim_cur = limit.rlim_max =
		(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)bytes;
	setrlimit(RLIMIT_DATA, &limit);
	setrlimit(RLIMIT_CORE, &(struct rlimit) {});
}

/* A container's filter can refuse close_range(), and Linux before 5.9 does not have it. */
static int close_all_above(int last)
{
	struct rlimit limit;

	if (!close_range((unsigned)last + 1, ~0U, 0))
		return 0;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	/* A descriptor above a limit that was lowered stays open, which is rare. */
	for (rlim_t fd = (rlim_t)last + 1; fd < limit.rlim_cur; fd++)
		close((int)fd);
	return 0;
}

/*
 * Keeps none of our descriptors open: whoever waits for the end of our output or of a recording
 * must not wait for a helper that was left behind.
 */
static int keep_only(int socket)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < HELPER_SOCKET && nothing >= 0; fd++)
		dup2(nothing, fd);
	if (socket != HELPER_SOCKET && dup2(socket, HELPER_SOCKET) < 0)
		return -errno;
	if (close_all_above(HELPER_SOCKET))
		return -errno;
	return fcntl(HELPER_SOCKET, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

/*
 * Unmaps the rings and arrays of BPF programs. The helper has no use for them, and their pages
 * would count as its memory too.
 */
static void unmap_bpf_maps(void)
{
	cleanup(fclose_p) FILE *maps = fopen("/proc/self/maps", "re");
	cleanup(free_p) char *line = NULL;
	uintptr_t start, end;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0)
		if (strstr(line, " anon_inode:bpf-map") &&
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2)
			/* NOLINTNEXTLINE: maps has addresses as numbers. */
			munmap((void *)start, end - start);
}

int helper_setup__run(const struct helper_work *work, int socket)
{
	int err = keep_only(socket);

	if (err)
		return err;
	unmap_bpf_maps();
	limit_memory(work->memory_bytes);
	limit_files(work->file_bytes);
	return 0;
}
