/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <math.h>

#include "metrics.h"
#include "otlp.h"
#include "otlp/encoding.h"
#include "otlp/reply.h"

#define START_NS UINT64_C(1700000000123456789)
#define TIME_NS  UINT64_C(1700000010987654321)

static const struct encoding_attribute resource[] = {
	{ "service.name", "gapless" },
	{ "host.name", "h1" },
	{ "k8s.node.name", "" },
};

static const struct encoding_context context = { resource, 3, "0.2.0", START_NS, TIME_NS };

/* An exposition with one family. */
static struct exposition *family_of(enum exposition_type type, const char *name, const char *unit)
{
	struct exposition *exposition = NULL;

	assert_int_equal(exposition__new(&exposition), 0);
	exposition__family(exposition, &(struct exposition_family) {
					       .name = name,
					       .help = "What it is.",
					       .unit = unit,
					       .type = type,
					       .labels = { "namespace", "service" },
				       });
	return exposition;
}

/* Takes over the exposition; release *ret. */
static struct wire encode(struct exposition *exposition, struct proto *ret)
{
	assert_int_equal(exposition__failed(exposition), 0);
	encoding__metrics(exposition, &context, ret);
	assert_false(proto__failed(ret));
	exposition__free(exposition);
	return (struct wire) { ret->bytes, ret->bytes + ret->size };
}

static void counters_are_cumulative_sums_exact_to_the_nanosecond(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 999999999, 9007199254740991, 1234567890123456 };
	struct exposition *exposition =
		family_of(EXPOSITION_COUNTER, "gapless_thread_seconds", "seconds");
	struct proto proto = {};
	struct wire request, metric, sum;

	for (size_t i = 0; i < 5; i++)
		exposition__sample(exposition, (const char *[]) { "shop", "cart" }, numbers[i], 9);
	request = encode(exposition, &proto);
	metric = otlp_metric(request, "gapless.thread.seconds");
	assert_true(wire_is(wire_child(metric, 2, 0), "What it is."));
	assert_true(wire_is(wire_child(metric, 3, 0), "s"));
	sum = wire_child(metric, 7, 0);
	assert_int_equal(wire_number(sum, 2), 2);
	assert_int_equal(wire_number(sum, 3), 1);
	assert_int_equal(otlp_count(sum, 1), 5);
	for (unsigned int i = 0; i < 5; i++) {
		struct wire point = wire_child(sum, 1, i);

		assert_int_equal(wire_number(point, 2), START_NS);
		assert_int_equal(wire_number(point, 3), TIME_NS);
		assert_int_equal(llroundl((long double)wire_double(point, 4) * 1000000000),
				 numbers[i]);
		assert_true(otlp_has(point, 7, "namespace", "shop"));
		assert_true(otlp_has(point, 7, "service", "cart"));
	}
	proto__release(&proto);
}

static void gauges_have_neither_a_start_nor_a_temporality(void **state)
{
	struct exposition *exposition =
		family_of(EXPOSITION_GAUGE, "gapless_agent_memory_bytes", "bytes");
	struct proto proto = {};
	struct wire request, metric, point;

	exposition__sample(exposition, (const char *[]) { "", "cart" }, 123456789, 0);
	exposition__sample(exposition, (const char *[]) { "", "" }, UINT64_MAX, 0);
	request = encode(exposition, &proto);
	metric = otlp_metric(request, "gapless.agent.memory.bytes");
	assert_true(wire_is(wire_child(metric, 3, 0), "By"));
	assert_false(wire_has(wire_child(metric, 5, 0), 2));
	assert_false(wire_has(wire_child(metric, 5, 0), 3));
	point = wire_child(wire_child(metric, 5, 0), 1, 0);
	assert_false(wire_has(point, 2));
	assert_int_equal(wire_number(point, 3), TIME_NS);
	/* A whole number is one; what is too large for that is a double. */
	assert_int_equal(wire_number(point, 6), 123456789);
	assert_int_equal(otlp_count(point, 7), 1);
	point = wire_child(wire_child(metric, 5, 0), 1, 1);
	assert_false(wire_has(point, 6));
	assert_true(wire_double(point, 4) == 18446744073709551616.0);
	assert_int_equal(otlp_count(point, 7), 0);
	proto__release(&proto);
}

