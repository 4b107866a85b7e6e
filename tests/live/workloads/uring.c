/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uring: reads a pipe through io_uring, by a worker thread of the kernel (IOSQE_ASYNC), while the
 * thread itself waits for completions.
 */
#include "ring.h"

#define ROUNDS  3
#define WAIT_NS (100 * MS)

/* Submits one read and waits for it; returns its result. */
static int ring_read(struct ring *ring, int fd, void *buffer, unsigned int size)
{
	ring_add(ring, &(struct io_uring_sqe) { .opcode = IORING_OP_READ,
						.flags = IOSQE_ASYNC,
						.fd = fd,
						.addr = (uintptr_t)buffer,
						.len = size });
	ring_enter(ring, 1, 1);
	return ring_take(ring);
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
