/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: every call of the chosen functions is counted, with its duration, its result and its
 * caller, however it ends; and the program survives.
 */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

static char recorded[64]; /* the recording of `functions all` */
static long long slept_ns;

static int calls(void)
{
	return is_emulated() ? 20000 : 1000000;
}

/* The program must end well. */
static struct output record(const char *path, const char *const *args)
{
	const char *all[32] = { "record",      "--no-stacks", "--signals", "none",
				"--no-report", "--force",     "-o",        path };
	struct output output;
	size_t count = 8;

	for (size_t i = 0; args[i] && count < 31; i++)
		all[count++] = args[i];
	output = live__run(NULL, all);
	if (output.status)
		fail_msg("status %d: %s", output.status, output.err);
	return output;
}

static int record_all(void **state)
{
	struct output output;
	char count[16];

	trial__path(recorded, sizeof(recorded));
	snprintf(count, sizeof(count), "%d", calls());
	output = record(recorded, ARGS("--budget", "none", "--function", "counted", "--function",
				       "sleeps", "--function", "recurses", "--function", "jumps",
				       "--function", "libc:getppid", "--usdt", "shop:sold", "--",
				       workload__path("functions"), "all", count));
	slept_ns = strtoll(output.out, NULL, 10);
	live__release(&output);
	return 0;
}

static int remove_all(void **state)
{
	trial__remove(recorded);
	return 0;
}

/* The sum of a column over all series for which `where` holds. */
static int64_t sum_at(const char *path, const char *column, const char *where)
{
	char sql[512];

	snprintf(
		sql, sizeof(sql),
		"SELECT ifnull(sum(c.%s), '0') AS n FROM series s JOIN series_slice c ON c.series = s.id "
		"LEFT JOIN object o ON o.id = s.object WHERE %s",
		column, where);
	return trial__query(path, sql);
}

static void assert_sum(const char *path, const char *where, int64_t expected)
{
	int64_t is = sum_at(path, "count", where);

	if (is != expected)
		fail_msg("%s: %lld, not %lld", where, (long long)is, (long long)expected);
}

static void a_million_calls_are_counted_exactly_and_by_what_they_returned(void **state)
{
	assert_sum(recorded, "place LIKE '%:counted'", calls() + 1);
	assert_sum(recorded, "place LIKE '%:counted' AND operation = 'returned >0'", calls() / 2);
	assert_int_equal(sum_at(recorded, "sum1", "place LIKE '%:counted'"), calls() / 2);
	assert_int_equal(trial__query(recorded,
				      "SELECT sum(c.count) FROM distribution d JOIN "
				      "distribution_slice c ON c.distribution = d.id WHERE d.place "
				      "LIKE '%:counted' AND d.measure = 0"),
			 calls() + 1);
}

static void a_millisecond_of_sleep_takes_as_long_as_the_program_says(void **state)
{
	int64_t ns = sum_at(recorded, "sum0", "place LIKE '%:sleeps'");

	assert_sum(recorded, "place LIKE '%:sleeps' AND operation = 'returned <0'", 100);
	if (ns < slept_ns * 98 / 100 || ns > slept_ns * 102 / 100)
		fail_msg("slept %lld ns, and %lld were recorded", slept_ns, (long long)ns);
}

static void a_slow_call_has_the_stack_of_its_caller(void **state)
{
	struct output output;
	char path[64];

	trial__path(path, sizeof(path));
	output = live__gapless("record", "--no-report", "--force", "--stacks", "--signals", "none",
			       "--slow", "500us", "--function", "sleeps", "-o", path, "--",
			       workload__path("functions"), "all", "0");
	assert_int_equal(output.status, 0);
	live__release(&output);
	assert_int_equal(
		trial__query(path, "SELECT count(*) FROM events WHERE signal = 'functions'"), 100);
	/* The first ones may come before the tables of the program. */
	if (!is_emulated())
		assert_in_range(trial__events_in(path, "functions", "functions", "do_all"), 1, 100);
	trial__remove(path);
}

static void recursion_fifty_deep_has_a_duration_for_each_call(void **state)
{
	assert_sum(recorded, "place LIKE '%:recurses'", 1000);
	assert_sum(recorded, "place LIKE '%:recurses' AND o.name LIKE 'do_all+%'", 20);
	/* Of 1 to 50, 20 times. */
	assert_int_equal(sum_at(recorded, "sum1", "place LIKE '%:recurses'"), 20 * 50 * 51 / 2);
}