static void a_family_without_a_unit_does_not_become_a_ratio(void **state)
{
	struct exposition *exposition = family_of(EXPOSITION_GAUGE, "gapless_threads", NULL);
	struct proto proto = {};
	struct wire metric;

	exposition__sample(exposition, (const char *[]) { "", "" }, 7, 0);
	metric = otlp_metric(encode(exposition, &proto), "gapless.threads");
	assert_true(wire_is(wire_child(metric, 3, 0), ""));
	proto__release(&proto);
}

static void a_series_that_began_later_says_since_when_it_counts(void **state)
{
	struct exposition *exposition = family_of(EXPOSITION_COUNTER, "gapless_transitions", NULL);
	struct proto proto = {};
	struct wire sum;

	exposition__sample(exposition, (const char *[]) { "", "old" }, 1, 0);
	exposition->age_ns = 7000000001;
	exposition__sample(exposition, (const char *[]) { "", "new" }, 1, 0);
	sum = wire_child(otlp_metric(encode(exposition, &proto), "gapless.transitions"), 7, 0);
	assert_int_equal(wire_number(wire_child(sum, 1, 0), 2), START_NS);
	assert_int_equal(wire_number(wire_child(sum, 1, 1), 2), START_NS + 7000000001);
	proto__release(&proto);
}

static void the_resource_names_the_host_and_leaves_out_what_is_empty(void **state)
{
	struct proto proto = {};
	struct wire request = encode(family_of(EXPOSITION_GAUGE, "gapless_x", NULL), &proto);
	struct wire scope = wire_child(otlp_scope(request), 1, 0);

	assert_int_equal(otlp_count(otlp_resource(request), 1), 2);
	assert_true(otlp_has(otlp_resource(request), 1, "service.name", "gapless"));
	assert_true(otlp_has(otlp_resource(request), 1, "host.name", "h1"));
	assert_true(wire_is(wire_child(scope, 1, 0), "gapless"));
	assert_true(wire_is(wire_child(scope, 2, 0), "0.2.0"));
	/* A family without samples is not sent. */
	assert_int_equal(otlp_count(otlp_scope(request), 2), 0);
	proto__release(&proto);
}

static void numbers_are_those_of_their_text(void **state)
{
	uint64_t number = 1;
	char text[32];

	/* 12960320 is one that a division of long doubles rounds twice. */
	assert_true(exposition__double(12960320, 9) == 0.01296032);
	for (int i = 0; i < 100000; i++) {
		number = number * UINT64_C(6364136223846793005) + 1442695040888963407;
		snprintf(text, sizeof(text), "%u.%09u", (unsigned int)(number >> 44),
			 (unsigned int)(number % 1000000000));
		assert_true(exposition__double((number >> 44) * 1000000000 + number % 1000000000,
					       9) == strtod(text, NULL));
	}
}

/* The point of a histogram with these counts. */
static struct wire point_of(const struct bounds_histogram *histogram, struct proto *proto)
{
	struct exposition *exposition =
		family_of(EXPOSITION_HISTOGRAM, "gapless_wait_seconds", "seconds");
	struct wire metric, data;

	exposition__histogram(exposition, (const char *[]) { "", "cart" }, histogram);
	metric = otlp_metric(encode(exposition, proto), "gapless.wait.seconds");
	data = wire_child(metric, 10, 0);
	assert_int_equal(wire_number(data, 2), 2);
	assert_false(wire_has(data, 3));
	return wire_child(data, 1, 0);
}

static void every_bucket_contains_the_values_that_it_counts(void **state)
{
	for (uint32_t i = 1; i < HISTOGRAM_BUCKETS; i++) {
		struct bounds_histogram histogram = { .sum_ns = i };
		double first = (double)histogram_bucket_start(i) / 1e9, last = first;
		struct proto proto = {};
		struct wire point, buckets, counts;
		double lower;

		if (i + 1 < HISTOGRAM_BUCKETS)
			last = ((double)histogram_bucket_start(i + 1) - 1) / 1e9;
		histogram.counts[i] = 300;
		point = point_of(&histogram, &proto);
		assert_int_equal(wire_number(point, 4), 300);
		assert_int_equal(wire_signed(point, 6), 3);
		assert_int_equal(wire_number(point, 7), 0);
		buckets = wire_child(point, 8, 0);
		counts = wire_child(buckets, 2, 0);
		assert_int_equal(wire_varint(&counts), 300);
		assert_true(counts.at == counts.end);
		/* Bucket n is (2^(n/8), 2^((n+1)/8)]. */
		lower = exp2((double)wire_signed(buckets, 1) / 8);
		assert_true(last > lower * (1 - BOUNDS_NATIVE_ERROR));
		assert_true(first <= lower * exp2(1.0 / 8) * (1 + BOUNDS_NATIVE_ERROR));
		/* The middle of our bucket is in it. */
		assert_true(sqrt(first * last) > lower * (1 - 1e-9));
		assert_true(sqrt(first * last) <= lower * exp2(1.0 / 8) * (1 + 1e-9));
		proto__release(&proto);
	}
}

