/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What samples add to the report: functions, call paths, errors, and words where there are none. */
#include "reported.h"

#include <errno.h>
#include <math.h>

#include "model/model.h"

#define PERIOD (10 * MS)

static const struct report_options wide = { .width = 1000 };

/* A number of the function of that name; 0 if it is not there. */
static int64_t of_function(json_t *json, const char *name, const char *key)
{
	json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(json, "hot"), i, entry) {
		const char *function = json_string_value(json_object_get(entry, "function"));

		if (function && !strcmp(function, name))
			return number_at(entry, key);
	}
	return 0;
}

static int64_t sum_of(json_t *json, const char *key)
{
	int64_t sum = 0;
	json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(json, "hot"), i, entry)
		sum += number_at(entry, key);
	return sum;
}

static int64_t of_kind(json_t *json, int kind, const char *key)
{
	json_t *kinds = json_object_get(json_object_get(json, "samples"), "kinds");

	return number_at(json_array_get(kinds, (size_t)kind), key);
}

/* --- recordings ---------------------------------------------------------------------------- */

/*
 * One thread that runs for 30 s; functions a, b, c … of the module /opt/lib/libx.so with the
 * numbers 1, 2, 3 …, and frames likewise.
 */
static struct recording *begin(const char *const *functions)
{
	const struct recording_module module = { 1, "file", "/opt/lib/libx.so", NULL };
	struct recording *recording = sample__begin(path);
	int err = recording__add_module(recording, &module);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	for (int64_t i = 1; functions[i - 1]; i++) {
		const struct recording_function function = { i, 1,   functions[i - 1], NULL, NULL,
							     0, NULL };
		const struct recording_line line = { .frame = i, .function = i };

		err |= recording__add_function(recording, &function);
		err |= recording__add_frame(recording, i, 1, 16 * i);
		err |= recording__add_line(recording, &line);
	}
	assert_int_equal(err, 0);
	return recording;
}

static void add_stack(struct recording *recording, int64_t id, int64_t parent, int64_t frame)
{
	assert_int_equal(recording__add_stack(recording, id, parent, frame), 0);
}

static void add_ticks(struct recording *recording, int64_t stack, int count)
{
	const struct recording_sample sample = {
		.time_ns = SAMPLE_START_NS + SECOND,
		.thread = 1,
		.state = SAMPLE_RUN_USER,
		.stack = stack,
		.weight_ns = PERIOD,
		.period_ns = PERIOD,
		.count = 1,
		.flags = RECORDING_SAMPLE_TICK,
	};

	for (int i = 0; i < count; i++)
		assert_int_equal(recording__add_sample(recording, &sample), 0);
}

