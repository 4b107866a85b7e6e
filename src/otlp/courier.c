/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agents take their steps at the same seconds of a minute. So that a receiver does not get the
 * requests of all hosts at once, each host waits for its own part of half an interval. Points and
 * profiles carry their time.
 */
#include "otlp/courier.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SECOND_NS  UINT64_C(1000000000)
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

	struct courier_load *load; /* the newest; NULL: all of it was packed */
	size_t next;               /* its next request */
	bool is_due;               /* it is to be sent */
	uint64_t due_ns;           /* when it became due, or when the next one does */
	uint64_t ready_ns;         /* not before */
	uint64_t blocked_ns;       /* the receiver wants nothing before */

	char *body; /* under way, or to be sent again */
	size_t body_bytes, body_profiles;
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

/* --- loads ------------------------------------------------------------------------------------ */

void courier__free_load(struct courier_load *load)
{
	if (load)
		load->free(load);
}

static size_t profiles_of(const struct courier_load *load, size_t at)
{
	return load->profiles ? load->profiles[at] : 0;
}

static void drop_body(struct courier *courier, bool is_taken)
{
	if (!is_taken)
		courier->status.rejected += courier->body_profiles;
	free(TAKE(courier->body));
	courier->body_profiles = 0;
	courier->tries = 0;
}

/* Gives up what is left of a load that no later one contains. */
static void give_up(struct courier *courier)
{
	struct courier_load *load = TAKE(courier->load);

	if (courier->body && !courier->is_running) {
		courier->status.results[COURIER_SKIPPED]++;
		drop_body(courier, false);
	}
	for (size_t i = courier->next; load && i < load->count; i++) {
		courier->status.results[COURIER_SKIPPED]++;
		courier->status.rejected += profiles_of(load, i);
	}
	courier__free_load(load);
	courier->is_due = false;
}

void courier__offer(struct courier *courier, struct courier_load *load)
{
	uint64_t interval_ns = courier->options.interval_ns, now = now_ns(courier);
	uint64_t slack_ns = interval_ns / 10 < MOST_SLACK_NS ? interval_ns / 10 : MOST_SLACK_NS;

	if (!courier->options.is_total)
		give_up(courier);
	courier->status.results[COURIER_LARGE] += load->too_large;
	courier->status.rejected += load->too_large;
	courier__free_load(courier->load);
	courier->load = load;
	courier->next = 0;
	if (courier->options.is_total && now + slack_ns < courier->due_ns)
		return;
	if (courier->is_due)
		courier->status.results[COURIER_SKIPPED]++;
	else
		courier->ready_ns = now + courier->options.spread % (interval_ns / 2 + 1);
	courier->is_due = load->count > 0;
	courier->due_ns = now + interval_ns;
}

/* The next request of the load. */
static int pack_next(struct courier *courier)
{
	struct courier_load *load = courier->load;
	size_t at = courier->next++;
	int err;

	free(TAKE(courier->body));
	courier->body_profiles = profiles_of(load, at);
	if (courier->is_due)
		courier->tries = 0;
	err = load->pack(load, at, &courier->body, &courier->body_bytes);
	if (courier->next < load->count)
		return err;
	courier__free_load(TAKE(courier->load));
	courier->is_due = false;
	return err;
}

/* --- requests --------------------------------------------------------------------------------- */

static void send_body(struct courier *courier)
{
	struct http_request request = { .is_gzip = courier->options.is_gzip,
					.path = courier->options.path,
					.type = courier->options.type };
	bool is_new = courier->load && courier->next < courier->load->count &&
		      (!courier->body || courier->options.is_total);
	int err = is_new ? pack_next(courier) : 0;

	request.body = courier->body;
	request.body_bytes = courier->body_bytes;
	if (!err)
		err = courier->transport.start(courier->transport.context, &request);
	if (!err) {
		courier->is_running = true;
		courier->tries++;
		return;
	}
	courier->status.results[err == -ESTALE ? COURIER_OLD : COURIER_UNSENT]++;
	snprintf(courier->status.problem, sizeof(courier->status.problem),
		 "a request cannot be made: %s", err == -ESTALE ? "it is too old" : strerror(-err));
	drop_body(courier, false);
}

static void say_problem(struct courier *courier, const struct reply *reply)
{
	char *problem = courier->status.problem;
	size_t size = sizeof(courier->status.problem);
	const char *colon = *reply->message ? ": " : "";

	if (reply->means == REPLY_OK)
		*problem = '\0';
	else if (reply->means == REPLY_PARTIAL)
		snprintf(problem, size, "the receiver did not take %" PRIu64 " %s%s%s",
			 reply->rejected, courier->body_profiles ? "profiles" : "points", colon,
			 reply->message);
	else if (courier->answer.error)
		snprintf(problem, size, "the receiver does not answer%s%s", colon, reply->message);
	else
		snprintf(problem, size, "the receiver answers with status %d%s%s",
			 courier->answer.status, colon, reply->message);
}

/* Sends the request once more, unless a later load will be due by then. */
static void plan_retry(struct courier *courier, uint64_t now)
{
	uint64_t pause_ns =
		courier->clock.random(courier->clock.context) % (MOST_PAUSE_NS - LEAST_PAUSE_NS);

	courier->retry_ns = later(now + LEAST_PAUSE_NS + pause_ns, courier->blocked_ns);
	if (courier->tries == MOST_TRIES || courier->retry_ns >= courier->due_ns)
		drop_body(courier, false);
}

static bool may_repeat(const struct courier *courier, enum reply_means means)
{
	return reply__is_passing(means) &&
	       (courier->options.is_total || reply__is_certain(means, &courier->answer));
}

/* Whether there was an answer. */
static bool take_answer(struct courier *courier)
{
	uint64_t now = now_ns(courier), wait_s;
	struct reply reply;

	if (courier->transport.poll(courier->transport.context, &courier->answer))
		return false;
	courier->is_running = false;
	reply__read(&courier->answer, &reply);
	courier->status.results[reply.means]++;
	courier->status.rejected += reply.rejected;
	say_problem(courier, &reply);
	if (reply__is_passing(reply.means)) {
		wait_s = courier->answer.retry_after_s;
		wait_s = wait_s < MOST_RETRY_S ? wait_s : MOST_RETRY_S;
		courier->blocked_ns = now + wait_s * SECOND_NS;
	}
	if (may_repeat(courier, reply.means))
		plan_retry(courier, now);
	else
		drop_body(courier, reply.means == REPLY_OK || reply.means == REPLY_PARTIAL);
	return true;
}

uint64_t courier__step(struct courier *courier)
{
	for (;;) {
		uint64_t at_ns;

		if (courier->is_running && !take_answer(courier))
			return 0;
		if (!courier->options.is_total && now_ns(courier) >= courier->due_ns)
			give_up(courier);
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
	static const char *const words[COURIER_RESULTS] = {
		[COURIER_SKIPPED] = "skipped",
		[COURIER_UNSENT] = "unsent",
		[COURIER_OLD] = "old",
		[COURIER_LARGE] = "large",
	};

	return words[result] ? words[result] : reply__word((enum reply_means)result);
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
	courier__free_load(courier->load);
	free(courier->body);
	free(courier);
}
