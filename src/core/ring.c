/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

/* libbpf reads until the ring is empty, which may be never. After this many records, stop. */
#define MOST_AT_ONCE 10000

struct ring {
	struct ring_buffer *buffer;
	ring_take_fn take;
	void *context;
	uint64_t malformed;
	int taken; /* in this poll */
};

static int take_one(void *context, void *data, size_t size)
{
	struct ring *ring = context;
	const struct wire_head *head = data;
	int err;

	if (size < sizeof(*head) || head->size < sizeof(*head) || head->size > size) {
		ring->malformed++;
		return 0;
	}
	err = ring->take(ring->context, head);
	return err ? err : ++ring->taken >= MOST_AT_ONCE ? -EAGAIN : 0;
}

int ring__new(int map_fd, ring_take_fn take, void *context, struct ring **ret)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	ring->take = take;
	ring->context = context;
	ring->buffer = ring_buffer__new(map_fd, take_one, ring, NULL);
	if (!ring->buffer) {
		int err = -errno;

		free(ring);
		return err;
	}
	*ret = ring;
	return 0;
}

void ring__free(struct ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->buffer);
	free(ring);
}

void ring__close(struct ring *ring)
{
	ring_buffer__free(ring->buffer);
	ring->buffer = NULL;
}

int ring__poll(struct ring *ring, int timeout_ms)
{
	int err;

	ring->taken = 0;
	if (!ring->buffer)
		return 0;
	err = timeout_ms ? ring_buffer__poll(ring->buffer, timeout_ms)
			 : ring_buffer__consume(ring->buffer);
	return err < 0 && err != -EAGAIN ? err : ring->taken;
}

int ring__fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}

uint64_t ring__malformed(const struct ring *ring)
{
	return ring->malformed;
}
