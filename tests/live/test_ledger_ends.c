/* SPDX-License-Identifier: GPL-2.0-or-later */
/* However a recording ends: the right message, the right exit code, and a file that can be read. */
#include "../harness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

#define FULL_DIR "/tmp/ledger-full"

static struct workload start_target(char *ret_pid, size_t size)
{
	struct workload workload = workload__start(WORKLOAD("stopper"));

	workload__await_ready(&workload);
	snprintf(ret_pid, size, "%d", workload.pid);
	return workload;
}

/*
 * Ends a recording with this signal after a while; checks the file, returns the status. If it
 * cannot write any more, there is what it wrote by itself before.
 */
static int end_by(int signal, bool complete)
{
	char pid[16];
	struct workload workload = start_target(pid, sizeof(pid));
	struct trial trial = trial__start(ARGS("-p", pid));
	struct stat file;
	json_t *report;
	int status;

	usleep(complete ? 700000 : is_emulated() ? 4000000 : 1700000);
	status = trial__stop(&trial, signal);
	workload__kill(&workload);
	assert_int_equal(stat(trial.path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	report = trial__report(trial.path);
	assert_int_equal(json_is_true(json_object_get(report, "complete")) ||
				 json_integer_value(json_object_get(report, "complete")),
			 complete);
	assert_int_equal(threads_named(report, "stopped-spin"), 1);
	assert_int_equal(number_at(report, "remainder_ns"), 0);
	assert_true(number_at(report, "threads_ns") > 300 * MS);
	json_decref(report);
	trial__remove(trial.path);
	return status;
}

static void an_interrupt_ends_it_early_and_loses_nothing(void **state)
{
	assert_int_equal(end_by(SIGINT, true), 0);
}

static void so_does_a_request_to_terminate(void **state)
{
	assert_int_equal(end_by(SIGTERM, true), 0);
}

static void after_a_kill_the_recording_is_readable_and_says_incomplete(void **state)
{
	assert_int_equal(end_by(SIGKILL, false), 128 + SIGKILL);
}

static void the_command_s_exit_status_is_passed_on(void **state)
{
	char path[64];
	struct output output;

	trial__path(path, sizeof(path));
	output =
		live__gapless("record", "--no-report", "-o", path, "--", "/bin/sh", "-c", "exit 7");
	assert_int_equal(output.status, 7);
	assert_string_equal(output.out, "");
	live__release(&output);
	trial__remove(path);
}

static void a_command_killed_by_a_signal_is_told_as_a_shell_does(void **state)
{
	char path[64];
	struct output output;

	trial__path(path, sizeof(path));
	output = live__gapless("record", "--no-report", "-o", path, "--", "/bin/sh", "-c",
			       "kill -9 $$");
	assert_int_equal(output.status, 128 + SIGKILL);
	assert_non_null(strstr(output.err, "the command was killed by SIGKILL"));
	live__release(&output);
	assert_int_equal(trial__query(path,
				      "SELECT count(*) FROM meta WHERE (key, value) IN (VALUES "
				      "('command_status', 137), ('command_signal', 'SIGKILL'), "
				      "('target', 'command: /bin/sh, killed by SIGKILL'))"),
			 3);
	trial__remove(path);
}

static void a_command_that_ends_at_once_is_recorded(void **state)
{
	char path[64];
	struct output output;
	json_t *report;

	trial__path(path, sizeof(path));
	/* What a user gets who says nothing, in the VMs too: all that is there by default, verified
	 * at once. */
	output = live__gapless("record", "--signals", "default", "-o", path, "--", "/bin/true");
	assert_int_equal(output.status, 0);
	live__release(&output);
	report = trial__report(path);
	assert_int_equal(threads_named(report, "true"), 1);
	assert_true(sum_ns(report, "true", "run", NULL) > 0);
	/* From its exec on: that it waited for us to be ready is not its time. */
	assert_int_equal(sum_count(report, "true", "wait", "net"), 0);
	assert_int_equal(sum_ns(report, "true", "unseen", NULL), 0);
	assert_null(syscall_named(report, "execve"));
	assert_true(number_at(report, "wall_ns") < 30000 * MS);
	assert_closes(report);
	assert_explained(report);
	json_decref(report);
	trial__remove(path);
}

static void a_report_for_people_ends_a_recording(void **state)
{
	char path[64];
	struct output output;

	trial__path(path, sizeof(path));
	output = live__gapless("record", "-o", path, "--", workload__path("phases"), "lock");
	assert_int_equal(output.status, 0);
	/* Standard output is the command's. */
	assert_non_null(strstr(output.err, "holder"));
	assert_non_null(strstr(output.err, "unexplained"));
	assert_null(strstr(output.out, "unexplained"));
	live__release(&output);
	trial__remove(path);
}

static void a_duration_ends_it(void **state)
{
	char path[64], pid[16];
	struct workload workload = start_target(pid, sizeof(pid));
	struct output output;
	json_t *report;

	trial__path(path, sizeof(path));
	output = live__gapless("record", "--json", "-o", path, "-p", pid, "-d", "500ms");
	workload__kill(&workload);
	assert_int_equal(output.status, 0);
	report = live__json(&output);
	live__release(&output);
	assert_true(number_at(report, "wall_ns") >= 500 * MS);
	assert_true(number_at(report, "wall_ns") < 5000 * MS);
	assert_closes(report);
	json_decref(report);
	trial__remove(path);
}

/* As a shell says it; an interpreter that is missing is noticed by the kernel only. */
static void a_command_that_cannot_be_run_leaves_no_file(void **state)
{
	static const struct {
		const char *command;
		int status;
	} cases[] = { { "/no/such/program", 127 },
		      { "no-such-program", 127 },
		      { "/etc/passwd", 126 },
		      { "/tmp", 126 },
		      { "", 127 },
		      { NULL, 127 } };
	char path[64], script[96];

	trial__path(path, sizeof(path));
	snprintf(script, sizeof(script), "%s-script", path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *command = cases[i].command ? cases[i].command : script;
		FILE *file = fopen(script, "w");
		struct output output;

		fputs("#!/no/such/interpreter\n", file);
		fclose(file);
		chmod(script, 0755);
		output = live__gapless("record", "--signals", "none", "-o", path, "--", command);
		assert_int_equal(output.status, cases[i].status);
		assert_non_null(strstr(output.err, "cannot run"));
		assert_non_null(strstr(output.err, command));
		live__release(&output);
		assert_int_not_equal(access(path, F_OK), 0);
		output = live__gapless("record", "--signals", "none", "--warmup", "5s", "-o", path,
				       "--", command);
		assert_int_equal(output.status, cases[i].status);
		assert_non_null(strstr(output.err, "cannot run"));
		assert_null(strstr(output.err, "within the warm-up"));
		live__release(&output);
		assert_int_not_equal(access(path, F_OK), 0);
		unlink(script);
	}
}

static void a_target_that_never_was_is_said_to_be_missing(void **state)
{
	char path[64];
	struct output output;

	trial__path(path, sizeof(path));
	output = live__gapless("record", "-o", path, "-p", "999999", "-d", "5s");
	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "999999"));
	assert_string_equal(output.out, "");
	live__release(&output);
	trial__remove(path);
}

