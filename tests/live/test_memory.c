/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory: page faults of known number and kind, and cgroups that are too small. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "disks.h"
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

/* --- over time -------------------------------------------------------------------------------- */

/* Without the signal. The process changes nothing while it is recorded. */
static void resident_memory_is_what_the_process_itself_reads(void **state)
{
	struct workload workload = workload__start(WORKLOAD("touches", "hold", "24"));
	int64_t anonymous, shared;
	struct trial trial;
	json_t *log, *phase;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-p", pid));
	sleep(2);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	snprintf(recording, sizeof(recording), "%s", trial.path);
	workload__go(&workload);
	log = workload__end(&workload);
	phase = log_phase(log, "hold", NULL);
	anonymous = trial__query(recording, "select anonymous from resident order by time_ns desc"
					    " limit 1");
	shared = trial__query(recording,
			      "select shared from resident order by time_ns desc limit 1");
	print_message("# anonymous %" PRId64 " kB, by itself %" PRId64 "; shared %" PRId64
		      ", by itself %" PRId64 "\n",
		      anonymous / 1024, number_at(phase, "anonymous"), shared / 1024,
		      number_at(phase, "shared"));
	/* Where the root is in memory, the program itself is shared memory. */
	assert_true(shared >= 12 << 20);
	assert_int_equal(number_at(phase, "shared"), shared / 1024);
	assert_true(anonymous >= 24 << 20);
	/* It may write to a page of its stack after it was read. */
	assert_in_range(number_at(phase, "anonymous"), anonymous / 1024, anonymous / 1024 + 64);
	/* At the start, after each second, and at the end. */
	assert_in_range(trial__query(recording, "select count(*) from resident"), 2, 9);
	json_decref(log);
}

/* --- what only hooks at functions know -------------------------------------------------------- */

/* Kernels that do not let functions be hooked have no such times. */
static void need_fault_times(void)
{
	if (trial__query(recording, "select count(*) from signal_sums where operation = 'anonymous"
				    " write' and measure = 'time' and sum > 0"))
		return;
	print_message("# skip: handle_mm_fault cannot be hooked here\n");
	skip();
}

/* Of the workload's log: how long the faults took by the program's own clock. */
static int64_t own_ns(json_t *log)
{
	json_t *phase = log_phase(log, "timed", NULL);

	return number_at(phase, "ns") - number_at(phase, "again_ns");
}

static int64_t seen_ns(void)
{
	return trial__query(recording, "select sum(sum) from signal_sums where comm = 'timed' and"
				       " operation = 'anonymous write' and measure = 'time'");
}

/* In huge pages, each of which takes milliseconds: the hooks and the exception hardly count. */
static void the_time_of_faults_is_that_of_the_programs_own_clock(void **state)
{
	int64_t own, faults;
	json_t *log = NULL;

	trial__record_at(recording, ARGS("--signals", "memory"), WORKLOAD("touches", "timed", "64"),
			 &log);
	faults = number_at(log_phase(log, "timed", NULL), "faults");
	own = own_ns(log);
	json_decref(log);
	need_fault_times();
	print_message("# %" PRId64 " us in %" PRId64 " faults, %" PRId64 " us by its own clock\n",
		      seen_ns() / 1000, faults, own / 1000);
	assert_in_range(faults, 32, 64); /* else there are no huge pages */
	assert_in_range(seen_ns(), own * 9 / 10, own * 11 / 10);
}

static int64_t own_ns_alone(const char *const *command)
{
	struct workload workload = workload__start(command);
	json_t *log = workload__end(&workload);
	int64_t ns = own_ns(log);

	json_decref(log);
	return ns;
}

/*
 * Small ones take as long as the hooks, which the program's clock cannot tell apart. So its clock
 * is read without a recording, before and after.
 */
static void the_time_of_small_faults_is_what_they_take_without_hooks(void **state)
{
	const char *const *command = WORKLOAD("touches", "small", "64");
	int64_t alone[2], own;
	json_t *log = NULL;

	alone[0] = own_ns_alone(command);
	trial__record_at(recording, ARGS("--signals", "memory"), command, &log);
	own = own_ns(log);
	json_decref(log);
	alone[1] = own_ns_alone(command);
	need_fault_times();
	print_message("# %" PRId64 " us, %" PRId64 " and %" PRId64 " us by its own clock without"
		      " a recording, %" PRId64 " us with one\n",
		      seen_ns() / 1000, alone[0] / 1000, alone[1] / 1000, own / 1000);
	/* Each of these varies by a third on a busy machine. */
	assert_true(seen_ns() > (alone[0] < alone[1] ? alone[0] : alone[1]) / 2);
	assert_true(seen_ns() < own);
}

