/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Brings steps to a receiver of OTLP: one request at a time, at most one per interval, and one more
 * if the receiver is busy or does not answer. All figures are totals since the start, so a step
 * that could not be sent is contained in the next one: there is never more than one step to send,
 * the newest.
 *
 * Nothing here waits. One thread only.
 */
#pragma once

#include "metrics/pages.h"
#include "otlp/encoding.h"
#include "otlp/reply.h"
#include "store/http.h"

struct courier_clock {
	uint64_t (*now_ns)(void *context); /* monotonic */
	uint64_t (*random)(void *context);
	void *context;
};

struct courier_options {
	uint64_t interval_ns; /* shorter than a step: every step */
	uint64_t spread;      /* of the host: a number by which hosts send at different times */
	/* The resource must outlive the courier; the times come with each step. */
	struct encoding_context encoding;
};

/* Results beyond those of reply.h. */
enum {
	COURIER_SKIPPED = REPLY_MEANINGS, /* an interval without a request */
	COURIER_UNSENT,                   /* no memory, or a secret cannot be read */
	COURIER_RESULTS,
};

struct courier_status {
	uint64_t results[COURIER_RESULTS]; /* requests; of COURIER_SKIPPED: intervals */
	uint64_t rejected;                 /* points that receivers did not take */
	char problem[256];                 /* why the last step was not taken; "": it was */
};

struct courier;

int courier__new(const struct courier_options *options, const struct courier_clock *clock,
		 const struct http_transport *transport, struct courier **ret);
void courier__free(struct courier *courier);

/* A step: takes over a reference to its pages. Unix times: see encoding.h. */
void courier__offer(struct courier *courier, struct pages *pages, uint64_t start_ns,
		    uint64_t time_ns);
/* Does what is due. Returns when to call it again; 0: when there is an answer or a step. */
uint64_t courier__step(struct courier *courier);
void courier__status(const struct courier *courier, struct courier_status *ret);
/* The label of a result. */
const char *courier__word(unsigned int result);
