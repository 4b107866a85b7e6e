/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <inttypes.h>

#include "metrics.h"

#define STEP_NS UINT64_C(10000000000)
#define SECONDS "gapless_thread_seconds_total"

static struct totals *make(struct totals_options options)
{
	struct totals *totals = NULL;

	assert_int_equal(totals__new(&options, &totals), 0);
	return totals;
}

static void add(struct totals *totals, const struct bucket_row *rows, size_t count)
{
	assert_int_equal(totals__add_step(totals, rows, count, STEP_NS, numbered_workload, NULL),
			 0);
}

static char *text_of(const struct totals *totals)
{
	return page_of(totals, &quiet_agent, PAGES_TEXT);
}

static void assert_has(const struct totals *totals, const char *line)
{
	char *text = text_of(totals), wanted[512];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (!strstr(text, wanted))
		fail_msg("no line '%s' in:\n%s", line, text);
	free(text);
}

static void assert_lacks(const struct totals *totals, const char *part)
{
	char *text = text_of(totals);

	if (strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text);
	free(text);
}

/* The lines that begin with `prefix`. */
static size_t count_lines(const char *text, const char *prefix)
{
	size_t lines = 0;

	for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
		lines += *at != '#' && !strncmp(at, prefix, strlen(prefix));
	return lines;
}

/* The sum of a family in its last digit: decimals are read as integers. */
static uint64_t sum_of(const struct totals *totals, const char *family)
{
	char *text = text_of(totals);
	uint64_t sum = 0;

	for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL) {
		size_t length = strlen(family);
		const char *end, *value;
		uint64_t whole, part;

		if (strncmp(at, family, length) || (at[length] != '{' && at[length] != ' '))
			continue;
		end = strchr(at, '\n');
		for (value = end; value[-1] != ' '; value--)
			;
		assert_int_equal(sscanf(value, "%" SCNu64 ".%9" SCNu64, &whole, &part), 2);
		sum += whole * 1000000000 + part;
	}
	free(text);
	return sum;
}

static void sums_are_exact_to_the_nanosecond(void **state)
{
	struct totals *totals = make((struct totals_options) { .detail = TOTALS_SERVICE });
	struct bucket_row rows[] = {
		row_of(1, SLOT_RUN_USER, KIND_RUN, 1),
		row_of(1, SLOT_WAIT_DISK, KIND_DELAYING, 9007199254740993), /* 2^53 + 1 */
		row_of(2, SLOT_READY_WOKEN, KIND_READY, 999999999),
	};

	for (int i = 0; i < 3; i++)
		add(totals, rows, 3);
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-001\",state=\"run\","
				   "cause=\"user\",kind=\"run\"} 0.000000003");
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-001\",state=\"wait\","
				   "cause=\"disk\",kind=\"delaying\"} 27021597.764222979");
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-002\",state=\"ready\","
				   "cause=\"woken\",kind=\"ready\"} 2.999999997");
	assert_int_equal(sum_of(totals, SECONDS), 3 * (1 + 9007199254740993 + 999999999));
	totals__free(totals);
}

static void a_kind_that_was_judged_shares_the_series_of_its_words(void **state)
{
	struct totals *totals = make((struct totals_options) { .detail = TOTALS_SERVICE });
	struct bucket_row rows[] = {
		row_of(1, SLOT_WAIT_LOCK_OWNED, KIND_DELAYING, 5),
		row_of(1, SLOT_WAIT_LOCK, KIND_DELAYING, 7),
		row_of(1, SLOT_WAIT_LOCK, KIND_UNDECIDED, 11),
		row_of(1, SLOT_WAIT_LOCK, KIND_IDLE, 13),
	};

	add(totals, rows, 4);
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-001\",state=\"wait\","
				   "cause=\"lock\",kind=\"delaying\"} 0.000000012");
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-001\",state=\"wait\","
				   "cause=\"lock\",kind=\"undecided\"} 0.000000011");
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-001\",state=\"wait\","
				   "cause=\"lock\",kind=\"idle\"} 0.000000013");
	totals__free(totals);
}

