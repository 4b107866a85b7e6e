/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * places MS: threads that lose the CPU outside of syscalls, each in one function, and make syscalls
 * in another one right afterwards, for MS milliseconds.
 *
 *   page   waits for pages that another thread brings after 2 ms, in touch_page
 *   busy   two threads that share a CPU and want all of it, in spin_here
 *   lock   faults while its process is forked, which holds mmap_lock, in touch_pages; what it
 *          touched is given back in drop_pages
 */
#include "workload.h"

#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
#define PAGE_BYTES   4096UL
#define TOUCHED      (4UL << 20)
#define COPIED       (64UL << 20)

static uint64_t end_ns;

NOINLINE static void call_between(void)
{
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	sleep_ns(MS / 5);
	KEEP_FRAME();
}

static char *map_small_pages(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, size, MADV_NOHUGEPAGE))
		die("mmap");
	return memory;
}

/* --- page ------------------------------------------------------------------------------------- */

static void *bring_pages(void *arg)
{
	int fd = (int)(intptr_t)arg;
	static char page[PAGE_BYTES];
	struct uffd_msg message;

	set_name("bringer");
	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = { .dst = message.arg.pagefault.address &
						   ~(PAGE_BYTES - 1),
					    .src = (uintptr_t)page,
					    .len = PAGE_BYTES };

		sleep_ns(2 * MS);
		ioctl(fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

NOINLINE static void touch_page(const volatile char *at)
{
	(void)*at;
	KEEP_FRAME();
}

static void *page(void *arg)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *memory = map_small_pages(TOUCHED);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	set_name("page");
	range.range.start = (uintptr_t)memory;
	range.range.len = TOUCHED;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		die("userfaultfd");
	pthread_detach(start_thread(bring_pages, (void *)(intptr_t)fd));
	for (size_t at = 0; at < TOUCHED && now_ns() < end_ns; at += PAGE_BYTES) {
		touch_page(memory + at);
		call_between();
	}
	return arg;
}

/* --- busy ------------------------------------------------------------------------------------- */

/* Without the clock, which can be a syscall. */
NOINLINE static void spin_here(void)
{
	for (volatile int i = 0; i < 3000000; i++)
		;
	KEEP_FRAME();
}

static void *busy(void *arg)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	set_name("busy");
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");
	while (now_ns() < end_ns) {
		spin_here();
		call_between();
	}
	return arg;
}

/* --- lock ------------------------------------------------------------------------------------- */

NOINLINE static void touch_pages(volatile char *memory)
{
	for (size_t at = 0; at < TOUCHED; at += PAGE_BYTES)
		memory[at] = 1;
	KEEP_FRAME();
}

NOINLINE static void drop_pages(char *memory)
{
	if (madvise(memory, TOUCHED, MADV_DONTNEED))
		die("madvise");
	KEEP_FRAME();
}

static void *lock(void *arg)
{
	char *memory = map_small_pages(TOUCHED);

	set_name("lock");
	while (now_ns() < end_ns) {
		touch_pages(memory);
		drop_pages(memory);
	}
	return arg;
}

/* All pages are copied, and no fault gets in between. */
static void fork_on(void)
{
	memset(map_small_pages(COPIED), 1, COPIED);
	while (now_ns() < end_ns) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) != child)
			die("fork");
		sleep_ns(MS);
	}
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = { page, busy, busy, lock };
	pthread_t threads[sizeof(bodies) / sizeof(*bodies)];
	uint64_t length_ns = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * MS;

	end_ns = now_ns() + length_ns;
	for (size_t i = 0; i < 3; i++)
		threads[i] = start_thread(bodies[i], NULL);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	/* Alone: forking holds the others up, too. */
	end_ns = now_ns() + length_ns;
	threads[3] = start_thread(lock, NULL);
	fork_on();
	pthread_join(threads[3], NULL);
	return 0;
}
