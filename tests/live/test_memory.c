/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory: page faults of known number and kind, and cgroups that are too small. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ledger.h"

#define V1     "/sys/fs/cgroup/memory"
#define V2     "/sys/fs/cgroup"
#define CGROUP "gapless-test-memory"

static char recording[64];

static int set_up(void **state)
{
	trial__path(recording, sizeof(recording));
	return 0;
}

static bool is_v1(void)
{
	return !access(V1 "/memory.limit_in_bytes", F_OK) || !access(V1 "/memory.stat", F_OK);
}

static const char *in_cgroup(const char *file)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/" CGROUP "%s%s", is_v1() ? V1 : V2, *file ? "/" : "",
		 file);
	return path;
}

static bool write_to(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_written;
}

static int tear_down(void **state)
{
	if (is_v1())
		write_to(in_cgroup("memory.force_empty"), "1");
	/* A process that has ended leaves its cgroup a little later. */
	for (int i = 0; i < 50 && rmdir(in_cgroup("")) && errno == EBUSY; i++)
		usleep(20000);
	trial__remove(recording);
	return 0;
}

/* Skips the test if there is no memory controller. */
static void make_cgroup(const char *limit)
{
	if (!is_v1())
		write_to(V2 "/cgroup.subtree_control", "+memory");
	if (mkdir(in_cgroup(""), 0755) ||
	    !write_to(in_cgroup(is_v1() ? "memory.limit_in_bytes" : "memory.max"), limit)) {
		print_message("# skip: no memory controller of cgroups\n");
		skip();
	}
}

/* Files of tmpfs cannot be evicted without swap. */
static void need_files_on_disk(void)
{
	struct statfs info;

	assert_int_equal(statfs("/tmp", &info), 0);
	if (info.f_type != TMPFS_MAGIC && info.f_type != RAMFS_MAGIC)
		return;
	print_message("# skip: /tmp is not on a disk\n");
	skip();
}

/* Records the workload in the cgroup. */
static void record_inside(const char *args)
{
	json_t *log = NULL;
	char command[512];

	snprintf(command, sizeof(command), "cd /tmp && echo $$ >%s && %s %s || true",
		 in_cgroup("cgroup.procs"), workload__path("touches"), args);
	trial__record_at(recording, ARGS("--signals", "memory"),
			 (const char *const[]) { "sh", "-c", command, NULL }, &log);
	json_decref(log);
}

static int64_t ask(const char *comm, const char *operation)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(count), 0) as n from signal_sums where signal = 'memory' and"
		 " measure = 'size' and comm = '%s' and operation like '%s'",
		 comm, operation);
	return trial__query(recording, sql);
}

static void expect_faults(json_t *log, const char *comm, const char *operation, int64_t count)
{
	int64_t kernel = number_at(log_phase(log, comm, NULL), "faults");
	char sql[256];

	snprintf(sql, sizeof(sql), "select sum(minor + major) from faults where comm = '%s'", comm);
	print_message("# %s: %" PRId64 " by getrusage, %" PRId64 " seen, %" PRId64 " of %s\n", comm,
		      kernel, ask(comm, "%"), ask(comm, operation), operation);
	/* Exactly what getrusage() says. */
	assert_int_equal(trial__query(recording, sql), kernel);
	/* A new thread writes to its stack, too. */
	assert_in_range(ask(comm, operation), count, count + 2);
}

static void faults_are_those_of_getrusage_by_mapping(void **state)
{
	json_t *log = NULL;

	trial__record_at(recording, ARGS("--signals", "memory"), WORKLOAD("touches", "all"), &log);
	expect_faults(log, "anonymous", "anonymous write", 5000);
	expect_faults(log, "heap", "heap write", 700);
	/* The folder may be in a tmpfs: "shared write". */
	expect_faults(log, "file", "%write", 300);
	assert_int_equal(trial__query(recording,
				      "select sum(count) from signal_sums where comm = 'file' and"
				      " measure = 'size' and object like '%touched.dat'"),
			 300);
	json_decref(log);
}