static void a_service_has_transitions_threads_and_unexplained_time(void **state)
{
	struct totals *totals = make((struct totals_options) { .detail = TOTALS_SERVICE });
	struct bucket_row rows[] = {
		row_of(1, SLOT_RUN_USER, KIND_RUN, STEP_NS * 2),
		row_of(1, SLOT_WAIT_NET, KIND_DELAYING, STEP_NS / 2),
	};

	rows[0].count = 40;
	rows[1].count = 2;
	rows[1].unexplained_ns = 17;
	add(totals, rows, 2);
	add(totals, rows, 2);
	assert_has(totals, "gapless_transitions_total{namespace=\"shop\",service=\"service-001\","
			   "state=\"run\"} 80");
	assert_has(totals, "gapless_transitions_total{namespace=\"shop\",service=\"service-001\","
			   "state=\"ready\"} 0");
	assert_has(totals, "gapless_transitions_total{namespace=\"shop\",service=\"service-001\","
			   "state=\"wait\"} 4");
	assert_has(totals, "gapless_threads{namespace=\"shop\",service=\"service-001\"} 2.500");
	assert_has(totals, "gapless_unexplained_seconds_total{namespace=\"shop\","
			   "service=\"service-001\"} 0.000000034");
	add(totals, NULL, 0);
	assert_has(totals, "gapless_threads{namespace=\"shop\",service=\"service-001\"} 0.000");
	totals__free(totals);
}

static void node_detail_has_no_services(void **state)
{
	struct totals *totals = make((struct totals_options) { .detail = TOTALS_NODE });
	struct bucket_row rows[] = {
		row_of(1, SLOT_RUN_USER, KIND_RUN, 5),
		row_of(2, SLOT_RUN_USER, KIND_RUN, 6),
		row_of(0, SLOT_WAIT_POLL, KIND_IDLE, 7),
	};
	char *text;

	add(totals, rows, 3);
	assert_has(totals, SECONDS "{state=\"run\",cause=\"user\",kind=\"run\"} 0.000000011");
	assert_has(totals, "gapless_transitions_total{state=\"run\"} 2");
	assert_has(totals, "gapless_unexplained_seconds_total 0.000000000");
	assert_lacks(totals, "service=");
	text = text_of(totals);
	assert_in_range(count_lines(text, ""), 10, 60);
	free(text);
	totals__free(totals);
}

static void the_largest_new_services_get_the_places_and_the_rest_is_other(void **state)
{
	struct totals *totals = make((struct totals_options) {
		.detail = TOTALS_SERVICE, .most_services = 2, .keep_ns = 3 * STEP_NS });
	struct bucket_row rows[] = {
		row_of(1, SLOT_RUN_USER, KIND_RUN, 10),
		row_of(2, SLOT_RUN_USER, KIND_RUN, 30),
		row_of(3, SLOT_RUN_USER, KIND_RUN, 20),
		row_of(4, SLOT_RUN_USER, KIND_RUN, 5),
	};

	add(totals, rows, 4);
	assert_has(totals, SECONDS "{service=\"_other\",state=\"run\",cause=\"user\",kind=\"run\"} "
				   "0.000000015");
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-002\",state=\"run\","
				   "cause=\"user\",kind=\"run\"} 0.000000030");
	assert_lacks(totals, "service-001");
	assert_lacks(totals, "service-004");
	assert_has(totals, "gapless_agent_series_folded 2");
	/* Larger than the others now, but the places are kept. */
	rows[0].ns = rows[0].thread_ns = 1000;
	add(totals, rows, 4);
	assert_lacks(totals, "service-001");
	assert_has(totals, SECONDS "{service=\"_other\",state=\"run\",cause=\"user\",kind=\"run\"} "
				   "0.000001020");
	assert_int_equal(sum_of(totals, SECONDS), 65 + 1055);
	totals__free(totals);
}

