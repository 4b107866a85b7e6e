/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper MS: for so many milliseconds, one thread changes what a large piece of memory may be used
 * for, and another one maps and unmaps pages. Both need the process's mmap_lock for themselves.
 */
#include "workload.h"

#include <sched.h>
#include <sys/mman.h>

#define LARGE_BYTES (32UL << 20)
#define PAGE_BYTES  4096UL

static char *large;
static uint64_t end_ns;

/*
 * Both on one CPU: the one that waits finds the other one off the CPU, with the lock, and so it
 * sleeps instead of spinning.
 */
static void begin(const char *name)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");
	set_name(name);
}

static void *protect(void *arg)
{
	begin("protector");
	while (now_ns() < end_ns)
		if (mprotect(large, LARGE_BYTES, PROT_READ) ||
		    mprotect(large, LARGE_BYTES, PROT_READ | PROT_WRITE))
			die("mprotect");
	return NULL;
}

static void *map(void *arg)
{
	begin("mapper");
	while (now_ns() < end_ns) {
		void *page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page == MAP_FAILED || munmap(page, PAGE_BYTES))
			die("mmap");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	large = mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (large == MAP_FAILED || madvise(large, LARGE_BYTES, MADV_NOHUGEPAGE))
		die("mmap");
	for (size_t at = 0; at < LARGE_BYTES; at += PAGE_BYTES)
		large[at] = 1;
	end_ns = now_ns() + (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * MS;
	threads[0] = start_thread(protect, NULL);
	threads[1] = start_thread(map, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
