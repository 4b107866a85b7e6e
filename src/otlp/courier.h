/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Brings loads to a receiver over HTTP: one request at a time, and one more if the receiver is busy
 * or cannot be reached. There is never a backlog.
 *
 * A load is a step of metrics or the profiles of a minute. Metrics are totals since the start, so a
 * step that could not be sent is contained in the next one: there is never more than one step to
 * send, the newest, and at most one per interval. Profiles are not: what was not sent when the next
 * ones come, or when the interval is over, is given up and counted. A request with profiles is
 * repeated only if the receiver certainly did not take it; otherwise they could be stored twice.
 *
 * Nothing here waits. One thread only.
 */
#pragma once

#include "otlp/reply.h"
#include "store/http.h"

struct courier_clock {
	uint64_t (*now_ns)(void *context); /* monotonic */
	uint64_t (*random)(void *context);
	void *context;
};

/* What is sent, in one request or several. May be made and freed in different threads. */
struct courier_load {
	size_t count; /* of requests */
	/* The profiles in each request; NULL: what is given up is not counted. */
	const size_t *profiles;
	size_t too_large; /* profiles that no request has, because receivers refuse them */
	/*
	 * The body of a request, compressed if it is to be, which the caller frees. -ESTALE: it is
	 * too old by now. -ENOMEM.
	 */
	int (*pack)(struct courier_load *load, size_t at, char **ret, size_t *ret_bytes);
	void (*free)(struct courier_load *load);
};

struct courier_options {
	const char *path, *type; /* of requests, see struct http_request; static */
	bool is_gzip;            /* bodies are compressed as a whole */
	bool is_total;           /* a load contains the earlier ones */
	uint64_t interval_ns;    /* shorter than a step: every step */
	uint64_t spread;         /* of the host: a number by which hosts send at different times */
};

/* Results beyond those of reply.h. */
enum {
	COURIER_SKIPPED = REPLY_MEANINGS, /* an interval without a request; of profiles: requests */
	COURIER_UNSENT,                   /* no memory, or a secret cannot be read */
	COURIER_OLD,                      /* older than receivers take */
	COURIER_LARGE,                    /* larger than receivers take; profiles */
	COURIER_RESULTS,
};

struct courier_status {
	uint64_t results[COURIER_RESULTS]; /* requests; of COURIER_SKIPPED: see there */
	uint64_t rejected;                 /* points that receivers did not take; profiles that were
					      not taken or given up */
	char problem[256];                 /* why the last load was not taken; "": it was */
};

struct courier;

int courier__new(const struct courier_options *options, const struct courier_clock *clock,
		 const struct http_transport *transport, struct courier **ret);
void courier__free(struct courier *courier);

/* Takes over the load. */
void courier__offer(struct courier *courier, struct courier_load *load);
/* Does what is due. Returns when to call it again; 0: when there is an answer or a load. */
uint64_t courier__step(struct courier *courier);
void courier__status(const struct courier *courier, struct courier_status *ret);
/* The label of a result. */
const char *courier__word(unsigned int result);
/* NULL is accepted. */
void courier__free_load(struct courier_load *load);
