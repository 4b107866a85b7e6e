/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reported.h"

#include <errno.h>

#include "base/words.h"
#include "model/model.h"
#include "vocabulary/histogram.h"

static bool is(json_t *object, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(object, key));

	return value ? text && !strcmp(text, value) : !text;
}

/* ns of a state and cause of one kind (NULL: no wait), in a list of states. */
static int64_t state_ns(json_t *owner, const char *state, const char *cause, const char *kind)
{
	json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(owner, "states"), i, entry)
		if (is(entry, "state", state) && is(entry, "cause", cause) &&
		    is(entry, "kind", kind))
			return number_at(entry, "ns");
	return 0;
}

static const struct report_options wide = { .width = 1000 };

/* --- numbers ------------------------------------------------------------------------------- */

static void every_number_of_the_sample_is_right(void **state)
{
	json_t *json;

	sample__write(path);
	json = report((struct report_options) {});
	assert_int_equal(number_at(json, "wall_ns"), 30 * SECOND);
	assert_int_equal(number_at(json, "threads_ns"), 150 * SECOND);
	assert_int_equal(number_at(json, "remainder_ns"), 0);
	assert_int_equal(number_at(json, "unexplained_ns"), 12000);
	assert_int_equal(state_ns(json, "run", "user", NULL), 21300 * MS);
	assert_int_equal(state_ns(json, "run", "kernel", NULL), 7900 * MS);
	assert_int_equal(state_ns(json, "wait", "lock", "delaying"), 22800 * MS);
	assert_int_equal(state_ns(json, "wait", "lock", "undecided"), 9 * SECOND);
	assert_int_equal(state_ns(json, "wait", "disk", "delaying"), 26 * SECOND - 12000);
	assert_int_equal(number_at(json_object_get(json, "cpu"), "idle_ns"), 600 * MS);
	assert_int_equal(number_at(json_object_get(json, "cpu"), "run_ns"), 29200 * MS);
	assert_int_equal(number_at(json_object_get(json, "quality"), "repaired_wakeups"), 7);
	assert_int_equal(number_at(json_object_get(json, "cost"), "own_cpu_ns"), 300 * MS);
	assert_true(json_is_true(json_object_get(json, "complete")));
	json_decref(json);
}

/* What a view answers to `sql`, against what the report has. */
static void view_says(sqlite3 *db, const char *sql, int64_t expected)
{
	sqlite3_stmt *row = NULL;
	int64_t found;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	found = sqlite3_column_type(row, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, 0);
	if (found != expected)
		fail_msg("%s: %lld, the report has %lld", sql, (long long)found,
			 (long long)expected);
	sqlite3_finalize(row);
}

static void compare_states(sqlite3 *db, json_t *json)
{
	json_t *entry;
	char sql[512];
	size_t i;

	json_array_foreach (json_object_get(json, "states"), i, entry) {
		snprintf(sql, sizeof(sql),
			 "SELECT ns * 1000000 + count FROM time_by_state WHERE state = '%s' "
			 "AND cause = '%s' AND kind IS nullif('%s', '')",
			 json_string_value(json_object_get(entry, "state")),
			 json_string_value(json_object_get(entry, "cause")),
			 json_is_null(json_object_get(entry, "kind"))
				 ? ""
				 : json_string_value(json_object_get(entry, "kind")));
		view_says(db, sql, number_at(entry, "ns") * 1000000 + number_at(entry, "count"));
	}
	assert_int_equal(i, 9);
}

static void compare_syscalls(sqlite3 *db, json_t *json)
{
	static const char *const keys[] = { "count",  "errors", "total_ns", "p50_ns", "p90_ns",
					    "p95_ns", "p99_ns", "p999_ns",  "max_ns" };
	json_t *call;
	char sql[512];
	size_t i;

	json_array_foreach (json_object_get(json, "syscalls"), i, call)
		for (size_t j = 0; j < sizeof(keys) / sizeof(*keys); j++) {
			snprintf(sql, sizeof(sql), "SELECT %s FROM syscalls WHERE name = '%s'",
				 keys[j], json_string_value(json_object_get(call, "name")));
			view_says(db, sql, number_at(call, keys[j]));
		}
	assert_int_equal(i, 2);
}

