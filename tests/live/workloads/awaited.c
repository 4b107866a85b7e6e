/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * awaited FOLDER: waits for known files otherwise than by read(): by touching a mapped one, and
 * through io_uring. FOLDER should be on a disk.
 */
#include <sys/socket.h>

#include "ring.h"

#define BLOCK      4096UL
#define FILE_BYTES (16UL << 20)
#define PAGES      300
#define READS      100
#define ANSWERS    5
#define ANSWER_NS  (50 * MS)
#define FINISH_NS  (10 * MS) /* a request that needs nobody is finished by then */

static const char *folder;

/* No read follows the one before, and none comes twice. */
static size_t place(size_t i)
{
	return i * 7919 % (FILE_BYTES / BLOCK) * BLOCK;
}

/* Makes a file that is not in the page cache, and opens it. */
static int make_file(const char *name, int flags)
{
	static char block[1 << 20];
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		die(path);
	for (size_t done = 0; done < FILE_BYTES; done += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			die(path);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return open(path, O_RDONLY | flags);
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

static void *touch(void *arg)
{
	int fd = make_file("mapped.dat", 0);
	const volatile char *map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	struct phase phase;

	if (map == MAP_FAILED)
		die("mmap");
	madvise((void *)map, FILE_BYTES, MADV_RANDOM);
	close(fd);
	phase = phase_begin("mapped", "mapped-reader");
	phase.count = (unsigned long)-major_faults();
	phase.waits = -voluntary_switches();
	for (size_t i = 0; i < PAGES; i++)
		(void)map[place(i)];
	phase.waits += voluntary_switches();
	phase.count += (unsigned long)major_faults();
	phase_end(&phase);
	return NULL;
}

/* Reads `fd`, a registered file if `flags` say so, past the page cache. */
static void read_blocks(struct ring *ring, struct phase *phase, int fd, uint8_t flags)
{
	void *block = aligned_alloc(BLOCK, BLOCK);

	for (size_t i = 0; i < READS; i++) {
		ring_add(ring, &(struct io_uring_sqe) { .opcode = IORING_OP_READ,
							.flags = flags,
							.fd = fd,
							.off = place(i),
							.addr = (uintptr_t)block,
							.len = BLOCK });
		call_begins(phase);
		ring_enter(ring, 1, 1);
		call_ends(phase);
		if (ring_take(ring) != BLOCK)
			die("IORING_OP_READ");
	}
	free(block);
}

static void *read_directly(void *arg)
{
	struct ring ring = { 0 };
	int fd = make_file("direct.dat", O_DIRECT);
	struct phase phase;

	if (fd < 0 || ring_open(&ring)) {
		phase_skip("direct", fd < 0 ? "O_DIRECT" : "io_uring_setup");
		return NULL;
	}
	phase = phase_begin("direct", "uring-direct");
	read_blocks(&ring, &phase, fd, 0);
	phase_end(&phase);
	return NULL;
}

static void *read_registered(void *arg)
{
	struct ring ring = { 0 };
	int fd = make_file("registered.dat", O_DIRECT);
	struct phase phase;

	if (fd < 0 || ring_open(&ring)) {
		phase_skip("registered", fd < 0 ? "O_DIRECT" : "io_uring_setup");
		return NULL;
	}
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &fd, 1))
		die("IORING_REGISTER_FILES");
	close(fd);
	phase = phase_begin("registered", "uring-fixed");
	read_blocks(&ring, &phase, 0, IOSQE_FIXED_FILE);
	phase_end(&phase);
	return NULL;
}

static void *answer(void *arg)
{
	set_name("answerer");
	for (int i = 0; i < ANSWERS; i++) {
		sleep_ns(ANSWER_NS);
		send_token(*(int *)arg);
	}
	return NULL;
}

/* Each time, two requests. The one that was submitted last is finished when the wait begins. */
static void *receive(void *arg)
{
	struct ring ring = { 0 };
	int sockets[2], fds[2];
	struct phase phase;
	char tokens[2];

	if (ring_open(&ring)) {
		phase_skip("socket", "io_uring_setup");
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		die("socketpair");
	make_pipe(fds);
	phase = phase_begin("socket", "uring-socket");
	start_thread(answer, &sockets[1]);
	for (int i = 0; i < ANSWERS; i++) {
		send_token(fds[1]);
		ring_add(&ring, &(struct io_uring_sqe) { .opcode = IORING_OP_RECV,
							 .fd = sockets[0],
							 .addr = (uintptr_t)&tokens[0],
							 .len = 1 });
		ring_add(&ring, &(struct io_uring_sqe) { .opcode = IORING_OP_READ,
							 .fd = fds[0],
							 .addr = (uintptr_t)&tokens[1],
							 .len = 1 });
		ring_enter(&ring, 2, 0);
		sleep_ns(FINISH_NS);
		call_begins(&phase);
		ring_enter(&ring, 0, 2);
		call_ends(&phase);
		if (ring_take(&ring) != 1 || ring_take(&ring) != 1)
			die("IORING_OP_RECV");
	}
	phase_end(&phase);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = { touch, read_directly, read_registered, receive };

	folder = argc > 1 ? argv[1] : ".";
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
		pthread_join(start_thread(bodies[i], NULL), NULL);
	return 0;
}
