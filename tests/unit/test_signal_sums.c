/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What signals counted, added up over steps, and as rows of the outlets. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/outlet_signals.h"
#include "agent/signal_sums.h"
#include "metrics/pages.h"

#define READ  0
#define WRITE 1

static const char *operation_of(uint32_t operation)
{
	return operation == READ ? "read" : "write";
}

static void place_of(uint32_t place, char *ret, size_t size)
{
	snprintf(ret, size, "disk%u", place);
}

static const struct measure measures[] = {
	{ "total", "ns" }, { "queue", "ns" }, { "size", "bytes" }, { "sequential", "requests" }, {},
};

static const struct signal signal = { .name = "block",
				      .events = "requests",
				      .measures = measures,
				      .operation = operation_of,
				      .place = place_of };

static struct signal_sums *make(void)
{
	struct signal_sums *sums;

	assert_int_equal(signal_sums__new(&sums), 0);
	return sums;
}

static void add(struct signal_sums *sums, struct series_key key, struct series_sum sum)
{
	assert_int_equal(signal_sums__add(sums, &signal, &key, &sum), 0);
}

static void add_time(struct signal_sums *sums, uint32_t operation, uint64_t ns)
{
	const struct series_place place = { 8, operation };

	assert_int_equal(signal_sums__add_bucket(sums, &signal, &place, 0, histogram_bucket(ns), 1),
			 0);
}

/* Two reads of two threads, one of which failed, and a write of which there is no histogram. */
static void fill(struct signal_sums *sums)
{
	add(sums, (struct series_key) { .thread = 1, .place = 8, .operation = READ },
	    (struct series_sum) { 1, { 5000, 1000, 4096, 1 }, { 5000, 1000, 4096, 1 } });
	add(sums, (struct series_key) { .thread = 2, .place = 8, .operation = READ, .error = EIO },
	    (struct series_sum) { 1, { 9000, 2000, 4096, 0 }, { 9000, 2000, 4096, 0 } });
	add_time(sums, READ, 5000);
	add_time(sums, READ, 9000);
	add(sums, (struct series_key) { .place = 8, .operation = WRITE },
	    (struct series_sum) { 3, { 100, 0, 512, 0 }, { 50, 0, 512, 0 } });
}

static void threads_and_errors_are_added_up_by_place_and_operation(void **state)
{
	struct signal_sums *sums = make();
	const struct signal_sums_row *rows;
	size_t count;

	fill(sums);
	rows = signal_sums__rows(sums, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].count, 2);
	assert_int_equal(rows[0].errors, 1);
	assert_int_equal(rows[0].values[0].sum, 14000);
	assert_int_equal(rows[0].values[0].max, 9000);
	assert_int_equal(rows[0].values[0].in_buckets, 2);
	assert_int_equal(rows[0].values[2].sum, 8192);
	assert_int_equal(rows[1].count, 3);
	assert_null(rows[1].values[0].buckets);
	signal_sums__clear(sums);
	(void)signal_sums__rows(sums, &count);
	assert_int_equal(count, 0);
	signal_sums__free(sums);
}

static void a_minute_is_the_sum_of_its_steps(void **state)
{
	struct signal_sums *minute = make(), *step = make();
	const struct signal_sums_row *rows;
	size_t count;

	for (int i = 0; i < 6; i++) {
		signal_sums__clear(step);
		fill(step);
		assert_int_equal(signal_sums__merge(minute, step), 0);
	}
	rows = signal_sums__rows(minute, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].count, 12);
	assert_int_equal(rows[0].errors, 6);
	assert_int_equal(rows[0].values[0].sum, 6 * 14000);
	assert_int_equal(rows[0].values[0].max, 9000);
	assert_int_equal(rows[0].values[0].buckets[histogram_bucket(5000)], 6);
	assert_int_equal(rows[1].values[2].sum, 6 * 512);
	signal_sums__free(step);
	signal_sums__free(minute);
}

static void the_sum_of_a_histogram_is_exact_only_if_all_events_are_in_it(void **state)
{
	struct signal_sums *sums = make();
	const struct signal_sums_row *rows;
	size_t count;

	fill(sums);
	rows = signal_sums__rows(sums, &count);
	assert_int_equal(signal_sums__of_histogram(&rows[0], 0), 14000);
	add(sums, (struct series_key) { .place = 8, .operation = READ },
	    (struct series_sum) { .count = 1, .sum = { 1000000 } });
	rows = signal_sums__rows(sums, &count);
	assert_int_equal(signal_sums__of_histogram(&rows[0], 0),
			 histogram_bucket_middle(histogram_bucket(5000)) +
				 histogram_bucket_middle(histogram_bucket(9000)));
	signal_sums__free(sums);
}