static void calls_that_longjmp_leaves_are_counted_as_unpaired(void **state)
{
	assert_sum(recorded, "place LIKE '%:jumps'", 0);
	assert_int_equal(
		trial__query(recorded,
			     "SELECT value FROM quality WHERE name = 'functions_unpaired'"),
		60);
	assert_int_equal(trial__query(recorded,
				      "SELECT count(*) FROM quality WHERE name LIKE 'functions_%' "
				      "AND name <> 'functions_unpaired' AND value > 0"),
			 0);
}

static void a_function_of_a_library_is_found_by_the_librarys_name(void **state)
{
	assert_sum(recorded, "place LIKE 'libc%:getppid'", 1000);
	assert_sum(recorded, "place LIKE 'libc%:getppid' AND o.name LIKE 'do_all+%'", 1000);
}

static void a_declared_probe_has_its_arguments(void **state)
{
#if !defined(__x86_64__)
	print_message("# skip: the workload declares no probe on this machine\n");
	skip();
#endif
	assert_sum(recorded, "operation = 'probe'", 30);
	assert_sum(recorded, "operation = 'probe' AND o.name = 'arg1 = -1'", 10);
	assert_sum(recorded, "operation = 'probe' AND o.name = 'arg1 = 1'", 10);
	assert_int_equal(trial__query(recorded,
				      "SELECT count(*) FROM event WHERE operation = 'probe' AND "
				      "fields LIKE '%\"args\":\"-1, 1099511627776, -7\"%'"),
			 10);
}

static void processes_that_start_later_are_counted_and_others_are_not(void **state)
{
	char path[64], spec[256], script[512];
	const char *program = workload__path("functions");
	struct output output;

	trial__path(path, sizeof(path));
	snprintf(spec, sizeof(spec), "%s:coun?ed", program);
	snprintf(script, sizeof(script), "%s count 10; %s count 20 & wait", program, program);
	output = record(path, ARGS("--function", spec, "--", "sh", "-c", script));
	live__release(&output);
	assert_sum(path, "place LIKE '%:counted'", 30);
	trial__remove(path);
}

/* The path of a workload that is not written in C, and may be missing. */
static const char *built(const char *name, const char *language)
{
	const char *program = workload__path(name);

	if (access(program, X_OK)) {
		print_message("# skip: built without a compiler for %s\n", language);
		skip();
	}
	return program;
}

static void an_exception_passes_through_a_chosen_function(void **state)
{
	const char *program = built("throws", "C++");
	struct output output;
	char path[64];

	trial__path(path, sizeof(path));
	output = record(path, ARGS("--function", "shop::*", "--", program));
	assert_non_null(strstr(output.out, "100 5050"));
	assert_non_null(strstr(output.err, "--force-returns"));
	live__release(&output);
	assert_sum(path, "place LIKE '%:shop::passes(int)' AND operation = 'called'", 100);
	assert_sum(path, "place LIKE '%:int shop::add<int>(int, int)'", 100);
	assert_sum(path, "place LIKE '%:long shop::add<long>(long, long)'", 30);
	assert_sum(path, "place LIKE '%:shop::Cart::operator+=(int)'", 60);
	trial__remove(path);
}

/* By one name, and by the parameters that make it one of several. */
static void overloaded_names_are_told_apart_by_their_parameters(void **state)
{
	const char *program = built("throws", "C++");
	struct output output;
	char path[64];

	trial__path(path, sizeof(path));
	output = record(path, ARGS("--function", "shop::price", "--", program));
	live__release(&output);
	assert_sum(path, "place LIKE '%:shop::price(int)'", 60);
	assert_sum(path, "place LIKE '%:shop::price(double)'", 40);
	assert_sum(path, "place LIKE '%:shop::price(char const*)'", 20);
	assert_sum(path, "1", 120);
	output = record(path, ARGS("--function", "shop::price(double)", "--function",
				   "shop::add<long>", "--", program));
	live__release(&output);
	assert_sum(path, "place LIKE '%:shop::price(double)'", 40);
	assert_sum(path, "1", 40 + 30);
	trial__remove(path);
}

