/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom the options choose: known families of processes, to the thread. */
#include "../harness.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

#define LITTLE    "--no-stacks", "--signals", "none"
#define MOST_TIDS 64
/* Nobody's on any machine. */
#define UNUSED_UID "54321678"

struct tids {
	int64_t tids[MOST_TIDS];
	size_t count;
};

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The numbers of all threads in an array of objects with a name that starts so, in order. */
static struct tids tids_of(json_t *array, const char *prefix)
{
	struct tids tids = {};
	json_t *object;
	size_t i;

	json_array_foreach (array, i, object) {
		const char *comm = json_string_value(json_object_get(object, "comm"));

		if (!comm || strncmp(comm, prefix, strlen(prefix)))
			continue;
		assert_true(tids.count < MOST_TIDS);
		tids.tids[tids.count++] = number_at(object, "tid");
	}
	qsort(tids.tids, tids.count, sizeof(*tids.tids), compare);
	return tids;
}

static void assert_same(struct tids is, struct tids should)
{
	assert_int_equal(is.count, should.count);
	for (size_t i = 0; i < is.count; i++)
		assert_int_equal(is.tids[i], should.tids[i]);
}

/* Exactly the threads that the log tells of, and `count` of them. */
static void assert_exactly(json_t *report, json_t *log, size_t count)
{
	struct tids logged = tids_of(log, "family-");

	assert_int_equal(logged.count, count);
	assert_same(tids_of(json_object_get(report, "threads"), ""), logged);
	assert_closes(report);
}

static struct workload start_family(char *ret_pid, size_t size)
{
	struct workload workload = workload__start(WORKLOAD("family"));

	workload__await_ready(&workload);
	snprintf(ret_pid, size, "%d", workload.pid);
	return workload;
}

/* Its end; the numbers of both processes' threads in one log. */
static json_t *end_family(struct workload *workload, json_t *log)
{
	json_t *more;

	workload__go(workload);
	more = workload__end(workload);
	if (!log)
		return more;
	json_array_extend(log, more);
	json_decref(more);
	return log;
}

static void children_that_are_there_and_children_to_come_belong_to_a_process(void **state)
{
	char pid[16], other_pid[16];
	struct workload workload = start_family(pid, sizeof(pid));
	struct workload other = start_family(other_pid, sizeof(other_pid));
	struct trial trial = trial__start(ARGS(LITTLE, "-p", pid));
	json_t *log = end_family(&workload, NULL), *report;

	json_decref(end_family(&other, NULL));
	report = trial__end(&trial);
	assert_exactly(report, log, 6);
	json_decref(report);
	json_decref(log);
}

static void several_processes_can_be_one_argument(void **state)
{
	char first_pid[16], second_pid[16], list[40];
	struct workload first = start_family(first_pid, sizeof(first_pid));
	struct workload second = start_family(second_pid, sizeof(second_pid));
	struct trial trial;
	json_t *log, *report;

	snprintf(list, sizeof(list), "%s,%s", first_pid, second_pid);
	trial = trial__start(ARGS(LITTLE, "-p", list, "-p", first_pid));
	log = end_family(&second, end_family(&first, NULL));
	report = trial__end(&trial);
	assert_exactly(report, log, 12);
	json_decref(report);
	json_decref(log);
}

/* The test is the parent of both the family and gapless. */
static void gapless_is_not_a_child_of_its_target(void **state)
{
	char pid[16], own[16];
	struct workload workload = start_family(pid, sizeof(pid));
	struct trial trial;
	json_t *log, *report;

	snprintf(own, sizeof(own), "%d", getpid());
	trial = trial__start(ARGS(LITTLE, "-p", own));
	log = end_family(&workload, NULL);
	report = trial__end(&trial);
	assert_same(tids_of(json_object_get(report, "threads"), "family-"),
		    tids_of(log, "family-"));
	assert_int_equal(threads_named(report, "gapless"), 0);
	assert_int_equal(threads_named(report, "test_targets"), 1);
	json_decref(report);
	json_decref(log);
}