static void change(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* --- functions ----------------------------------------------------------------------------- */

static void every_function_of_the_sample_is_right(void **state)
{
	json_t *json;

	sample__write_with_stacks(path);
	json = report((struct report_options) {});
	/* Inlined into parse, which is inlined into serve. */
	assert_int_equal(of_function(json, "next_token", "self_run_ns"), 8700 * MS);
	assert_int_equal(of_function(json, "parse(std::string_view)", "self_run_ns"), 0);
	assert_int_equal(of_function(json, "parse(std::string_view)", "total_run_ns"), 8700 * MS);
	/* From two addresses. */
	assert_int_equal(of_function(json, "Server::serve(Request const&)", "self_run_ns"),
			 4200 * MS);
	assert_int_equal(of_function(json, "pthread_mutex_lock", "self_wait_ns"), 31200 * MS);
	assert_int_equal(of_function(json, "futex_wait", "self_wait_ns"), 0);
	assert_int_equal(of_function(json, "futex_wait", "total_wait_ns"), 31200 * MS);
	assert_int_equal(of_function(json, "[no stack]", "total_wait_ns"), SECOND);
	assert_int_equal(of_function(json, "main", "total_run_ns"), 9900 * MS);
	json_decref(json);
}

static void self_times_add_up_to_all_samples_and_those_to_the_ledger(void **state)
{
	json_t *json;

	sample__write_with_stacks(path);
	json = report((struct report_options) {});
	assert_int_equal(sum_of(json, "self_run_ns"), 28900 * MS);
	assert_int_equal(sum_of(json, "self_wait_ns"), 57800 * MS - 12000);
	for (int i = KIND_RUN; i <= KIND_IDLE; i++)
		assert_int_equal(of_kind(json, i, "weight_ns"), of_kind(json, i, "ledger_ns"));
	json_decref(json);
	text_has(&wide, "80, 99 a second of running, stand for 100.0 % ±8.9 of the ledger's time");
	text_lacks(&wide, "than chance explains");
}

static void recursion_counts_once(void **state)
{
	static const char *const functions[] = { "a", "b", NULL };
	struct recording *recording = begin(functions);
	json_t *json;

	add_stack(recording, 1, 0, 1);
	add_stack(recording, 2, 1, 2);
	add_stack(recording, 3, 2, 1);
	add_stack(recording, 4, 3, 2);
	/* Beside it, and after it in the tree. */
	add_stack(recording, 5, 0, 2);
	add_ticks(recording, 1, 1);
	add_ticks(recording, 4, 2);
	add_ticks(recording, 5, 4);
	sample__finish(recording);
	json = report((struct report_options) {});
	assert_int_equal(of_function(json, "a", "total_run_ns"), 3 * PERIOD);
	assert_int_equal(of_function(json, "b", "total_run_ns"), 6 * PERIOD);
	assert_int_equal(of_function(json, "a", "self_run_ns"), 1 * PERIOD);
	assert_int_equal(of_function(json, "b", "self_run_ns"), 6 * PERIOD);
	assert_int_equal(of_function(json, "b", "samples"), 6);
	json_decref(json);
}

static void what_has_no_symbol_is_one_row_for_its_module(void **state)
{
	static const char *const functions[] = { "a", NULL };
	struct recording *recording = begin(functions);

	for (int64_t i = 2; i <= 4; i++)
		assert_int_equal(recording__add_frame(recording, i, 1, 4096 * i), 0);
	for (int64_t i = 1; i <= 4; i++)
		add_stack(recording, i, i == 1 ? 0 : 1, i);
	for (int64_t i = 2; i <= 4; i++)
		add_ticks(recording, i, 10);
	sample__finish(recording);
	text_has(&wide, "(no symbols)");
	text_lacks(&wide, "total wait");
	text_has(&wide, "50 % of 60 frames without a name, most of all libx.so [install its debug "
			"symbols, or set DEBUGINFOD_URLS]\n");
	text_has(&wide, "100 % of that under a.");
}

static void a_finding_names_the_function_when_samples_are_enough(void **state)
{
	static const char *const functions[] = { "main", "parse", NULL };
	struct recording *recording = begin(functions);

	add_stack(recording, 1, 0, 1);
	add_stack(recording, 2, 1, 2);
	add_ticks(recording, 1, 1140);
	add_ticks(recording, 2, 1860);
	sample__finish(recording);
	text_has(&wide, "1. app (tid 1001) ran for 100 % of the time (30.0 s), 62 % of that under "
			"parse.");
	text_has(&wide, "3,000, 100 a second of running, stand for 100.0 % ±3.7 of the");
}

static void the_top_function_has_its_call_path(void **state)
{
	static const char *const functions[] = { "main", "left", "right", "parse", NULL };
	struct recording *recording = begin(functions);

	add_stack(recording, 1, 0, 1);
	add_stack(recording, 2, 1, 2);
	add_stack(recording, 3, 1, 3);
	add_stack(recording, 4, 2, 4);
	add_stack(recording, 5, 3, 4);
	add_ticks(recording, 4, 1000);
	add_ticks(recording, 5, 2000);
	sample__finish(recording);
	text_has(&wide, "\n           from main → right → parse (67 % ±1.7 of 3,000 samples)\n");
}

static void hooks_among_the_hot_code_are_owned_up_to(void **state)
{
	static const char *const functions[] = { "main", "bpf_trace_run2", "bpf_prog_0123_on_exit",
						 NULL };
	struct recording *recording = begin(functions);

	add_stack(recording, 1, 0, 1);
	add_stack(recording, 2, 1, 2);
	add_stack(recording, 3, 2, 3);
	add_ticks(recording, 1, 96);
	add_ticks(recording, 2, 1);
	add_ticks(recording, 3, 3);
	sample__finish(recording);
	text_lacks(&wide, "BPF");
	change("UPDATE module SET kind = 'kernel'");
	text_has(&wide,
		 "\n  4.0 % of the running time is in BPF programs; gapless's part is in 'own "
		 "cost'\n");
}

static void time_below_three_periods_is_too_short_to_sample(void **state)
{
	static const char *const functions[] = { "main", NULL };
	struct recording *recording = begin(functions);

	sample__account(recording, 1, SAMPLE_READY_WOKEN, 1, 3, 3 * PERIOD - 1, 1);
	add_stack(recording, 1, 0, 1);
	add_ticks(recording, 1, 3000);
	sample__finish(recording);
	text_has(&wide, ": running 100.0 % ±3.7, ready too short to sample\n");
	change("UPDATE account SET ns = ns + 1 WHERE ns < 1000000000");
	text_has(&wide, ": running 100.0 % ±3.7, ready 0.0 % ±100");
}

static void a_finding_needs_more_than_a_few_samples(void **state)
{
	static const char *const functions[] = { "main", NULL };
	struct recording *recording = begin(functions);

	add_stack(recording, 1, 0, 1);
	add_ticks(recording, 1, 20);
	sample__finish(recording);
	text_lacks(&wide, "(libx.so) has");
	text_has(&wide, "that is further off than chance explains");
}

static void add_kernel_function(struct recording *recording, int64_t id, const char *name)
{
	const struct recording_function function = { id, 2, name, NULL, NULL, 0, NULL };
	const struct recording_line line = { .frame = id, .function = id };

	assert_int_equal(recording__add_function(recording, &function), 0);
	assert_int_equal(recording__add_frame(recording, id, 2, 16 * id), 0);
	assert_int_equal(recording__add_line(recording, &line), 0);
}

static void a_storm_of_syscalls_says_who_calls(void **state)
{
	static const char *const functions[] = { "main", "find", "load", NULL };
	const struct recording_module kernel = { 2, "kernel", "[kernel]", NULL };
	const struct recording_syscall call = { 262, "newfstatat", 1,      3,          381000,
						0,   15 * SECOND,  1 * MS, 15 * SECOND };
	struct recording *recording = begin(functions);

	assert_int_equal(recording__add_module(recording, &kernel), 0);
	assert_int_equal(recording__add_syscall(recording, &call), 0);
	add_kernel_function(recording, 4, "__x64_sys_newfstatat");
	add_kernel_function(recording, 5, "__do_sys_newfstatat");
	add_kernel_function(recording, 6, "__x64_sys_newfstat");
	add_stack(recording, 1, 0, 1);
	add_stack(recording, 2, 1, 2);
	add_stack(recording, 3, 1, 3);
	/* By either name, or by both: it counts once. */
	add_stack(recording, 4, 2, 4);
	add_stack(recording, 5, 4, 5);
	add_stack(recording, 6, 3, 5);
	add_stack(recording, 7, 3, 6);
	add_ticks(recording, 4, 200);
	add_ticks(recording, 5, 1000);
	add_ticks(recording, 6, 300);
	add_ticks(recording, 7, 1500);
	sample__finish(recording);
	text_has(&wide, "50 % in the system call newfstatat: 12,700 calls a second");
	/* What user code calls so is none of the kernel's. */
	change("UPDATE module SET kind = 'file'; DELETE FROM syscall_slice; DELETE FROM syscall");
	text_lacks(&wide, "in the system call");
}

/* Kernel functions called from the program's code, one below the other. */
static void add_kernel_stack(struct recording *recording, int64_t *id, const char *outer,
			     const char *inner, int ticks)
{
	const char *const names[] = { outer, inner };
	int64_t parent = 1;

	for (int i = 0; i < 2; i++) {
		++*id;
		add_kernel_function(recording, *id, names[i]);
		add_stack(recording, *id, parent, *id);
		parent = *id;
	}
	add_ticks(recording, parent, ticks);
}

static void ticks_divide_the_time_outside_syscalls(void **state)
{
	static const char *const functions[] = { "main", NULL };
	const struct recording_module kernel = { 2, "kernel", "[kernel]", NULL };
	const struct recording_faults faults = {
		.thread = 1, .from = 1, .to = 1, .minor = 4000, .major = 3
	};
	struct recording *recording = begin(functions);
	int64_t id = 1;

	assert_int_equal(recording__add_module(recording, &kernel), 0);
	assert_int_equal(recording__add_faults(recording, &faults), 0);
	assert_int_equal(recording__set_number(recording, "crossing_ns", 150), 0);
	add_stack(recording, 1, 0, 1);
	add_ticks(recording, 1, 1500);
	add_kernel_stack(recording, &id, "asm_exc_page_fault", "clear_page_erms", 1200);
	add_kernel_stack(recording, &id, "do_syscall_64", "task_work_run", 200);
	add_kernel_stack(recording, &id, "asm_sysvec_apic_timer_interrupt", "handle_softirqs", 100);
	/* On the way into a call: run.kernel has that time. */
	add_kernel_stack(recording, &id, "do_syscall_64", "bpf_trace_run2", 600);
	sample__finish(recording);
	text_has(&wide, "run.user is the time outside syscalls; by 3,000 samples, 50 % ±1.8 is the "
			"program's own code (15.0 s), 40 % ±1.8 is page faults (12.0 s), 10 % ±1.1 "
			"is other work of the kernel (3.00 s); 4,003 page faults, those inside "
			"syscalls included, 3 of them major");
	/* Of older recordings, run.user still has it. */
	change("DELETE FROM meta WHERE key = 'crossing_ns'; DROP VIEW faults; DROP TABLE fault_slice");
	text_has(&wide, "by 3,600 samples, 42 % ±1.6 is the program's own code (12.5 s), 33 % ±1.6 "
			"is page faults (10.0 s), 25 % ±1.4 is other work of the kernel (7.50 s)");
	text_lacks(&wide, "page faults, ");
	change("DELETE FROM sample");
	text_has(&wide, "own code is not told from page faults");
}

/* --- options ------------------------------------------------------------------------------- */

static void a_cut_takes_the_samples_of_its_time(void **state)
{
	json_t *json;

	sample__write_with_stacks(path);
	json = report((struct report_options) { .model.scope.to.ns = 10 * SECOND });
	assert_int_equal(of_function(json, "next_token", "self_run_ns"), 2900 * MS);
	/* The first half of a wait of 20 s, less what was not seen. */
	assert_int_equal(of_function(json, "fsync", "self_wait_ns"), 10 * SECOND - 12000);
	json_decref(json);
	/* The last wait ends with the recording. */
	json = report((struct report_options) { .model.scope.from.ns = 20 * SECOND });
	assert_int_equal(of_function(json, "[no stack]", "self_wait_ns"), SECOND);
	assert_int_equal(of_function(json, "fsync", "self_wait_ns"), 5 * SECOND);
	json_decref(json);
}

static void a_cause_that_is_moved_takes_its_samples_along(void **state)
{
	static const char *const poll[] = { "poll", NULL }, *const lock[] = { "lock", NULL };
	json_t *json;

	sample__write_with_stacks(path);
	json = report((struct report_options) { .model.busy = poll, .model.idle = lock });
	assert_int_equal(of_function(json, "epoll_wait", "self_wait_ns"), 19800 * MS);
	assert_int_equal(of_function(json, "pthread_mutex_lock", "total_wait_ns"), 0);
	json_decref(json);
}

static void top_limits_functions_and_says_so(void **state)
{
	sample__write_with_stacks(path);
	text_has(&(struct report_options) { .width = 100, .top = 2 },
		 "… 8 more running functions [--top]");
	text_lacks(&(struct report_options) { .width = 100, .top = 2 }, "vfs_statx");
}

/* --- waits --------------------------------------------------------------------------------- */

static void a_wait_has_the_path_into_it_and_its_wakers(void **state)
{
	sample__write_with_stacks(path);
	text_has(&wide, "held by thread logger (tid 1004)\n"
			"                               from Server::serve(Request const&) → "
			"pthread_mutex_lock (100 % of 6 samples)\n"
			"                               woken from log_line → pthread_mutex_unlock "
			"(100 % of 6 samples)\n");
	text_has(
		&wide,
		"for a mutex, in Server::serve; 73 % of it held by logger of app (tid 1004); meanwhile "
		"logger of app was waiting for the disk (/var/log/app.log) in log_line");
}

static void a_long_path_is_folded_in_its_middle(void **state)
{
	static const char *const functions[] = {
		"_start", "__libc_start_call_main", "main", "b", "c", "d", "e", "f", NULL
	};
	struct recording *recording = begin(functions);
	struct model model = {};
	char text[1024] = "";

	for (int64_t i = 1; functions[i - 1]; i++)
		add_stack(recording, i, i - 1, i);
	add_ticks(recording, 8, 1);
	sample__finish(recording);
	assert_int_equal(model__load(path, &(struct model_options) {}, &model), 0);
	hot__say_path(&model.hot, 8, text, sizeof(text));
	assert_string_equal(text, "main → … → c → d → e → f");
	*text = '\0';
	hot__say_path(&model.hot, 4, text, sizeof(text));
	assert_string_equal(text, "main → b");
	*text = '\0';
	hot__say_path(&model.hot, 1, text, sizeof(text));
	assert_string_equal(text, "_start");
	model__release(&model);
}

/* 15 locks that nobody is known to own, from one place. */
static void one_path_to_many_objects_is_named_instead_of_their_number(void **state)
{
	static const char *const functions[] = { "main", "take_lock", "other", NULL };
	struct recording *recording = begin(functions);

	sample__account(recording, 1, SAMPLE_LOCK, 1, 3, 30 * SECOND, 150);
	add_stack(recording, 1, 0, 1);
	add_stack(recording, 2, 1, 2);
	add_stack(recording, 3, 1, 3);
	for (int i = 1; i <= 15; i++) {
		const struct recording_object object = { i, "futex", "0x1000" };
		const struct recording_wait wait = { 1, SAMPLE_LOCK, i, 0, "none", 2 * SECOND, 10 };
		const struct recording_sample sample = { .time_ns = SAMPLE_START_NS + i * SECOND,
							 .thread = 1,
							 .state = SAMPLE_LOCK,
							 .object = i,
							 .stack = i == 7 ? 3 : 2,
							 .weight_ns = 2 * SECOND,
							 .wait_ns = 2 * SECOND,
							 .count = 10 };

		assert_int_equal(recording__put_object(recording, &object), 0);
		assert_int_equal(recording__add_wait(recording, &wait), 0);
		assert_int_equal(recording__add_sample(recording, &sample), 0);
	}
	sample__finish(recording);
	text_has(&wide, "(28.0 s of 60.0 s) for a lock, in take_lock.");
}

/* One lock, three culprits: what one of them has most of is not what there is most of. */
static void the_path_of_most_waits_is_that_of_all_culprits(void **state)
{
	static const char *const functions[] = { "main", "rare", "often", NULL };
	static const int seconds[3][2] = { { 40, 39 }, { 0, 39 }, { 0, 39 } };
	struct recording *recording = begin(functions);
	const struct recording_object object = { 1, "futex", "0x1000" };

	sample__account(recording, 1, SAMPLE_LOCK, 1, 3, 157 * SECOND / 10, 150);
	add_stack(recording, 1, 0, 1);
	add_stack(recording, 2, 1, 2);
	add_stack(recording, 3, 1, 3);
	assert_int_equal(recording__put_object(recording, &object), 0);
	for (int by = 0; by < 3; by++) {
		const struct recording_wait wait = {
			1,      SAMPLE_LOCK, 1,
			by + 2, "owner",     (seconds[by][0] + seconds[by][1]) * SECOND / 10,
			10
		};
		char name[] = { (char)('a' + by), '\0' };

		sample__thread(recording, by + 2, 1, name, RECORDING_THREAD_NO_ACCOUNT);
		assert_int_equal(recording__add_wait(recording, &wait), 0);
		for (int way = 0; way < 2; way++) {
			const struct recording_sample sample = {
				.time_ns = SAMPLE_START_NS + 20 * SECOND,
				.thread = 1,
				.state = SAMPLE_LOCK,
				.object = 1,
				.by = by + 2,
				.stack = way + 2,
				.weight_ns = seconds[by][way] * SECOND / 10,
				.wait_ns = seconds[by][way] * SECOND / 10,
				.count = 5
			};

			if (seconds[by][way])
				assert_int_equal(recording__add_sample(recording, &sample), 0);
		}
	}
	sample__finish(recording);
	text_has(&wide, "for a lock, in often; 33 % of it ended by a of app");
}

/* --- errors -------------------------------------------------------------------------------- */

static void errors_are_two_standard_errors(void **state)
{
	const double p = PERIOD;
	/* 100 of 400 ticks: binomial, 2 × √(0.25 × 0.75 / 400). */
	const struct hot_sum part = { 100 * PERIOD, 100, 100 * p * p };
	const struct hot_sum whole = { 400 * PERIOD, 400, 400 * p * p };
	const struct hot_sum exact = { 7 * SECOND, 3, 0 };

	assert_true(fabs(hot__error(&part, &whole) - 4.33) < 0.01);
	assert_int_equal(hot__error_ns(&whole), 2 * 20 * PERIOD);
	/* Nothing else was seen in 400: below 3/400 in 95 of 100 cases. */
	assert_true(fabs(hot__error(&whole, &whole) - 0.75) < 0.001);
	assert_true(hot__error(&exact, &exact) == 0);
	assert_true(hot__error(&exact, &(struct hot_sum) {}) == 0);
}

static void a_wait_that_was_not_left_to_chance_has_no_error(void **state)
{
	json_t *json;

	sample__write_with_stacks(path);
	/* As if it had been drawn: 100 intervals of half a period. */
	change("UPDATE sample SET wait_ns = weight_ns / 2 WHERE state = 7");
	json = report((struct report_options) {});
	assert_int_equal(of_function(json, "pthread_mutex_lock", "self_wait_error_ns"), 0);
	/* 2 × √(10.10101 ms × 12.499994 s) */
	assert_int_equal(of_function(json, "fsync", "self_wait_error_ns") / MS, 710);
	json_decref(json);
}

static void a_late_tick_is_one_draw_however_much_it_weighs(void **state)
{
	static const char *const functions[] = { "a", NULL };
	struct recording *recording = begin(functions);
	json_t *json;

	add_stack(recording, 1, 0, 1);
	add_ticks(recording, 1, 1);
	sample__finish(recording);
	change("UPDATE sample SET weight_ns = 9 * period_ns");
	json = report((struct report_options) {});
	/* Not √9 of a period. */
	assert_int_equal(of_function(json, "a", "self_run_error_ns"), 2 * 9 * PERIOD);
	json_decref(json);
}

/* --- nothing, and nonsense ----------------------------------------------------------------- */

static void no_samples_have_a_reason(void **state)
{
	sample__write(path);
	text_has(&wide, "hot code: none, the recording has no samples\n");
	change("INSERT INTO meta VALUES('sample_period_ns', 10000000)");
	text_has(&wide, "hot code: none, too little to sample: there is a stack for each 10.0 ms");
	text_has(&(struct report_options) { .width = 1000, .model.scope.to.ns = SECOND },
		 "hot code: none, no sample was taken in this part");
	change("UPDATE meta SET value = 0 WHERE key = 'sample_period_ns'");
	text_has(&wide, "hot code: none, recorded without stacks [they need level full, and no "
			"--no-stacks]");
	change("DELETE FROM meta WHERE key = 'sample_period_ns';"
	       "UPDATE meta SET value = 'sched' WHERE key = 'level'");
	text_has(&wide, "hot code: none, level sched takes no stacks");
}

static void a_recording_of_version_1_is_read_without_samples(void **state)
{
	json_t *json;

	sample__write(path);
	change("UPDATE meta SET value = 1 WHERE key = 'schema_version';"
	       "DROP VIEW samples; DROP VIEW frames; DROP TABLE sample; DROP TABLE stack;"
	       "DROP TABLE frame_line; DROP TABLE function; DROP TABLE frame; DROP TABLE module");
	text_lacks(&wide, "hot code");
	json = report((struct report_options) {});
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(json, "samples"), "why_none")),
		"recorded by an older gapless, which took no stacks");
	assert_int_equal(json_array_size(json_object_get(json, "hot")), 0);
	json_decref(json);
}

