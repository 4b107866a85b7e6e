/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to send. Every host waits for its own offset after the minute, so that hosts do not send
 * together. After a failure the wait is random between 0 and a bound that doubles from 1 s to 5
 * minutes ("full jitter"). A backlog is drained at no more than 4 times the normal rate.
 *
 * Times are monotonic nanoseconds. Pure. One thread only.
 */
#pragma once

#include <stdint.h>

#define PACE_SPREAD_S 50

struct pace_options {
	uint64_t host_id;
	uint64_t (*random)(void *context); /* 64 random bits */
	void *context;
	unsigned int spread_s; /* offsets are below this; PACE_SPREAD_S unless for tests */
};

struct pace {
	struct pace_options options;
	unsigned int failures;       /* since the last success */
	uint64_t not_before_ns;      /* backoff */
	uint64_t next_insert_ns;     /* rate */
	uint64_t minute_s;           /* of the latest batch */
	uint64_t in_minute, in_last; /* batches of that minute, and of the one before it */
};

void pace__begin(struct pace *pace, const struct pace_options *options, uint64_t now_ns);
/* How long to wait after the end of a minute. */
unsigned int pace__offset_s(const struct pace *pace);

/* A new batch came: this is the normal rate. */
void pace__added(struct pace *pace, uint64_t minute_s);
/* An insert begins. */
void pace__inserting(struct pace *pace, uint64_t now_ns);
void pace__succeeded(struct pace *pace);
/* `retry_after_s`: the least to wait, as the server said; 0: nothing said. */
void pace__failed(struct pace *pace, uint64_t now_ns, uint64_t retry_after_s);

/* When the next request may be sent, and the next insert. */
uint64_t pace__next_request_ns(const struct pace *pace);
uint64_t pace__next_insert_ns(const struct pace *pace);