static void views_and_report_give_the_same_numbers(void **state)
{
	sqlite3 *db = NULL;
	json_t *json;

	sample__write(path);
	json = report((struct report_options) {});
	assert_int_equal(recording__open(path, &db), 0);
	compare_states(db, json);
	compare_syscalls(db, json);
	view_says(db, "SELECT sum(lifetime_ns) FROM threads", number_at(json, "threads_ns"));
	view_says(db, "SELECT sum(remainder_ns) FROM threads", 0);
	view_says(db, "SELECT count(*) FROM threads", 5);
	view_says(db, "SELECT sum(ns) FROM time_by_thread", 150 * SECOND);
	view_says(db, "SELECT sum(ns) FROM time_by_process WHERE comm = 'app'", 120 * SECOND);
	view_says(db, "SELECT ns FROM waits WHERE waiter_comm = 'worker-1' AND by_comm = 'logger'",
		  11400 * MS);
	view_says(db, "SELECT count FROM histograms WHERE of = 'state' AND name = 'wait.lock'",
		  1800);
	view_says(db, "SELECT begin_ns FROM histograms WHERE name = 'newfstatat' LIMIT 1", 8192);
	view_says(db, "SELECT round(sum(share) * 1000) FROM time_by_state", 1000);
	sqlite3_close(db);
	json_decref(json);
}

static void waits_name_waiter_object_culprit_and_evidence(void **state)
{
	json_t *json, *wait, *waiter, *by;

	sample__write(path);
	json = report((struct report_options) {});
	/* The longest is the logger's, woken by an interrupt, which is no thread. */
	wait = json_array_get(json_object_get(json, "waits"), 0);
	assert_int_equal(number_at(json_object_get(wait, "by"), "id"), SAMPLE_INTERRUPT);
	wait = json_array_get(json_object_get(json, "waits"), 2);
	waiter = json_object_get(wait, "waiter");
	by = json_object_get(wait, "by");
	assert_int_equal(number_at(waiter, "id"), SAMPLE_WORKER_1);
	assert_int_equal(number_at(waiter, "pid"), 1000);
	assert_int_equal(number_at(waiter, "tid"), 1002);
	assert_true(is(waiter, "comm", "worker-1"));
	assert_true(is(by, "comm", "logger"));
	assert_true(is(wait, "evidence", "owner"));
	assert_true(is(json_object_get(wait, "object"), "name", "0x7f0000001000"));
	assert_int_equal(number_at(wait, "ns"), 11400 * MS);
	wait = json_array_get(json_object_get(json, "waits"), 1);
	assert_true(json_is_null(json_object_get(wait, "object")));
	json_decref(json);
}

static void a_remainder_is_shown(void **state)
{
	struct recording *recording = sample__begin(path);
	json_t *json;

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 29 * SECOND, 1);
	sample__finish(recording);
	json = report((struct report_options) {});
	assert_int_equal(number_at(json, "remainder_ns"), SECOND);
	text_has(&wide, "remainder    1.00 s: the states do not add up");
	json_decref(json);
}

static void unexplained_is_what_threads_have_plus_unseen(void **state)
{
	struct recording *recording = sample__begin(path);
	struct recording_thread thread = { .id = 1,
					   .comm = "x",
					   .first_ns = SAMPLE_START_NS,
					   .last_ns = SAMPLE_START_NS + 10 * SECOND,
					   .unexplained_ns = 300 };
	json_t *json;

	assert_int_equal(recording__put_thread(recording, &thread), 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 1, 10 * SECOND - 700, 1);
	sample__account(recording, 1, SAMPLE_UNSEEN, 1, 1, 700, 0);
	sample__finish(recording);
	json = report((struct report_options) {});
	assert_int_equal(number_at(json, "unexplained_ns"), 1000);
	text_has(&wide, "unexplained  1.00 µs, 1e-05 % of the thread time");
	json_decref(json);
}

/* --- cuts ---------------------------------------------------------------------------------- */

static void a_cut_at_slices_is_exact(void **state)
{
	json_t *json;

	sample__write(path);
	json = report((struct report_options) { .model.scope.from.ns = 20 * SECOND });
	assert_int_equal(number_at(json, "wall_ns"), 10 * SECOND);
	assert_int_equal(number_at(json, "threads_ns"), 50 * SECOND);
	assert_int_equal(state_ns(json, "wait", "disk", "delaying"), 6 * SECOND);
	/* Of gapless's own account, which is one row for all slices, a third. */
	assert_int_equal(state_ns(json, "run", "user", NULL), (2000 + 5000 + 100) * MS);
	assert_int_equal(number_at(json_object_get(json, "cut"), "prorated_ns"), 10 * SECOND);
	assert_int_equal(number_at(json, "remainder_ns"), 0);
	json_decref(json);
}

