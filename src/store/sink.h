/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of an agent's rows into the store: encodes them, spools them and sends them, in a thread
 * of its own. The thread that collects never waits for a disk or a network.
 *
 * Two threads: that of the caller, and that of the sink.
 */
#pragma once

#include "store/fact.h"
#include "store/sender.h"

struct sink_options {
	struct spool_options spool;
	struct http_options http;
	struct sender_options sender; /* host_id must be that of the rows' context */
	const char *boot;             /* boot id; other characters than hexadecimal are left out */
	size_t most_insert_bytes;     /* 0: 2 MB */
};

struct sink_status {
	struct spool_status spool;
	struct sender_status sender;
	uint64_t queue_dropped; /* batches: the sink's thread is stuck, or no memory */
};

struct sink;

/* -EBUSY: another agent uses the spool. -EINVAL: the URL or the boot id. */
int sink__new(const struct sink_options *options, struct sink **ret);
/* Writes what was pushed to the spool, and ends the thread. What was not sent stays there. */
void sink__free(struct sink *sink);

/*
 * Adds the rows of a minute: see fact__encode(). The minute is context->bucket_s. Each table at
 * most once per minute and epoch. -ENOMEM, or -ENOBUFS if the sink's thread is stuck; both are
 * counted. To FACT_QUALITY a row is added if batches were lost since the last time.
 */
int sink__push(struct sink *sink, enum fact_table table, const struct fact_context *context,
	       const void *rows, size_t count);
/* Call after a step of the clock, so that a minute that comes twice is stored twice. */
void sink__begin_epoch(struct sink *sink);

void sink__status(struct sink *sink, struct sink_status *ret);
/* Batches that did not reach the store and never will. */
uint64_t sink__lost(struct sink *sink);
