/* SPDX-License-Identifier: GPL-2.0-or-later */
/* catalog FILE: looks up keys at random in a mapped file that it keeps out of the page cache. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

static volatile int sink;

__attribute__((noinline)) static int lookup_key(const unsigned char *map, long pages)
{
	return map[random() % pages * 4096];
}

int main(int argc, char **argv)
{
	int file = open(argc > 1 ? argv[1] : "index.db", O_RDONLY);
	time_t second = 0;
	unsigned char *map;
	struct rusage usage;
	struct stat status;
	long before = 0;

	if (file < 0 || fstat(file, &status))
		return 1;
	map = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		return 1;
	madvise(map, status.st_size, MADV_RANDOM);
	for (long i = 1;; i++) {
		sink += lookup_key(map, status.st_size / 4096);
		if (i % 50000 == 0) { /* forget the pages, or all would be in memory soon */
			madvise(map, status.st_size, MADV_DONTNEED);
			posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		}
		if (i % 64 || time(NULL) == second)
			continue;
		getrusage(RUSAGE_SELF, &usage);
		printf("major=%ld\n", usage.ru_majflt - before);
		fflush(stdout);
		before = usage.ru_majflt;
		second = time(NULL);
	}
}