static void a_place_is_free_again_when_its_service_is_long_gone(void **state)
{
	struct totals *totals = make((struct totals_options) {
		.detail = TOTALS_SERVICE, .most_services = 1, .keep_ns = 3 * STEP_NS });
	struct bucket_row first = row_of(1, SLOT_RUN_USER, KIND_RUN, 10);
	struct bucket_row second = row_of(2, SLOT_RUN_USER, KIND_RUN, 7);

	add(totals, &first, 1);
	for (int i = 0; i < 3; i++) {
		add(totals, &second, 1);
		assert_lacks(totals, "service-002");
	}
	add(totals, &second, 1);
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-002\",state=\"run\","
				   "cause=\"user\",kind=\"run\"} 0.000000007");
	assert_lacks(totals, "service-001");
	assert_has(totals, "gapless_agent_ended_thread_seconds_total 0.000000010");
	/* Nothing is lost. */
	assert_int_equal(sum_of(totals, SECONDS) +
				 sum_of(totals, "gapless_agent_ended_thread_seconds_total"),
			 10 + 4 * 7);
	totals__free(totals);
}

static void a_place_is_kept_for_a_time_and_not_for_a_number_of_steps(void **state)
{
	struct totals *totals = make((struct totals_options) {
		.detail = TOTALS_SERVICE, .most_services = 1, .keep_ns = 3 * STEP_NS });
	struct bucket_row first = row_of(1, SLOT_RUN_USER, KIND_RUN, 10);
	struct bucket_row second = row_of(2, SLOT_RUN_USER, KIND_RUN, 7);

	add(totals, &first, 1);
	/* Early steps, because many threads end. */
	for (int i = 0; i < 29; i++)
		assert_int_equal(
			totals__add_step(totals, &second, 1, STEP_NS / 10, numbered_workload, NULL),
			0);
	assert_lacks(totals, "service-002");
	add(totals, &second, 1);
	assert_lacks(totals, "service-002");
	add(totals, &second, 1);
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-002\",state=\"run\","
				   "cause=\"user\",kind=\"run\"} 0.000000007");
	totals__free(totals);
}

static void a_service_that_comes_back_in_the_last_moment_keeps_its_place(void **state)
{
	struct totals *totals = make((struct totals_options) {
		.detail = TOTALS_SERVICE, .most_services = 1, .keep_ns = 2 * STEP_NS });
	struct bucket_row rows[] = {
		row_of(1, SLOT_RUN_USER, KIND_RUN, 10),
		row_of(2, SLOT_RUN_USER, KIND_RUN, 7),
	};

	add(totals, rows, 1);
	add(totals, NULL, 0);
	add(totals, NULL, 0);
	add(totals, rows, 2);
	assert_has(totals, SECONDS "{namespace=\"shop\",service=\"service-001\",state=\"run\","
				   "cause=\"user\",kind=\"run\"} 0.000000020");
	assert_lacks(totals, "service-002");
	totals__free(totals);
}

static void no_counter_goes_backwards_while_services_come_and_go(void **state)
{
	struct totals *totals = make((struct totals_options) {
		.detail = TOTALS_SERVICE, .most_services = 5, .keep_ns = 2 * STEP_NS });
	uint64_t last_other = 0, all = 0;
	unsigned int random = 1;

	for (int step = 0; step < 300; step++) {
		struct bucket_row rows[8];
		char *text;
		const char *other;
		uint64_t whole = 0, part = 0;

		for (size_t i = 0; i < 8; i++) {
			random = random * 1103515245 + 12345;
			rows[i] = row_of(1 + random / 65536 % 40, SLOT_RUN_USER, KIND_RUN,
					 random % 1000);
			all += rows[i].ns;
		}
		add(totals, rows, 8);
		text = text_of(totals);
		other = strstr(text, SECONDS "{service=\"_other\"");
		if (other)
			assert_int_equal(
				sscanf(strchr(other, ' '), " %" SCNu64 ".%" SCNu64, &whole, &part),
				2);
		assert_true(part >= last_other);
		last_other = part;
		free(text);
		assert_int_equal(sum_of(totals, SECONDS) +
					 sum_of(totals, "gapless_agent_ended_thread_seconds_total"),
				 all);
	}
	totals__free(totals);
}

