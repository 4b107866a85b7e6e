/* SPDX-License-Identifier: GPL-2.0-or-later */
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
	struct output output = live__gapless("report", "--full", recording.path);

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

/* How many hooks at syscalls a recording had; *ret_without: and how many it says it went without.
 */
static size_t hooks_at_syscalls(const char *const *options, size_t *ret_without)
{
	json_t *log, *report = trial__record(options, WORKLOAD("split", "100"), &log), *hook;
	size_t i, count = 0;

	*ret_without = 0;
	json_array_foreach (json_object_get(report, "hooks"), i, hook) {
		const char *event = json_string_value(json_object_get(hook, "event"));

		if (strcmp(event, "sys_enter") && strcmp(event, "sys_exit"))
			continue;
		count += json_is_string(json_object_get(hook, "kind"));
		*ret_without += json_is_null(json_object_get(hook, "kind"));
	}
	assert_closes(report);
	json_decref(report);
	json_decref(log);
	return count;
}

/*
 * tcp does without its hook at the end of accept(), memory without that of mmap(), and they say so;
 * files and syscalls are left out.
 */
static void level_sched_has_no_hooks_at_syscalls(void **state)
{
	size_t without;

	assert_int_equal(hooks_at_syscalls(ARGS("--level", "sched", "--signals", "all"), &without),
			 0);
	assert_int_equal(without, 2);
	assert_int_equal(hooks_at_syscalls(ARGS("--level", "sched", "--signals", "tcp", "--stacks"),
					   &without),
			 2);
	assert_int_equal(without, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_rate_that_makes_no_sense_is_refused),
		HERE(without_stacks_there_are_none_and_the_report_says_so),
		cmocka_unit_test(the_rate_is_what_was_asked_for),
		HERE(level_sched_has_no_hooks_at_syscalls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
