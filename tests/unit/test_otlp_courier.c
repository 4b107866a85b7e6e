/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The courier against a simulated receiver in simulated time. */
#include "../harness.h"

#include <errno.h>

#include "base/cleanup.h"
#include "otlp.h"
#include "otlp/metrics_load.h"

#define SECOND_NS  UINT64_C(1000000000)
#define MOST_BYTES (1u << 16)

/* What the receiver answers, in this order; then 200. */
struct script {
	int error, status;
	uint64_t retry_after_s;
};

static struct world {
	uint64_t now_ns, random;
	int start_error;
	bool is_silent; /* no answer yet */
	const struct script *script;
	size_t scripted;

	unsigned int requests;
	uint64_t sent_ns[64];
	uint64_t time_ns; /* of the last request's point */
	bool is_running;
} world;

static struct courier *courier;

static uint64_t read_now(void *context)
{
	return world.now_ns;
}

static uint64_t read_random(void *context)
{
	return world.random;
}

static int start_request(void *context, const struct http_request *request)
{
	unsigned char plain[MOST_BYTES];
	struct wire gauge;

	if (world.start_error)
		return world.start_error;
	assert_false(world.is_running);
	assert_string_equal(request->path, "/v1/metrics");
	assert_string_equal(request->type, "application/x-protobuf");
	assert_true(request->is_gzip);
	gauge = wire_child(
		otlp_metric(otlp_unpack(request->body, request->body_bytes, plain, sizeof(plain)),
			    "gapless.x"),
		5, 0);
	world.time_ns = wire_number(wire_child(gauge, 1, 0), 3);
	world.is_running = true;
	world.sent_ns[world.requests++ % 64] = world.now_ns;
	return 0;
}

static int poll_answer(void *context, struct answer *ret)
{
	if (!world.is_running || world.is_silent)
		return -EAGAIN;
	world.is_running = false;
	memset(ret, 0, sizeof(*ret));
	ret->status = 200;
	if (world.scripted) {
		ret->error = world.script->error;
		ret->unreached = world.script->error == -ECONNREFUSED;
		ret->status = world.script->status;
		ret->retry_after_s = world.script->retry_after_s;
		world.script++;
		world.scripted--;
	}
	return 0;
}

static void begin(uint64_t interval_s, uint64_t spread, const struct script *script, size_t count)
{
	const struct courier_clock clock = { read_now, read_random, NULL };
	const struct http_transport transport = { start_request, poll_answer, NULL };
	const struct courier_options options = { .path = METRICS_LOAD_PATH,
						 .type = METRICS_LOAD_TYPE,
						 .is_gzip = true,
						 .is_total = true,
						 .interval_ns = interval_s * SECOND_NS,
						 .spread = spread };

	world = (struct world) { .now_ns = 1000 * SECOND_NS, .script = script, .scripted = count };
	assert_int_equal(courier__new(&options, &clock, &transport, &courier), 0);
}

static struct courier_status end(void)
{
	struct courier_status status;

	courier__status(courier, &status);
	courier__free(courier);
	courier = NULL;
	return status;
}

/* A step whose time is that of the simulation. */
static void offer(void)
{
	const struct encoding_context context = { .version = "1",
						  .start_ns = 1,
						  .time_ns = world.now_ns };
	struct exposition *exposition = NULL;
	struct courier_load *load = NULL;
	struct pages *pages = NULL;

	assert_int_equal(exposition__new(&exposition), 0);
	exposition__family(exposition, &(struct exposition_family) { .name = "gapless_x",
								     .help = "",
								     .type = EXPOSITION_GAUGE });
	exposition__sample(exposition, NULL, 1, 0);
	assert_int_equal(pages__new(exposition, &pages), 0);
	assert_int_equal(metrics_load__new(pages, &context, &load), 0);
	pages__unref(pages);
	courier__offer(courier, load);
}

/* Lets time go by, with a step every 10 s. */
static void pass(unsigned int seconds)
{
	uint64_t end_ns = world.now_ns + seconds * SECOND_NS;

	for (; world.now_ns < end_ns; world.now_ns += SECOND_NS / 10) {
		if (world.now_ns % (10 * SECOND_NS) == 0)
			offer();
		courier__step(courier);
	}
}