static void series_never_exceed_their_limit_and_services_still_close(void **state)
{
	struct totals_options options = { .detail = TOTALS_SERVICE,
					  .most_series = 1500,
					  .with_calls = true };
	struct totals *totals = make(options);
	uint64_t all = 0;

	for (unsigned int service = 1; service < 300; service++) {
		struct bucket_row rows[SLOT_COUNT];
		struct totals_call calls[30];
		size_t count = 0;
		char names[30][8];

		for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
			rows[count] = row_of(service, slot, states__words(slot)->kind,
					     service * 100 + slot);
			all += rows[count++].ns;
		}
		add(totals, rows, count);
		for (size_t i = 0; i < 30; i++) {
			snprintf(names[i], sizeof(names[i]), "call%02zu", i);
			calls[i] = (struct totals_call) { service, names[i], 1, 1, 100 - i };
		}
		totals__add_calls(totals, calls, 30, numbered_workload, NULL);
	}
	for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		uint32_t buckets[HISTOGRAM_BUCKETS] = { [100] = 3 };

		totals__take_waits(totals, slot, buckets);
	}
	assert_int_equal(sum_of(totals, SECONDS), all);
	char *text = text_of(totals);

	/* The reserve for what was lost and pushed is not used here. */
	assert_in_range(count_lines(text, ""), 1180, 1500);
	assert_int_equal(count_lines(text, "gapless_wait_seconds"),
			 (SLOT_COUNT - SLOT_FIRST) * BOUNDS_SERIES);
	assert_true(count_lines(text, "gapless_syscalls_total") > 60);
	assert_non_null(strstr(text, "state=\"_other\",cause=\"_other\",kind=\"_other\""));
	assert_null(strstr(text, "gapless_agent_series_folded 0\n"));
	free(text);
	totals__free(totals);
}

static const struct workload *foreign_workload(void *context, uint64_t id)
{
	return &((const struct workload *)context)[id];
}

static void foreign_names_are_cleaned_escaped_and_cut(void **state)
{
	struct totals *totals = make((struct totals_options) { .detail = TOTALS_SERVICE });
	char longest[400];
	struct workload workloads[] = {
		{ .service = "a\"b\\c\nd", .namespace_name = "" },
		{ .service = "bad\xff\x1b[31m", .namespace_name = "caf\xc3\xa9" },
		{ .service = longest, .namespace_name = "" },
		{ .service = "", .namespace_name = "x" },
	};
	struct bucket_row rows[4];
	char *text;

	/* The limit of 127 bytes is in the middle of a character of two bytes. */
	for (size_t i = 0; i < sizeof(longest) - 1; i += 2) {
		longest[i] = '\xc3';
		longest[i + 1] = '\xa9';
	}
	longest[sizeof(longest) - 2] = 0;
	for (size_t i = 0; i < 4; i++)
		rows[i] = row_of(i, SLOT_RUN_ANY, KIND_RUN, 1);
	assert_int_equal(totals__add_step(totals, rows, 4, STEP_NS, foreign_workload, workloads),
			 0);
	assert_has(totals, "gapless_threads{service=\"a\\\"b\\\\c\\nd\"} 0.000");
	assert_has(totals, "gapless_threads{namespace=\"caf\xc3\xa9\",service=\"bad??[31m\"} "
			   "0.000");
	assert_has(totals, "gapless_threads{namespace=\"x\",service=\"_unknown\"} 0.000");
	text = text_of(totals);
	longest[126] = 0;
	assert_non_null(strstr(text, longest));
	longest[126] = '\xc3';
	longest[128] = 0;
	assert_null(strstr(text, longest));
	free(text);
	totals__free(totals);
}

