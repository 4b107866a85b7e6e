/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uring: reads a pipe through io_uring, by a worker thread of the kernel (IOSQE_ASYNC), while the
 * thread itself waits for completions. By bare system calls: liburing is not everywhere.
 */
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "workload.h"

#define ROUNDS  3
#define WAIT_NS (100 * MS)
#define ENTRIES 4

struct ring {
	int fd;
	struct io_uring_params params;
	char *submission;
	char *completion;
	struct io_uring_sqe *entries;
};

static int ring_open(struct ring *ring)
{
	const struct io_uring_params *p = &ring->params;
	size_t submission, completion;

	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		return -1;
	submission = p->sq_off.array + p->sq_entries * sizeof(unsigned int);
	completion = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	ring->submission = mmap(NULL, submission, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				ring->fd, IORING_OFF_SQ_RING);
	ring->completion = mmap(NULL, completion, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				ring->fd, IORING_OFF_CQ_RING);
	ring->entries =
		mmap(NULL, p->sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
	if (ring->submission == MAP_FAILED || ring->completion == MAP_FAILED ||
	    ring->entries == MAP_FAILED)
		die("mmap");
	return 0;
}

/* Submits one read and waits for it; returns its result. */
static int ring_read(struct ring *ring, int fd, void *buffer, unsigned int size)
{
	const struct io_uring_params *p = &ring->params;
	_Atomic unsigned int *tail = (void *)(ring->submission + p->sq_off.tail);
	unsigned int mask = *(unsigned int *)(ring->submission + p->sq_off.ring_mask);
	unsigned int *array = (void *)(ring->submission + p->sq_off.array);
	_Atomic unsigned int *head = (void *)(ring->completion + p->cq_off.head);
	struct io_uring_cqe *results = (void *)(ring->completion + p->cq_off.cqes);
	unsigned int slot = *tail & mask;
	int result;

	ring->entries[slot] = (struct io_uring_sqe) { .opcode = IORING_OP_READ,
						      .flags = IOSQE_ASYNC,
						      .fd = fd,
						      .addr = (uintptr_t)buffer,
						      .len = size };
	array[slot] = slot;
	atomic_fetch_add(tail, 1);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter");
	result = results[*head & (p->cq_entries - 1)].res;
	atomic_fetch_add(head, 1);
	return result;
}

static void *writer(void *arg)
{
	set_name("uring-writer");
	for (int i = 0; i < ROUNDS; i++) {
		sleep_ns(WAIT_NS);
		send_token(*(int *)arg);
	}
	return NULL;
}

int main(void)
{
	struct ring ring = { 0 };
	struct phase phase;
	int fds[2];

	if (ring_open(&ring)) {
		phase_skip("uring", "io_uring_setup");
		return 0;
	}
	make_pipe(fds);
	start_thread(writer, &fds[1]);
	phase = phase_begin("uring", "uring-main");
	for (int i = 0; i < ROUNDS; i++) {
		call_begins(&phase);
		char token;

		if (ring_read(&ring, fds[0], &token, 1) != 1)
			die("IORING_OP_READ");
		call_ends(&phase);
	}
	phase_end(&phase);
	return 0;
}
