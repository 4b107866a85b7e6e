/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <math.h>
#include <zlib.h>

#include "metrics.h"
#include "metrics/accept.h"
#include "metrics/bounds.h"

/* What Prometheus sends with native histograms, and what it sends without. */
#define NATIVE                                                                                     \
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"                 \
	"encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,"                     \
	"application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"        \
	"*/*;q=0.1"
#define CLASSIC                                                                                    \
	"application/openmetrics-text;version=1.0.0,"                                              \
	"application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"        \
	"*/*;q=0.1"

static void the_format_with_the_highest_weight_is_chosen(void **state)
{
	assert_int_equal(accept__format(NATIVE), PAGES_PROTOBUF);
	assert_int_equal(accept__format(CLASSIC), PAGES_OPEN_METRICS);
	assert_int_equal(accept__format(NULL), PAGES_TEXT);
	assert_int_equal(accept__format(""), PAGES_TEXT);
	assert_int_equal(accept__format("*/*"), PAGES_TEXT);
	assert_int_equal(accept__format("text/html, application/xml;q=0.9, */*;q=0.8"), PAGES_TEXT);
	assert_int_equal(accept__format("text/plain;q=0.3, Application/OpenMetrics-Text;q=0.31"),
			 PAGES_OPEN_METRICS);
	assert_int_equal(accept__format("application/openmetrics-text;version=2.0.0"), PAGES_TEXT);
	assert_int_equal(accept__format("application/openmetrics-text;q=0"), PAGES_TEXT);
	/* Only the delimited messages exist. */
	assert_int_equal(accept__format("application/vnd.google.protobuf"), PAGES_TEXT);
	assert_int_equal(accept__format("application/vnd.google.protobuf;encoding=text;"
					"proto=io.prometheus.client.MetricFamily"),
			 PAGES_TEXT);
}

static void odd_headers_choose_the_text(void **state)
{
	static const char *const odd[] = { ",",
					   ";",
					   ",,;;,",
					   "q=1",
					   ";q=",
					   "a;q=9,b;q=-1",
					   " \t ",
					   "application/openmetrics-text;q=0.000",
					   "application/openmetrics-text x",
					   "\xff\xfe,\x01" };

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		assert_int_equal(accept__format(odd[i]), PAGES_TEXT);
	assert_int_equal(accept__format("application/openmetrics-text;q=0.5x"), PAGES_OPEN_METRICS);
}

static void gzip_is_used_when_it_is_allowed(void **state)
{
	assert_true(accept__gzip("gzip"));
	assert_true(accept__gzip("deflate, GZIP;q=0.1"));
	assert_true(accept__gzip("*"));
	assert_true(accept__gzip("br;q=1.0, gzip;q=0.8, *;q=0.1"));
	assert_false(accept__gzip(NULL));
	assert_false(accept__gzip(""));
	assert_false(accept__gzip("identity"));
	assert_false(accept__gzip("gzip;q=0"));
	assert_false(accept__gzip("gzip;q=0.000, *"));
	assert_false(accept__gzip("gzipped"));
}

static void classic_bounds_are_bounds_of_our_buckets(void **state)
{
	struct bounds_histogram histogram = {};
	uint64_t below[BOUNDS_CLASSIC], all;

	assert_int_equal(bounds__classic_ns(0), 1024);
	assert_int_equal(bounds__classic_ns(BOUNDS_CLASSIC - 1), 17179869184);
	for (size_t i = 0; i < BOUNDS_CLASSIC; i++) {
		uint64_t bound = bounds__classic_ns(i);

		assert_int_equal(histogram_bucket_start(histogram_bucket(bound)), bound);
		histogram.counts[histogram_bucket(bound - 1)]++;
		histogram.counts[histogram_bucket(bound)]++;
	}
	histogram.counts[HISTOGRAM_BUCKETS - 1] += 100;
	bounds__count(&histogram, below, &all);
	for (size_t i = 0; i < BOUNDS_CLASSIC; i++)
		assert_int_equal(below[i], 2 * i + 1);
	assert_int_equal(all, 2 * BOUNDS_CLASSIC + 100);
}

static void native_buckets_misplace_values_by_little(void **state)
{
	double worst = 0;

	for (uint32_t i = 1; i < HISTOGRAM_BUCKETS - 1; i++) {
		int index = bounds__native_index(i);
		double lower = exp2((index - 1) / 8.0) * 1e9, upper = exp2(index / 8.0) * 1e9;
		double first = (double)histogram_bucket_start(i);
		double last = (double)histogram_bucket_start(i + 1) - 1;

		worst = fmax(worst, fmax(lower / first, last / upper) - 1);
		if (i > 1)
			assert_true(index > bounds__native_index(i - 1));
	}
	assert_true(worst < BOUNDS_NATIVE_ERROR);
	assert_true(worst > BOUNDS_NATIVE_ERROR - 0.001);
}