static void histograms_of_waits_add_what_the_ledger_added(void **state)
{
	struct totals *totals = make((struct totals_options) { .detail = TOTALS_NODE });
	uint32_t buckets[HISTOGRAM_BUCKETS] = { [4] = UINT32_MAX - 1 };

	totals__take_waits(totals, SLOT_WAIT_DISK, buckets);
	buckets[4] += 5; /* wraps around */
	totals__take_waits(totals, SLOT_WAIT_DISK, buckets);
	assert_has(totals, "gapless_wait_seconds_count{state=\"wait\",cause=\"disk\","
			   "kind=\"delaying\"} 4294967299");
	assert_has(totals, "gapless_wait_seconds_sum{state=\"wait\",cause=\"disk\","
			   "kind=\"delaying\"} 17.179869196");
	buckets[4] = 7;
	totals__skip_waits(totals, SLOT_WAIT_DISK, buckets);
	buckets[4] = 8;
	totals__take_waits(totals, SLOT_WAIT_DISK, buckets);
	assert_has(totals, "gapless_wait_seconds_count{state=\"wait\",cause=\"disk\","
			   "kind=\"delaying\"} 4294967300");
	totals__free(totals);
}

static void signals_are_added_up_and_folded_beyond_their_limit(void **state)
{
	struct totals *totals = make((struct totals_options) { .most_signal_series = 4 });
	uint32_t buckets[HISTOGRAM_BUCKETS] = {};
	struct totals_signal rows[] = {
		{ "tcp", TOTALS_BYTES, "send", "loopback", 100, NULL },
		{ "tcp", TOTALS_BYTES, "receive", "loopback", 50, NULL },
		{ "tcp", TOTALS_BYTES, "send", "private", 7, NULL },
		{ "tcp", TOTALS_BYTES, "receive", "private", 9, NULL },
		{ "block", TOTALS_SECONDS, "read", "disk", 10000, buckets },
	};
	struct totals_signal wrong[] = {
		{ "Tcp", TOTALS_BYTES, "", "", 1, NULL },
		{ "", TOTALS_BYTES, "", "", 1, NULL },
		{ "tcp\n", TOTALS_BYTES, "", "", 1, NULL },
		{ "tcp", TOTALS_SECONDS, "", "", 1, NULL },
	};

	buckets[histogram_bucket(5000)] = 2;
	for (int i = 0; i < 2; i++)
		assert_int_equal(totals__add_signals(totals, rows, 5), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(totals__add_signals(totals, &wrong[i], 1), -EINVAL);
	assert_has(totals, "gapless_signal_tcp_bytes_total{operation=\"send\",place=\"loopback\"} "
			   "200");
	assert_has(totals,
		   "gapless_signal_tcp_bytes_total{operation=\"_other\",place=\"_other\"} 18");
	assert_lacks(totals, "gapless_signal_block");
	assert_has(totals, "gapless_agent_series_folded 4");
	totals__free(totals);

	totals = make((struct totals_options) {});
	assert_int_equal(totals__add_signals(totals, rows, 5), 0);
	assert_has(totals, "gapless_signal_block_seconds_bucket{operation=\"read\",place=\"disk\","
			   "le=\"4.096e-06\"} 0");
	assert_has(totals, "gapless_signal_block_seconds_bucket{operation=\"read\",place=\"disk\","
			   "le=\"1.6384e-05\"} 2");
	assert_has(totals, "gapless_signal_block_seconds_sum{operation=\"read\",place=\"disk\"} "
			   "0.000010000");
	assert_lacks(totals, TOTALS_OTHER);
	totals__free(totals);
}

static void the_20_largest_syscalls_of_a_service_are_shown(void **state)
{
	struct totals *totals =
		make((struct totals_options) { .detail = TOTALS_SERVICE, .with_calls = true });
	struct bucket_row row = row_of(1, SLOT_RUN_KERNEL, KIND_RUN, 1);
	struct totals_call calls[25];
	char names[25][8], *text;

	add(totals, &row, 1);
	for (unsigned int i = 0; i < 25; i++) {
		snprintf(names[i], sizeof(names[i]), "call%02u", i);
		calls[i] = (struct totals_call) { 1, names[i], 10, 2, 1000 + i };
	}
	totals__add_calls(totals, calls, 25, numbered_workload, NULL);
	assert_has(totals, "gapless_syscalls_total{namespace=\"shop\",service=\"service-001\","
			   "syscall=\"call24\"} 10");
	assert_has(totals, "gapless_syscall_seconds_total{namespace=\"shop\","
			   "service=\"service-001\",syscall=\"call05\"} 0.000001005");
	assert_has(totals, "gapless_syscall_errors_total{namespace=\"shop\","
			   "service=\"service-001\",syscall=\"_other\"} 10");
	assert_lacks(totals, "syscall=\"call04\"");
	text = text_of(totals);
	assert_int_equal(count_lines(text, "gapless_syscalls_total"), 21);
	free(text);
	totals__free(totals);
}

static void the_agent_tells_about_itself(void **state)
{
	struct totals_lost lost[42];
	struct totals_push pushes[] = { { "clickhouse", "ok", 5 }, { "clickhouse", "retried", 2 } };
	struct totals_agent agent = quiet_agent;
	struct totals *totals = make((struct totals_options) {});
	char names[42][8], *text;

	for (unsigned int i = 0; i < 42; i++) {
		snprintf(names[i], sizeof(names[i]), "lost%02u", i);
		lost[i] = (struct totals_lost) { names[i], i };
	}
	agent.cpu_ns = 1234567891;
	agent.anon_bytes = 5;
	agent.sampling_ppm = 12500;
	agent.governor_level = -1;
	agent.lost = lost;
	agent.lost_count = 42;
	agent.pushes = pushes;
	agent.push_count = 2;
	text = page_of(totals, &agent, PAGES_TEXT);
	assert_non_null(strstr(text, "\ngapless_agent_cpu_seconds_total 1.234567891\n"));
	assert_non_null(strstr(text, "\ngapless_agent_memory_bytes{of=\"anon\"} 5\n"));
	assert_non_null(strstr(text, "\ngapless_agent_governor_level -1\n"));
	assert_non_null(strstr(text, "\ngapless_agent_sampling_probability_ratio 0.012500\n"));
	assert_non_null(strstr(text, "\ngapless_agent_lost_total{what=\"lost35\"} 35\n"));
	/* 36 + … + 41 */
	assert_non_null(strstr(text, "\ngapless_agent_lost_total{what=\"_other\"} 231\n"));
	assert_non_null(strstr(text, "\ngapless_agent_push_total{sink=\"clickhouse\","
				     "result=\"retried\"} 2\n"));
	assert_non_null(strstr(text, "\ngapless_build_info{version=\"0.2.0\",kernel=\"6.12.9\","
				     "level=\"sched\"} 1\n"));
	free(text);
	totals__free(totals);
}

static void limits_that_are_too_low_are_refused(void **state)
{
	struct totals *totals = NULL;

	assert_int_equal(totals__new(&(struct totals_options) { .most_series = 999 }, &totals),
			 -EINVAL);
	assert_int_equal(totals__new(&(struct totals_options) { .most_series = 1000,
								.most_signal_series = 900 },
				     &totals),
			 -EINVAL);
	assert_null(totals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_exact_to_the_nanosecond),
		cmocka_unit_test(a_kind_that_was_judged_shares_the_series_of_its_words),
		cmocka_unit_test(a_service_has_transitions_threads_and_unexplained_time),
		cmocka_unit_test(node_detail_has_no_services),
		cmocka_unit_test(the_largest_new_services_get_the_places_and_the_rest_is_other),
		cmocka_unit_test(a_place_is_free_again_when_its_service_is_long_gone),
		cmocka_unit_test(a_place_is_kept_for_a_time_and_not_for_a_number_of_steps),
		cmocka_unit_test(a_service_that_comes_back_in_the_last_moment_keeps_its_place),
		cmocka_unit_test(no_counter_goes_backwards_while_services_come_and_go),
		cmocka_unit_test(series_never_exceed_their_limit_and_services_still_close),
		cmocka_unit_test(foreign_names_are_cleaned_escaped_and_cut),
		cmocka_unit_test(histograms_of_waits_add_what_the_ledger_added),
		cmocka_unit_test(signals_are_added_up_and_folded_beyond_their_limit),
		cmocka_unit_test(the_20_largest_syscalls_of_a_service_are_shown),
		cmocka_unit_test(the_agent_tells_about_itself),
		cmocka_unit_test(limits_that_are_too_low_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
