#include "core/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

struct ring {
	struct ring_buffer *buffer;
	ring_take_fn take;
	void *context;
	uint64_t malformed;
};

static int take_one(void *context, void *data, size_t size)
{
	struct ring *ring = context;
	const struct wire_head *head = data;

	if (size < sizeof(*head) || head->size < sizeof(*head) || head->size > size) {
		ring->malformed++;
		return 0;
	}
	return ring->take(ring->context, head);
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

int ring__poll(struct ring *ring, int timeout_ms)
{
	return timeout_ms ? ring_buffer__poll(ring->buffer, timeout_ms)
			  : ring_buffer__consume(ring->buffer);
}

int ring__fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}

uint64_t ring__malformed(const struct ring *ring)
{
	return ring->malformed;
}
