/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two versions of a program, each recorded five times: what is new in the second one is named. */
#include "../harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

#define RUNS   5
#define ROUNDS "4"

static char paths[2][RUNS][64];
static char file[64];

static int record_both(void **state)
{
	if (is_emulated())
		return 0;
	snprintf(file, sizeof(file), "/tmp/changed-%d", getpid());
	/* By turns, as the man page asks for. */
	for (int i = 0; i < 2 * RUNS; i++) {
		char *path = paths[i % 2][i / 2];
		json_t *log = NULL;

		/* A loss that is made on purpose, in the last recording of the second side. */
		if (i == 2 * RUNS - 1)
			setenv("GAPLESS_TEST_DROP_WAKEUPS", "7", 1);
		trial__path(path, sizeof(paths[0][0]));
		trial__record_at(path, ARGS("--signals", "none"),
				 i % 2 ? WORKLOAD("changed", file, ROUNDS, "lock")
				       : WORKLOAD("changed", file, ROUNDS),
				 &log);
		json_decref(log);
	}
	unsetenv("GAPLESS_TEST_DROP_WAKEUPS");
	return 0;
}

static int remove_both(void **state)
{
	for (int i = 0; i < 2 * RUNS; i++)
		trial__remove(paths[i % 2][i / 2]);
	unlink(file);
	return 0;
}

static struct output diff(const char *const *options)
{
	const char *args[32] = { "diff" };
	size_t count = 1;

	while (*options)
		args[count++] = *options++;
	for (int side = 0; side < 2; side++) {
		if (side)
			args[count++] = "--";
		for (int i = 0; i < RUNS; i++)
			args[count++] = paths[side][i];
	}
	return live__run(NULL, args);
}

static void a_new_lock_is_found_and_named(void **state)
{
	struct output output = diff(ARGS("--json"));
	json_t *json = live__json(&output), *change;
	bool found = false;
	size_t i;

	assert_int_equal(output.status, 0);
	assert_true(json_is_true(json_object_get(json, "enough")));
	json_array_foreach (json_object_get(json, "changes"), i, change) {
		const char *name = json_string_value(json_object_get(change, "name"));
		const char *about = json_string_value(json_object_get(change, "about"));

		if (strcmp(name, "wait.lock: changed for locks in changed held by changed"))
			continue;
		found = true;
		assert_true(json_is_true(json_object_get(change, "certain")));
		assert_non_null(about);
		assert_non_null(strstr(about, "add_to_log → pthread_mutex_lock"));
	}
	assert_true(found);
	json_decref(json);
	live__release(&output);
	output = diff(ARGS("--top", "3"));
	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "which is new"));
	live__release(&output);
}

static void a_recording_with_losses_is_flagged(void **state)
{
	struct output output = diff(ARGS("--json"));
	json_t *json = live__json(&output), *run;
	size_t i;

	json_array_foreach (json_object_get(json, "recordings"), i, run) {
		const char *losses = json_string_value(json_object_get(run, "losses"));
		bool flagged = losses && strstr(losses, "dropped_on_purpose");

		assert_int_equal(flagged, i == 2 * RUNS - 1);
	}
	json_decref(json);
	live__release(&output);
}

static void a_condition_sets_the_exit_status(void **state)
{
	static const struct {
		const char *condition;
		int status;
	} gates[] = {
		{ "wait.lock > +1ms", 4 },
		{ "wait.lock > 1h", 2 },
		{ "wait.lock > 100s", 0 },
		{ "count(syscall:fsync) > +50%", 0 },
		{ "count(syscall:nosuch) > +50%", 2 },
		{ "count(syscall:fsync) > 5ms", 2 },
	};

	for (size_t i = 0; i < sizeof(gates) / sizeof(*gates); i++) {
		struct output output = diff(ARGS("--fail-if", gates[i].condition));

		assert_int_equal(output.status, gates[i].status);
		live__release(&output);
	}
}

static double mean_of(json_t *json, const char *name, const char *side)
{
	json_t *change;
	size_t i;

	json_array_foreach (json_object_get(json, "changes"), i, change)
		if (!strcmp(json_string_value(json_object_get(change, "name")), name))
			return json_number_value(
				json_object_get(json_object_get(change, side), "mean"));
	return 0;
}

/* In the second half, one of two threads waits for the lock nearly all the time. */
static void two_halves_of_one_recording_are_compared(void **state)
{
	char path[64];
	struct output output;
	json_t *log = NULL, *json;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--signals", "none"), WORKLOAD("halves", "6"), &log);
	output = live__gapless("diff", path, "--json", "--base", "500ms-2500ms", "--new",
			       "3500ms-5500ms");
	assert_int_equal(output.status, 0);
	json = live__json(&output);
	assert_true(mean_of(json, "wait.lock", "base") < 1e6);
	assert_true(mean_of(json, "wait.lock", "new") > 3e8);
	assert_true(mean_of(json, "wait.lock", "new") < 2.1e9);
	assert_true(mean_of(json, "wait.lock: half-* for locks in halves held by half-*", "new") +
			    mean_of(json, "wait.lock: half-* for lock in halves held by half-*",
				    "new") >
		    1e8);
	json_decref(json);
	json_decref(log);
	live__release(&output);
	trial__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_new_lock_is_found_and_named),
		HERE(a_recording_with_losses_is_flagged),
		HERE(a_condition_sets_the_exit_status),
		HERE(two_halves_of_one_recording_are_compared),
	};

	return cmocka_run_group_tests(tests, record_both, remove_both);
}