static void a_row_over_an_edge_is_prorated(void **state)
{
	struct recording *recording = sample__begin(path);
	json_t *json;

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 2, 4 * SECOND, 40);
	sample__account(recording, 1, SAMPLE_POLL, 1, 2, 16 * SECOND, 40);
	sample__account(recording, 1, SAMPLE_POLL, 3, 3, 10 * SECOND, 0);
	sample__finish(recording);
	json = report((struct report_options) { .model.scope.from.ns = 15 * SECOND,
						.model.scope.to.ns = 22 * SECOND });
	assert_int_equal(state_ns(json, "run", "user", NULL), SECOND);
	assert_int_equal(state_ns(json, "wait", "poll", "idle"), 4 * SECOND + 2 * SECOND);
	/* The third slice was nothing but poll: known exactly, wherever it is cut. */
	assert_int_equal(number_at(json_object_get(json, "cut"), "prorated_ns"), 5 * SECOND);
	assert_int_equal(number_at(json, "remainder_ns"), 0);
	json_decref(json);
}

static void a_row_is_prorated_over_its_threads_life_only(void **state)
{
	struct recording *recording = sample__begin(path);
	struct recording_thread thread = { .id = 1,
					   .comm = "x",
					   .first_ns = SAMPLE_START_NS + 8 * SECOND,
					   .last_ns = SAMPLE_START_NS + 12 * SECOND };
	json_t *json;

	assert_int_equal(recording__put_thread(recording, &thread), 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 2, 4 * SECOND, 4);
	sample__finish(recording);
	json = report((struct report_options) { .model.scope.to.ns = 9 * SECOND });
	assert_int_equal(number_at(json, "threads_ns"), SECOND);
	assert_int_equal(state_ns(json, "run", "user", NULL), SECOND);
	json_decref(json);
}

static void a_cut_of_nothing_is_refused(void **state)
{
	struct report_options outside = { .model.scope.from.ns = 30 * SECOND };
	struct report_options reversed = { .model.scope.from.ns = 5 * SECOND,
					   .model.scope.to.ns = 5 * SECOND };

	sample__write(path);
	assert_int_equal(report__print(path, &outside, stdout), -ERANGE);
	assert_int_equal(report__print(path, &reversed, stdout), -ERANGE);
}

/* The sample begins at 23:13:20 of its zone and lasts 30 s. */
static void a_cut_can_be_given_as_times_of_day(void **state)
{
	const uint64_t begin_ns = ((23 * 60 + 13) * 60 + 20) * (uint64_t)SECOND;
	const struct scope_time after = { begin_ns + 5 * SECOND, true };
	const struct scope_time before = { begin_ns - 3600 * SECOND, true };
	const struct scope_time past_midnight = { 10 * 60 * (uint64_t)SECOND, true };
	char why[SCOPE_WHY_SIZE] = "";
	struct report_options outside = {
		.model.scope = { .from = past_midnight, .why = why },
	};
	json_t *json;

	sample__write(path);
	json = report((struct report_options) { .model.scope = { .from = after } });
	assert_int_equal(number_at(json_object_get(json, "cut"), "from_ns"), 5 * SECOND);
	json_decref(json);
	json = report(
		(struct report_options) { .model.scope = { .from = before, .to = past_midnight } });
	assert_int_equal(number_at(json, "wall_ns"), 30 * SECOND);
	json_decref(json);
	assert_int_equal(report__print(path, &outside, stdout), -ERANGE);
	assert_string_equal(why, "nothing of it is in that stretch: it lasts 30.0 s, from 23:13:20 "
				 "to 23:13:50");
}

static int64_t threads_ns_of(enum scope_key key, const char *value)
{
	const char *const values[] = { value, NULL };
	struct report_options options = {};
	int64_t ns;
	json_t *json;

	options.model.scope.only[key] = values;
	json = report(options);
	ns = number_at(json, "threads_ns");
	json_decref(json);
	return ns;
}