static void histograms_keep_every_count_and_their_sum(void **state)
{
	struct bounds_histogram histogram = { .sum_ns = 123456789012345 };
	struct proto proto = {};
	uint64_t sum = 0, all = 0;
	struct wire point, counts;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i += 7) {
		histogram.counts[i] = UINT64_C(1) << (i % 40);
		all += histogram.counts[i];
	}
	point = point_of(&histogram, &proto);
	assert_true(otlp_has(point, 1, "service", "cart"));
	assert_int_equal(wire_number(point, 2), START_NS);
	assert_int_equal(wire_number(point, 3), TIME_NS);
	assert_int_equal(wire_number(point, 4), all);
	assert_int_equal(llround(wire_double(point, 5) * 1e9), histogram.sum_ns);
	assert_int_equal(wire_number(point, 7), histogram.counts[0]);
	assert_true(wire_double(point, 14) == BOUNDS_ZERO_SECONDS);
	counts = wire_child(wire_child(point, 8, 0), 2, 0);
	while (counts.at < counts.end)
		sum += wire_varint(&counts);
	assert_int_equal(sum + histogram.counts[0], all);
	proto__release(&proto);
}

static void an_empty_histogram_has_no_buckets(void **state)
{
	struct bounds_histogram histogram = {};
	struct proto proto = {};
	struct wire point = point_of(&histogram, &proto);

	assert_false(wire_has(point, 8));
	assert_int_equal(wire_number(point, 4), 0);
	proto__release(&proto);
}

static const struct workload *any_workload(void *unused, uint64_t id)
{
	return numbered_workload(unused, id);
}

static void all_families_of_the_page_are_sent(void **state)
{
	const struct totals_options options = { .detail = TOTALS_SERVICE };
	struct bucket_row rows[] = { row_of(1, SLOT_FIRST, KIND_RUN, 1000000007),
				     row_of(2, SLOT_RUN_END, KIND_READY, 5) };
	struct exposition *exposition = NULL;
	struct totals *totals = NULL;
	struct proto proto = {};
	struct wire request, sum;
	size_t families = 0;

	assert_int_equal(totals__new(&options, &totals), 0);
	assert_int_equal(totals__add_step(totals, rows, 1, 10, any_workload, NULL), 0);
	assert_int_equal(totals__add_step(totals, rows, 2, 10, any_workload, NULL), 0);
	assert_int_equal(totals__expose(totals, &quiet_agent, &exposition), 0);
	for (size_t i = 0; i < exposition->sample_count; i++)
		families +=
			!i || exposition->samples[i - 1].family != exposition->samples[i].family;
	request = encode(exposition, &proto);
	assert_int_equal(otlp_count(otlp_scope(request), 2), families);
	sum = wire_child(otlp_metric(request, "gapless.thread.seconds"), 7, 0);
	assert_true(wire_double(wire_child(sum, 1, 0), 4) == 2.000000014);
	/* The second service came with the second step. */
	assert_int_equal(wire_number(wire_child(sum, 1, 0), 2), START_NS);
	assert_int_equal(wire_number(wire_child(sum, 1, 1), 2), START_NS + 10);
	assert_int_equal(
		wire_number(wire_child(wire_child(otlp_metric(request, "gapless.agent.lost"), 7, 0),
				       1, 0),
			    2),
		0);
	proto__release(&proto);
	totals__free(totals);
}

/* --- answers --- */

static struct reply reply_to(int status, const void *body, size_t size)
{
	static struct answer answer;
	struct reply reply;

	answer = (struct answer) { .status = status };
	assert_int_equal(answer__body(&answer, body, size), 0);
	reply__read(&answer, &reply);
	return reply;
}

