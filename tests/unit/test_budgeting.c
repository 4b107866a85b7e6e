/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/budgeting.h"

#define SECOND UINT64_C(1000000000)
#define NOON   UINT64_C(1763380800) /* a full minute */
#define NAMES  "service\tprobability\tbegins\tends\thosts\n"
#define HOSTS  20000

static const char *const two_names[] = { "api", "shop" };
static const struct budgeting_services two = { two_names, 2 };

static int take(struct budgeting *budgeting, const char *answer)
{
	return budgeting__take(budgeting, answer, strlen(answer), 0);
}

static double probability_at(const struct budgeting *budgeting, uint64_t minute_s)
{
	double probability = -1;

	budgeting__choose(budgeting, &two, minute_s, 0, &probability);
	return probability;
}

/* --- question and answer ---------------------------------------------------------------------- */

static void the_question_has_the_services_and_nothing_that_could_be_taken_for_sql(void **state)
{
	const char *const names[] = { "a'); DROP TABLE x; --", "b\\", "c" };
	const struct budgeting_services services = { names, 3 }, none = {};
	char *sql = NULL;

	assert_int_equal(budgeting__ask("gapless", "ten'ant", "agent", &services, &sql), 0);
	assert_string_equal(sql,
			    "SELECT service, probability, toUInt32(since) AS begins, "
			    "toUInt32(until) AS ends, burst AS hosts FROM gapless.budget FINAL "
			    "WHERE tenant IN ('ten\\'ant') AND service IN "
			    "('a\\'); DROP TABLE x; --', 'b\\\\', 'c') "
			    "ORDER BY probability DESC LIMIT 200 FORMAT TabSeparatedWithNames");
	free(sql);
	/* The tenant may be the server's default, the user. */
	assert_int_equal(budgeting__ask("db", "", "agent", &none, &sql), 0);
	assert_non_null(strstr(sql, "FROM db.budget FINAL WHERE tenant IN ('', 'agent') AND "
				    "service IN ('') ORDER"));
	free(sql);
}

static void an_answer_replaces_all_rows(void **state)
{
	struct budgeting budgeting = { .fallback = 0.01 };

	assert_int_equal(take(&budgeting, NAMES "api\t0.5\t0\t0\t0\nshop\\t\\'\t0.25\t10\t20\t3\n"),
			 0);
	assert_int_equal(budgeting.count, 2);
	assert_string_equal(budgeting.rows[1].service, "shop\t'");
	assert_true(budgeting.rows[1].is_burst && !budgeting.rows[0].is_burst);
	assert_int_equal(budgeting.rows[1].since_s, 10);
	assert_int_equal(budgeting.rows[1].until_s, 20);
	assert_true(probability_at(&budgeting, NOON) == 0.5);
	assert_int_equal(take(&budgeting, NAMES), 0);
	assert_int_equal(budgeting.count, 0);
	assert_true(probability_at(&budgeting, NOON) == 0.01);
	budgeting__release(&budgeting);
}