/* By the name of the first process: those that are there, and one that is called so later. */
static void a_name_can_be_a_pattern(void **state)
{
	char pid[16];
	struct workload workload = start_family(pid, sizeof(pid)), later;
	struct trial trial = trial__start(ARGS(LITTLE, "--comm", "f?mily-ma[h-j]*"));
	json_t *log, *report;

	later = start_family(pid, sizeof(pid));
	log = end_family(&later, end_family(&workload, NULL));
	report = trial__end(&trial);
	/* Of the later one, the first thread took its name when its child was there already. */
	assert_int_equal(threads_named(report, "family-main"), 2);
	assert_int_equal(threads_named(report, "family-grand"), 1);
	assert_int_equal(threads_named(report, "family-late"), 1);
	assert_int_equal(threads_named(report, "family-thread"), 3);
	assert_int_equal(threads_named(report, "family-child"), 1);
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

/* Another program of that name, the test's own and gapless are not of that file. */
static void a_file_chooses_the_processes_that_run_it(void **state)
{
	char pid[16];
	struct workload workload = start_family(pid, sizeof(pid)), later;
	struct trial trial =
		trial__start(ARGS(LITTLE, "--exe", workload__path("family"), "--uid", UNUSED_UID));
	json_t *log, *report;

	later = start_family(pid, sizeof(pid));
	log = end_family(&later, end_family(&workload, NULL));
	report = trial__end(&trial);
	assert_exactly(report, log, 12);
	json_decref(report);
	json_decref(log);
}

/* The youngest process takes the user while it is watched, and has one child after that. */
static void a_user_chooses_the_threads_that_take_it(void **state)
{
	struct workload workload = workload__start(WORKLOAD("family", UNUSED_UID));
	struct trial trial;
	json_t *log, *report;

	workload__await_ready(&workload);
	trial = trial__start(ARGS(LITTLE, "--uid", UNUSED_UID));
	log = end_family(&workload, NULL);
	report = trial__end(&trial);
	assert_int_equal(json_array_size(json_object_get(report, "threads")), 2);
	assert_int_equal(number_at(thread_named(report, "family-grand"), "tid"),
			 number_at(log_phase(log, "member", "family-grand"), "tid"));
	assert_int_equal(number_at(thread_named(report, "family-late"), "tid"),
			 number_at(log_phase(log, "member", "family-late"), "tid"));
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

/* A cgroup of this name, and its path behind "0::". Version 1 beside it has the usual place. */
static void make_cgroup(const char *name, char *ret_folder, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "/%s", name);
	snprintf(ret_folder, size, "/sys/fs/cgroup%s/%s",
		 access("/sys/fs/cgroup/unified", F_OK) ? "" : "/unified", name);
	assert_int_equal(mkdir(ret_folder, 0755), 0);
}

static void move_to(const char *cgroup, pid_t pid)
{
	char path[256];
	FILE *procs;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	procs = fopen(path, "w");
	assert_non_null(procs);
	assert_true(fprintf(procs, "%d", pid) > 0);
	assert_int_equal(fclose(procs), 0);
}

/* One process of a family is in it; its children stay where they were born. */
static void check_cgroup(const char *name, const char *option, const char *arg)
{
	char pid[16], folder[192], path[192];
	struct workload workload = start_family(pid, sizeof(pid));
	struct trial trial;
	json_t *log, *report;

	make_cgroup(name, folder, path, sizeof(path));
	move_to(folder, workload.pid);
	trial = trial__start(ARGS(LITTLE, option, arg ? arg : path));
	log = end_family(&workload, NULL);
	report = trial__end(&trial);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(threads_named(report, "family-main"), 1);
	assert_int_equal(threads_named(report, "family-thread"), 1);
	assert_int_equal(json_array_size(json_object_get(report, "threads")), 2);
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

static void a_cgroup_is_found_by_the_path_that_proc_has(void **state)
{
	char name[64];

	snprintf(name, sizeof(name), "gapless-targets-%d", getpid());
	check_cgroup(name, "--cgroup", NULL);
}

static void a_unit_is_found_by_its_name(void **state)
{
	char name[64], unit[64];

	snprintf(unit, sizeof(unit), "gapless-%d@*", getpid());
	snprintf(name, sizeof(name), "gapless-%d@1.service", getpid());
	check_cgroup(name, "--unit", unit);
}

static void a_container_is_found_by_the_beginning_of_its_id(void **state)
{
	char name[128], id[65];

	snprintf(id, sizeof(id), "%032x%032x", getpid(), getpid());
	snprintf(name, sizeof(name), "docker-%s.scope", id);
	id[48] = '\0';
	check_cgroup(name, "--container", id);
}

static void assert_refused(const char *option, const char *arg, const char *words)
{
	struct output output = live__gapless("record", "-d", "100ms", "--no-report", option, arg);

	assert_int_equal(output.status, 1);
	if (!strstr(output.err, words))
		fail_msg("%s %s: %s", option, arg, output.err);
	live__release(&output);
}

static void what_is_no_target_is_refused_with_the_reason(void **state)
{
	assert_refused("--cgroup", "/tmp", "is not a cgroup");
	assert_refused("--cgroup", "/etc/passwd", "is not a cgroup");
	assert_refused("--cgroup", "no/such", "there is no cgroup");
	assert_refused("--uid", "no-such", "no user 'no-such'");
	assert_refused("--exe", "/no/such", "no file '/no/such'");
	assert_refused("--exe", "/tmp", "is a folder");
	assert_refused("--exe", "/etc/passwd", "Permission denied");
	assert_refused("--unit", "no-such", "no systemd unit 'no-such'");
	assert_refused("--container", "ffff", "a container 'ffff'");
	if (!access("/sys/fs/cgroup/memory/cgroup.procs", F_OK)) {
		assert_refused("--cgroup", "/sys/fs/cgroup/memory", "version 1");
		assert_refused("--cgroup", "memory", "version 1");
	}
}

static void become_nobody(void)
{
	if (setgid(65534) || setuid(65534))
		_exit(125);
}

static void without_root_it_is_said_that_root_is_needed(void **state)
{
	struct output output = live__run(become_nobody, ARGS("record", "-a", "-d", "1s"));

	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "'gapless record' needs root"));
	live__release(&output);
}

static void help_knows_each_command(void **state)
{
	struct output output = live__gapless("help", "record");

	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "Usage: gapless record"));
	assert_non_null(strstr(output.out, "Targets:"));
	live__release(&output);
	output = live__gapless("help", "recrod");
	assert_int_equal(output.status, 2);
	assert_non_null(strstr(output.err, "did you mean 'record'?"));
	live__release(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_that_are_there_and_children_to_come_belong_to_a_process),
		cmocka_unit_test(a_name_can_be_a_pattern),
		cmocka_unit_test(a_file_chooses_the_processes_that_run_it),
		cmocka_unit_test(a_user_chooses_the_threads_that_take_it),
		HERE(a_cgroup_is_found_by_the_path_that_proc_has),
		HERE(a_unit_is_found_by_its_name),
		HERE(a_container_is_found_by_the_beginning_of_its_id),
		HERE(what_is_no_target_is_refused_with_the_reason),
		HERE(without_root_it_is_said_that_root_is_needed),
		HERE(help_knows_each_command),
		HERE(several_processes_can_be_one_argument),
		HERE(gapless_is_not_a_child_of_its_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
