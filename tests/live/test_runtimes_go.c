/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goroutines: those that no thread carries, which one a thread runs, and every change of state. */
#include "../harness.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

#define SECONDS 3

static char folder[] = "/tmp/gapless-go-XXXXXX";
static char recording[64];
static bool is_recorded;

static void compile(void)
{
	char command[512];

	assert_non_null(mkdtemp(folder));
	chmod(folder, 0755);
	snprintf(command, sizeof(command),
		 "HOME=%s GO111MODULE=off GOCACHE=%s/cache go build -o %s/goroutines %s 2>&1",
		 folder, folder, folder, workload__path("goroutines.go"));
	assert_int_equal(system(command), 0);
}

/* Once for all tests; without Go they are skipped. */
static void record(void)
{
	struct workload workload;
	struct trial trial;
	char pid[16], program[64];

	if (is_recorded)
		return;
	if (system("command -v go >/dev/null 2>&1")) {
		print_message("# skip: there is no go\n");
		skip();
	}
	compile();
	snprintf(program, sizeof(program), "%s/goroutines", folder);
	workload = workload__start(ARGS(program));
	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-F", "99", "--signals", "goroutines", "-p", pid));
	workload__go(&workload);
	sleep(SECONDS);
	workload__await_ready(&workload);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	snprintf(recording, sizeof(recording), "%s", trial.path);
	is_recorded = true;
}

#define STARTS                                                                                     \
	"(select f.id, n.name from fiber f join stack k on k.id = f.start join frame_line l"       \
	" on l.frame = k.frame and l.depth = 0 join function n on n.id = l.function)"
/* Functions of all stacks, and of their callers. */
#define INSIDE                                                                                     \
	"with recursive inside(stack, at) as (select id, id from stack union all select i.stack,"  \
	" k.parent from inside i join stack k on k.id = i.at where k.parent > 0),"                 \
	" names(stack, name) as (select i.stack, n.name from inside i join stack k on k.id = i.at" \
	" join frame_line l on l.frame = k.frame join function n on n.id = l.function)"

/* Of goroutines that began with this function. */
static int64_t ask(const char *what, const char *start, const char *condition)
{
	char sql[1536];

	snprintf(sql, sizeof(sql),
		 INSIDE " select cast(coalesce(%s, 0) as int) from fiber_time t join fiber_state s"
			" on s.id = t.state left join object o on o.id = t.object join " STARTS
			" b on b.id = t.fiber where b.name = '%s' and %s",
		 what, start, condition);
	return trial__ask(recording, sql);
}

/* The whole time of the recording, for each of `count` goroutines. */
static void assert_always(const char *start, int64_t count, const char *reason,
			  const char *function)
{
	char condition[256];
	int64_t length_ns = trial__ask(recording, "select max(end_ns) - min(begin_ns) from"
						  " fiber_time");
	int64_t ns;

	snprintf(condition, sizeof(condition),
		 "s.state = 'waiting' and s.reason in (%s) and t.stack in (select stack from names"
		 " where name = '%s')",
		 reason, function);
	ns = ask("sum(ns)", start, condition);
	print_message("# %s: %" PRId64 " of %" PRId64 " ms in %s\n", start, ns / 1000000,
		      count * length_ns / 1000000, function);
	assert_int_equal(ask("count(distinct t.fiber)", start, "true"), count);
	assert_true(ns <= count * length_ns);
	assert_true(ns >= count * length_ns / 100 * 95);
}

static void parked_goroutines_have_their_time_reason_and_stack(void **state)
{
	record();
	assert_always("main.sleep", 3, "'sleep'", "time.Sleep");
	assert_always("main.hold", 1, "'sleep'", "main.sleep");
	assert_always("main.receive", 3, "'chan receive'", "main.receive");
	assert_always("main.choose", 3, "'select'", "main.choose");
	/* The reason is more exact from Go 1.20 on. */
	assert_always("main.want", 3, "'semacquire', 'sync.Mutex.Lock'", "sync.(*Mutex).Lock");
}

static void whoever_wants_a_mutex_has_the_variable(void **state)
{
	record();
	assert_int_equal(ask("count(distinct t.fiber)", "main.want",
			     "o.kind = 'semaphore' and o.name like 'main.lock%'"),
			 3);
}

/* Each sleeps for 30 ms and waits for 90 ms, so the shares do not depend on the machine. */
static void what_changes_between_readings_is_estimated_with_its_error(void **state)
{
	int64_t all, slept, error_ns;

	record();
	all = ask("sum(ns)", "main.change", "s.state = 'waiting'");
	slept = ask("sum(ns)", "main.change", "s.reason = 'sleep'");
	error_ns = ask("2 * sqrt(sum(variance))", "main.change", "s.reason = 'sleep'");
	print_message("# slept %" PRId64 " of %" PRId64 " ms, error %" PRId64 " ms\n",
		      slept / 1000000, all / 1000000, error_ns / 1000000);
	assert_true(error_ns > 0);
	/* Twice the error: one in 10,000 tests fails. */
	assert_true(llabs(slept - all / 4) <= 2 * error_ns + all / 20);
}