static void what_is_no_answer_changes_nothing(void **state)
{
	static const char *const bad[] = {
		"",
		"<html><body>Sign in</body></html>\n",
		"Code: 60. DB::Exception: Table gapless.budget does not exist\n",
		"api\t0.5\t0\t0\t0\n",
		"service\tprobability\tbegins\tends\n",
		"service\tprobability\tsince\tends\thosts\n",
		NAMES "api\t0.5\t0\t0\n",
		NAMES "api\t0.5\t0\t0\t0\t0\n",
		NAMES "api\t0.5\t0\t0\t0",
		NAMES "api\tnan\t0\t0\t0\n",
		NAMES "api\tinf\t0\t0\t0\n",
		NAMES "api\t-0.1\t0\t0\t0\n",
		NAMES "api\t1.0001\t0\t0\t0\n",
		NAMES "api\t0.5x\t0\t0\t0\n",
		NAMES "api\t\t0\t0\t0\n",
		NAMES "api\t\\N\t0\t0\t0\n",
		NAMES "api\t0.5\t-1\t0\t0\n",
		NAMES "api\t0.5\t4294967296\t0\t0\n",
		NAMES "api\t0.5\t0\t99999999999999999999\t0\n",
		NAMES "api\t0.5\t0\t0\t256\n",
		NAMES "api\\\t0.5\t0\t0\t0\n",
		NAMES "shop\t1\t0\t0\t0\napi\t2\t0\t0\t0\n",
	};
	struct budgeting budgeting = {};

	assert_int_equal(take(&budgeting, NAMES "api\t0.125\t0\t0\t0\n"), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (take(&budgeting, bad[i]) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
		assert_true(probability_at(&budgeting, NOON) == 0.125);
	}
	assert_int_equal(budgeting__take(&budgeting, NAMES "a\0i\t1\t0\t0\t0\n",
					 sizeof(NAMES "a\0i\t1\t0\t0\t0\n") - 1, 0),
			 -EBADMSG);
	assert_int_equal(budgeting.count, 1);
	budgeting__release(&budgeting);
}

static void an_answer_has_at_most_200_rows(void **state)
{
	static char text[65536] = NAMES;
	struct budgeting budgeting = {};

	for (int i = 0; i < BUDGETING_MOST_ROWS; i++)
		snprintf(text + strlen(text), 64, "s%d\t1\t0\t0\t0\n", i);
	assert_int_equal(take(&budgeting, text), 0);
	assert_int_equal(budgeting.count, 200);
	snprintf(text + strlen(text), 64, "more\t1\t0\t0\t0\n");
	assert_int_equal(take(&budgeting, text), -EBADMSG);
	assert_int_equal(budgeting.count, 200);
	budgeting__release(&budgeting);
}

/* --- decision --------------------------------------------------------------------------------- */

static void the_decision_is_the_same_on_every_machine_and_at_every_time(void **state)
{
	struct budgeting budgeting = { .host_id = UINT64_C(0x123456789abcdef), .fallback = 0.01 };
	const uint64_t known[] = { 17, 70, 276, 318, 368, 396, 669, 678 };
	size_t count = 0;
	double probability;

	/* The minutes of this host in half a day. */
	for (uint64_t i = 0; i < 720; i++)
		if (budgeting__choose(&budgeting, &two, NOON + i * 60, i, &probability))
			assert_int_equal(i, known[count++]);
	assert_int_equal(count, sizeof(known) / sizeof(*known));
	/* A minute that is asked for again, or in the middle. */
	assert_true(
		budgeting__choose(&budgeting, &two, NOON + known[0] * 60 + 59, 1, &probability));
}

/* How many of the hosts choose the minute. */
static unsigned int count_hosts(struct budgeting *budgeting, uint64_t minute_s)
{
	unsigned int chosen = 0;
	double probability;

	for (uint64_t host = 1; host <= HOSTS; host++) {
		budgeting->host_id = host;
		chosen += budgeting__choose(budgeting, &two, minute_s, 0, &probability);
	}
	return chosen;
}

/* Within four standard errors. */
static void assert_share(unsigned int chosen, double probability)
{
	double expected = HOSTS * probability;

	if (fabs(chosen - expected) > 4 * sqrt(expected * (1 - probability)))
		fail_msg("%u of %d hosts instead of %.0f", chosen, HOSTS, expected);
}

static void as_many_hosts_as_the_probability_says_choose_a_minute(void **state)
{
	static const double probabilities[] = { 0.001, 0.01, 0.1, 0.5, 0.9 };
	struct budgeting budgeting = {};
	unsigned int both = 0;
	double ignored;

	for (int i = 0; i < 5; i++) {
		budgeting.fallback = probabilities[i];
		for (uint64_t minute = 0; minute < 5; minute++)
			assert_share(count_hosts(&budgeting, NOON + minute * 60), probabilities[i]);
	}
	budgeting.fallback = 0;
	assert_int_equal(count_hosts(&budgeting, NOON), 0);
	budgeting.fallback = 1;
	assert_int_equal(count_hosts(&budgeting, NOON), HOSTS);
	/* One minute says nothing about the next one. */
	budgeting.fallback = 0.1;
	for (uint64_t host = 1; host <= HOSTS; host++) {
		budgeting.host_id = host;
		both += budgeting__choose(&budgeting, &two, NOON, 0, &ignored) &&
			budgeting__choose(&budgeting, &two, NOON + 60, 0, &ignored);
	}
	assert_share(both, 0.01);
}

static void the_largest_probability_of_the_services_here_counts(void **state)
{
	struct budgeting budgeting = { .fallback = 0.01 };
	const struct budgeting_services none = {};
	double probability;

	assert_int_equal(take(&budgeting, NAMES "absent\t1\t0\t0\t0\nshop\t0.002\t0\t0\t0\n"
						"api\t0.001\t0\t0\t0\n"),
			 0);
	/* Also if it is below the default. */
	assert_true(probability_at(&budgeting, NOON) == 0.002);
	budgeting__choose(&budgeting, &none, NOON, 0, &probability);
	assert_true(probability == 0.01);
	budgeting__release(&budgeting);
}

static void a_row_counts_from_its_begin_to_its_end_and_an_hour_after_it_was_read(void **state)
{
	struct budgeting budgeting = { .fallback = 0.01 };
	char text[128];
	double probability;

	snprintf(text, sizeof(text), NAMES "api\t0.5\t%lu\t%lu\t0\n", NOON + 60, NOON + 120);
	assert_int_equal(take(&budgeting, text), 0);
	assert_true(probability_at(&budgeting, NOON) == 0.01);
	assert_true(probability_at(&budgeting, NOON + 60) == 0.5);
	assert_true(probability_at(&budgeting, NOON + 120) == 0.01);
	budgeting__choose(&budgeting, &two, NOON + 60, 3599 * SECOND, &probability);
	assert_true(probability == 0.5);
	budgeting__choose(&budgeting, &two, NOON + 60, 3600 * SECOND, &probability);
	assert_true(probability == 0.01);
	budgeting__release(&budgeting);
}

static void a_host_of_a_burst_has_all_its_minutes_and_then_the_standing_row_again(void **state)
{
	struct budgeting budgeting = {};
	char text[128];
	double probability;
	unsigned int hosts = 0;

	/* Without an end; five minutes are the most. */
	snprintf(text, sizeof(text), NAMES "shop\t0.2\t%lu\t0\t7\napi\t0.1\t0\t0\t0\n", NOON);
	assert_int_equal(take(&budgeting, text), 0);
	for (uint64_t host = 1; host <= HOSTS; host++) {
		unsigned int minutes = 0;

		budgeting.host_id = host;
		for (uint64_t i = 0; i < 5; i++)
			minutes +=
				budgeting__choose(&budgeting, &two, NOON + i * 60, 0, &probability);
		hosts += minutes == 5;
	}
	/* Others are chosen by the standing row, five times in a row hardly ever. */
	assert_share(hosts, 0.2);
	assert_true(fabs(probability - (0.2 + 0.1 - 0.02)) < 1e-12);
	for (uint64_t i = 0; i < 5; i++)
		assert_share(count_hosts(&budgeting, NOON + i * 60), 0.28);
	assert_true(probability_at(&budgeting, NOON - 60) == 0.1);
	assert_true(probability_at(&budgeting, NOON + 300) == 0.1);
	assert_share(count_hosts(&budgeting, NOON + 300), 0.1);
	budgeting__release(&budgeting);
}

static void weights_divided_by_the_probability_give_all_hosts(void **state)
{
	struct budgeting budgeting = { .fallback = 0.02 };
	char text[128];
	double sum = 0, probability, error;

	snprintf(text, sizeof(text), NAMES "shop\t0.3\t%lu\t%lu\t7\n", NOON + 60, NOON + 120);
	assert_int_equal(take(&budgeting, text), 0);
	for (uint64_t host = 1; host <= HOSTS; host++) {
		budgeting.host_id = host;
		for (uint64_t i = 0; i < 3; i++)
			if (budgeting__choose(&budgeting, &two, NOON + i * 60, 0, &probability))
				sum += 1 / probability;
	}
	error = sqrt(HOSTS * (2 * (1 / 0.02 - 1) + 1 / 0.314 - 1));
	assert_true(fabs(sum - 3 * HOSTS) < 4 * error);
	budgeting__release(&budgeting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_question_has_the_services_and_nothing_that_could_be_taken_for_sql),
		cmocka_unit_test(an_answer_replaces_all_rows),
		cmocka_unit_test(what_is_no_answer_changes_nothing),
		cmocka_unit_test(an_answer_has_at_most_200_rows),
		cmocka_unit_test(the_decision_is_the_same_on_every_machine_and_at_every_time),
		cmocka_unit_test(as_many_hosts_as_the_probability_says_choose_a_minute),
		cmocka_unit_test(the_largest_probability_of_the_services_here_counts),
		cmocka_unit_test(
			a_row_counts_from_its_begin_to_its_end_and_an_hour_after_it_was_read),
		cmocka_unit_test(
			a_host_of_a_burst_has_all_its_minutes_and_then_the_standing_row_again),
		cmocka_unit_test(weights_divided_by_the_probability_give_all_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
