/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statistics behind a comparison, against tables and by trial. */
#include "../harness.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "diff/stats.h"

static const struct stats_prior nothing;

static void students_table_is_met(void **state)
{
	static const struct {
		double t, freedom, probability;
	} table[] = {
		{ 0, 5, 1 },          { 12.7062, 1, 0.05 },  { 2.77645, 4, 0.05 },
		{ 2.30600, 8, 0.05 }, { 5.04131, 8, 0.001 }, { 1.95996, 1e7, 0.05 },
		{ 3.35539, 8, 0.01 }, { -3.35539, 8, 0.01 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_true(fabs(stats__student(table[i].t, table[i].freedom) -
				 table[i].probability) < 2e-5);
	assert_true(stats__student(INFINITY, 8) == 0);
	/* Far out it stays above 0: 1.16e-9 by a table of high precision. */
	assert_true(stats__student(30, 8) > 1e-9 && stats__student(30, 8) < 3e-9);
}

static void mean_and_variance_leave_out_what_is_not_there(void **state)
{
	const double values[] = { 2, NAN, 4, 4, 4, 5, 5, 7, 9 };
	struct stats stats = stats__of(values, 9);

	assert_int_equal(stats.count, 8);
	assert_true(fabs(stats.mean - 5) < 1e-12);
	assert_true(fabs(stats.variance - 32.0 / 7) < 1e-12);
	assert_int_equal(stats__of(values + 1, 1).count, 0);
}

static void two_samples_of_a_textbook_differ(void **state)
{
	/* Student's sleep data: equal variances t = -1.8608, 18 degrees, p = 0.07919; Welch
	 * 0.07939. */
	const double a[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 };
	const double b[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
	struct stats x = stats__of(a, 10), y = stats__of(b, 10);
	struct stats bound = { .count = 10, .mean = 0 };

	assert_true(fabs(stats__differ(&x, &y, &nothing) - 0.07919) < 1e-5);
	assert_true(fabs(stats__above(&x, &y) - 0.07939 / 2) < 1e-5);
	assert_true(fabs(stats__above(&y, &x) - (1 - 0.07939 / 2)) < 1e-5);
	/* One sample against a bound: t = 3.6799, 9 degrees, two-sided p = 0.005076. */
	assert_true(fabs(stats__above(&bound, &y) - 0.005076 / 2) < 1e-5);
}

static void nothing_is_said_of_too_few(void **state)
{
	struct stats one = { .count = 1, .mean = 1 }, none = {};

	assert_true(stats__differ(&one, &one, &nothing) == 1);
	assert_true(stats__differ(&none, &one, &nothing) == 1);
	assert_true(stats__above(&one, &one) == 1);
}

static void holm_corrects_step_by_step(void **state)
{
	double p[] = { 0.01, 0.04, 0.03, 0.005, 0.9 };
	const double corrected[] = { 0.04, 0.09, 0.09, 0.025, 0.9 };

	assert_int_equal(stats__holm(p, 5), 0);
	for (int i = 0; i < 5; i++)
		assert_true(fabs(p[i] - corrected[i]) < 1e-12);
	assert_int_equal(stats__holm(p, 0), 0);
}

/* Always the same numbers: a test that is right by luck is wrong by luck another day. */
static double noise(uint64_t *seed)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*seed = *seed * 6364136223846793005 + 1442695040888963407;
		sum += (double)(*seed >> 11) / 9007199254740992.0;
	}
	return sum;
}

enum { TRIALS = 2000, THINGS = 50, RUNS = 5 };

/* Things can be equally noisy, or some ten times noisier than others. */
static double sigma_of(int thing, bool unlike)
{
	return unlike ? pow(10, (double)thing / THINGS) : 1;
}

/* How many of 2,000 comparisons of 50 things claim wrongly, if the first grew by `grown` sigma. */
static int claims(double grown, bool unlike, bool with_prior, int *ret_first)
{
	uint64_t seed = 1;
	int claimed = 0;

	*ret_first = 0;
	for (int trial = 0; trial < TRIALS; trial++) {
		struct stats a[THINGS], b[THINGS];
		double p[THINGS], variances[THINGS];
		struct stats_prior prior = {};
		int wrong = 0;

		for (int i = 0; i < THINGS; i++) {
			double sides[2][RUNS];

			for (int j = 0; j < 2 * RUNS; j++)
				sides[j / RUNS][j % RUNS] =
					sigma_of(i, unlike) *
					(noise(&seed) + (!i && j >= RUNS ? grown : 0));
			a[i] = stats__of(sides[0], RUNS);
			b[i] = stats__of(sides[1], RUNS);
			variances[i] = stats__pooled(&a[i], &b[i]);
		}
		if (with_prior)
			prior = stats__prior(variances, THINGS, 2 * RUNS - 2);
		for (int i = 0; i < THINGS; i++)
			p[i] = stats__differ(&a[i], &b[i], &prior);
		assert_int_equal(stats__holm(p, THINGS), 0);
		*ret_first += p[0] < 0.01;
		for (int i = 1; i < THINGS; i++)
			wrong |= p[i] < 0.01;
		claimed += wrong;
	}
	return claimed;
}

static void wrong_claims_are_as_rare_as_promised(void **state)
{
	for (int unlike = 0; unlike < 2; unlike++) {
		for (int with_prior = 0; with_prior < 2; with_prior++) {
			int first, wrong = claims(0, unlike, with_prior, &first);

			/* 1 % of 2,000 are 20; more than 35 would be 3.4 sigma. */
			print_message("# noise %s, prior %d: %d of 2,000 wrong\n",
				      unlike ? "unlike" : "alike", with_prior, wrong);
			assert_true(wrong < 35);
		}
	}
}

static void similar_things_help_to_find_a_change(void **state)
{
	int alone, together, wrong;

	wrong = claims(3, false, false, &alone);
	assert_true(wrong < 35);
	wrong = claims(3, false, true, &together);
	assert_true(wrong < 35);
	print_message("# 3 sigma found %d times of 2,000 alone, %d with what others tell\n", alone,
		      together);
	assert_true(together > 1600);
	assert_true(together > alone + alone / 2);
	claims(8, true, true, &together);
	assert_true(together > 1980);
}

static void a_prior_is_worth_what_variances_agree(void **state)
{
	const double alike[] = { 4, 4, 4, 4, 4, 4 }, few[] = { 4, 4 };
	const double unlike[] = { 1e-4, 1e-2, 1, 1e2, 1e4, 1e6 };
	struct stats_prior prior = stats__prior(alike, 6, 8);

	/* Equal ones are less different than chance would have them: nothing more is to be known.
	 */
	assert_true(prior.freedom > 40 && prior.freedom <= 48);
	assert_true(prior.variance > 3.9 && prior.variance < 5);
	assert_true(stats__prior(unlike, 6, 8).freedom < 1);
	assert_true(stats__prior(few, 2, 8).freedom == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(students_table_is_met),
		cmocka_unit_test(mean_and_variance_leave_out_what_is_not_there),
		cmocka_unit_test(two_samples_of_a_textbook_differ),
		cmocka_unit_test(nothing_is_said_of_too_few),
		cmocka_unit_test(holm_corrects_step_by_step),
		cmocka_unit_test(a_prior_is_worth_what_variances_agree),
		cmocka_unit_test(wrong_claims_are_as_rare_as_promised),
		cmocka_unit_test(similar_things_help_to_find_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
