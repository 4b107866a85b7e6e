/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * touches WHAT [N]: touches memory a known number of times, in one thread per kind.
 *
 *   all       ANONYMOUS pages by writing, HEAP pages by writing, and each page of a file of
 * FILE_PAGES by reading, one fault for each page. Logs what the kernel counted for each thread.
 *   grow N    writes to N MB of anonymous memory
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
	if (!strcmp(argv[1], "leak"))
		return leak(bytes);
	if (!strcmp(argv[1], "all"))
		return all();
	return reread(bytes, !strcmp(argv[1], "thrash"));
}
