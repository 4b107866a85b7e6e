/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lookups FILE: reads random blocks of FILE, four at a time; a thread of the kernel submits. */
#include <fcntl.h>

#include "../live/workloads/ring.h"

#define BLOCK  4096UL
#define BLOCKS 16384UL
#define AHEAD  4

__attribute__((noinline)) static void ask_for(struct ring *ring, int file, void *block)
{
	ring_add(ring, &(struct io_uring_sqe) { .opcode = IORING_OP_READ,
						.fd = file,
						.off = (size_t)rand() % BLOCKS * BLOCK,
						.addr = (uintptr_t)block,
						.len = BLOCK });
	ring_enter(ring, 1, 0);
}

__attribute__((noinline)) static void await_block(struct ring *ring)
{
	ring_enter(ring, 0, 1);
	if (ring_take(ring) != BLOCK)
		die("read");
}

int main(int argc, char **argv)
{
	struct ring ring = { .params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 10 } };
	int file = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
	void *block = aligned_alloc(BLOCK, BLOCK);

	if (file < 0 || ring_open(&ring))
		die("io_uring_setup");
	for (int i = 0; i < AHEAD - 1; i++)
		ask_for(&ring, file, block);
	while (1) {
		ask_for(&ring, file, block);
		await_block(&ring);
	}
}
