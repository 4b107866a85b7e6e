/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside PHASE…: threads and a process that spend their time outside of syscalls in known ways.
 * The log has, for each phase, what it knows of itself.
 *
 *   straight  TURNS turns of a loop, in one piece
 *   pieces    the same turns, with a small syscall after each PIECE of them
 *   calls     small syscalls, and nothing else
 *   touch     a process that touches every page of TOUCH_BYTES once; its page faults are logged
 *   spin      a loop for SPIN_NS, without a syscall
 *   unmap     a process that unmaps the last of large files, which the kernel clears up afterwards
 */
#include "workload.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define PIECE       200UL
#define PIECES      200000UL
#define CALLS       200000UL
#define TOUCH_BYTES (128UL << 20)
#define FILE_BYTES  (64UL << 20)
#define FILES       4
#define SPIN_NS     (400 * MS)

static __attribute__((noinline)) void turn(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		__asm__ volatile("" ::"r"(i) : "memory");
}

static void *straight(void *arg)
{
	set_name("straight");
	turn(PIECE * PIECES);
	return arg;
}

static void *pieces(void *arg)
{
	set_name("pieces");
	for (unsigned long i = 0; i < PIECES; i++) {
		turn(PIECE);
		syscall(SYS_getppid);
	}
	return arg;
}

static void *calls(void *arg)
{
	set_name("calls");
	for (unsigned long i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return arg;
}

static void *spin(void *arg)
{
	set_name("spin");
	spin_until(now_ns() + SPIN_NS);
	return arg;
}

/* Small pages, whatever the machine prefers: then the number of faults is known. */
static void touch(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *memory =
		mmap(NULL, TOUCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set_name("touch");
	if (memory == MAP_FAILED || madvise((void *)memory, TOUCH_BYTES, MADV_NOHUGEPAGE))
		die("mmap");
	for (size_t at = 0; at < TOUCH_BYTES; at += page)
		memory[at] = 1;
}

/* The last reference to a file goes on the way back to user space, not inside of munmap(). */
static void unmap_large(void)
{
	set_name("unmap");
	for (int i = 0; i < FILES; i++) {
		int fd = (int)syscall(SYS_memfd_create, "large", 0);
		void *memory;

		if (fd < 0 || fallocate(fd, 0, 0, FILE_BYTES))
			die("fallocate");
		memory = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
		if (memory == MAP_FAILED || munmap(memory, FILE_BYTES))
			die("munmap");
	}
}

/* Its page faults from its first to its last instruction, by the kernel's own count. */
static void in_child(const char *name, void (*body)(void))
{
	struct rusage usage;
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		body();
		_exit(0);
	}
	if (wait4(child, NULL, 0, &usage) != child)
		die("wait4");
	log_line("{\"phase\": \"%s\", \"comm\": \"%s\", \"minor\": %ld, \"major\": %ld, "
		 "\"pages\": %lu}\n",
		 name, name, usage.ru_minflt, usage.ru_majflt,
		 TOUCH_BYTES / (unsigned long)sysconf(_SC_PAGESIZE));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*thread)(void *);
		void (*child)(void);
	} phases[] = {
		{ "straight", straight, NULL }, { "pieces", pieces, NULL },
		{ "calls", calls, NULL },       { "spin", spin, NULL },
		{ "touch", NULL, touch },       { "unmap", NULL, unmap_large },
	};

	for (int i = 1; i < argc; i++)
		for (size_t j = 0; j < sizeof(phases) / sizeof(*phases); j++) {
			if (strcmp(argv[i], phases[j].name))
				continue;
			if (phases[j].child)
				in_child(phases[j].name, phases[j].child);
			else
				pthread_join(start_thread(phases[j].thread, NULL), NULL);
		}
	return 0;
}
