/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the signal runtime says of collections and stops, beside what the runtime itself says of the
 * same ones: gc.callbacks of CPython, hsperfdata of HotSpot, --trace-gc of V8, runtime/debug of Go.
 * A program collects garbage until its probes are known to be there; its figures begin after that,
 * and have the times of CLOCK_MONOTONIC between which they were taken.
 *
 * Counts must be equal. Times are compared in slow_runtimes_pauses, which has all collectors of
 * HotSpot as well. GAPLESS_TEST_PYTHON, _JAVA, _NODE and _GO name other interpreters than the
 * system's, and a program made of pauses.go.
 */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

/* Of a sum; the runtime reads its clock just before or after the probe. */
#define MOST_PERCENT  5
#define PROBE_SECONDS 60

#ifdef WITH_TIMES
#define IS_EXACT true
#else
#define IS_EXACT false
#endif

static char folder[] = "/tmp/gapless-pauses-XXXXXX";

static const char *interpreter(const char *variable, const char *path)
{
	const char *named = getenv(variable);

	path = named ? named : path;
	if (access(path, X_OK)) {
		print_message("# skip: there is no %s [%s]\n", path, variable);
		skip();
	}
	return path;
}

/* Whoever has seen a collection has probes for everything else, which are attached before. */
static bool has_probes(const struct trial *trial)
{
	for (int i = 0; i < PROBE_SECONDS * 10; i++) {
		if (trial__ask(trial->path, "select count(*) from events where signal = 'runtime'"
					    " and place = 'gc'"))
			return true;
		if (trial__ask(trial->path, "select coalesce(sum(value), 0) from quality where"
					    " name like '%runtime_left_out'"))
			return false;
		usleep(100000);
	}
	fail_msg("no collection was seen within %d s", PROBE_SECONDS);
	return false;
}

/* Records the program while it has its figures, and returns them. */
static json_t *record(const char *const *command, char *ret_path, size_t size)
{
	struct workload workload = workload__start(command);
	struct trial trial;
	json_t *log;
	char pid[16];
	bool is_probed;

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	/* Every pause is an event, which has its time. */
	trial = trial__start(ARGS("-F", "99", "--signals", "runtime", "--slow", "1ns", "-p", pid));
	is_probed = has_probes(&trial);
	workload__go(&workload);
	log = workload__end(&workload);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	if (!is_probed) {
		print_message("# skip: %s has neither probes nor symbols\n", command[0]);
		json_decref(log);
		trial__remove(trial.path);
		skip();
	}
	snprintf(ret_path, size, "%s", trial.path);
	return log;
}

/* Of events of a place, with an operation (NULL: any), that ended in between. */
static int64_t ask(const char *path, const char *what, json_t *row)
{
	const char *operation = json_string_value(json_object_get(row, "operation"));
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(%s, 0) from events where signal = 'runtime' and place = '%s'"
		 " and time_ns between %" PRId64 " and %" PRId64 " and %s%s%s",
		 what, text_at(row, "place"), number_at(row, "begin_ns"), number_at(row, "end_ns"),
		 operation ? "operation = '" : "true", operation ? operation : "",
		 operation ? "'" : "");
	return trial__ask(path, sql);
}

static void assert_row(const char *path, json_t *row, bool with_time)
{
	int64_t count = number_at(row, "count"), ns = number_at(row, "ns");
	int64_t seen = ask(path, "count(*)", row), seen_ns = ask(path, "sum(duration_ns)", row);

	print_message("# %s %s: %" PRId64 " of %" PRId64 ", %.3f of %.3f ms, %+.2f %%\n",
		      text_at(row, "place"), text_at(row, "operation"), seen, count,
		      (double)seen_ns / MS, (double)ns / MS,
		      ns ? 100.0 * (double)(seen_ns - ns) / (double)ns : 0.0);
	assert_int_equal(seen, count);
	if (with_time && ns)
		assert_true(llabs(seen_ns - ns) * 100 <= ns * MOST_PERCENT);
}

/* The sums of the report have the same. */
static void assert_sums(const char *path)
{
	assert_int_equal(
		trial__ask(path, "select sum(count) from signal_sums where signal = 'runtime' and"
				 " measure = 'time' and place in ('gc', 'safepoint')"),
		trial__ask(path, "select count(*) from events where signal = 'runtime' and"
				 " place in ('gc', 'safepoint')"));
	assert_int_equal(
		trial__ask(path, "select sum(sum) from signal_sums where signal = 'runtime' and"
				 " measure = 'time' and place in ('gc', 'safepoint')"),
		trial__ask(path, "select sum(duration_ns) from events where signal = 'runtime' and"
				 " place in ('gc', 'safepoint')"));
}