/* The sample has five threads of 30 s, one of them in a process of its own. */
static void a_report_can_be_narrowed_to_some_threads(void **state)
{
	const char *const nobody[] = { "nobody", NULL }, *const worker[] = { "worker-*", NULL };
	const char *const logger[] = { "logger", NULL };
	char why[SCOPE_WHY_SIZE] = "";
	struct report_options none = {
		.model.scope = { .only[SCOPE_COMM] = nobody, .why = why },
	};
	struct report_options both = { .width = 1000 };
	json_t *json;

	sample__write_with_signals(path);
	assert_int_equal(threads_ns_of(SCOPE_COMM, "*"), 150 * SECOND);
	assert_int_equal(threads_ns_of(SCOPE_COMM, "worker-*"), 60 * SECOND);
	assert_int_equal(threads_ns_of(SCOPE_PID, "1000"), 120 * SECOND);
	assert_int_equal(threads_ns_of(SCOPE_PID, "1000,2000"), 150 * SECOND);
	assert_int_equal(threads_ns_of(SCOPE_THREAD, "1004"), 30 * SECOND);
	assert_int_equal(threads_ns_of(SCOPE_CGROUP, "/app"), 150 * SECOND);
	assert_int_equal(threads_ns_of(SCOPE_CGROUP, "/app/"), 150 * SECOND);
	assert_int_equal(threads_ns_of(SCOPE_CGROUP, "/"), 150 * SECOND);
	assert_int_equal(report__print(path, &none, stdout), -ESRCH);
	assert_non_null(strstr(why, "none of its threads has this comm; it has app"));
	/* Both options must match. The lock's holder is outside, and still named. */
	both.model.scope.only[SCOPE_COMM] = worker;
	text_has(&both, "only comm worker-*: 2 of 5 threads");
	text_has(&both, "held by thread logger (tid 1004)");
	text_lacks(&both, "top syscalls");
	json = report(both);
	assert_int_equal(number_at(json, "remainder_ns"), 0);
	assert_int_equal(state_ns(json, "wait", "disk", "delaying"), 0);
	json_decref(json);
	both.model.scope.only[SCOPE_CGROUP] = logger;
	assert_int_equal(report__print(path, &both, stdout), -ESRCH);
}

/* --- kinds, names, lines ------------------------------------------------------------------- */

static void a_cause_can_be_moved_to_another_kind(void **state)
{
	const char *const poll[] = { "poll", NULL }, *const lock[] = { "lock", NULL };
	const char *const unknown[] = { "luck", NULL };
	struct report_options wrong = { .model.busy = unknown };
	json_t *json;

	sample__write(path);
	json = report((struct report_options) { .model.busy = poll, .model.idle = lock });
	assert_int_equal(state_ns(json, "wait", "poll", "delaying"), 49500 * MS);
	assert_int_equal(state_ns(json, "wait", "lock", "delaying"), 0);
	json_decref(json);
	text_lacks(&(struct report_options) { .model.idle = lock }, "waiting for a lock");
	assert_int_equal(report__print(path, &wrong, stdout), -ENOKEY);
}

/* Four threads of two processes that wait for a pipe all the time but for one tenth. */
static void write_pool(const char *const *names, int flags)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "server");
	sample__process(recording, 2, "server");
	for (int64_t i = 1; i <= 4; i++) {
		sample__thread(recording, i, 1 + (i > 2), names[i - 1], flags);
		sample__account(recording, i, SAMPLE_RUN_USER, 1, 3, 3 * SECOND, 1);
		sample__account(recording, i, SAMPLE_DISK, 1, 3, 27 * SECOND, 1);
	}
	sample__finish(recording);
}

static void names_that_differ_in_a_number_are_one(void **state)
{
	static const char *const names[] = { "worker-1", "worker-22", "worker-3", "worker-1" };

	write_pool(names, 0);
	text_has(&wide, "4 threads worker-* of server waited 90 % of the time that they had work "
			"(108 s of 120 s) for the disk.");
	text_has(&(struct report_options) { .width = 80, .model.by = MODEL_BY_COMM },
		 "  worker-*         4     120 s    10.0 %     0.0 %    90.0 %");
}

static void one_name_with_a_number_stays_as_it_is(void **state)
{
	static const char *const names[] = { "python3", "python3", "python3", "python3" };

	write_pool(names, 0);
	text_has(&wide, "4 threads python3 of server waited 90 %");
}

static void a_number_is_no_name(void **state)
{
	static const char *const names[] = { "1", "2", "3", "3" };

	write_pool(names, 0);
	text_has(
		&wide,
		"2 threads 3 of server waited 90 % of the time that they had work (54.0 s of 60.0 s)");
}

