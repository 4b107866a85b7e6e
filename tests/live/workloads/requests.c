/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * requests FILE: known numbers of requests to io_uring, each kind in a thread of its own: reads and
 * writes of FILE, requests that fail or are refused, a request that completes many times, one that
 * is cancelled, completions that find no room, reads that worker threads make, and some that keep
 * them busy. Logs how long those ran, as the scheduler says.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>

#include "ring.h"

#define BLOCK      4096
#define READS      30
#define WRITES     20
#define FAILURES   7
#define REFUSALS   5
#define SHOTS      11
#define OVERFLOWS  6
#define WORKED     9
#define CHARGED    30
#define LARGE      (4U << 20)
#define CANCEL_TAG 77
#define NO_OPCODE  120
#define LAST_NS    (200 * MS)

static char block[BLOCK];
static int file;

static int one(struct ring *ring, const struct io_uring_sqe *request)
{
	ring_add(ring, request);
	ring_enter(ring, 1, 1);
	return ring_take(ring);
}

static struct io_uring_sqe of_file(uint8_t opcode, int i)
{
	return (struct io_uring_sqe) { .opcode = opcode,
				       .fd = file,
				       .off = (uint64_t)i * BLOCK,
				       .addr = (uintptr_t)block,
				       .len = BLOCK,
				       .user_data = (uint64_t)i };
}

static void transfer(struct ring *ring)
{
	struct io_uring_sqe request;

	for (int i = 0; i < WRITES; i++) {
		request = of_file(IORING_OP_WRITE, i);
		if (one(ring, &request) != BLOCK)
			die("IORING_OP_WRITE");
	}
	for (int i = 0; i < READS; i++) {
		request = of_file(IORING_OP_READ, i % WRITES);
		if (one(ring, &request) != BLOCK)
			die("IORING_OP_READ");
	}
}

static void fail(struct ring *ring)
{
	struct io_uring_sqe request = of_file(IORING_OP_READ, 0);

	request.fd = -1;
	for (int i = 0; i < FAILURES; i++)
		if (one(ring, &request) != -EBADF)
			die("a descriptor that is not open");
	request = (struct io_uring_sqe) { .opcode = NO_OPCODE };
	for (int i = 0; i < REFUSALS; i++)
		if (one(ring, &request) != -EINVAL)
			die("an opcode that does not exist");
}

static void repeat(struct ring *ring)
{
	int fds[2];
	char token;

	make_pipe(fds);
	ring_add(ring, &(struct io_uring_sqe) { .opcode = IORING_OP_POLL_ADD,
						.fd = fds[0],
						.len = IORING_POLL_ADD_MULTI,
						.poll32_events = POLLIN,
						.user_data = CANCEL_TAG });
	ring_enter(ring, 1, 0);
	for (int i = 0; i < SHOTS; i++) {
		send_token(fds[1]);
		ring_enter(ring, 0, 1);
		if (!(ring_take(ring) & POLLIN) || read(fds[0], &token, 1) != 1)
			die("IORING_OP_POLL_ADD");
	}
	/* The poll ends, too: its last completion says that it was cancelled. */
	ring_add(ring, &(struct io_uring_sqe) { .opcode = IORING_OP_ASYNC_CANCEL,
						.addr = CANCEL_TAG,
						.user_data = CANCEL_TAG + 1 });
	ring_enter(ring, 1, 2);
	ring_take(ring);
	ring_take(ring);
}

/* There is room for twice as many completions as requests; nobody takes one until all are there. */
static void overflow(struct ring *ring)
{
	unsigned int room = ring->params.cq_entries;

	for (unsigned int i = 0; i < room + OVERFLOWS; i++) {
		ring_add(ring, &(struct io_uring_sqe) { .opcode = IORING_OP_NOP, .user_data = i });
		ring_enter(ring, 1, 0);
	}
	for (unsigned int i = 0; i < room; i++)
		ring_take(ring);
	ring_enter(ring, 0, OVERFLOWS);
}

static void work(struct ring *ring)
{
	for (int i = 0; i < WORKED; i++) {
		struct io_uring_sqe request = of_file(IORING_OP_READ, i);

		request.flags = IOSQE_ASYNC;
		if (one(ring, &request) != BLOCK)
			die("IORING_OP_READ");
	}
}

/*
 * The CPU time of this thread's workers. They sleep, so it does not change. Those of the threads
 * before have ended.
 */
static uint64_t workers_ns(void)
{
	char path[300], comm[32] = "";
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	uint64_t sum = 0, ns = 0;

	while (tasks && (entry = readdir(tasks))) {
		FILE *stream;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		stream = fopen(path, "r");
		if (!stream)
			continue;
		if (!fgets(comm, sizeof(comm), stream))
			*comm = '\0';
		fclose(stream);
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
		stream = strncmp(comm, "iou-wrk-", 8) ? NULL : fopen(path, "r");
		if (stream && fscanf(stream, "%lu", &ns) == 1)
			sum += ns;
		if (stream)
			fclose(stream);
	}
	closedir(tasks);
	return sum;
}

static void charge(struct ring *ring)
{
	char *large = malloc(LARGE);
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	const struct io_uring_sqe request = { .opcode = IORING_OP_READ,
					      .flags = IOSQE_ASYNC,
					      .fd = zeros,
					      .addr = (uintptr_t)large,
					      .len = LARGE };

	for (int i = 0; i < CHARGED; i++)
		if (one(ring, &request) != (int)LARGE)
			die("/dev/zero");
	sleep_ns(20 * MS);
	log_line("{\"workers_ns\": %lu}\n", workers_ns());
	close(zeros);
	free(large);
}

static const struct kind {
	const char *name;
	void (*make)(struct ring *ring);
	unsigned long count;
} kinds[] = {
	{ "transfers", transfer, READS + WRITES },
	{ "fails", fail, FAILURES + REFUSALS },
	{ "repeats", repeat, SHOTS },
	{ "overflows", overflow, OVERFLOWS },
	{ "worked", work, WORKED },
	{ "charged", charge, CHARGED },
};

static void *make(void *arg)
{
	const struct kind *kind = arg;
	struct ring ring = { 0 };
	struct phase phase;

	if (ring_open(&ring)) {
		phase_skip(kind->name, "io_uring_setup");
		return NULL;
	}
	phase = phase_begin(kind->name, kind->name);
	kind->make(&ring);
	phase.count = kind->count;
	phase_end(&phase);
	close(ring.fd);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0)
		die(argv[1]);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		pthread_join(start_thread(make, (void *)&kinds[i]), NULL);
	unlink(argv[1]);
	sleep_ns(LAST_NS); /* the last worker ends a little after its thread */
	return 0;
}
