/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whoever loses the CPU outside of syscalls has the stack of that place, not of the next call. */
#include "../harness.h"

#include <inttypes.h>

#include "stacks.h"

static struct stacks_recording full, sched;

static int record_all(void **state)
{
	const char *length_ms = is_emulated() ? "5000" : "1500";

	full = stacks__record(ARGS("-F", "499"), WORKLOAD("places", length_ms));
	sched = stacks__record(ARGS("-F", "499", "--level", "sched", "--stacks"),
			       WORKLOAD("places", length_ms));
	return 0;
}

static int release_all(void **state)
{
	stacks__release(&full);
	stacks__release(&sched);
	return 0;
}

static bool is_in(const struct sample_row *sample, const char *function)
{
	char step[64];

	snprintf(step, sizeof(step), ";%s;", function);
	return strstr(sample->line, step) != NULL;
}

/* Samples that have a user stack, and a kernel stack that came from there and through no call. */
static bool is_wanted(const struct sample_row *sample, const char *comm, const char *kernel)
{
	bool is_waiting = sample__is_of(sample, comm, "wait"),
	     is_preempted =
		     sample__is_of(sample, comm, "ready") && !strcmp(sample->cause, "preempted");

	return (is_waiting || is_preempted) && !sample->none[0] && strstr(sample->kernel, kernel) &&
	       !strstr(sample->kernel, "syscall");
}

static void check_place(const struct stacks_recording *recording, const char *comm,
			const char *kernel, const char *function)
{
	int64_t there = 0, all = 0;

	for (size_t i = 0; i < recording->count; i++) {
		const struct sample_row *sample = &recording->samples[i];

		if (!is_wanted(sample, comm, kernel))
			continue;
		all++;
		there += is_in(sample, function);
		if (!is_in(sample, function))
			print_message("#   %s %s | %s\n", sample->cause, sample->line,
				      sample->kernel);
	}
	print_message("# %s: %" PRId64 " of %" PRId64 " in %s\n", comm, there, all, function);
	assert_true(all >= 10);
	/* Other functions have user code too. */
	assert_true(there * 20 >= all * 19);
}

static void check_all(const struct stacks_recording *recording)
{
	check_place(recording, "page", "fault", "touch_page");
	check_place(recording, "busy", "", "spin_here");
	check_place(recording, "lock", "fault", "touch_pages");
	assert_unbiased(recording);
}

static void places_outside_of_calls_at_level_full(void **state)
{
	check_all(&full);
}

static void places_outside_of_calls_at_level_sched(void **state)
{
	check_all(&sched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_outside_of_calls_at_level_full),
		cmocka_unit_test(places_outside_of_calls_at_level_sched),
	};

	return cmocka_run_group_tests(tests, record_all, release_all);
}