static void stacks_that_hang_in_the_air_are_counted(void **state)
{
	json_t *json;

	sample__write_with_stacks(path);
	/* A circle, a parent and a frame that are missing, a sample's stack that is. */
	change("UPDATE stack SET parent = 3 WHERE id = 2; UPDATE stack SET parent = 2 WHERE id = 3;"
	       "UPDATE stack SET parent = 999 WHERE id = 17;"
	       "UPDATE stack SET frame = -5 WHERE id = 19;"
	       "UPDATE sample SET stack = 1 << 40 WHERE id = 1;"
	       "DELETE FROM module WHERE id = 2; DELETE FROM function WHERE id = 2");
	json = report((struct report_options) {});
	assert_int_equal(number_at(json_object_get(json, "samples"), "torn"), 4);
	assert_int_equal(sum_of(json, "self_run_ns"), 28900 * MS);
	json_decref(json);
	text_has(&wide, "4 references to rows that are missing");
}

static void a_stack_may_be_deep_but_not_without_end(void **state)
{
	static const char *const functions[] = { "a", NULL };
	struct recording *recording = begin(functions);

	for (int64_t i = 1; i <= 8193; i++)
		add_stack(recording, i, i - 1, 1);
	add_ticks(recording, 8192, 1);
	sample__finish(recording);
	assert_int_equal(report__print(path, &wide, stdout), -EBADMSG);
	change("DELETE FROM stack WHERE id = 8193");
	text_has(&wide, "10.0 ms running in 1 sample, 0 s waiting in 0;");
}