static void assert_rows(const char *path, json_t *log, bool with_times)
{
	json_t *row;
	size_t i;

	json_array_foreach (log, i, row)
		if (json_object_get(row, "place"))
			assert_row(path, row, with_times);
	assert_sums(path);
}

static void python_collects_as_often_as_its_callbacks_say(void **state)
{
	char path[64];
	json_t *log = record(ARGS(interpreter("GAPLESS_TEST_PYTHON", "/usr/bin/python3"),
				  workload__path("pauses.py")),
			     path, sizeof(path));

	/* The system's has declared probes. */
	if (getenv("GAPLESS_TEST_PYTHON") &&
	    trial__ask(path, "select count(*) from events where signal = 'runtime' and"
			     " operation = ''")) {
		print_message("# this build does not tell the generation of each collection\n");
		assert_row(path, json_array_get(log, 0), IS_EXACT);
		assert_sums(path);
	} else {
		assert_rows(path, log, IS_EXACT);
	}
	json_decref(log);
	trial__remove(path);
}

/* --- V8 --------------------------------------------------------------------------------------- */

struct traced {
	const char *begins; /* a line's words behind the time */
	const char *operation;
	int64_t count, ns;
};

/*
 * "[PID:ADDRESS] 2054 ms: Scavenge 53.2 (70.6) -> 39.4 (71.6) MB, 5.55 / 0.00 ms  (average …";
 * later versions have more before the time.
 */
static void take_line(struct traced *kinds, const char *line)
{
	const char *words = strstr(line, " ms: "), *slash = strstr(line, " / ");
	const char *time = slash ? memrchr(line, ',', (size_t)(slash - line)) : NULL;

	if (!words || !time)
		return;
	for (struct traced *kind = kinds; kind->begins; kind++) {
		if (strncmp(words + 5, kind->begins, strlen(kind->begins)) != 0)
			continue;
		kind->count++;
		kind->ns += (int64_t)(strtod(time + 1, NULL) * MS);
	}
}

static void read_trace(struct traced *kinds, const char *path)
{
	FILE *trace = fopen(path, "r");
	char line[512];

	assert_non_null(trace);
	while (fgets(line, sizeof(line), trace))
		take_line(kinds, line);
	fclose(trace);
}

static void assert_traced(const char *path, json_t *log, const char *trace)
{
	struct traced kinds[] = { { .begins = "Scavenge", .operation = "scavenge" },
				  { .begins = "Mark-", .operation = "mark-compact" },
				  {} };
	const json_t *window = json_array_get(log, 0);

	read_trace(kinds, trace);
	for (const struct traced *kind = kinds; kind->begins; kind++) {
		json_t *row = json_deep_copy(window);

		assert_true(kind->count > 0);
		json_object_set_new(row, "place", json_string("gc"));
		json_object_set_new(row, "operation", json_string(kind->operation));
		json_object_set_new(row, "count", json_integer(kind->count));
		json_object_set_new(row, "ns", json_integer(kind->ns));
		assert_row(path, row, IS_EXACT);
		json_decref(row);
	}
	assert_sums(path);
}

static void v8_collects_as_often_as_its_trace_says(void **state)
{
	const char *node = interpreter("GAPLESS_TEST_NODE", "/usr/bin/node");
	char trace[64], path[64];
	json_t *log;

	snprintf(trace, sizeof(trace), "%s/trace", folder);
	log = record(ARGS("/bin/sh", "-c", "exec \"$0\" \"$1\" 3>&1 >\"$2\"", node,
			  workload__path("pauses.js"), trace),
		     path, sizeof(path));
	assert_traced(path, log, trace);
	json_decref(log);
	trial__remove(path);
}

/* --- Go --------------------------------------------------------------------------------------- */

static void go_stops_as_often_as_its_runtime_says(void **state)
{
	const char *named = getenv("GAPLESS_TEST_GO");
	const char *program = named ? named : workload__path("pauses_go");
	char path[64];
	json_t *log;

	if (access(program, X_OK)) {
		print_message("# skip: there is no %s, which needs go to be built\n", program);
		skip();
	}
	log = record(ARGS(program), path, sizeof(path));
	assert_rows(path, log, IS_EXACT);
	json_decref(log);
	trial__remove(path);
}

/* --- HotSpot ---------------------------------------------------------------------------------- */