/* The first word that a command prints; false if there is none. */
static bool ask_command(const char *command, char *ret, size_t size)
{
	FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): a command of this test */
	bool is_there = pipe && fgets(ret, (int)size, pipe);

	if (pipe)
		pclose(pipe);
	ret[is_there ? strcspn(ret, " \n") : 0] = '\0';
	return is_there && *ret;
}

static void a_stripped_program_is_probed_by_address(void **state)
{
	const char *program = built("throws", "C++");
	char command[512], address[64], path[64], stripped[64], spec[192];
	struct output output;

	trial__path(path, sizeof(path));
	snprintf(stripped, sizeof(stripped), "%.40s.stripped", path);
	snprintf(command, sizeof(command),
		 "strip -o %s %s 2>/dev/null && nm -C %s | grep ' shop::passes(int)$'", stripped,
		 program, program);
	if (!ask_command(command, address, sizeof(address))) {
		print_message("# skip: no strip and nm\n");
		skip();
	}
	snprintf(spec, sizeof(spec), "%s:0x%s", stripped, address);
	output = record(path, ARGS("--function", spec, "--", stripped));
	assert_non_null(strstr(output.out, "100 5050"));
	live__release(&output);
	unlink(stripped);
	assert_sum(path, "operation = 'called'", 100);
	assert_sum(path, "1", 100);
	trial__remove(path);
}

static void names_of_rust_are_found_and_a_panic_passes_through(void **state)
{
	const char *program = built("functions_rust", "Rust");
	struct output output;
	char path[64];

	trial__path(path, sizeof(path));
	output = record(path, ARGS("--function", "functions_rust::shop::Cart::add", "--function",
				   "functions_rust::shop::largest*", "--function",
				   "*::shop::passes", "--", program));
	assert_non_null(strstr(output.out, "30 2415"));
	live__release(&output);
	assert_sum(path, "place LIKE '%::Cart::add'", 70);
	assert_sum(path, "place LIKE '%::largest%'", 100);
	assert_sum(path, "place LIKE '%::passes' AND operation = 'called'", 30);
	trial__remove(path);
}

/* Its time depends on the machine, so there is only a wide limit. */
static void a_probe_behind_endbr64_is_emulated(void **state)
{
	struct output output;
	char path[64];
	long ns;

	trial__path(path, sizeof(path));
	output = record(path, ARGS("--budget", "none", "--function", "counted", "--",
				   workload__path("functions"), "timed"));
	ns = strtol(output.out, NULL, 10);
	assert_null(strstr(output.err, "cannot emulate"));
	live__release(&output);
	assert_sum(path, "place LIKE '%:counted'", 200 * 500);
	trial__remove(path);
	print_message("# a call with a hit at its entry and one at its return: %ld ns\n", ns);
	assert_in_range(ns, 1, 10000);
}

static void a_function_that_is_called_too_often_is_left_out(void **state)
{
	struct workload workload = workload__start(WORKLOAD("functions", "spin"));
	struct output output;
	char path[64], pid[16];

	trial__path(path, sizeof(path));
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	output = record(path, ARGS("--function", "counted", "-p", pid, "-d", "300ms"));
	assert_non_null(strstr(output.err, "times a second"));
	assert_non_null(strstr(output.err, "[--budget none]"));
	live__release(&output);
	assert_int_equal(
		trial__query(path, "SELECT value FROM quality WHERE name = 'functions_missing'"),
		1);
	workload__kill(&workload);
	trial__remove(path);
}

/* A command cannot be tried before it runs, so it is found out after a second. */
static void a_command_that_calls_too_often_is_left_out_later(void **state)
{
	const char *program = workload__path("functions");
	char path[64], counted[256], sleeps[256];
	struct output output;

	trial__path(path, sizeof(path));
	snprintf(counted, sizeof(counted), "%s:counted", program);
	snprintf(sleeps, sizeof(sleeps), "%s:sleeps", program);
	output = record(path, ARGS("--function", counted, "--function", sleeps, "--", "sh", "-c",
				   "timeout 2.5 $0 spin; $0 all 0", program));
	assert_non_null(strstr(output.err, "counted' is called"));
	assert_null(strstr(output.err, "sleeps' is called"));
	live__release(&output);
	assert_int_equal(trial__query(path, "SELECT value FROM quality WHERE name = "
					    "'functions_left_out'"),
			 1);
	assert_true(sum_at(path, "count", "place LIKE '%:counted'") > 0);
	assert_sum(path, "place LIKE '%:sleeps'", 100);
	trial__remove(path);
}

