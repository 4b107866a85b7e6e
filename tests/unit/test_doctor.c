/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "doctor/doctor.h"

static void verdict_is(const struct finding *findings, size_t count, enum doctor_verdict expected)
{
	struct doctor doctor = {};

	for (size_t i = 0; i < count; i++)
		doctor__add(&doctor, &findings[i], "detail %zu", i);
	assert_int_equal(doctor.count, count);
	assert_int_equal(doctor__verdict(&doctor), expected);
	doctor__release(&doctor);
}

static void advice_never_counts(void **state)
{
	const struct finding findings[] = {
		{ .status = DOCTOR_OK, .weight = DOCTOR_ESSENTIAL },
		{ .status = DOCTOR_MISSING, .weight = DOCTOR_ADVICE },
	};

	verdict_is(findings, 2, DOCTOR_USABLE);
}

static void a_gap_leaves_it_usable(void **state)
{
	const struct finding missing = { .status = DOCTOR_MISSING, .weight = DOCTOR_GAP };
	const struct finding degraded = { .status = DOCTOR_DEGRADED, .weight = DOCTOR_ESSENTIAL };

	verdict_is(&missing, 1, DOCTOR_USABLE_WITH_GAPS);
	verdict_is(&degraded, 1, DOCTOR_USABLE_WITH_GAPS);
}

static void one_missing_essential_decides(void **state)
{
	const struct finding findings[] = {
		{ .status = DOCTOR_MISSING, .weight = DOCTOR_ESSENTIAL },
		{ .status = DOCTOR_MISSING, .weight = DOCTOR_GAP },
	};

	verdict_is(findings, 2, DOCTOR_NOT_USABLE);
}

static void details_that_are_too_long_are_cut(void **state)
{
	struct doctor doctor = {};
	char words[1000];

	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	doctor__add(&doctor, &(struct finding) { .name = "n" }, "%s", words);
	assert_int_equal(strlen(doctor.findings[0].detail), sizeof(doctor.findings[0].detail) - 1);
	doctor__release(&doctor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(advice_never_counts),
		cmocka_unit_test(a_gap_leaves_it_usable),
		cmocka_unit_test(one_missing_essential_decides),
		cmocka_unit_test(details_that_are_too_long_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