static void memory_that_was_swapped_out_is_read_back_by_faults_of_its_cgroup(void **state)
{
	struct loop loop;
	char command[128];
	int64_t major;

	if (!is_emulated()) {
		print_message("# skip: the swap of this machine is left alone\n");
		skip();
	}
	loop = loop__new(128 << 20);
	snprintf(command, sizeof(command), "mkswap %s >/dev/null && swapon %s", loop.device,
		 loop.device);
	assert_int_equal(system(command), 0);
	make_cgroup("32M");
	record_inside("twice 64");
	snprintf(command, sizeof(command), "swapoff %s", loop.device);
	assert_int_equal(system(command), 0);
	loop__free(&loop);
	major = trial__query(recording, "select sum(major) from faults where comm = 'touches'");
	print_message("# %" PRId64 " swap in, %" PRId64 " major faults\n",
		      ask("touches", "swap in"), major);
	assert_true(major > 1000);
	/* Those of system calls are only in the kernel's count. */
	assert_in_range(ask("touches", "swap in"), major * 9 / 10, major);
	assert_int_equal(trial__query(recording, "select count(*) from signal_sums where operation"
						 " = 'swap in' and place <> '/" CGROUP "'"),
			 0);
}

/* --- waits and compaction --------------------------------------------------------------------- */

/* Total time that the kernel says a thread of the cgroup was stalled. */
static int64_t stalled_us(void)
{
	FILE *file = fopen(in_cgroup("memory.pressure"), "r");
	char line[256], *total = NULL;
	int64_t us = -1;

	if (file && fgets(line, sizeof(line), file) && (total = strstr(line, "total=")))
		us = strtoll(total + 6, NULL, 10);
	if (file)
		fclose(file);
	return us;
}

static void a_wait_at_memory_high_is_for_memory_and_names_the_cgroup(void **state)
{
	int64_t waited_ns, stalled_ns;
	const char *text;
	json_t *report;

	if (is_v1()) {
		print_message("# skip: memory.high needs cgroups of version 2\n");
		skip();
	}
	make_cgroup("64M");
	assert_true(write_to(in_cgroup("memory.high"), "16M"));
	record_inside("grow 17");
	sleep(3); /* the kernel brings its total up to date every two seconds */
	stalled_ns = stalled_us() * 1000;
	waited_ns = trial__query(recording, "select coalesce(sum(w.ns), 0) as n from wait w join"
					    " object o on o.id = w.object where o.kind = 'memory'");
	print_message("# waited %" PRId64 " ms, stalled %" PRId64 " ms by the kernel\n",
		      waited_ns / 1000000, stalled_ns / 1000000);
	assert_true(waited_ns > 100 * MS);
	if (stalled_ns > 0)
		assert_in_range(waited_ns, stalled_ns / 2, stalled_ns + stalled_ns / 20);
	report = trial__report(recording);
	text = text_at(json_array_get(json_object_get(report, "findings"), 0), "text");
	if (!strstr(text, "limit of its cgroup /" CGROUP " (64 MiB, high 16 MiB)"))
		fail_msg("no cgroup in: %s", text);
	json_decref(report);
}

/* In /proc/zoneinfo: the zones that have memory, each of which is compacted once. */
static int64_t zones(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	char line[256];
	long present;
	int64_t count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += sscanf(line, " present %ld", &present) == 1 && present > 0;
	if (file)
		fclose(file);
	return count;
}

static void compaction_is_counted_for_whoever_runs_it(void **state)
{
	json_t *log = NULL;

	if (access("/proc/sys/vm/compact_memory", W_OK)) {
		print_message("# skip: compaction cannot be started here\n");
		skip();
	}
	trial__record_at(recording, ARGS("--signals", "memory"),
			 ARGS("sh", "-c", "echo 1 >/proc/sys/vm/compact_memory"), &log);
	json_decref(log);
	print_message("# %" PRId64 " of %" PRId64 " zones\n", ask("sh", "compaction"), zones());
	assert_int_equal(ask("sh", "compaction"), zones());
	assert_true(trial__query(recording,
				 "select sum(sum) from signal_sums where operation ="
				 " 'compaction' and measure = 'time' and place <> ''") > 0);
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
		TEST(resident_memory_is_what_the_process_itself_reads),
		TEST(the_time_of_faults_is_that_of_the_programs_own_clock),
		TEST(the_time_of_small_faults_is_what_they_take_without_hooks),
		TEST(memory_that_was_swapped_out_is_read_back_by_faults_of_its_cgroup),
		TEST(a_wait_at_memory_high_is_for_memory_and_names_the_cgroup),
		TEST(compaction_is_counted_for_whoever_runs_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
