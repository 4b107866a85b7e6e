/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython and HotSpot in mount and pid namespaces of their own, with a private /tmp that has their
 * files, recorded by the pid that they have outside. Paths and thread numbers in their memory are
 * those inside. GAPLESS_TEST_PYTHON and _JAVA name other interpreters than those of the system.
 */
#include "../harness.h"

#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpreters.h"

#define COLLECTIONS 5

struct contained {
	struct workload workload;
	char pid[16]; /* outside */
};

static struct contained start(const char *const *command)
{
	struct contained contained = { .workload = workload__start(command) };
	char line[128] = "";
	int pid = 0;

	if (!fgets(line, sizeof(line), contained.workload.log) ||
	    sscanf(line, "{\"pid\": %d}", &pid) != 1)
		fail_msg("nothing runs in a container: %s", line);
	snprintf(contained.pid, sizeof(contained.pid), "%d", pid);
	workload__await_ready(&contained.workload);
	return contained;
}

/* The path of a recording that took so long. */
static void record(const char *const *command, const char *rate, unsigned int seconds,
		   char *ret_path, size_t size)
{
	struct contained contained = start(command);
	struct trial trial =
		trial__start(ARGS("-F", rate, "--signals", "none", "-p", contained.pid));

	sleep(seconds);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&contained.workload);
	snprintf(ret_path, size, "%s", trial.path);
}

static void check_stacks(const char *const *command, const struct known_program *program,
			 const char *language, int permille)
{
	struct stacks_recording recording;
	char path[64];

	record(command, "499", 1, path, sizeof(path));
	assert_int_equal(interpreters__known(path, language), 1);
	recording = stacks__open(path);
	assert_known_stacks(&recording, program, true, permille);
	assert_known_stacks(&recording, program, false, 995);
	stacks__release(&recording);
}

static const char *path_inside(const char *path)
{
	static char paths[2][PATH_MAX];
	static unsigned int next;
	char *inside = paths[next++ % 2];
	const char *name = strrchr(path, '/');

	snprintf(inside, PATH_MAX, "/tmp%s", name);
	return inside;
}

/* Where it is really; links to it are not in the container. */
static const char *python(void)
{
	static char path[PATH_MAX];

	assert_non_null(
		realpath(interpreters__path("GAPLESS_TEST_PYTHON", "/usr/bin/python3"), path));
	return path;
}

static void python_functions(void **state)
{
	const char *script = workload__path("stacks.py");

	check_stacks(WORKLOAD("contained", python(), script, "--", path_inside(python()),
			      path_inside(script)),
		     &python_program, "python", 990);
}

static void the_gil_and_the_thread_that_has_it(void **state)
{
	const char *script = workload__path("hog.py");
	char path[64];

	record(WORKLOAD("contained", python(), script, "--", path_inside(python()),
			path_inside(script), "60"),
	       "99", 2, path, sizeof(path));
	assert_gil_of_main_thread(path);
	trial__remove(path);
}

/* The folder that has bin/java. */
static char *java_home(void)
{
	static char path[PATH_MAX];

	assert_non_null(realpath(interpreters__path("GAPLESS_TEST_JAVA", "/usr/bin/java"), path));
	return dirname(dirname(path));
}

/* The command that runs a class; one of ours at a time. */
static const char *const *java(const char *name)
{
	static char program[PATH_MAX], classes_inside[PATH_MAX];
	static const char *command[12];
	const char *home = java_home(), *classes = interpreters__classes(name);

	snprintf(program, sizeof(program), "%s/bin/java", path_inside(home));
	snprintf(classes_inside, sizeof(classes_inside), "%s", path_inside(classes));
	memcpy(command,
	       WORKLOAD("contained", home, classes, "--", program, "-XX:+UseSerialGC",
			"-Dsun.reflect.inflationThreshold=2147483647", "-cp", classes_inside, name),
	       11 * sizeof(*command));
	return command;
}

static void java_methods(void **state)
{
	check_stacks(java("Stacks"), &java_program, "java", 980);
}

static void owners_of_java_locks(void **state)
{
	char path[64];

	record(java("Locks"), "99", 3, path, sizeof(path));
	assert_java_owner(path, "wants-monitor", "holds-monitor", "Locks$Ledger");
	assert_java_owner(path, "wants-lock", "holds-lock",
			  "java.util.concurrent.locks.ReentrantLock");
	trial__remove(path);
}

/* What HotSpot has counted meanwhile. */
static int64_t collect(struct workload *workload)
{
	char line[128] = "";
	int64_t count = 0;

	workload__go(workload);
	if (!fgets(line, sizeof(line), workload->log) ||
	    sscanf(line, "{\"collections\": %" SCNd64 "}", &count) != 1)
		fail_msg("nothing was collected: %s", line);
	return count;
}

static int64_t collections_in(const char *path)
{
	return trial__ask(path, "select coalesce(sum(count), 0) from signal_sums where"
				" signal = 'runtime' and place = 'gc' and operation = 'full'"
				" and measure = 'time'");
}

/* Collects until the probes are there. The recording has sums about once a second. */
static int64_t await_probes(struct workload *workload, const char *path)
{
	int64_t seen = 0;

	for (int i = 0; i < 10 && !seen; i++) {
		collect(workload);
		for (int wait = 0; wait < 40 && !seen; wait++) {
			usleep(100000);
			seen = collections_in(path);
		}
	}
	return seen;
}

static void collections_of_java(void **state)
{
	struct contained contained = start(java("Collects"));
	struct trial trial =
		trial__start(ARGS("-F", "99", "--signals", "runtime", "-p", contained.pid));
	int64_t count = await_probes(&contained.workload, trial.path);

	assert_true(count > 0);
	for (int i = 0; i < COLLECTIONS; i++)
		count += collect(&contained.workload);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&contained.workload);
	assert_int_equal(collections_in(trial.path), count);
	trial__remove(trial.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_functions),
		cmocka_unit_test(the_gil_and_the_thread_that_has_it),
		cmocka_unit_test(java_methods),
		cmocka_unit_test(owners_of_java_locks),
		cmocka_unit_test(collections_of_java),
	};

	return cmocka_run_group_tests(tests, NULL, interpreters__remove_classes);
}