static void the_rows_of_by_add_up(void **state)
{
	static const enum model_by ways[] = { MODEL_BY_THREAD, MODEL_BY_PROCESS, MODEL_BY_CGROUP,
					      MODEL_BY_COMM };
	static const size_t lines[] = { 5, 2, 1, 4 };

	sample__write(path);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		json_t *json = report((struct report_options) { .model.by = ways[i] }), *row;
		int64_t threads_ns = 0, kinds_ns = 0;
		size_t j;

		json_array_foreach (json_object_get(json, "by"), j, row) {
			threads_ns += number_at(row, "threads_ns");
			kinds_ns += number_at(row, "run_ns") + number_at(row, "ready_ns") +
				    number_at(row, "delaying_ns") + number_at(row, "undecided_ns") +
				    number_at(row, "idle_ns") + number_at(row, "unseen_ns");
		}
		assert_int_equal(j, lines[i]);
		assert_int_equal(threads_ns, 150 * SECOND);
		assert_int_equal(kinds_ns, 150 * SECOND);
		json_decref(json);
	}
}

static void top_limits_the_tables_and_says_so(void **state)
{
	sample__write(path);
	text_has(&(struct report_options) { .width = 80, .top = 1 }, "… 2 more waits [--top]");
	text_lacks(&(struct report_options) { .width = 80, .top = 1 }, "epoll_wait");
}

