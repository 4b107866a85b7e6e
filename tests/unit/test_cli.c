/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/cli.h"

static void make(const char *name, time_t seconds)
{
	const struct timespec times[2] = { { seconds, 0 }, { seconds, 0 } };
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fclose(file);
	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void the_newest_recording_is_the_one_that_changed_last(void **state)
{
	char folder[] = "/tmp/gapless-newest-XXXXXX", before[256];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_null(cli__newest_recording());
	make("run.gapless", 1000);
	make("run-2.gapless", 3000);
	make("other.gapless", 2000);
	make("run-2.gapless-journal", 4000);
	make("notes", 5000);
	assert_int_equal(mkdir("folder.gapless", 0755), 0);
	assert_string_equal(cli__newest_recording(), "run-2.gapless");
	make("run.gapless", 6000);
	assert_string_equal(cli__newest_recording(), "run.gapless");
	unlink("run.gapless");
	unlink("run-2.gapless");
	unlink("other.gapless");
	unlink("run-2.gapless-journal");
	unlink("notes");
	rmdir("folder.gapless");
	assert_int_equal(chdir(before), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void a_command_is_looked_for_as_a_shell_does(void **state)
{
	/* A folder of the caller's PATH that may not be searched would make it -EACCES. */
	setenv("PATH", "/usr/bin:/bin", 1);
	assert_int_equal(child__check("sh"), 0);
	assert_int_equal(child__check("/bin/sh"), 0);
	assert_int_equal(child__check("no-such-program"), -ENOENT);
	assert_int_equal(child__check("/no/such"), -ENOENT);
	assert_int_equal(child__check(""), -ENOENT);
	assert_int_equal(child__check("/tmp"), -EACCES);
	assert_int_equal(child__check("/etc/passwd"), -EACCES);
	assert_int_equal(child__status_of(ENOENT), 127);
	assert_int_equal(child__status_of(EACCES), 126);
	assert_int_equal(child__status_of(ENOEXEC), 126);
}

static void signals_have_their_names(void **state)
{
	assert_string_equal(child__signal_name(SIGSEGV), "SIGSEGV");
	assert_string_equal(child__signal_name(SIGKILL), "SIGKILL");
	assert_string_equal(child__signal_name(50), "signal 50");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_recording_is_the_one_that_changed_last),
		cmocka_unit_test(a_command_is_looked_for_as_a_shell_does),
		cmocka_unit_test(signals_have_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