static void assert_refused(const char *option, const char *spec, int status, const char *why)
{
	struct output output =
		live__gapless("record", "--force", "-o", "/tmp/never.gapless", option, spec, "--",
			      workload__path("functions"), "count", "1");

	if (output.status != status || !strstr(output.err, why))
		fail_msg("%s: status %d, %s", spec, output.status, output.err);
	live__release(&output);
}

static void what_does_not_exist_is_refused_with_the_reason(void **state)
{
	assert_refused("--function", "no_such_function", 1, "has no such function");
	assert_refused("--function", "libnosuch:malloc", 1, "no such program or library");
	assert_refused("--function", "a:b:c", 2, "is not a function");
	assert_refused("--usdt", "shop:bought", 1, "has no such probe");
	assert_refused("--usdt", "shop", 2, "is not a probe");
	if (access("/sys/bus/event_source/devices/kprobe/type", R_OK))
		assert_refused("--function", "kernel:vfs_read", 1, "this kernel has no kprobes");
}

static void declared_probes_are_listed_with_their_arguments(void **state)
{
	struct output output = live__gapless("list", "usdt", workload__path("functions"), "--json");
	json_t *json = live__json(&output), *probe;

#if defined(__x86_64__)
	probe = json_array_get(json_object_get(json, "usdt"), 0);
	assert_string_equal(text_at(probe, "probe"), "shop:sold");
	assert_string_equal(text_at(probe, "args"), "-4@%edi 8@%rsi -1@$-7");
	assert_true(json_is_true(json_object_get(probe, "semaphore")));
#endif
	json_decref(json);
	live__release(&output);
	output = live__gapless("list", "usdt", "/etc/passwd");
	assert_int_equal(output.status, 1);
	live__release(&output);
}

/* Where the kernel has kprobes: a read of a known file, with what it returned. */
static void a_function_of_the_kernel_is_timed_where_it_can_be(void **state)
{
	struct output output;
	char path[64];

	if (access("/sys/bus/event_source/devices/kprobe/type", R_OK)) {
		print_message("# skip: this kernel has no kprobes\n");
		skip();
	}
	trial__path(path, sizeof(path));
	output = record(path, ARGS("--function", "kernel:vfs_read", "--", "dd", "if=/dev/zero",
				   "of=/dev/null", "bs=4096", "count=500"));
	live__release(&output);
	assert_int_equal(sum_at(path, "count",
				"place = 'kernel:vfs_read' AND operation = 'returned >0'") >= 500,
			 1);
	assert_true(sum_at(path, "sum1", "place = 'kernel:vfs_read'") >= 500 * 4096);
	trial__remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_calls_are_counted_exactly_and_by_what_they_returned),
		HERE(a_millisecond_of_sleep_takes_as_long_as_the_program_says),
		cmocka_unit_test(a_slow_call_has_the_stack_of_its_caller),
		cmocka_unit_test(recursion_fifty_deep_has_a_duration_for_each_call),
		cmocka_unit_test(calls_that_longjmp_leaves_are_counted_as_unpaired),
		cmocka_unit_test(a_function_of_a_library_is_found_by_the_librarys_name),
		cmocka_unit_test(a_declared_probe_has_its_arguments),
		cmocka_unit_test(processes_that_start_later_are_counted_and_others_are_not),
		HERE(an_exception_passes_through_a_chosen_function),
		HERE(overloaded_names_are_told_apart_by_their_parameters),
		HERE(a_stripped_program_is_probed_by_address),
		HERE(names_of_rust_are_found_and_a_panic_passes_through),
		HERE(a_probe_behind_endbr64_is_emulated),
		HERE(a_function_that_is_called_too_often_is_left_out),
		HERE(a_command_that_calls_too_often_is_left_out_later),
		HERE(what_does_not_exist_is_refused_with_the_reason),
		HERE(declared_probes_are_listed_with_their_arguments),
		cmocka_unit_test(a_function_of_the_kernel_is_timed_where_it_can_be),
	};

	return cmocka_run_group_tests(tests, record_all, remove_all);
}
