/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Phases that wait for a disk: by reading past the page cache, and by touching what is not in it.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "phases.h"

#define BLOCK      4096UL
#define READS      400
#define PAGES      100
#define FILE_BYTES (64UL << 20)

/* Steps through the file so that no read follows the one before, and none comes twice. */
static off_t place(unsigned long i)
{
	return (off_t)((i * 7919) % (FILE_BYTES / BLOCK) * BLOCK);
}

/* A file that is on the disk and not in the page cache; it has no name any more. */
static int make_file(const char *phase)
{
	const char *dir = getenv("TMPDIR");
	static char block[1 << 20];
	char path[256], link[64];
	int fd, direct;

	snprintf(path, sizeof(path), "%s/phases-XXXXXX", dir ? dir : "/var/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		die(path);
	for (size_t done = 0; done < FILE_BYTES; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			die(path);
	fsync(fd);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	direct = open(link, O_RDONLY | O_DIRECT);
	if (direct < 0)
		phase_skip(phase, path);
	unlink(path);
	close(fd);
	return direct;
}

static int open_file(const char *phase)
{
	int fd = disk_path ? open(disk_path, O_RDONLY | O_DIRECT) : make_file(phase);

	if (fd < 0 && disk_path)
		phase_skip(phase, disk_path);
	return fd;
}

static void *disk_reader(void *arg)
{
	struct phase phase = phase_begin("disk", "disk-reader");
	int fd = (int)(intptr_t)arg;
	void *block = aligned_alloc(BLOCK, BLOCK);

	for (int i = 0; i < READS; i++) {
		call_begins(&phase);
		if (pread(fd, block, BLOCK, place(phase.count)) != BLOCK) {
			phase_skip("disk", "pread");
			return NULL;
		}
		call_ends(&phase);
	}
	phase_end(&phase);
	free(block);
	return NULL;
}

void phase_disk(void)
{
	int fd = open_file("disk");

	if (fd < 0)
		return;
	pthread_join(start_thread(disk_reader, (void *)(intptr_t)fd), NULL);
	close(fd);
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

static void *faulter(void *arg)
{
	struct phase phase = phase_begin("fault", "faulter");
	const volatile char *map = arg;
	long before = major_faults();

	/* A page can come before its thread sleeps: on a fast disk every one, so further ones. */
	for (unsigned long i = 0; !phase.waits && i < FILE_BYTES / BLOCK; i += PAGES) {
		phase.blocked_ns = 0;
		call_begins(&phase);
		for (unsigned long j = i; j < i + PAGES; j++)
			(void)map[place(j)];
		call_ends(&phase);
	}
	phase.count = (unsigned long)(major_faults() - before);
	phase_end(&phase);
	return NULL;
}

void phase_fault(void)
{
	int fd = open_file("fault");
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	madvise(map, FILE_BYTES, MADV_RANDOM);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	pthread_join(start_thread(faulter, map), NULL);
	munmap(map, FILE_BYTES);
	close(fd);
}
