/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A courier of profiles against a simulated receiver in simulated time. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/courier.h"

#define SECOND_NS UINT64_C(1000000000)

/* What the receiver answers, in this order; then 200. */
struct script {
	int error, status;
	uint64_t retry_after_s;
	const char *body;
};

static struct world {
	uint64_t now_ns;
	int pack_error;
	bool is_silent; /* no answer yet */
	const struct script *script;
	size_t scripted;

	unsigned int requests, loads;
	char sent[256]; /* the bodies, one after the other */
	bool is_running;
} world;

static struct courier *courier;

static uint64_t read_now(void *context)
{
	return world.now_ns;
}

static uint64_t read_random(void *context)
{
	return 0;
}

static int start_request(void *context, const struct http_request *request)
{
	assert_false(world.is_running);
	assert_string_equal(request->path, "/p");
	strncat(world.sent, request->body, request->body_bytes);
	world.is_running = true;
	world.requests++;
	return 0;
}

static int poll_answer(void *context, struct answer *ret)
{
	if (!world.is_running || world.is_silent)
		return -EAGAIN;
	world.is_running = false;
	memset(ret, 0, sizeof(*ret));
	ret->status = 200;
	if (!world.scripted)
		return 0;
	ret->error = world.script->error;
	ret->unreached = world.script->error == -ECONNREFUSED;
	ret->status = world.script->status;
	ret->retry_after_s = world.script->retry_after_s;
	if (world.script->body)
		answer__body(ret, world.script->body, strlen(world.script->body));
	world.script++;
	world.scripted--;
	return 0;
}

/* A load with three requests of one, two and three profiles; bodies are "a" and a number. */
static int pack(struct courier_load *load, size_t at, char **ret, size_t *ret_bytes)
{
	if (world.pack_error)
		return world.pack_error;
	*ret_bytes = 2;
	return asprintf(ret, "a%zu", at) < 0 ? -ENOMEM : 0;
}

static void free_load(struct courier_load *load)
{
	world.loads--;
	free(load);
}

static void offer(void)
{
	static const size_t profiles[] = { 1, 2, 3 };
	struct courier_load *load = calloc(1, sizeof(*load));

	assert_non_null(load);
	*load = (struct courier_load) { 3, profiles, 0, pack, free_load };
	world.loads++;
	courier__offer(courier, load);
}

static void begin(const struct script *script, size_t count)
{
	const struct courier_clock clock = { read_now, read_random, NULL };
	const struct http_transport transport = { start_request, poll_answer, NULL };
	const struct courier_options options = { .path = "/p", .interval_ns = 50 * SECOND_NS };

	world = (struct world) { .now_ns = 1000 * SECOND_NS, .script = script, .scripted = count };
	assert_int_equal(courier__new(&options, &clock, &transport, &courier), 0);
}

static struct courier_status end(void)
{
	struct courier_status status;

	courier__status(courier, &status);
	courier__free(courier);
	courier = NULL;
	assert_int_equal(world.loads, 0);
	return status;
}

static void pass(unsigned int seconds)
{
	uint64_t end_ns = world.now_ns + seconds * SECOND_NS;

	for (; world.now_ns < end_ns; world.now_ns += SECOND_NS / 10)
		courier__step(courier);
}

static void all_requests_of_a_minute_are_sent_once(void **state)
{
	struct courier_status status;

	begin(NULL, 0);
	offer();
	pass(60);
	offer();
	pass(60);
	status = end();
	assert_string_equal(world.sent, "a0a1a2a0a1a2");
	assert_int_equal(status.results[REPLY_OK], 6);
	assert_int_equal(status.rejected, 0);
}

static void a_request_that_was_certainly_not_taken_is_repeated(void **state)
{
	static const struct script script[] = {
		{ 0, 429, 0, "{\"code\":\"resource_exhausted\"}" },
		{ 0, 200, 0, "" },
		{ -ECONNREFUSED, 0, 0, NULL },
		{ 0, 200, 0, "" },
		{ 0, 503, 0, NULL },
	};
	struct courier_status status;

	begin(script, 5);
	offer();
	pass(60);
	status = end();
	assert_string_equal(world.sent, "a0a0a1a1a2a2");
	assert_int_equal(status.results[REPLY_OK], 3);
	assert_int_equal(status.rejected, 0);
}