static void times_have_three_digits_that_count(void **state)
{
	static const struct {
		int64_t ns;
		const char *words;
	} cases[] = {
		{ 0, "0 s" },
		{ 1, "1 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.00 µs" },
		{ 9994, "9.99 µs" },
		{ 9996, "10.0 µs" },
		{ 99960, "100 µs" },
		{ 999499, "999 µs" },
		{ 999500, "1.00 ms" },
		{ 11400 * MS, "11.4 s" },
		{ 120 * SECOND, "120 s" },
		{ 121 * SECOND, "2 min 1 s" },
		{ 1743 * SECOND, "29 min 3 s" },
		{ -1743 * SECOND, "-29 min 3 s" },
		{ 3600 * SECOND, "60 min" },
		{ 7199 * SECOND + 900 * MS, "120 min" },
		{ 7500 * SECOND, "2 h 5 min" },
		{ 36000 * SECOND, "10 h" },
		{ -1500, "-1.50 µs" },
		{ INT64_MAX, "2,562,047 h 47 min" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(words__time(cases[i].ns).text, cases[i].words);
	assert_string_equal(words__brief_time(11400 * MS).text, "11.4 s");
	assert_string_equal(words__brief_time(1743 * SECOND).text, "29.1 min");
	assert_string_equal(words__brief_time(-7500 * SECOND).text, "-2.08 h");
}

static void shares_and_numbers_read_well(void **state)
{
	assert_string_equal(words__share(381, 1000).text, "38.1 %");
	assert_string_equal(words__share(1, 10000).text, "<0.1 %");
	assert_string_equal(words__share(0, 0).text, "0.0 %");
	assert_string_equal(words__about(384, 1000).text, "38 %");
	assert_string_equal(words__about(42, 1000).text, "4.2 %");
	assert_string_equal(words__tiny_share(21, 1000000).text, "0.0021 %");
	assert_string_equal(words__number(12700).text, "12,700");
	assert_string_equal(words__number(999).text, "999");
	assert_string_equal(words__number(INT64_MIN).text, "-9,223,372,036,854,775,808");
	assert_string_equal(words__bytes(24100000).text, "24.1 MB");
}

static void a_long_name_is_cut_in_its_middle(void **state)
{
	assert_string_equal(words__clean("/usr/lib/long/path/file.so", 12).text, "/usr/l…le.so");
	assert_string_equal(words__clean("exactly-12-c", 12).text, "exactly-12-c");
	assert_string_equal(words__clean("äöü", 3).text, "äöü");
	assert_string_equal(words__clean("a\xc3", 3).text, "a?");
	assert_string_equal(words__clean("\xed\xa0\x80", 9).text, "???");
	assert_string_equal(words__clean(NULL, 3).text, "");
	assert_int_equal(words__columns("…µ"), 2);
}

/* --- recordings that are not as they should be --------------------------------------------- */

static void a_hostile_name_cannot_steer_the_terminal(void **state)
{
	static const char *const evil[] = { "\x1b[2J1", "\x1b[2J2", "\xc2\x9b[31mx",
					    "\xe2\x80\xae\xff\r\n" };
	char *text;

	write_pool(evil, 0);
	text = print(&(struct report_options) { .width = 80, .model.by = MODEL_BY_THREAD });
	for (const char *at = text; *at; at++)
		assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_non_null(strstr(text, "?[2J1"));
	free(text);
	json_decref(report((struct report_options) { .model.by = MODEL_BY_THREAD }));
}

static void a_half_written_recording_says_so(void **state)
{
	struct recording *recording = sample__begin(path);
	json_t *json;

	/* Slices, accounts; the thread's row was still to come. */
	sample__account(recording, 7, SAMPLE_RUN_USER, 1, 1, 10 * SECOND, 1);
	assert_int_equal(recording__commit(recording), 0);
	recording__free(recording);
	json = report((struct report_options) {});
	assert_true(json_is_false(json_object_get(json, "complete")));
	assert_int_equal(number_at(json, "threads_ns"), 10 * SECOND);
	assert_int_equal(number_at(json, "remainder_ns"), 0);
	text_has(&wide, "incomplete   the recorder was killed or is still at work");
	text_has(&wide, "quality      unknown: there are no counters");
	json_decref(json);
}

static void emptiness_has_a_reason(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__finish(recording);
	text_has(&wide, "No thread of the target (process 1000 and its children) was seen in 30.0 "
			"s: it had ended, or nothing matches the filter.");
	text_has(&(struct report_options) { .width = 1000, .model.scope.from.ns = SECOND },
		 "No thread of the target lived in this part of the recording.");
}

static void no_hooks_are_a_reason_too(void **state)
{
	struct recording *recording = sample__begin(path);

	assert_int_equal(recording__set_text(recording, "hooks",
					     "[{\"event\": \"sched_switch\", \"kind\": null, "
					     "\"why_not\": \"no BTF\"}]"),
			 0);
	sample__finish(recording);
	text_has(&wide, "Nothing was measured: no hook could be attached.");
	text_has(&wide, "without sched_switch: no BTF");
}

static void a_recorder_that_died_at_once_left_an_explanation(void **state)
{
	struct recording *recording = NULL;

	assert_int_equal(recording__create(path, false, &recording), 0);
	recording__free(recording);
	text_has(&wide, "the recorder ended before its first slice");
	json_decref(report((struct report_options) {}));
}

static void losses_are_said_with_their_bias(void **state)
{
	struct recording *recording = sample__begin(path);

	assert_int_equal(
		recording__put_quality(recording, "lost_map_full", 1234, "names are lost", ""), 0);
	sample__finish(recording);
	text_has(&wide, "quality      lost_map_full 1,234: names are lost");
	text_lacks(&wide, "nothing lost");
}

static void nothing_lost_is_said_too(void **state)
{
	struct recording *recording = sample__begin(path);

	assert_int_equal(
		recording__put_quality(recording, "lost_map_full", 0, "names are lost", ""), 0);
	sample__finish(recording);
	text_has(&wide, "quality      nothing lost");
}

/* --- findings ------------------------------------------------------------------------------ */

/* Whoever's context a disk's answer comes in, the file is one: it gets one line, with all of it. */
static void a_disk_has_no_culprits(void **state)
{
	struct recording *recording = sample__begin(path);
	const int wakers[] = { SAMPLE_WORKER_1, SAMPLE_INTERRUPT, 0 };

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_MAIN, 1, "app", 0);
	sample__thread(recording, SAMPLE_WORKER_1, 1, "ksoftirqd/1", 0);
	sample__account(recording, SAMPLE_MAIN, SAMPLE_DISK, 1, 3, 30 * SECOND, 3);
	recording__put_object(recording, &(struct recording_object) {
						 .id = 1, .kind = "file", .name = "/srv/07.seg" });
	for (int i = 0; i < 3; i++)
		recording__add_wait(recording,
				    &(struct recording_wait) { .thread = SAMPLE_MAIN,
							       .state = SAMPLE_DISK,
							       .object = 1,
							       .by = wakers[i],
							       .evidence = i < 2 ? "waker" : "none",
							       .ns = 10 * SECOND,
							       .count = 1 });
	sample__finish(recording);
	text_has(&wide,
		 "    30.0 s 100.0 %          3  thread app (tid 1001): disk, file /srv/07.seg\n");
	text_has(&wide, "for the disk, with file /srv/07.seg.\n");
	text_lacks(&wide, "woken by");
}

/* Runs a statement on the recording. */
static void change(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* A thread of the sample is killed 15 s after its start. */
static void a_crash_outside_a_cut_is_none(void **state)
{
	struct report_options options = wide;

	sample__write_with_stacks(path);
	change("INSERT INTO fatal(time_ns, thread, signal, stack) VALUES(1015000000000, 2, 11, 0)");
	text_has(&wide, "1. worker-* of app (tid 1002) was killed by SIGSEGV.\n");
	options.model.scope.from.ns = 10 * SECOND;
	text_has(&options, "was killed by SIGSEGV");
	options.model.scope.to.ns = 14 * SECOND;
	text_lacks(&options, "was killed");
	options.model.scope.from.ns = 16 * SECOND;
	options.model.scope.to.ns = 0;
	text_lacks(&options, "was killed");
}

static void a_wait_whose_time_was_up_timed_out(void **state)
{
	sample__write(path);
	change("UPDATE wait SET evidence = 'timeout' WHERE by = -1;"
	       " UPDATE thread SET comm = '[timed out]' WHERE id = -1");
	change("UPDATE wait SET evidence = 'timeout', by = -1 WHERE evidence = 'owner'");
	text_has(&wide, "lock, futex 0x7f0000001000, timed out\n");
	text_lacks(&wide, "by [timed out]");
}

static void the_sample_comes_to_three_sentences(void **state)
{
	sample__write(path);
	text_has(&wide, "1. logger of app (tid 1004) waited 87 % of the time that it had work "
			"(26.0 s of 30.0 s) for the disk, with file /var/log/app.log.\n");
	text_has(&wide, "2. 2 threads worker-* of app waited 45 % of the time that they had work "
			"(22.8 s of 51.0 s) for a lock; held by logger of app (tid 1004).\n");
	text_has(&wide, "3. 2 threads worker-* of app ran for 25 % of the time (15.0 s), and were "
			"ready without a CPU for 22 % (13.2 s)");
}

static void a_storm_of_syscalls_is_a_finding(void **state)
{
	struct recording *recording = sample__begin(path);
	const struct recording_syscall call = { 262,    "newfstatat", 1,      1,        381000,
						365760, 4100 * MS,    1 * MS, 4100 * MS };

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_KERNEL, 1, 3, 10 * SECOND, 1);
	sample__account(recording, 1, SAMPLE_POLL, 1, 3, 20 * SECOND, 1);
	assert_int_equal(recording__add_syscall(recording, &call), 0);
	assert_int_equal(recording__add_syscall_error(recording, 262, ENOENT, 365760), 0);
	sample__finish(recording);
	text_has(
		&wide,
		"41 % in the system call newfstatat: 12,700 calls a second, 96 % of them fail with "
		"ENOENT.");
}

static void a_call_that_waits_is_none(void **state)
{
	struct recording *recording = sample__begin(path);
	const struct recording_syscall call = { 202, "futex",    1,          1,     100,
						0,   9 * SECOND, 1 * SECOND, 1 * MS };

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_KERNEL, 1, 3, 10 * SECOND, 1);
	sample__account(recording, 1, SAMPLE_POLL, 1, 3, 20 * SECOND, 1);
	assert_int_equal(recording__add_syscall(recording, &call), 0);
	sample__finish(recording);
	text_lacks(&wide, "the system call futex");
}

