/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes [FILE]: waits whose cause is easily mistaken, one thread for each. FILE is on a slow disk;
 * without it, one is made.
 */
#include "workload.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ROUNDS            20
#define BLOCK             4096UL
#define FILE_BYTES        (16UL << 20)
#define FUTEX_WAIT_NUMBER 455 /* since Linux 6.7 */
#define FUTEX_PRIVATE_32  (2 | 128)

static const char *disk_path;

/* --- sendfile of a file that is not in the page cache --- */

static int cold_file(void)
{
	static char block[1 << 20];
	char path[] = "/var/tmp/causes-XXXXXX";
	int fd = disk_path ? open(disk_path, O_RDONLY) : mkstemp(path);

	if (fd < 0)
		die("cold file");
	if (!disk_path) {
		unlink(path);
		for (size_t done = 0; done < FILE_BYTES; done += sizeof(block))
			if (write(fd, block, sizeof(block)) != sizeof(block))
				die(path);
		fsync(fd);
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

static void *send_file(void *arg)
{
	struct phase phase = phase_begin("sendfile", "sendfile");
	int fd = cold_file(), ends[2];
	char block[BLOCK];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	for (int i = 0; i < ROUNDS; i++) {
		off_t at = (off_t)((i * 7919UL) % (FILE_BYTES / BLOCK) * BLOCK);

		call_begins(&phase);
		if (sendfile(ends[0], fd, &at, BLOCK) != BLOCK)
			die("sendfile");
		call_ends(&phase);
		if (read(ends[1], block, BLOCK) != BLOCK)
			die("read");
	}
	phase_end(&phase);
	return NULL;
}

/* --- a robust mutex --- */

static pthread_mutex_t robust;
static pthread_barrier_t turn;

static void *hold_robust(void *arg)
{
	set_name("robust-holder");
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&robust);
		pthread_barrier_wait(&turn);
		sleep_ns(3 * MS);
		pthread_mutex_unlock(&robust);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void *await_robust(void *arg)
{
	set_name("robust-waiter");
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&turn);
		pthread_mutex_lock(&robust);
		pthread_mutex_unlock(&robust);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void make_robust(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	pthread_barrier_init(&turn, NULL, 2);
}

/* --- futex_wait, the call --- */

static void *call_futex_wait(void *arg)
{
	struct phase phase = phase_begin("futex_wait", "futex-wait");
	uint32_t word = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t end_ns = now_ns() + 2 * MS;
		struct timespec end = { (time_t)(end_ns / 1000000000),
					(long)(end_ns % 1000000000) };

		if (syscall(FUTEX_WAIT_NUMBER, &word, 0UL, ~0U, FUTEX_PRIVATE_32, &end,
			    CLOCK_MONOTONIC) != -1 ||
		    errno != ETIMEDOUT) {
			phase_skip("futex_wait", "futex_wait");
			return NULL;
		}
	}
	phase_end(&phase);
	return NULL;
}

/* --- grace periods of RCU --- */

static void *await_rcu(void *arg)
{
	struct phase phase = phase_begin("rcu", "rcu");

	for (int i = 0; i < ROUNDS / 2; i++) {
		call_begins(&phase);
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) {
			phase_skip("rcu", "membarrier");
			return NULL;
		}
		call_ends(&phase);
	}
	phase_end(&phase);
	return NULL;
}

/* --- a server of page faults --- */

static int faults;
static char *area;

static void *serve_faults(void *arg)
{
	char *page = aligned_alloc(BLOCK, BLOCK);

	set_name("fault-server");
	memset(page, 1, BLOCK);
	for (int i = 0; i < ROUNDS; i++) {
		struct uffd_msg message;
		struct uffdio_copy copy = { .src = (uintptr_t)page, .len = BLOCK };

		if (read(faults, &message, sizeof(message)) != sizeof(message))
			die("userfaultfd");
		copy.dst = message.arg.pagefault.address & ~(BLOCK - 1);
		if (ioctl(faults, UFFDIO_COPY, &copy))
			die("UFFDIO_COPY");
	}
	free(page);
	return NULL;
}

static void *make_faults(void *arg)
{
	struct phase phase = phase_begin("faults", "fault-maker");

	for (unsigned long i = 0; i < ROUNDS; i++) {
		sleep_ns(2 * MS);
		if (((volatile char *)area)[i * BLOCK] != 1)
			die("a page");
	}
	phase_end(&phase);
	return NULL;
}

static void exchange_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t server;

	area = mmap(NULL, ROUNDS * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	range.range.start = (uintptr_t)area;
	range.range.len = ROUNDS * BLOCK;
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &range)) {
		phase_skip("faults", "userfaultfd");
		return;
	}
	server = start_thread(serve_faults, NULL);
	pthread_join(start_thread(make_faults, NULL), NULL);
	pthread_join(server, NULL);
}

/* --- memory.high --- */

static bool write_to(const char *folder, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY);
	done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* In a process of its own, whose pages go with it. */
static void exceed_limit(const char *folder)
{
	size_t bytes = 64UL << 20;
	char pid[16], *pages;
	struct phase phase;
	uint64_t end_ns;

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!write_to(folder, "cgroup.procs", pid))
		die(folder);
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	phase = phase_begin("memory", "over-limit");
	end_ns = now_ns() + 1000 * MS;
	call_begins(&phase);
	for (size_t at = 0; at < bytes && now_ns() < end_ns; at += BLOCK)
		pages[at] = 1;
	call_ends(&phase);
	phase_end(&phase);
	_exit(0);
}

static void be_throttled(void)
{
	char folder[64];
	pid_t child;

	snprintf(folder, sizeof(folder), "/sys/fs/cgroup/causes-%d", getpid());
	write_to("/sys/fs/cgroup", "cgroup.subtree_control", "+memory");
	if (mkdir(folder, 0755) || !write_to(folder, "memory.high", "4M")) {
		phase_skip("memory", "memory.high");
		rmdir(folder);
		return;
	}
	child = fork();
	if (!child)
		exceed_limit(folder);
	waitpid(child, NULL, 0);
	rmdir(folder);
}

int main(int argc, char **argv)
{
	pthread_t threads[5];

	disk_path = argc > 1 ? argv[1] : NULL;
	make_robust();
	threads[0] = start_thread(send_file, NULL);
	threads[1] = start_thread(hold_robust, NULL);
	threads[2] = start_thread(await_robust, NULL);
	threads[3] = start_thread(call_futex_wait, NULL);
	threads[4] = start_thread(await_rcu, NULL);
	exchange_faults();
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	be_throttled();
	return 0;
}
