/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * awaited FOLDER: waits for known files otherwise than by read(): by touching a mapped one, and
 * through io_uring. FOLDER should be on a disk.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "ring.h"

#define BLOCK      4096UL
#define FILE_BYTES (16UL << 20)
#define PAGES      300
#define READS      100
#define IN_FLIGHT  3
#define ANSWERS    5
#define ANSWER_NS  (50 * MS)
#define REPLY_NS   (20 * MS)
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

/* A thread of the kernel submits. There are always some requests in flight. */
static void *read_polled(void *arg)
{
	struct ring ring = { .params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000 } };
	int fd = make_file("polled.dat", O_DIRECT);
	void *block = aligned_alloc(BLOCK, BLOCK);
	struct phase phase;

	if (fd < 0 || ring_open(&ring)) {
		phase_skip("polled", fd < 0 ? "O_DIRECT" : "IORING_SETUP_SQPOLL");
		return NULL;
	}
	phase = phase_begin("polled", "uring-polled");
	for (size_t i = 0; i < READS + IN_FLIGHT; i++) {
		if (i < READS)
			ring_add(&ring, &(struct io_uring_sqe) { .opcode = IORING_OP_READ,
								 .fd = fd,
								 .off = place(i),
								 .addr = (uintptr_t)block,
								 .len = BLOCK });
		if (i < IN_FLIGHT) {
			ring_enter(&ring, 1, 0);
			continue;
		}
		call_begins(&phase);
		ring_enter(&ring, 1, 1);
		call_ends(&phase);
		if (ring_take(&ring) != BLOCK)
			die("IORING_OP_READ");
	}
	phase_end(&phase);
	close(ring.fd);
	free(block);
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

/* A connection over TCP; the peer's end is that of the listener. */
static void connect_tcp(int *ret_ours, int *ret_theirs)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*ret_ours = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (void *)&address, &size) ||
	    connect(*ret_ours, (void *)&address, size))
		die("connect");
	*ret_theirs = accept(listener, NULL, NULL);
	close(listener);
}

/* Answers each token after a while, then sends as many unasked. */
static void *reply(void *arg)
{
	int fd = *(int *)arg;

	set_name("replier");
	for (int i = 0; i < ANSWERS; i++) {
		await_token(fd);
		sleep_ns(REPLY_NS);
		send_token(fd);
	}
	for (int i = 0; i < ANSWERS; i++) {
		sleep_ns(REPLY_NS);
		send_token(fd);
	}
	return NULL;
}

static void transfer(struct ring *ring, uint8_t opcode, int fd)
{
	static char token = 'x';

	ring_add(ring, &(struct io_uring_sqe) {
			       .opcode = opcode, .fd = fd, .addr = (uintptr_t)&token, .len = 1 });
	ring_enter(ring, 1, 1);
	if (ring_take(ring) != 1)
		die("IORING_OP_SEND or IORING_OP_RECV");
}

/* A client: first it asks and waits for each answer, then it only listens. */
static void *ask(void *arg)
{
	struct ring ring = { 0 };
	int ours, theirs;
	struct phase phase;

	if (ring_open(&ring)) {
		phase_skip("ask", "io_uring_setup");
		return NULL;
	}
	connect_tcp(&ours, &theirs);
	start_thread(reply, &theirs);
	phase = phase_begin("ask", "uring-asker");
	for (int i = 0; i < ANSWERS; i++) {
		transfer(&ring, IORING_OP_SEND, ours);
		call_begins(&phase);
		transfer(&ring, IORING_OP_RECV, ours);
		call_ends(&phase);
	}
	phase_end(&phase);
	for (int i = 0; i < ANSWERS; i++)
		transfer(&ring, IORING_OP_RECV, ours);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = { touch,       read_directly, read_registered,
						   read_polled, receive,       ask };

	folder = argc > 1 ? argv[1] : ".";
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
		pthread_join(start_thread(bodies[i], NULL), NULL);
	return 0;
}