/* Without stacks, nobody knows whether poll was waiting for work. */
static void a_target_without_evidence_has_no_finding(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 1200 * MS, 1);
	sample__account(recording, 1, SAMPLE_POLL, 1, 3, 28800 * MS, 1);
	sample__finish(recording);
	text_lacks(&wide, "1. ");
}

static void gapless_itself_is_never_a_finding(void **state)
{
	static const char *const names[] = { "gapless", "gapless", "gapless", "gapless" };

	write_pool(names, RECORDING_THREAD_OWN);
	text_has(&wide, "No finding: only kernel threads or gapless itself were measured.");
	text_lacks(&wide, "who held it up");
}

static void a_kernel_threads_waits_are_none(void **state)
{
	static const char *const names[] = { "kworker/1", "kworker/2", "kworker/3", "kworker/4" };

	write_pool(names, RECORDING_THREAD_KERNEL);
	text_has(&wide, "No finding: only kernel threads or gapless itself were measured.");
}

static void running_is_a_finding_when_it_is_most_of_the_time(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 27 * SECOND, 1);
	sample__account(recording, 1, SAMPLE_RUN_KERNEL, 1, 3, 3 * SECOND, 1);
	sample__finish(recording);
	text_has(&wide, "1. app (tid 1001) ran for 100 % of the time (30.0 s).");
}