static void native_spans_have_all_counts(void **state)
{
	struct bounds_histogram histogram = {
		.counts = { [0] = 5, [1] = 1, [200] = 7, [201] = 8, [HISTOGRAM_BUCKETS - 1] = 9 }
	};
	struct bounds_native native;
	uint64_t sum;
	size_t buckets = 0;

	bounds__native(&histogram, &native);
	assert_int_equal(native.zero_count, 5);
	assert_int_equal(native.spans, 3);
	assert_int_equal(native.span[0].gap, bounds__native_index(1));
	assert_int_equal(native.span[0].length, 1);
	assert_int_equal(native.span[1].gap,
			 bounds__native_index(200) - bounds__native_index(1) - 1);
	assert_int_equal(native.count[1], 7);
	assert_int_equal(native.count[native.buckets - 2], 8);
	assert_int_equal(native.count[native.buckets - 1], 9);

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		histogram.counts[i] = 1;
	bounds__native(&histogram, &native);
	sum = native.zero_count;
	for (size_t i = 0; i < native.buckets; i++)
		sum += native.count[i];
	for (size_t i = 0; i < native.spans; i++)
		buckets += native.span[i].length;
	assert_int_equal(sum, HISTOGRAM_BUCKETS);
	assert_int_equal(buckets, native.buckets);
	assert_true(native.buckets <= BOUNDS_NATIVE_MOST);
}

static struct totals *make_totals(void)
{
	uint32_t buckets[HISTOGRAM_BUCKETS] = {};
	struct bucket_row row = row_of(3, SLOT_RUN_USER, KIND_RUN, 1500000000);
	struct totals *totals = NULL;

	assert_int_equal(
		totals__new(&(struct totals_options) { .detail = TOTALS_SERVICE }, &totals), 0);
	assert_int_equal(totals__add_step(totals, &row, 1, 1000000000, numbered_workload, NULL), 0);
	buckets[histogram_bucket(1000000)] = 4;
	totals__take_waits(totals, SLOT_WAIT_NET, buckets);
	return totals;
}

static void the_text_has_heads_and_lines(void **state)
{
	struct totals *totals = make_totals();
	char *text = page_of(totals, &quiet_agent, PAGES_TEXT);

	assert_non_null(strstr(text, "# TYPE gapless_thread_seconds_total counter\n"
				     "gapless_thread_seconds_total{namespace=\"shop\","
				     "service=\"service-003\",state=\"run\",cause=\"user\","
				     "kind=\"run\"} 1.500000000\n"));
	assert_non_null(strstr(text, "# TYPE gapless_wait_seconds histogram\n"
				     "gapless_wait_seconds_bucket{state=\"wait\",cause=\"net\","
				     "kind=\"delaying\",le=\"1.024e-06\"} 0\n"));
	assert_non_null(strstr(text, "le=\"0.000262144\"} 0\n"));
	assert_non_null(strstr(text, "le=\"0.001048576\"} 4\n"));
	assert_non_null(strstr(text, "le=\"17.179869184\"} 4\n"));
	assert_non_null(strstr(text, "le=\"+Inf\"} 4\n"));
	assert_null(strstr(text, "# EOF"));
	assert_null(strstr(text, "# UNIT"));
	free(text);
	totals__free(totals);
}

static void open_metrics_names_families_without_total_and_ends(void **state)
{
	static const char end[] = "\n# EOF\n";
	struct totals *totals = make_totals();
	char *text = page_of(totals, &quiet_agent, PAGES_OPEN_METRICS);

	assert_non_null(strstr(text, "# TYPE gapless_thread_seconds counter\n"
				     "# UNIT gapless_thread_seconds seconds\n"
				     "gapless_thread_seconds_total{"));
	assert_non_null(strstr(text, "# TYPE gapless_threads gauge\ngapless_threads{"));
	assert_string_equal(text + strlen(text) - strlen(end), end);
	free(text);
	totals__free(totals);
}

