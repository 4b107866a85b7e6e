/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the batches of a spool to the store, each exactly once.
 *
 * Every insert has the batch's token, so a server that gets it again stores it once. A batch leaves
 * the spool only after the server said that it is stored. The server forgets tokens after a while.
 * If it is unknown for longer than that whether a batch is stored, its rows are counted first.
 *
 * A step does what is due and never waits. Time, randomness and transport come from the caller.
 *
 * One thread only.
 */
#pragma once

#include <stdint.h>

#include "store/http.h"
#include "store/spool.h"

struct sender_clock {
	uint64_t (*now_ns)(void *context); /* monotonic */
	uint64_t (*unix_s)(void *context); /* time of day */
	uint64_t (*random)(void *context); /* 64 random bits */
	void *context;
};

struct sender_options {
	const char *database; /* NULL: "gapless". Must stay. */
	uint64_t host_id;
	/*
	 * For how long the server remembers tokens; 0: 600 s. Must be shorter than the windows of
	 * the schema allow with as many hosts as there are.
	 */
	unsigned int window_s;
	/* How long an insert that was not answered may still take; 0: 60 s. */
	unsigned int settle_s;
	bool no_spread; /* for tests: without the host's offset */
};

enum sender_result {
	/* Of inserts: those of enum answer_means, and */
	SENDER_FOUND = ANSWER_MEANINGS, /* not sent, because it was already stored */
	SENDER_UNCLEAR,                 /* set aside: the store has other rows than it should */
	SENDER_RESULTS,
};

struct sender_status {
	uint64_t results[SENDER_RESULTS];
	uint64_t requests; /* all, with those that ask */
	uint64_t sent_bytes;
	unsigned int server_version; /* 2607 for 26.7; 0: unknown */
	uint64_t schema_version;     /* valid if server_version is not 0 */
	/* Why nothing is sent, as a sentence without a full stop; "": all is well. */
	char problem[256];
};

struct sender;

/* The spool and the transport must outlive the sender. */
int sender__new(const struct sender_options *options, const struct sender_clock *clock,
		const struct http_transport *transport, struct spool *spool, struct sender **ret);
void sender__free(struct sender *sender);

/* Adds a new batch to the spool; as spool__put(). */
int sender__add(struct sender *sender, const struct batch_id *id, void *content, size_t bytes);
/*
 * Does what is due. Returns when to call again, in monotonic nanoseconds, unless a batch is added
 * before. 0: a request is under way; call when the transport may have an answer.
 */
uint64_t sender__step(struct sender *sender);

void sender__status(const struct sender *sender, struct sender_status *ret);
/* "ok", "busy", …, "found", "unclear" */
const char *sender__word(unsigned int result);