/* With nobody left to record there is nothing to wait for. */
static void it_ends_with_its_target(void **state)
{
	char pid[16];
	struct workload workload = start_target(pid, sizeof(pid));
	struct trial trial = trial__start(ARGS("-p", pid, "-d", "60s"));
	json_t *report;

	usleep(200000);
	workload__kill(&workload);
	assert_int_equal(trial__stop(&trial, 0), 0);
	report = trial__report(trial.path);
	assert_true(number_at(report, "wall_ns") < 30000 * MS);
	assert_closes(report);
	json_decref(report);
	trial__remove(trial.path);
}

static void an_unwritable_path_is_named(void **state)
{
	struct output output =
		live__gapless("record", "-o", "/no/such/folder/x.gapless", "--", "/bin/true");

	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "/no/such/folder/x.gapless"));
	live__release(&output);
}

static void an_existing_file_is_kept_unless_forced(void **state)
{
	char path[64], line[16] = "";
	struct output output;
	FILE *file;

	trial__path(path, sizeof(path));
	file = fopen(path, "w");
	fputs("precious", file);
	fclose(file);
	output = live__gapless("record", "-o", path, "--", "/bin/true");
	assert_in_range(output.status, 1, 2);
	assert_non_null(strstr(output.err, path));
	assert_non_null(strstr(output.err, "--force"));
	live__release(&output);
	file = fopen(path, "r");
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	assert_string_equal(line, "precious");
	output = live__gapless("record", "--no-report", "--force", "-o", path, "--", "/bin/true");
	assert_int_equal(output.status, 0);
	live__release(&output);
	json_decref(trial__report(path));
	trial__remove(path);
}

static int mount_small_disk(void **state)
{
	mkdir(FULL_DIR, 0700);
	return mount("tmpfs", FULL_DIR, "tmpfs", 0, "size=512k");
}

static int unmount_small_disk(void **state)
{
	umount2(FULL_DIR, MNT_DETACH);
	return rmdir(FULL_DIR);
}

static void a_full_disk_is_told_and_what_fitted_can_be_read(void **state)
{
	const char *path = FULL_DIR "/run.gapless";
	struct output output = live__gapless("record", "--no-report", "-o", path, "--",
					     workload__path("churn"), "threads", "5000", "20");

	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, path));
	live__release(&output);
	output = live__gapless("report", "--json", path);
	if (output.status)
		fail_msg("gapless report: %d, %s", output.status, output.err);
	live__release(&output);
}

/* Some wait when the accounts stop, and end before they are read: trial__remove() adds up. */
static void threads_that_end_at_the_end_keep_their_waits(void **state)
{
	struct workload workload = workload__start(WORKLOAD("churn", "threads", "1000000", "50"));
	struct trial trial;
	json_t *report;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid));
	usleep(300000);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	report = trial__report(trial.path);
	assert_true(threads_named(report, "churn-thread") > 50);
	assert_int_equal(number_at(report, "remainder_ns"), 0);
	assert_closes(report);
	json_decref(report);
	trial__remove(trial.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(an_interrupt_ends_it_early_and_loses_nothing),
		HERE(so_does_a_request_to_terminate),
		HERE(after_a_kill_the_recording_is_readable_and_says_incomplete),
		HERE(the_command_s_exit_status_is_passed_on),
		HERE(a_command_killed_by_a_signal_is_told_as_a_shell_does),
		cmocka_unit_test(a_command_that_ends_at_once_is_recorded),
		HERE(a_report_for_people_ends_a_recording),
		HERE(a_duration_ends_it),
		HERE(a_command_that_cannot_be_run_leaves_no_file),
		HERE(a_target_that_never_was_is_said_to_be_missing),
		cmocka_unit_test(it_ends_with_its_target),
		cmocka_unit_test(threads_that_end_at_the_end_keep_their_waits),
		HERE(an_unwritable_path_is_named),
		HERE(an_existing_file_is_kept_unless_forced),
		cmocka_unit_test_setup_teardown(a_full_disk_is_told_and_what_fitted_can_be_read,
						mount_small_disk, unmount_small_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
