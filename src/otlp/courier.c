/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agents take their steps at the same seconds of a minute. So that a receiver does not get the
 * requests of all hosts at once, each host waits for its own part of half an interval. Points carry
 * the time of their step.
 */
#include "otlp/courier.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gzip.h"

#define SECOND_NS  UINT64_C(1000000000)
#define PATH       "/v1/metrics"
#define TYPE       "application/x-protobuf"
#define MOST_TRIES 2
/* A second request comes after half a second to two seconds, or when the receiver says. */
#define LEAST_PAUSE_NS (SECOND_NS / 2)
#define MOST_PAUSE_NS  (2 * SECOND_NS)
#define MOST_RETRY_S   300
/* A step that comes a little too early for its interval is not left out. */
#define MOST_SLACK_NS (SECOND_NS / 2)

struct courier {
	struct courier_options options;
	struct courier_clock clock;
	struct http_transport transport;
	struct answer answer;
	struct courier_status status;

	struct pages *pages; /* the newest step; NULL: it was sent */
	uint64_t start_ns, time_ns;
	bool is_due;         /* it is to be sent */
	uint64_t due_ns;     /* when it became due, or when the next one does */
	uint64_t ready_ns;   /* not before */
	uint64_t blocked_ns; /* the receiver wants nothing before */

	char *body; /* under way, or to be sent again */
	size_t body_bytes;
	bool is_running;
	unsigned int tries;
	uint64_t retry_ns;
};

static uint64_t now_ns(const struct courier *courier)
{
	return courier->clock.now_ns(courier->clock.context);
}

static uint64_t later(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

/* --- steps ------------------------------------------------------------------------------------ */

void courier__offer(struct courier *courier, struct pages *pages, uint64_t start_ns,
		    uint64_t time_ns)
{
	uint64_t interval_ns = courier->options.interval_ns, now = now_ns(courier);
	uint64_t slack_ns = interval_ns / 10 < MOST_SLACK_NS ? interval_ns / 10 : MOST_SLACK_NS;

	pages__unref(courier->pages);
	courier->pages = pages;
	courier->start_ns = start_ns;
	courier->time_ns = time_ns;
	if (now + slack_ns < courier->due_ns)
		return;
	if (courier->is_due)
		courier->status.results[COURIER_SKIPPED]++;
	else
		courier->ready_ns = now + courier->options.spread % (interval_ns / 2 + 1);
	courier->is_due = true;
	courier->due_ns = now + interval_ns;
}

/* The newest step becomes the body of a request. */
static int encode(struct courier *courier)
{
	cleanup(proto__release) struct proto proto = {};

	courier->options.encoding.start_ns = courier->start_ns;
	courier->options.encoding.time_ns = courier->time_ns;
	encoding__metrics(pages__exposition(courier->pages), &courier->options.encoding, &proto);
	pages__unref(TAKE(courier->pages));
	if (courier->is_due)
		courier->tries = 0;
	courier->is_due = false;
	if (proto__failed(&proto))
		return -ENOMEM;
	free(TAKE(courier->body));
	return gzip__pack(proto.bytes, proto.size, &courier->body, &courier->body_bytes);
}

/* --- requests --------------------------------------------------------------------------------- */

static void drop_body(struct courier *courier)
{
	free(TAKE(courier->body));
	courier->tries = 0;
}

static void send_body(struct courier *courier)
{
	struct http_request request = { .is_gzip = true, .path = PATH, .type = TYPE };
	int err = courier->pages ? encode(courier) : 0;

	request.body = courier->body;
	request.body_bytes = courier->body_bytes;
	if (!err)
		err = courier->transport.start(courier->transport.context, &request);
	if (!err) {
		courier->is_running = true;
		courier->tries++;
		return;
	}
	courier->status.results[COURIER_UNSENT]++;
	snprintf(courier->status.problem, sizeof(courier->status.problem),
		 "a request cannot be made: %s", strerror(-err));
	drop_body(courier);
}

static void say_problem(struct courier *courier, const struct reply *reply)
{
	char *problem = courier->status.problem;
	size_t size = sizeof(courier->status.problem);
	const char *colon = *reply->message ? ": " : "";

	if (reply->means == REPLY_OK)
		*problem = '\0';
	else if (reply->means == REPLY_PARTIAL)
		snprintf(problem, size, "the receiver did not take %" PRIu64 " points%s%s",
			 reply->rejected, colon, reply->message);
	else if (courier->answer.error)
		snprintf(problem, size, "the receiver does not answer%s%s", colon, reply->message);
	else
		snprintf(problem, size, "the receiver answers with status %d%s%s",
			 courier->answer.status, colon, reply->message);
}

/* Sends the request once more, unless a later step will be due by then. */
static void plan_retry(struct courier *courier)
{
	uint64_t now = now_ns(courier), wait_s = courier->answer.retry_after_s;
	uint64_t pause_ns =
		courier->clock.random(courier->clock.context) % (MOST_PAUSE_NS - LEAST_PAUSE_NS);

	wait_s = wait_s < MOST_RETRY_S ? wait_s : MOST_RETRY_S;
	courier->blocked_ns = now + wait_s * SECOND_NS;
	courier->retry_ns = later(now + LEAST_PAUSE_NS + pause_ns, courier->blocked_ns);
	if (courier->tries == MOST_TRIES || courier->retry_ns >= courier->due_ns)
		drop_body(courier);
}

/* Whether there was an answer. */
static bool take_answer(struct courier *courier)
{
	struct reply reply;

	if (courier->transport.poll(courier->transport.context, &courier->answer))
		return false;
	courier->is_running = false;
	reply__read(&courier->answer, &reply);
	courier->status.results[reply.means]++;
	courier->status.rejected += reply.rejected;
	say_problem(courier, &reply);
	if (reply__is_passing(reply.means))
		plan_retry(courier);
	else
		drop_body(courier);
	return true;
}

uint64_t courier__step(struct courier *courier)
{
	for (;;) {
		uint64_t at_ns;

		if (courier->is_running && !take_answer(courier))
			return 0;
		if (!courier->body && !courier->is_due)
			return 0;
		at_ns = courier->body ? courier->retry_ns
				      : later(courier->ready_ns, courier->blocked_ns);
		if (now_ns(courier) < at_ns)
			return at_ns;
		send_body(courier);
	}
}

void courier__status(const struct courier *courier, struct courier_status *ret)
{
	*ret = courier->status;
}

const char *courier__word(unsigned int result)
{
	if (result == COURIER_SKIPPED)
		return "skipped";
	return result == COURIER_UNSENT ? "unsent" : reply__word((enum reply_means)result);
}

/* --- life ------------------------------------------------------------------------------------- */

int courier__new(const struct courier_options *options, const struct courier_clock *clock,
		 const struct http_transport *transport, struct courier **ret)
{
	struct courier *courier = calloc(1, sizeof(*courier));

	if (!courier)
		return -ENOMEM;
	courier->options = *options;
	courier->clock = *clock;
	courier->transport = *transport;
	*ret = courier;
	return 0;
}

void courier__free(struct courier *courier)
{
	if (!courier)
		return;
	pages__unref(courier->pages);
	free(courier->body);
	free(courier);
}
