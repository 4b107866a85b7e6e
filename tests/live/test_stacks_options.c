/* How stacks are asked for. */
#include "../harness.h"

#include "stacks.h"

static void a_rate_that_makes_no_sense_is_refused(void **state)
{
	static const char *const rates[] = { "0", "-1", "1000000", "99x", "" };

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		struct output output = live__gapless("record", "-F", rates[i], "--", "true");

		if (output.status != 2)
			fail_msg("-F '%s': status %d, %s", rates[i], output.status, output.err);
		assert_non_null(strstr(output.err, "is not a rate"));
		live__release(&output);
	}
}

static void without_stacks_there_are_none_and_the_report_says_so(void **state)
{
	struct stacks_recording recording =
		stacks__record(ARGS("--no-stacks"), WORKLOAD("split", "300"));
	struct output output = live__gapless("report", recording.path);

	assert_int_equal(recording.count, 0);
	assert_int_equal(trial__query(recording.path, "SELECT count(*) FROM stack"), 0);
	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "--no-stacks"));
	assert_closes(recording.report);
	live__release(&output);
	stacks__release(&recording);
}

static void the_rate_is_what_was_asked_for(void **state)
{
	struct stacks_recording recording =
		stacks__record(ARGS("-F", "200"), WORKLOAD("split", "1000"));

	for (size_t i = 0; i < recording.count; i++)
		if (sample__is_of(&recording.samples[i], "split-run", "run"))
			assert_int_equal(recording.samples[i].period_ns, 5 * MS);
	stacks__release(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_rate_that_makes_no_sense_is_refused),
		HERE(without_stacks_there_are_none_and_the_report_says_so),
		cmocka_unit_test(the_rate_is_what_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
