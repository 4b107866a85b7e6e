/* The reader's end of a ring buffer: checks every record's size, then hands it on. */
#pragma once

#include <stdint.h>

#include "bpf/wire.h"

struct ring;

/* Called in the thread that polls. A negative result ends the poll and becomes its result. */
typedef int (*ring_take_fn)(void *context, const struct wire_head *record);

/* *ret belongs to the caller; `map_fd` stays the caller's and must outlive it. 0 or -errno. */
int ring__new(int map_fd, ring_take_fn take, void *context, struct ring **ret);
void ring__free(struct ring *ring);

/* Waits at most timeout_ms (0: not at all) and takes what is there: how many, or -errno. */
int ring__poll(struct ring *ring, int timeout_ms);

/* Readable when there are records, for a caller's own poll. */
int ring__fd(const struct ring *ring);

/* Records whose size did not match what they said of themselves; they are not handed on. */
uint64_t ring__malformed(const struct ring *ring);