static void each_sample_in_go_code_has_its_goroutine(void **state)
{
	static const char burning[] = INSIDE
		" select %s from sample s where s.stack in (select stack from names where name ="
		" 'main.burn') and s.flags & 2";
	char sql[1024];
	int64_t all;

	record();
	snprintf(sql, sizeof(sql), burning, "count(*)");
	all = trial__ask(recording, sql);
	snprintf(sql, sizeof(sql), burning,
		 "coalesce(sum(s.fiber in (select id from " STARTS
		 " where name = 'main.burn')), 0)");
	assert_true(all > 20);
	assert_int_equal(trial__ask(recording, sql), all);
}

/* --- every change ----------------------------------------------------------------------------- */

/* Of goroutines that began with this function, by every change. */
static int64_t ask_exact(const char *what, const char *start, const char *condition)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "select cast(coalesce(%s, 0) as int) from fiber_exact t join fiber_state s"
		 " on s.id = t.state join " STARTS
		 " b on b.id = t.fiber where b.name = '%s' and %s",
		 what, start, condition);
	return trial__ask(recording, sql);
}

/* Those that were there all the time: each has the whole time, to the nanosecond the same. */
static void states_of_a_goroutine_add_up_to_its_life(void **state)
{
	static const char lives[] =
		"select %s(ns) from (select sum(ns) as ns from fiber_exact where fiber in"
		" (select id from " STARTS " where name != 'main.brief') group by fiber)";
	int64_t length_ns, least_ns, most_ns;
	char sql[1024];

	record();
	assert_int_equal(trial__ask(recording,
				    "select value from quality where name = 'goroutines_unpaired'"),
			 0);
	length_ns = trial__ask(recording, "select max(end_ns) - min(begin_ns) from fiber_time");
	snprintf(sql, sizeof(sql), lives, "min");
	least_ns = trial__ask(recording, sql);
	snprintf(sql, sizeof(sql), lives, "max");
	most_ns = trial__ask(recording, sql);
	print_message("# lives of %" PRId64 " to %" PRId64 " of %" PRId64 " us\n", least_ns / 1000,
		      most_ns / 1000, length_ns / 1000);
	assert_int_equal(least_ns, most_ns);
	assert_true(most_ns <= length_ns && most_ns >= length_ns / 100 * 98);
}

static void changes_are_counted_as_the_program_counts_them(void **state)
{
	static const char slept[] = "s.state = 'waiting' and s.reason = 'sleep'";
	int64_t naps;

	record();
	assert_int_equal(ask_exact("count(distinct t.fiber)", "main.brief", "true"), 100);
	assert_int_equal(ask_exact("sum(t.changes)", "main.brief", slept), 100);
	assert_true(ask_exact("sum(t.ns)", "main.brief", slept) >= 100 * MS);
	/* The last sleep, of an hour, does not end. */
	assert_int_equal(ask_exact("sum(t.changes)", "main.count", slept), 200);
	assert_true(ask_exact("sum(t.changes)", "main.count", "s.state = 'syscall'") >= 1);
	/* The first one may have begun before the recording. */
	naps = ask_exact("sum(t.changes)", "main.nap", slept);
	assert_true(naps >= 5);
	assert_true(ask_exact("sum(t.ns)", "main.nap", slept) >= (naps - 1) * 50 * MS);
	assert_true(ask_exact("sum(t.ns)", "main.nap", "s.state = 'running'") >= (naps - 1) * MS);
}

static void exact_times_of_a_group_are_in_the_report(void **state)
{
	json_t *report, *group, *exact;
	size_t i, j;
	int64_t changes = 0, ns = 0;

	record();
	report = trial__report(recording);
	json_array_foreach (json_object_get(report, "fibers"), i, group) {
		if (strcmp(text_at(group, "start"), "main.count") != 0)
			continue;
		json_array_foreach (json_object_get(group, "exact"), j, exact) {
			const char *reason = json_string_value(json_object_get(exact, "reason"));

			if (reason && !strcmp(reason, "sleep"))
				changes += number_at(exact, "changes");
			ns += number_at(exact, "ns");
		}
	}
	assert_int_equal(changes, 200);
	assert_int_equal(ns, ask_exact("sum(t.ns)", "main.count", "true"));
	json_decref(report);
}

static void the_finding_is_the_mutex(void **state)
{
	json_t *report, *findings, *finding;
	bool found = false;
	size_t i;

	record();
	report = trial__report(recording);
	findings = json_object_get(report, "findings");
	json_array_foreach (findings, i, finding) {
		const char *text = text_at(finding, "text");

		found |= strstr(text, "for the sync.Mutex main.lock in main.want.") != NULL;
	}
	assert_true(found);
	json_decref(report);
}

static int remove_all(void **state)
{
	char command[64];

	if (!is_recorded)
		return 0;
	trial__remove(recording);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parked_goroutines_have_their_time_reason_and_stack),
		cmocka_unit_test(whoever_wants_a_mutex_has_the_variable),
		cmocka_unit_test(what_changes_between_readings_is_estimated_with_its_error),
		cmocka_unit_test(each_sample_in_go_code_has_its_goroutine),
		cmocka_unit_test(states_of_a_goroutine_add_up_to_its_life),
		cmocka_unit_test(changes_are_counted_as_the_program_counts_them),
		cmocka_unit_test(exact_times_of_a_group_are_in_the_report),
		cmocka_unit_test(the_finding_is_the_mutex),
	};

	return cmocka_run_group_tests(tests, NULL, remove_all);
}