/* A parent that waits for its child, and a pool on a condition variable. */
static void waits_that_explain_nothing_are_none(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	for (int64_t i = 1; i <= 3; i++)
		sample__thread(recording, i, 1, i == 1 ? "parent" : i == 2 ? "pool" : "runner", 0);
	sample__account(recording, 1, SAMPLE_CHILD, 1, 3, 30 * SECOND, 1);
	sample__account(recording, 2, SAMPLE_LOCK_OPEN, 1, 3, 30 * SECOND, 1);
	sample__account(recording, 3, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	sample__finish(recording);
	text_has(&wide, "1. runner of app (tid 1003) ran for");
	text_lacks(&wide, "2. ");
}

/* `shares`: how the 20 s of waiting for a lock divide among four objects, in percent. */
static void write_locks(const int *shares)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__thread(recording, 2, 1, "holder", RECORDING_THREAD_NO_ACCOUNT);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 10 * SECOND, 1);
	sample__account(recording, 1, SAMPLE_LOCK, 1, 3, 20 * SECOND, 1);
	for (int i = 0; i < 4; i++) {
		const struct recording_wait wait = { 1,       SAMPLE_LOCK,          i + 1, 2,
						     "owner", shares[i] * 200 * MS, 1 };
		char name[16];

		snprintf(name, sizeof(name), "0x%d000", i + 1);
		assert_int_equal(
			recording__put_object(recording,
					      &(struct recording_object) { i + 1, "futex", name }),
			0);
		assert_int_equal(recording__add_wait(recording, &wait), 0);
	}
	sample__finish(recording);
}

static void an_object_that_is_most_of_it_is_named_with_its_part(void **state)
{
	write_locks((const int[]) { 60, 20, 10, 10 });
	text_has(&wide, "for a lock; held by holder of app (tid 1002).");
}

static void a_lock_with_a_name_that_is_most_of_it_is_called_by_it(void **state)
{
	write_locks((const int[]) { 60, 20, 10, 10 });
	change("UPDATE object SET name = 'log_lock in app' WHERE id = 1");
	text_has(&wide, "for the lock log_lock in app (60 % of it); held by holder of app (tid "
			"1002).");
}

static void a_lock_with_a_name_is_called_by_it(void **state)
{
	write_locks((const int[]) { 100, 0, 0, 0 });
	change("UPDATE object SET name = 'log_lock in app'");
	text_has(&wide, "for the lock log_lock in app; held by holder of app (tid 1002).");
}

static void many_small_ones_are_not_named(void **state)
{
	write_locks((const int[]) { 25, 25, 25, 25 });
	change("UPDATE object SET name = 'lock_' || id");
	text_lacks(&wide, "for the lock lock_");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_number_of_the_sample_is_right),
		TEST(views_and_report_give_the_same_numbers),
		TEST(waits_name_waiter_object_culprit_and_evidence),
		TEST(a_remainder_is_shown),
		TEST(unexplained_is_what_threads_have_plus_unseen),
		TEST(a_cut_at_slices_is_exact),
		TEST(a_row_over_an_edge_is_prorated),
		TEST(a_row_is_prorated_over_its_threads_life_only),
		TEST(a_cut_of_nothing_is_refused),
		TEST(a_cut_can_be_given_as_times_of_day),
		TEST(a_report_can_be_narrowed_to_some_threads),
		TEST(a_cause_can_be_moved_to_another_kind),
		TEST(names_that_differ_in_a_number_are_one),
		TEST(one_name_with_a_number_stays_as_it_is),
		TEST(a_number_is_no_name),
		TEST(the_rows_of_by_add_up),
		TEST(top_limits_the_tables_and_says_so),
		cmocka_unit_test(times_have_three_digits_that_count),
		cmocka_unit_test(shares_and_numbers_read_well),
		cmocka_unit_test(a_long_name_is_cut_in_its_middle),
		TEST(a_hostile_name_cannot_steer_the_terminal),
		TEST(a_half_written_recording_says_so),
		TEST(emptiness_has_a_reason),
		TEST(no_hooks_are_a_reason_too),
		TEST(a_recorder_that_died_at_once_left_an_explanation),
		TEST(losses_are_said_with_their_bias),
		TEST(nothing_lost_is_said_too),
		TEST(a_disk_has_no_culprits),
		TEST(a_crash_outside_a_cut_is_none),
		TEST(a_wait_whose_time_was_up_timed_out),
		TEST(the_sample_comes_to_three_sentences),
		TEST(a_storm_of_syscalls_is_a_finding),
		TEST(a_call_that_waits_is_none),
		TEST(a_target_without_evidence_has_no_finding),
		TEST(gapless_itself_is_never_a_finding),
		TEST(a_kernel_threads_waits_are_none),
		TEST(running_is_a_finding_when_it_is_most_of_the_time),
		TEST(waits_that_explain_nothing_are_none),
		TEST(an_object_that_is_most_of_it_is_named_with_its_part),
		TEST(a_lock_with_a_name_that_is_most_of_it_is_called_by_it),
		TEST(a_lock_with_a_name_is_called_by_it),
		TEST(many_small_ones_are_not_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
