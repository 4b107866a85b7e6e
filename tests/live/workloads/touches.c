/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * touches WHAT [N]: touches memory a known number of times, in one thread per kind.
 *
 *   all       ANONYMOUS pages by writing, HEAP pages by writing, and each page of a file of
 * FILE_PAGES by reading, one fault for each page. Logs what the kernel counted for each thread.
 *   grow N    writes to N MB of anonymous memory
 *   timed N   the same, in huge pages; logs how long it took, how long the same loop takes without
 *             faults, and how many faults there were
 *   small N   the same in small pages
 *   twice N   writes to N MB of anonymous memory, then reads each page again
 *   hold N    writes to N MB of anonymous and to N/2 MB of shared memory, waits for the test, and
 *             logs what the kernel says of its memory
 *   pipes N   makes and closes N pipes
 *   leak N    allocates N MB a second for two seconds, and keeps what leak_here() allocated
 *   reread N  reads a file of N MB in /tmp twice
 *   thrash N  says that it is ready when it has read such a file, and reads it again and again
 */
#include "workload.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE       4096UL
#define ANONYMOUS  5000UL
#define HEAP       700UL
#define FILE_PAGES 300UL

static struct rusage counted[3]; /* by kind */

/* The thread ends without any further fault: exit() of the C library would touch more. */
static void end(struct rusage *ret)
{
	getrusage(RUSAGE_THREAD, ret);
	syscall(SYS_exit, 0);
}

static void touch(volatile char *from, unsigned long pages)
{
	for (unsigned long i = 0; i < pages; i++)
		from[i * PAGE] = 1;
}

static void *anonymous(void *arg)
{
	char *memory = mmap(NULL, ANONYMOUS * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_name("anonymous");
	madvise(memory, ANONYMOUS * PAGE, MADV_NOHUGEPAGE);
	touch(memory, ANONYMOUS);
	end(&counted[0]);
	return arg;
}

static void *heap(void *arg)
{
	char *memory = sbrk((HEAP + 1) * PAGE);

	set_name("heap");
	memory += PAGE - (unsigned long)memory % PAGE;
	madvise(memory, HEAP * PAGE, MADV_NOHUGEPAGE);
	touch(memory, HEAP);
	end(&counted[1]);
	return arg;
}

/* By writing: a fault that reads maps the pages around it too. */
static void *file(void *arg)
{
	char *memory =
		mmap(NULL, FILE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *(int *)arg, 0);

	set_name("file");
	touch(memory, FILE_PAGES);
	end(&counted[2]);
	return arg;
}

static int all(void)
{
	static void *(*const kinds[])(void *) = { anonymous, heap, file };
	static const char *const names[] = { "anonymous", "heap", "file" };
	static char page[PAGE];
	int fd = open("touched.dat", O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (unsigned long i = 0; i < FILE_PAGES; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return 1;
	memset(counted, 1, sizeof(counted)); /* so that getrusage() does not fault */
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, kinds[i], &fd);
		pthread_join(thread, NULL);
		printf("{\"phase\": \"%s\", \"faults\": %ld}\n", names[i],
		       counted[i].ru_minflt + counted[i].ru_majflt);
	}
	close(fd);
	unlink("touched.dat");
	return 0;
}

static int grow(unsigned long bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	touch(memory, bytes / PAGE);
	return 0;
}

#define HUGE_BYTES (2UL << 20)

/* A fault of a huge page takes so long that what hooks at it cost does not matter. */
static int timed(unsigned long bytes, int advice)
{
	char *memory = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rusage before, after;
	uint64_t times[3];

	memory += HUGE_BYTES - (unsigned long)memory % HUGE_BYTES;
	madvise(memory, bytes, advice);
	set_name("timed");
	memset(&after, 1, sizeof(after));
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 2; i++) {
		times[i] = now_ns();
		touch(memory, bytes / PAGE);
	}
	times[2] = now_ns();
	getrusage(RUSAGE_SELF, &after);
	log_line("{\"phase\": \"timed\", \"ns\": %lu, \"again_ns\": %lu, \"faults\": %ld}\n",
		 times[1] - times[0], times[2] - times[1], after.ru_minflt - before.ru_minflt);
	return 0;
}

static int twice(unsigned long bytes)
{
	volatile char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	touch(memory, bytes / PAGE);
	for (unsigned long i = 0; i < bytes; i += PAGE)
		if (memory[i] != 1)
			return 1;
	return 0;
}

/* A number of /proc/self/status, in kB. */
static long status_of(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long number = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			number = atol(line + strlen(name));
	if (file)
		fclose(file);
	return number;
}

static int hold(unsigned long bytes)
{
	char *shared =
		mmap(NULL, bytes / 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	grow(bytes);
	touch(shared, bytes / 2 / PAGE);
	status_of("RssAnon:"); /* touches what it needs */
	await_go();
	log_line("{\"phase\": \"hold\", \"anonymous\": %ld, \"shared\": %ld}\n",
		 status_of("RssAnon:"), status_of("RssShmem:"));
	return 0;
}

static int pipes(unsigned long count)
{
	set_name("pipes");
	for (unsigned long i = 0; i < count; i++) {
		int ends[2];

		if (pipe(ends))
			return 1;
		close(ends[0]);
		close(ends[1]);
	}
	return 0;
}

#define LEAK_BYTES 1024UL

static void *kept;

/* Writes to what it allocated, as programs do. */
static __attribute__((noinline)) void leak_here(void)
{
	void **leaked = malloc(LEAK_BYTES);

	memset(leaked, 1, LEAK_BYTES);
	*leaked = kept;
	kept = leaked;
}

/* Allocates as much, but gives it back: the C library uses the same memory again. */
static __attribute__((noinline)) void use_here(void)
{
	volatile char *used = malloc(LEAK_BYTES);

	memset((char *)used, 1, LEAK_BYTES);
	free((char *)used);
}

static int leak(unsigned long bytes)
{
	for (int i = 0; i < 200; i++) {
		for (unsigned long j = 0; j < bytes / 100; j += LEAK_BYTES) {
			leak_here();
			use_here();
		}
		sleep_ns(10 * MS);
	}
	return 0;
}

static int reread(unsigned long bytes, bool forever)
{
	static char block[1 << 20];
	int fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);

	for (unsigned long i = 0; i < bytes / sizeof(block); i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return 1;
	fdatasync(fd);
	for (int i = 0; i < 2 || forever; i++) {
		lseek(fd, 0, SEEK_SET);
		while (read(fd, block, sizeof(block)) > 0)
			;
		if (forever && !i)
			log_line("{\"ready\": %d}\n", getpid());
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long bytes = argc > 2 ? strtoul(argv[2], NULL, 10) << 20 : 0;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "grow"))
		return grow(bytes);
	if (!strcmp(argv[1], "timed"))
		return timed(bytes, MADV_HUGEPAGE);
	if (!strcmp(argv[1], "small"))
		return timed(bytes, MADV_NOHUGEPAGE);
	if (!strcmp(argv[1], "twice"))
		return twice(bytes);
	if (!strcmp(argv[1], "hold"))
		return hold(bytes);
	if (!strcmp(argv[1], "pipes"))
		return pipes(bytes >> 20);
	if (!strcmp(argv[1], "leak"))
		return leak(bytes);
	if (!strcmp(argv[1], "all"))
		return all();
	return reread(bytes, !strcmp(argv[1], "thrash"));
}