static void every_step_is_sent_once(void **state)
{
	struct courier_status status;

	begin(10, 0, NULL, 0);
	pass(60);
	status = end();
	assert_int_equal(world.requests, 6);
	assert_int_equal(status.results[REPLY_OK], 6);
	assert_int_equal(status.results[COURIER_SKIPPED], 0);
	assert_string_equal(status.problem, "");
}

static void a_longer_interval_leaves_out_steps(void **state)
{
	begin(60, 0, NULL, 0);
	pass(600);
	assert_int_equal(end().results[REPLY_OK], 10);
	assert_int_equal(world.requests, 10);
	/* A shorter one does not invent any. */
	begin(1, 0, NULL, 0);
	pass(60);
	assert_int_equal(end().results[REPLY_OK], 6);
}

static void a_step_that_is_a_little_early_is_sent(void **state)
{
	begin(10, 0, NULL, 0);
	for (int i = 0; i < 6; i++) {
		offer();
		courier__step(courier);
		world.now_ns += 10 * SECOND_NS - SECOND_NS / 4;
	}
	end();
	assert_int_equal(world.requests, 6);
}

static void hosts_send_at_different_times_but_say_when_the_step_was(void **state)
{
	begin(10, 3 * SECOND_NS, NULL, 0);
	offer();
	assert_int_equal(courier__step(courier), 1003 * SECOND_NS);
	assert_int_equal(world.requests, 0);
	world.now_ns = 1003 * SECOND_NS;
	courier__step(courier);
	assert_int_equal(world.requests, 1);
	assert_int_equal(world.time_ns, 1000 * SECOND_NS);
	end();
	/* A part of half an interval. */
	begin(10, 7 * SECOND_NS, NULL, 0);
	offer();
	assert_true(courier__step(courier) < 1005 * SECOND_NS);
	end();
}

static void a_busy_receiver_is_asked_once_more(void **state)
{
	static const struct script script[] = { { 0, 429, 0 }, { 0, 503, 0 }, { 0, 503, 0 } };
	struct courier_status status;

	begin(10, 0, script, 3);
	pass(5);
	assert_int_equal(world.requests, 2);
	assert_true(world.sent_ns[1] - world.sent_ns[0] >= SECOND_NS / 2);
	courier__status(courier, &status);
	assert_string_equal(status.problem, "the receiver answers with status 503");
	pass(10);
	status = end();
	assert_int_equal(world.requests, 4);
	assert_int_equal(status.results[REPLY_BUSY], 3);
	assert_int_equal(status.results[REPLY_OK], 1);
	assert_string_equal(status.problem, "");
}

static void the_pause_before_the_second_request_is_random(void **state)
{
	static const struct script script[] = { { 0, 503, 0 } };

	for (unsigned int i = 0; i < 20; i++) {
		begin(10, 0, script, 1);
		world.random = i * SECOND_NS / 10;
		pass(5);
		assert_true(world.sent_ns[1] - world.sent_ns[0] >= SECOND_NS / 2);
		assert_true(world.sent_ns[1] - world.sent_ns[0] <= SECOND_NS * 21 / 10);
		end();
	}
}

static void a_receiver_that_names_a_time_is_left_alone_until_then(void **state)
{
	static const struct script script[] = { { 0, 429, 3 }, { 0, 429, 35 } };
	struct courier_status status;

	begin(10, 0, script, 2);
	pass(9);
	assert_int_equal(world.requests, 2);
	assert_int_equal(world.sent_ns[1], 1003 * SECOND_NS);
	pass(51);
	status = end();
	/* Steps at 1010, 1020 and 1030 wait; at 1038 the newest goes. */
	assert_int_equal(world.sent_ns[2], 1038 * SECOND_NS);
	assert_int_equal(status.results[COURIER_SKIPPED], 2);
	assert_int_equal(status.results[REPLY_OK], 3);
}

static void a_long_time_is_bounded(void **state)
{
	static const struct script script[] = { { 0, 503, UINT32_MAX } };

	begin(10, 0, script, 1);
	pass(330);
	end();
	assert_int_equal(world.sent_ns[1], 1300 * SECOND_NS);
}