static void a_bucket_or_value_that_does_not_exist_is_refused(void **state)
{
	const struct series_place place = { 8, READ };
	struct signal_sums *sums = make();
	size_t count;

	assert_int_equal(signal_sums__add_bucket(sums, &signal, &place, 0, HISTOGRAM_BUCKETS, 1),
			 -EINVAL);
	assert_int_equal(signal_sums__add_bucket(sums, &signal, &place, SERIES_VALUES, 0, 1),
			 -EINVAL);
	(void)signal_sums__rows(sums, &count);
	assert_int_equal(count, 0);
	signal_sums__free(sums);
}

static void events_without_room_have_neither_operation_nor_place(void **state)
{
	struct signal_sums *sums = make();
	char place[SIGNAL_SUMS_PLACE_BYTES];
	const struct signal_sums_row *rows;
	size_t count;

	add(sums, (struct series_key) { .operation = SERIES_OTHER },
	    (struct series_sum) { .count = 4 });
	rows = signal_sums__rows(sums, &count);
	assert_null(signal_sums__operation(&rows[0]));
	signal_sums__place(&rows[0], place);
	assert_string_equal(place, "");
	signal_sums__free(sums);
}

static void the_page_has_a_histogram_of_the_first_value_and_totals_of_the_others(void **state)
{
	static const char *const lines[] = {
		"gapless_signal_block_requests_total{operation=\"read\",place=\"disk8\"} 4\n",
		"gapless_signal_block_errors_total{operation=\"read\",place=\"disk8\"} 2\n",
		"gapless_signal_block_queue_seconds_total{operation=\"read\",place=\"disk8\"} "
		"0.000006000\n",
		"gapless_signal_block_size_bytes_total{operation=\"write\",place=\"disk8\"} "
		"1024\n",
		"gapless_signal_block_sequential_total{operation=\"read\",place=\"disk8\"} 2\n",
		"gapless_signal_block_total_seconds_count{operation=\"read\",place=\"disk8\"} 4\n",
		"gapless_signal_block_total_seconds_sum{operation=\"read\",place=\"disk8\"} "
		"0.000028000\n",
	};
	const struct totals_agent agent = { .version = "", .kernel = "", .level = "" };
	struct signal_sums *step = make();
	struct exposition *exposition;
	struct pages *pages;
	struct totals *totals;
	const void *text;
	size_t size;

	fill(step);
	assert_int_equal(totals__new(&(struct totals_options) {}, &totals), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(outlet_signals__count(totals, step), 0);
	assert_int_equal(totals__expose(totals, &agent, &exposition), 0);
	assert_int_equal(pages__new(exposition, &pages), 0);
	assert_int_equal(pages__get(pages, PAGES_PAGE(PAGES_TEXT, false), &text, &size), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (!memmem(text, size, lines[i], strlen(lines[i])))
			fail_msg("no %s in %.*s", lines[i], (int)size, (const char *)text);
	assert_null(memmem(text, size, "total_seconds_count{operation=\"write\"", 38));
	pages__unref(pages);
	totals__free(totals);
	signal_sums__free(step);
}

static void the_store_gets_every_value_with_its_buckets(void **state)
{
	struct signal_sums *minute = make();
	struct outlet_signals_facts facts;
	const struct fact_histogram *total = NULL;

	fill(minute);
	assert_int_equal(outlet_signals__facts(minute, &facts), 0);
	/* Of reads: requests, errors and four values; of writes: requests, total and size. */
	assert_int_equal(facts.count, 9);
	for (size_t i = 0; i < facts.count; i++)
		if (!strcmp(facts.rows[i].measure, "total") &&
		    !strcmp(facts.rows[i].operation, "read"))
			total = &facts.rows[i];
	assert_non_null(total);
	assert_string_equal(total->place, "disk8");
	assert_int_equal(total->sum, 14000);
	assert_int_equal(total->max, 9000);
	assert_int_equal(total->bucket_count, 2);
	assert_int_equal(total->buckets[0], histogram_bucket(5000));
	assert_int_equal(total->counts[0], 1);
	assert_int_equal(total->buckets[1], histogram_bucket(9000));
	outlet_signals__release(&facts);
	signal_sums__free(minute);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_errors_are_added_up_by_place_and_operation),
		cmocka_unit_test(a_minute_is_the_sum_of_its_steps),
		cmocka_unit_test(the_sum_of_a_histogram_is_exact_only_if_all_events_are_in_it),
		cmocka_unit_test(a_bucket_or_value_that_does_not_exist_is_refused),
		cmocka_unit_test(events_without_room_have_neither_operation_nor_place),
		cmocka_unit_test(
			the_page_has_a_histogram_of_the_first_value_and_totals_of_the_others),
		cmocka_unit_test(the_store_gets_every_value_with_its_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
