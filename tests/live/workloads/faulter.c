/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faulter PAGES: one thread touches so many pages itself, another one has the kernel write to them.
 * Each logs its page faults and switches, by its own count.
 */
#include "workload.h"

#include <sys/mman.h>

#define PAGE 4096

static size_t pages;

static char *map_pages(void)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	return memory;
}

static void log_own(const char *phase)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	log_line("{\"phase\": \"%s\", \"faults\": %ld, \"switches\": %ld}\n", phase,
		 usage.ru_minflt + usage.ru_majflt, usage.ru_nvcsw + usage.ru_nivcsw);
}

static void *touch(void *arg)
{
	char *memory = map_pages();

	set_name("toucher");
	for (size_t i = 0; i < pages; i++) {
		((volatile char *)memory)[i * PAGE] = 1;
		if (i % 64 == 0)
			sleep_ns(MS / 10);
	}
	log_own("toucher");
	return NULL;
}

static void *have_written(void *arg)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *memory = map_pages();

	set_name("reader");
	for (size_t i = 0; i < pages; i++)
		if (read(zero, memory + i * PAGE, PAGE) != PAGE)
			die("/dev/zero");
	log_own("reader");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	pages = argc > 1 ? (size_t)atol(argv[1]) : 1;
	threads[0] = start_thread(touch, NULL);
	threads[1] = start_thread(have_written, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