static void the_second_request_has_the_newest_step(void **state)
{
	static const struct script script[] = { { -ETIMEDOUT, 0, 0 } };

	begin(10, 0, script, 1);
	world.is_silent = true;
	pass(9);
	world.now_ns += SECOND_NS / 2;
	offer();
	world.is_silent = false;
	courier__step(courier);
	world.now_ns += 3 * SECOND_NS;
	courier__step(courier);
	courier__step(courier);
	assert_int_equal(world.requests, 2);
	assert_int_equal(world.time_ns, 1009 * SECOND_NS + SECOND_NS / 2);
	assert_int_equal(end().results[REPLY_LOST], 1);
}

static void there_is_never_a_backlog(void **state)
{
	static struct script script[100];
	struct courier_status status;

	for (size_t i = 0; i < 100; i++)
		script[i].error = -ECONNREFUSED;
	begin(10, 0, script, 100);
	pass(500);
	/* Two for each step. */
	assert_int_equal(world.requests, 100);
	courier__status(courier, &status);
	assert_int_equal(status.results[REPLY_UNREACHED], 100);
	assert_string_equal(status.problem, "the receiver does not answer: Connection refused");
	pass(10);
	assert_int_equal(world.requests, 101);
	assert_int_equal(world.time_ns, 1500 * SECOND_NS);
	assert_int_equal(end().results[REPLY_OK], 1);
}

static void a_silent_receiver_holds_up_nothing(void **state)
{
	struct courier_status status;

	begin(10, 0, NULL, 0);
	world.is_silent = true;
	pass(60);
	assert_int_equal(world.requests, 1);
	courier__status(courier, &status);
	assert_int_equal(status.results[COURIER_SKIPPED], 4);
	world.is_silent = false;
	pass(1);
	assert_int_equal(end().results[REPLY_OK], 2);
}

static void a_refusal_is_not_repeated_and_the_next_step_is_sent(void **state)
{
	static const struct script script[] = { { 0, 400, 0 }, { 0, 401, 0 }, { 0, 404, 0 } };
	struct courier_status status;

	begin(10, 0, script, 3);
	pass(40);
	status = end();
	assert_int_equal(world.requests, 4);
	assert_int_equal(status.results[REPLY_REFUSED], 1);
	assert_int_equal(status.results[REPLY_DENIED], 1);
	assert_int_equal(status.results[REPLY_STRANGE], 1);
	assert_int_equal(status.results[REPLY_OK], 1);
}

static void a_request_that_cannot_be_made_is_counted(void **state)
{
	struct courier_status status;

	begin(10, 0, NULL, 0);
	world.start_error = -ENOENT;
	pass(20);
	courier__status(courier, &status);
	assert_int_equal(status.results[COURIER_UNSENT], 2);
	assert_string_equal(status.problem, "a request cannot be made: No such file or directory");
	world.start_error = 0;
	pass(10);
	status = end();
	assert_int_equal(status.results[REPLY_OK], 1);
	assert_string_equal(status.problem, "");
}

static void every_result_has_its_word(void **state)
{
	for (unsigned int i = 0; i < COURIER_RESULTS; i++)
		for (unsigned int k = 0; k < i; k++)
			assert_string_not_equal(courier__word(i), courier__word(k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_is_sent_once),
		cmocka_unit_test(a_longer_interval_leaves_out_steps),
		cmocka_unit_test(a_step_that_is_a_little_early_is_sent),
		cmocka_unit_test(hosts_send_at_different_times_but_say_when_the_step_was),
		cmocka_unit_test(a_busy_receiver_is_asked_once_more),
		cmocka_unit_test(the_pause_before_the_second_request_is_random),
		cmocka_unit_test(a_receiver_that_names_a_time_is_left_alone_until_then),
		cmocka_unit_test(a_long_time_is_bounded),
		cmocka_unit_test(the_second_request_has_the_newest_step),
		cmocka_unit_test(there_is_never_a_backlog),
		cmocka_unit_test(a_silent_receiver_holds_up_nothing),
		cmocka_unit_test(a_refusal_is_not_repeated_and_the_next_step_is_sent),
		cmocka_unit_test(a_request_that_cannot_be_made_is_counted),
		cmocka_unit_test(every_result_has_its_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
