/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of programs that are short, blocked, broken or hidden; and recordings cut short. */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "stacks.h"

#define BRIEF_MS "50"
#define LONG_MS  "60000" /* longer than it takes an emulated machine to begin to record */

/* How many: the strict number takes a while. */
static const char *brief_count(void)
{
	return getenv("GAPLESS_STRICT") ? "500" : is_emulated() ? "30" : "100";
}

static void check_brief(const char *how)
{
	struct stacks_recording recording = stacks__record(
		ARGS("-F", "99"), WORKLOAD("brief", how, brief_count(), BRIEF_MS, "2"));
	int64_t deep_ns = stacks__weight(&recording, "brief-child", NULL, "step_down");
	int count = atoi(brief_count());

	assert_int_equal(threads_named(recording.report, "brief-child"), count);
	assert_whole(&recording, "brief-child", count,
		     getenv("GAPLESS_STRICT") ? 95
		     : is_emulated()          ? 20
					      : 85);
	assert_true(deep_ns * 10 > stacks__weight(&recording, "brief-child", NULL, NULL) *
					   (is_emulated() ? 0 : 7));
	stacks__release(&recording);
}

static void programs_that_live_50_ms_have_whole_stacks(void **state)
{
	check_brief("exec");
}

static void children_that_live_50_ms_have_whole_stacks(void **state)
{
	check_brief("fork");
}

static void a_thread_that_is_blocked_all_the_time_is_unwound_at_the_end(void **state)
{
	struct workload workload = workload__start(WORKLOAD("blocked"));
	struct stacks_recording recording;
	struct trial trial;
	int64_t wall_ns;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid, "-F", "99"));
	usleep(500000);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	recording = stacks__open(trial.path);
	wall_ns = number_at(recording.report, "wall_ns");
	assert_near("pipe", stacks__weight(&recording, "blocked-pipe", "wait", NULL), wall_ns);
	assert_near("lock", stacks__weight(&recording, "blocked-futex", "wait", NULL), wall_ns);
	/* There is a second for all of them, which is short for an emulated machine. */
	assert_whole(&recording, "blocked-pipe", 1, is_emulated() ? 0 : 100);
	assert_whole(&recording, "blocked-futex", 1, is_emulated() ? 0 : 100);
	stacks__release(&recording);
}

/* Nothing of it may crash us or hang us, and it is counted. */
static void files_that_make_no_sense_cost_a_counter(void **state)
{
	static const char *const threads[] = { "no-frames",   "odd-frames", "no-header",
					       "no-notes",    "no-debug",   "no-symbols",
					       "no-sections", "no-shoff",   "no-elf",
					       "no-segments", "gone" };
	struct stacks_recording recording =
		stacks__record(ARGS("-F", is_emulated() ? "49" : "199"), WORKLOAD("broken", "300"));
	int least = is_emulated() ? 50 : 80;

	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		assert_whole(&recording, threads[i], 3, 0);
		/* However its stack looks, its time is there. */
		assert_true(stacks__weight(&recording, threads[i], NULL, NULL) >
			    (is_emulated() ? 20 : 100) * MS);
	}
	/* Where only symbols, notes or deletion are the trouble, the stack is whole. */
	assert_whole(&recording, "no-symbols", 3, least);
	assert_whole(&recording, "no-notes", 3, least);
	assert_whole(&recording, "gone", 3, least);
	assert_closes(recording.report);
	assert_true(quality(recording.report, "modules_without_rows") > 0);
	stacks__release(&recording);
}

static void a_recording_that_is_stopped_half_way_has_samples_and_names(void **state)
{
	struct workload workload = workload__start(WORKLOAD("deep", LONG_MS, "plain"));
	int64_t before_ns = stolen_ns();
	struct stacks_recording recording;
	struct trial trial;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid, "-F", "99"));
	sleep(is_emulated() ? 4 : 1);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	recording = stacks__open(trial.path);
	recording.stolen_ns = stolen_since(before_ns);
	assert_whole(&recording, "plain", 20, is_emulated() ? 40 : 75);
	assert_true(stacks__weight(&recording, "plain", "run", "bottom_burn") > 0);
	assert_unbiased(&recording);
	stacks__release(&recording);
}

/* Names are made at the end, so there are none; the rest is there up to the last slice. */
static void a_recording_that_is_killed_has_samples(void **state)
{
	struct workload workload = workload__start(WORKLOAD("deep", LONG_MS, "plain"));
	struct stacks_recording recording;
	struct trial trial;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid, "-F", "99"));
	sleep(is_emulated() ? 6 : 2);
	assert_int_equal(trial__stop(&trial, SIGKILL), 128 + SIGKILL);
	workload__kill(&workload);
	recording = stacks__open(trial.path);
	assert_whole(&recording, "plain", 20, is_emulated() ? 40 : 75);
	stacks__release(&recording);
}

/* The file is where only the program sees it, and the program's pid is not what we call it. */
static void a_program_in_namespaces_of_its_own_has_whole_stacks(void **state)
{
	static const char script[] =
		"mount -t tmpfs none /var && cp $0 /var/hidden && /var/hidden 400 plain";
	struct stacks_recording recording = stacks__record(
		ARGS("-F", is_emulated() ? "49" : "199"),
		ARGS("unshare", "-m", "-p", "-f", "sh", "-c", script, workload__path("deep")));

	assert_whole(&recording, "plain", 20, is_emulated() ? 50 : 85);
	assert_true(stacks__weight(&recording, "plain", "run", "bottom_burn") > 0);
	stacks__release(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_that_live_50_ms_have_whole_stacks),
		cmocka_unit_test(children_that_live_50_ms_have_whole_stacks),
		cmocka_unit_test(a_thread_that_is_blocked_all_the_time_is_unwound_at_the_end),
		HERE(files_that_make_no_sense_cost_a_counter),
		HERE(a_recording_that_is_stopped_half_way_has_samples_and_names),
		HERE(a_recording_that_is_killed_has_samples),
		cmocka_unit_test(a_program_in_namespaces_of_its_own_has_whole_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