/* They are compiled once for all tests, which are skipped without a compiler. */
static const char *java_and_classes(void)
{
	const char *java = interpreter("GAPLESS_TEST_JAVA", "/usr/bin/java");
	static bool is_compiled;
	char command[512];

	if (is_compiled)
		return java;
	if (system("command -v javac >/dev/null 2>&1")) {
		print_message("# skip: there is no javac\n");
		skip();
	}
	snprintf(command, sizeof(command), "javac -nowarn -source 8 -target 8 -d %s %s 2>&1",
		 folder, workload__path("Pauses.java"));
	assert_int_equal(system(command), 0);
	is_compiled = true;
	return java;
}

#define JAVA_OPTIONS                                                                               \
	"-XX:+IgnoreUnrecognizedVMOptions", "-Xms256m", "-Xmx256m", "-Xmn64m",                     \
		"-XX:-ScavengeBeforeFullGC", "-cp", folder

#ifdef WITH_TIMES
static void check_java(const char *collector)
{
	char path[64];
	const char *java = java_and_classes();
	json_t *log = record(ARGS(java, collector, JAVA_OPTIONS, "Pauses"), path, sizeof(path));

	assert_rows(path, log, IS_EXACT);
	json_decref(log);
	trial__remove(path);
}

static void g1_collects_and_stops_as_its_counters_say(void **state)
{
	check_java("-XX:+UseG1GC");
}

static void serial_collects_and_stops_as_its_counters_say(void **state)
{
	check_java("-XX:+UseSerialGC");
}

static void parallel_collects_and_stops_as_its_counters_say(void **state)
{
	check_java("-XX:+UseParallelGC");
}
#endif

static int64_t ask_waits(const char *path, const char *what, const char *comm)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) from waits where waiter_comm = '%s' and"
		 " cause = 'safepoint'",
		 what, comm);
	return trial__ask(path, sql);
}

/*
 * A thread that runs all the time is held from when it was stopped, which was before the last one
 * was, until it is released, which is before the runtime says that the stop is over.
 */
static void assert_held(const char *path, const char *comm, json_t *stops, int64_t sync_ns)
{
	int64_t stopped_ns = ask(path, "sum(duration_ns)", stops);
	int64_t held_ns = ask_waits(path, "ns", comm), count = ask_waits(path, "count", comm);

	print_message("# %s: held for %.3f ms, %" PRId64 " times; %.3f ms without %.3f ms of"
		      " stopping, %.3f ms by the runtime\n",
		      comm, (double)held_ns / MS, count, (double)stopped_ns / MS,
		      (double)sync_ns / MS, (double)number_at(stops, "ns") / MS);
	assert_true(held_ns * 100 <= number_at(stops, "ns") * 101);
	assert_true(held_ns * 100 >= (stopped_ns - sync_ns) * 95);
	/* Each time for one stop, maybe one that came just before or after. */
	assert_true(count > 0 && count <= trial__ask(path, "select count(*) from events where"
							   " place = 'safepoint'"));
}

static void threads_that_hotspot_stops_are_held_as_long(void **state)
{
	char path[64];
	const char *java = java_and_classes();
	/* It marks beside the program all the time, which has pauses of its own. */
	json_t *log = record(ARGS(java, "-XX:+UseG1GC", "-XX:InitiatingHeapOccupancyPercent=1",
				  JAVA_OPTIONS, "Pauses", "2"),
			     path, sizeof(path));
	int64_t sync_ns = number_at(json_array_get(log, 3), "sync_ns");

	/* Threads that are released may take the CPU before the runtime reads its clock. */
	assert_rows(path, log, false);
	/* Before version 14, threads are held by a lock that others want as well. */
	if (trial__ask(path, "select min(cast(runtime_version as int)) from process where runtime ="
			     " 'java'") >= 14) {
		assert_held(path, "stopped-0", json_array_get(log, 2), sync_ns);
		assert_held(path, "stopped-1", json_array_get(log, 2), sync_ns);
	}
	json_decref(log);
	trial__remove(path);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) && !chmod(folder, 0755) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_collects_as_often_as_its_callbacks_say),
		cmocka_unit_test(v8_collects_as_often_as_its_trace_says),
		cmocka_unit_test(go_stops_as_often_as_its_runtime_says),
		cmocka_unit_test(threads_that_hotspot_stops_are_held_as_long),
#ifdef WITH_TIMES
		cmocka_unit_test(g1_collects_and_stops_as_its_counters_say),
		cmocka_unit_test(serial_collects_and_stops_as_its_counters_say),
		cmocka_unit_test(parallel_collects_and_stops_as_its_counters_say),
#endif
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