static void numbers_beyond_all_bounds_do_no_harm(void **state)
{
	sample__write_with_stacks(path);
	change("UPDATE sample SET weight_ns = 9223372036854775807, period_ns = 9223372036854775807");
	text_has(&wide, "running in 47 samples, ");
	/* One each, or SQLite finds the sum too large. */
	change("UPDATE account SET ns = 9223372036854775807, count = 9223372036854775807"
	       " WHERE slice_from = 1 AND state = 1;"
	       "DELETE FROM account WHERE slice_from > 1 OR state > 1;"
	       "UPDATE thread SET first_ns = -9223372036854775807, last_ns = 9223372036854775807,"
	       " unexplained_ns = 9223372036854775807;"
	       "UPDATE wait SET ns = 9223372036854775807, count = 9223372036854775807;"
	       "UPDATE meta SET value = 9223372036854775807 WHERE key IN ('cpus', 'end_ns')");
	text_has(&wide, "hot code");
	text_has(&(struct report_options) { .width = 100, .model.scope.from.ns = 1 }, "hot code");
	change("UPDATE sample SET weight_ns = -1 WHERE id = 1");
	assert_int_equal(report__print(path, &wide, stdout), -EBADMSG);
}

static void a_hostile_name_of_code_cannot_steer_the_terminal(void **state)
{
	static const int widths[] = { 40, 80, 120, 1000 };

	sample__write_with_stacks(path);
	change("UPDATE function SET name = char(27) || '[31m' || char(10) || 'x'");
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		char *text = print(&(struct report_options) { .width = widths[i], .top = 100 });

		assert_null(strchr(text, '\x1b'));
		assert_null(strchr(text, '\xff'));
		assert_null(strstr(text, "\nx"));
		free(text);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_function_of_the_sample_is_right),
		TEST(self_times_add_up_to_all_samples_and_those_to_the_ledger),
		TEST(recursion_counts_once),
		TEST(what_has_no_symbol_is_one_row_for_its_module),
		TEST(a_finding_names_the_function_when_samples_are_enough),
		TEST(the_top_function_has_its_call_path),
		TEST(hooks_among_the_hot_code_are_owned_up_to),
		TEST(time_below_three_periods_is_too_short_to_sample),
		TEST(a_finding_needs_more_than_a_few_samples),
		TEST(ticks_divide_the_time_outside_syscalls),
		TEST(a_storm_of_syscalls_says_who_calls),
		TEST(a_cut_takes_the_samples_of_its_time),
		TEST(a_cause_that_is_moved_takes_its_samples_along),
		TEST(top_limits_functions_and_says_so),
		TEST(a_wait_has_the_path_into_it_and_its_wakers),
		TEST(a_long_path_is_folded_in_its_middle),
		TEST(one_path_to_many_objects_is_named_instead_of_their_number),
		TEST(the_path_of_most_waits_is_that_of_all_culprits),
		cmocka_unit_test(errors_are_two_standard_errors),
		TEST(a_wait_that_was_not_left_to_chance_has_no_error),
		TEST(a_late_tick_is_one_draw_however_much_it_weighs),
		TEST(no_samples_have_a_reason),
		TEST(a_recording_of_version_1_is_read_without_samples),
		TEST(stacks_that_hang_in_the_air_are_counted),
		TEST(a_stack_may_be_deep_but_not_without_end),
		TEST(numbers_beyond_all_bounds_do_no_harm),
		TEST(a_hostile_name_of_code_cannot_steer_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