static void a_success_may_leave_out_points(void **state)
{
	static const char some[] = "\x0a\x07\x08\x05\x12\x03"
				   "old";
	static const char warning[] = "\x0a\x05\x12\x03"
				      "old";
	struct reply reply = reply_to(200, some, sizeof(some) - 1);

	assert_int_equal(reply.means, REPLY_PARTIAL);
	assert_int_equal(reply.rejected, 5);
	assert_string_equal(reply.message, "old");
	/* -1 must not make the sum smaller. */
	assert_int_equal(
		reply_to(200, "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13).rejected,
		0);
	assert_int_equal(
		reply_to(200, "\x0a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 12).rejected,
		UINT32_MAX);
	assert_int_equal(reply_to(200, warning, sizeof(warning) - 1).means, REPLY_OK);
	assert_int_equal(reply_to(200, "", 0).means, REPLY_OK);
	assert_int_equal(reply_to(204, "", 0).means, REPLY_OK);
}

static void a_page_of_a_proxy_is_no_success(void **state)
{
	static const char page[] = "<html>Please log in\n</html>";
	/* Longer than the message, number 0, a varint without end, groups. */
	static const char *const garbage[] = {
		"\x0a\x7f", "\x01\x01", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"\x0b\x0c", "\x0a",     "\x0a\x02\x08",
		"\x0d\x01"
	};

	assert_int_equal(reply_to(200, page, strlen(page)).means, REPLY_STRANGE);
	assert_string_equal(reply_to(200, page, strlen(page)).message,
			    "<html>Please log in?</html>");
	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++)
		assert_int_equal(reply_to(200, garbage[i], strlen(garbage[i])).means,
				 REPLY_STRANGE);
}

static void failures_mean_what_the_status_says(void **state)
{
	static const struct {
		int status;
		enum reply_means means;
	} cases[] = {
		{ 400, REPLY_REFUSED }, { 401, REPLY_DENIED },  { 403, REPLY_DENIED },
		{ 404, REPLY_STRANGE }, { 413, REPLY_REFUSED }, { 429, REPLY_BUSY },
		{ 500, REPLY_REFUSED }, { 502, REPLY_BUSY },    { 503, REPLY_BUSY },
		{ 504, REPLY_BUSY },    { 301, REPLY_STRANGE }, { 999, REPLY_STRANGE },
		{ 0, REPLY_STRANGE },
	};
	/* google.rpc.Status: code 3, message "bad". */
	static const char status[] = "\x08\x03\x12\x03"
				     "bad";

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(reply_to(cases[i].status, "no\n", 3).means, cases[i].means);
	assert_string_equal(reply_to(429, "slow down\r\n", 11).message, "slow down");
	assert_string_equal(reply_to(400, status, sizeof(status) - 1).message, "bad");
	assert_int_equal(reply_to(400, status, sizeof(status) - 1).rejected, 0);
}

static void messages_are_cut_and_cleaned(void **state)
{
	char body[1000];
	struct reply reply;

	memset(body, 'x', sizeof(body));
	body[3] = '\x1b';
	body[4] = '\0';
	body[5] = '\xff';
	reply = reply_to(500, body, sizeof(body));
	assert_int_equal(strlen(reply.message), REPLY_MESSAGE_BYTES - 1);
	assert_memory_equal(reply.message, "xxx???x", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_cumulative_sums_exact_to_the_nanosecond),
		cmocka_unit_test(gauges_have_neither_a_start_nor_a_temporality),
		cmocka_unit_test(a_family_without_a_unit_does_not_become_a_ratio),
		cmocka_unit_test(a_series_that_began_later_says_since_when_it_counts),
		cmocka_unit_test(the_resource_names_the_host_and_leaves_out_what_is_empty),
		cmocka_unit_test(numbers_are_those_of_their_text),
		cmocka_unit_test(every_bucket_contains_the_values_that_it_counts),
		cmocka_unit_test(histograms_keep_every_count_and_their_sum),
		cmocka_unit_test(an_empty_histogram_has_no_buckets),
		cmocka_unit_test(all_families_of_the_page_are_sent),
		cmocka_unit_test(a_success_may_leave_out_points),
		cmocka_unit_test(a_page_of_a_proxy_is_no_success),
		cmocka_unit_test(failures_mean_what_the_status_says),
		cmocka_unit_test(messages_are_cut_and_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