/* The sum of `what` of samples, of all stacks or of those with the function. */
static int64_t ask_stacks(const char *what, const char *function)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "with recursive up(id, at) as (select id, id from stack union all select up.id,"
		 " s.parent from up join stack s on s.id = up.at where s.parent <> 0) select"
		 " coalesce(sum(%s), 0) as n from signal_sample where operation in ('heap write',"
		 " 'anonymous write') and ('%s' = '' or stack in (select up.id from up join stack s"
		 " on s.id = up.at join frames f on f.id = s.frame where f.function = '%s'))",
		 what, function, function);
	return trial__query(recording, sql);
}

static void a_leak_of_a_megabyte_a_second_is_found_by_its_stack(void **state)
{
	json_t *log = NULL;
	int64_t all, leaked;

	trial__record_at(recording, ARGS("--signals", "memory", "-F", "99"),
			 WORKLOAD("touches", "leak", "1"), &log);
	json_decref(log);
	all = ask_stacks("bytes", "");
	leaked = ask_stacks("bytes", "leak_here");
	print_message("# %" PRId64 " of %" PRId64 " bytes under leak_here\n", leaked, all);
	/* In an emulated machine, the tables of the walk come late. */
	assert_in_range(leaked, is_emulated() ? 1 << 20 : 3 << 19, 3 << 20);
	assert_true(leaked * 10 > all * (is_emulated() ? 5 : 8));
	assert_true(ask_stacks("bytes", "use_here") * 10 < leaked);
	/* So few that every fault has its stack. */
	assert_int_equal(ask_stacks("count", ""),
			 ask("touches", "heap write") + ask("touches", "anonymous write"));
	/* The heap grew by what was leaked. */
	assert_in_range(trial__query(recording, "select coalesce(sum(sum), 0) as n from signal_sums"
						" where operation = 'brk' and measure = 'size'"),
			3 << 19, 3 << 20);
}

static void reclaim_is_counted_with_its_cgroup(void **state)
{
	need_files_on_disk();
	make_cgroup("16M");
	record_inside("reread 48");
	assert_true(trial__query(
			    recording,
			    "select coalesce(sum(count), 0) as n from signal_sums where operation ="
			    " 'cgroup reclaim' and measure = 'time' and place = '/" CGROUP
			    "' and sum > 0") > 0);
	assert_true(trial__query(recording,
				 "select coalesce(sum(sum), 0) as n from signal_sums where"
				 " operation = 'cgroup reclaim' and measure = 'size'") >= 16 << 20);
	assert_int_equal(trial__query(recording, "select count(*) from events where operation ="
						 " 'oom kill'"),
			 0);
}

/* Without the signal: they are part of every recording. */
static void pages_that_are_read_again_are_counted_for_their_cgroup(void **state)
{
	struct workload workload;
	struct trial trial;
	char command[512], pid[16];

	need_files_on_disk();
	make_cgroup("16M");
	snprintf(command, sizeof(command), "echo $$ >%s && exec %s thrash 48",
		 in_cgroup("cgroup.procs"), workload__path("touches"));
	workload = workload__start((const char *const[]) { "/bin/sh", "-c", command, NULL });
	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid));
	sleep(2);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	snprintf(recording, sizeof(recording), "%s", trial.path);
	assert_true(trial__query(recording, "select coalesce(sum(file), 0) as n from refault_slice"
					    " where cgroup = '/" CGROUP "'") > 1000);
	assert_int_equal(trial__query(recording, "select count(*) from refault_slice where"
						 " cgroup <> '/" CGROUP "'"),
			 0);
}

static void an_oom_kill_is_an_event_with_victim_and_cgroup(void **state)
{
	make_cgroup("16M");
	record_inside("grow 64");
	assert_int_equal(ask("touches", "oom kill"), 1);
	assert_int_equal(trial__query(recording,
				      "select count(*) from events where operation = 'oom kill' and"
				      " comm = 'touches' and place = '/" CGROUP
				      "' and fields ->> 'cgroup' = '" CGROUP
				      "' and coalesce(fields ->> 'victim_comm', 'touches') ="
				      " 'touches' and fields ->> 'victim' > 0"),
			 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(faults_are_those_of_getrusage_by_mapping),
		TEST(a_leak_of_a_megabyte_a_second_is_found_by_its_stack),
		TEST(reclaim_is_counted_with_its_cgroup),
		TEST(pages_that_are_read_again_are_counted_for_their_cgroup),
		TEST(an_oom_kill_is_an_event_with_victim_and_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