static uint64_t varint(const unsigned char **at)
{
	uint64_t value = 0;

	for (int shift = 0;; shift += 7) {
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

/* The field of a message, NULL if it has none; *ret_size is a number or a size. */
static const unsigned char *field(const unsigned char *at, size_t size, unsigned int wanted,
				  uint64_t *ret_size)
{
	const unsigned char *end = at + size;

	while (at < end) {
		uint64_t tag = varint(&at), value = 8;
		const unsigned char *start = at;

		if (tag % 8 != 1)
			value = varint(&at);
		start = tag % 8 == 1 ? start : at;
		if (tag / 8 == wanted) {
			*ret_size = value;
			return start;
		}
		at += tag % 8 ? value : 0;
	}
	return NULL;
}

static const unsigned char *find_family(const unsigned char *at, size_t size, const char *name,
					uint64_t *ret_size)
{
	const unsigned char *end = at + size;

	while (at < end) {
		uint64_t length = varint(&at), name_length = 0;
		const unsigned char *found = field(at, length, 1, &name_length);

		if (found && name_length == strlen(name) && !memcmp(found, name, name_length)) {
			*ret_size = length;
			return at;
		}
		at += length;
	}
	return NULL;
}

static void protobuf_has_counters_and_both_kinds_of_buckets(void **state)
{
	struct totals *totals = make_totals();
	struct exposition *exposition = NULL;
	const unsigned char *family, *metric, *histogram, *value;
	struct pages *pages = NULL;
	uint64_t size, number;
	const void *bytes;
	size_t all;
	double seconds;

	assert_int_equal(totals__expose(totals, &quiet_agent, &exposition), 0);
	assert_int_equal(pages__new(exposition, &pages), 0);
	assert_int_equal(pages__get(pages, PAGES_PAGE(PAGES_PROTOBUF, false), &bytes, &all), 0);

	family = find_family(bytes, all, "gapless_thread_seconds_total", &size);
	assert_non_null(family);
	metric = field(family, size, 4, &size);
	value = field(field(metric, size, 3, &size), size, 1, &number);
	memcpy(&seconds, value, sizeof(seconds));
	assert_true(seconds == 1.5);

	family = find_family(bytes, all, "gapless_wait_seconds", &size);
	assert_non_null(family);
	field(family, size, 3, &number);
	assert_int_equal(number, 4); /* HISTOGRAM */
	metric = field(family, size, 4, &size);
	histogram = field(metric, size, 7, &size);
	assert_non_null(field(histogram, size, 1, &number));
	assert_int_equal(number, 4);
	assert_non_null(field(histogram, size, 3, &number)); /* a classic bucket */
	assert_non_null(field(histogram, size, 5, &number));
	assert_int_equal(number, 6); /* schema 3 */
	value = field(histogram, size, 12, &number);
	field(value, number, 1, &number);
	/* 2^(-80/8) s = 0.98 ms < 1 ms <= 2^(-79/8) s = 1.06 ms, as zigzag */
	assert_int_equal(number, 2 * 79 - 1);
	value = field(histogram, size, 13, &number);
	assert_int_equal(varint(&value), 8);
	pages__unref(pages);
	totals__free(totals);
}

static void compressed_pages_are_the_same_and_made_once(void **state)
{
	struct totals *totals = make_totals();
	struct exposition *exposition = NULL;
	struct pages *pages = NULL;
	const void *plain, *packed, *again;
	size_t plain_size, packed_size;
	char *unpacked;
	z_stream stream = {};

	assert_int_equal(totals__expose(totals, &quiet_agent, &exposition), 0);
	totals__free(totals);
	assert_int_equal(pages__new(exposition, &pages), 0);
	assert_int_equal(pages__prepare(pages, 1u << PAGES_PAGE(PAGES_TEXT, true)), 0);
	assert_int_equal(pages__get(pages, PAGES_PAGE(PAGES_TEXT, true), &packed, &packed_size), 0);
	assert_int_equal(pages__get(pages, PAGES_PAGE(PAGES_TEXT, true), &again, &packed_size), 0);
	assert_ptr_equal(packed, again);
	assert_int_equal(pages__get(pages, PAGES_PAGE(PAGES_TEXT, false), &plain, &plain_size), 0);
	assert_true(packed_size < plain_size / 2);

	unpacked = malloc(plain_size + 1);
	stream.next_in = (unsigned char *)packed;
	stream.avail_in = (unsigned int)packed_size;
	stream.next_out = (unsigned char *)unpacked;
	stream.avail_out = (unsigned int)plain_size + 1;
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	assert_int_equal(stream.total_out, plain_size);
	assert_memory_equal(unpacked, plain, plain_size);
	free(unpacked);
	pages__unref(pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_with_the_highest_weight_is_chosen),
		cmocka_unit_test(odd_headers_choose_the_text),
		cmocka_unit_test(gzip_is_used_when_it_is_allowed),
		cmocka_unit_test(classic_bounds_are_bounds_of_our_buckets),
		cmocka_unit_test(native_buckets_misplace_values_by_little),
		cmocka_unit_test(native_spans_have_all_counts),
		cmocka_unit_test(the_text_has_heads_and_lines),
		cmocka_unit_test(open_metrics_names_families_without_total_and_ends),
		cmocka_unit_test(protobuf_has_counters_and_both_kinds_of_buckets),
		cmocka_unit_test(compressed_pages_are_the_same_and_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
