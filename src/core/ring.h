/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The consumer of a ring buffer: checks the size of every record and passes it to a callback. */
#pragma once

#include <stdint.h>

#include "bpf/wire.h"

struct ring;

/* Called in the thread that polls. A negative result stops ring__poll(), which then returns it. */
typedef int (*ring_take_fn)(void *context, const struct wire_head *record);

/* *ret belongs to the caller; `map_fd` stays the caller's and must outlive it. 0 or -errno. */
int ring__new(int map_fd, ring_take_fn take, void *context, struct ring **ret);
void ring__free(struct ring *ring);

/* Unmaps the ring. There are no further records; ring__malformed() still works. */
void ring__close(struct ring *ring);

/* Waits at most timeout_ms (0: not at all), then takes records. Returns their number or -errno. */
int ring__poll(struct ring *ring, int timeout_ms);

/* Readable when there are records; for the caller's own poll(). */
int ring__fd(const struct ring *ring);

/* Records whose size differs from the size in their header. They are dropped. */
uint64_t ring__malformed(const struct ring *ring);