static void a_request_that_may_have_been_taken_is_not_repeated(void **state)
{
	static const struct script script[] = { { -ETIMEDOUT, 0, 0, NULL },
						{ 0, 504, 0, NULL },
						{ 0, 502, 0, NULL } };
	struct courier_status status;

	begin(script, 3);
	offer();
	pass(60);
	status = end();
	assert_string_equal(world.sent, "a0a1a2");
	assert_int_equal(status.results[REPLY_LOST], 1);
	assert_int_equal(status.results[REPLY_BUSY], 2);
	assert_int_equal(status.rejected, 6);
}

static void what_is_refused_is_counted_and_the_rest_is_sent(void **state)
{
	static const struct script script[] = {
		{ 0, 400, 0, "{\"code\":\"invalid_argument\",\"message\":\"too many \x1b[2J\"}" },
		{ 0, 200, 0, "<html>proxy</html>" },
	};
	struct courier_status status;

	begin(script, 2);
	offer();
	courier__step(courier);
	courier__status(courier, &status);
	pass(60);
	status = end();
	assert_string_equal(world.sent, "a0a1a2");
	assert_int_equal(status.results[REPLY_REFUSED], 1);
	assert_int_equal(status.results[REPLY_STRANGE], 1);
	assert_int_equal(status.results[REPLY_OK], 1);
	assert_int_equal(status.rejected, 3);
}

/* partial_success with 2 rejected profiles. */
static void profiles_that_a_receiver_leaves_out_are_counted(void **state)
{
	static const struct script script[] = { { 0, 200, 0, "\x0a\x02\x08\x02" } };
	struct courier_status status;

	begin(script, 1);
	offer();
	world.is_silent = true;
	courier__step(courier);
	world.is_silent = false;
	courier__step(courier);
	status = end();
	assert_int_equal(status.results[REPLY_PARTIAL], 1);
	assert_int_equal(status.rejected, 2);
}

static void there_is_no_backlog_and_what_is_given_up_is_counted(void **state)
{
	struct courier_status status;

	begin(NULL, 0);
	world.is_silent = true;
	offer();
	pass(60);
	/* The first request is under way, the others are too late. */
	assert_int_equal(world.requests, 1);
	courier__status(courier, &status);
	assert_int_equal(status.results[COURIER_SKIPPED], 0);
	offer();
	courier__status(courier, &status);
	assert_int_equal(status.results[COURIER_SKIPPED], 2);
	assert_int_equal(status.rejected, 5);
	world.is_silent = false;
	pass(5);
	status = end();
	assert_string_equal(world.sent, "a0a0a1a2");
	assert_int_equal(status.results[REPLY_OK], 4);
	assert_int_equal(status.rejected, 5);
}

static void a_receiver_that_wants_nothing_for_long_gets_no_old_profiles(void **state)
{
	static const struct script script[] = { { 0, 429, 200, NULL } };
	struct courier_status status;

	begin(script, 1);
	offer();
	pass(250);
	status = end();
	assert_string_equal(world.sent, "a0");
	assert_int_equal(status.results[COURIER_SKIPPED], 2);
	assert_int_equal(status.rejected, 6);
}

static void what_cannot_be_packed_is_counted(void **state)
{
	struct courier_status status;

	begin(NULL, 0);
	world.pack_error = -ESTALE;
	offer();
	pass(5);
	courier__status(courier, &status);
	assert_int_equal(status.results[COURIER_OLD], 3);
	assert_int_equal(status.rejected, 6);
	assert_string_equal(status.problem, "a request cannot be made: it is too old");
	world.pack_error = -ENOMEM;
	offer();
	pass(5);
	status = end();
	assert_int_equal(status.results[COURIER_UNSENT], 3);
	assert_int_equal(status.rejected, 12);
	assert_int_equal(world.requests, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_requests_of_a_minute_are_sent_once),
		cmocka_unit_test(a_request_that_was_certainly_not_taken_is_repeated),
		cmocka_unit_test(a_request_that_may_have_been_taken_is_not_repeated),
		cmocka_unit_test(what_is_refused_is_counted_and_the_rest_is_sent),
		cmocka_unit_test(profiles_that_a_receiver_leaves_out_are_counted),
		cmocka_unit_test(there_is_no_backlog_and_what_is_given_up_is_counted),
		cmocka_unit_test(a_receiver_that_wants_nothing_for_long_gets_no_old_profiles),
		cmocka_unit_test(what_cannot_be_packed_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
