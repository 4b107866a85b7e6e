/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the formats that have a time axis, on a profile made by hand. */
#include "../harness.h"

#include <stdio.h>

#include "base/json_out.h"
#include "export/calltree.h"
#include "export/exporter.h"
#include "export/label.h"
#include "export/spans.h"

enum { RUN, LOCK, READY };
enum { MAIN, WORKER, INTERRUPT, UNUSED };

/*
 * main() of one frame, in which inner() is inlined into outer(); a kernel stack without it. Two
 * threads of the process 7, whose pid a later process has too.
 */
static struct profile_process processes[] = { { 1, 7, "app" }, { 2, 7, "again" } };
static struct profile_thread threads[] = {
	{ .id = 1, .process = 0, .tid = 7, .comm = "app", .first_ns = 1000, .last_ns = 9000 },
	{ .id = 2, .process = 1, .tid = 8, .comm = "worker", .first_ns = 1500, .last_ns = 4000 },
	{ .id = -1, .process = PROFILE_NONE, .tid = 0, .comm = "[interrupt]" },
	{ .id = 3, .process = 0, .tid = 9, .comm = "unused" },
};
static struct profile_state states[] = {
	[RUN] = { 1, "run", "user", NULL, true },
	[LOCK] = { 2, "wait", "lock", "delaying", false },
	[READY] = { 3, "ready", "woken", NULL, false },
};
static struct code_module modules[] = {
	{ 1, "file", "/bin/app", "0123456789abcdef0123456789abcdef01234567" },
	{ 2, "kernel", "[kernel]", NULL },
};
static struct code_function functions[] = {
	{ 0, "main", "main", "/main.c", 3 },
	{ 0, "outer", "outer", "/main.c", 7 },
	{ 0, "inner", "inner", "/main.h", 1 },
	{ 1, "futex_wait", "futex_wait", NULL, 0 },
};
static struct code_line lines[] = { { 0, 4, 0 }, { 2, 2, 0 }, { 1, 8, 0 }, { 3, 0, 0 } };
static struct code_frame frames[] = {
	{ 0, 0x10, 0, 1, false },
	{ 0, 0x20, 1, 2, false },
	{ 1, 0xffffffff81000000, 3, 1, true },
};
static struct code_stack stacks[] = {
	{ PROFILE_NONE, 0, 0 }, { 0, 1, 1 }, { 1, 2, 2 }, { PROFILE_NONE, 2, 0 }
};
#define NOBODY .waker_stack = PROFILE_NONE, .by = PROFILE_NONE, .first = PROFILE_NONE
static struct profile_sample samples[] = {
	{ .time_ns = 2000, .thread = MAIN, .state = RUN, .stack = 1, NOBODY, .is_tick = true },
	{ .time_ns = 3000, .thread = MAIN, .state = LOCK, .stack = 2, .wait_ns = 500, NOBODY },
	{ .time_ns = 3100,
	  .thread = MAIN,
	  .state = LOCK,
	  .stack = 2,
	  .wait_ns = 400,
	  .waker_stack = 0,
	  .by = WORKER,
	  .first = PROFILE_NONE,
	  .evidence = PROFILE_OWNER },
	{ .time_ns = 3200, .thread = MAIN, .state = LOCK, .stack = 3, NOBODY, .none = "exec" },
	{ .time_ns = 3300, .thread = MAIN, .state = RUN, .stack = PROFILE_NONE, NOBODY },
	{ .time_ns = 3400, .thread = WORKER, .state = READY, .stack = 1, NOBODY, .end = "deep" },
};
static struct profile_account accounts[] = {
	{ MAIN, RUN, 1000, 2000, 400 },     { MAIN, LOCK, 1000, 2000, 600 },
	{ MAIN, RUN, 2000, 4000, 0 },       { MAIN, LOCK, 2000, 4000, 2000 },
	{ WORKER, RUN, 1500, 2000, 300 },   { WORKER, READY, 1500, 2000, 200 },
	{ WORKER, READY, 2000, 3000, 900 },
};
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
static const struct profile profile = {
	.processes = processes,
	.threads = threads,
	.states = states,
	.code.modules = modules,
	.code.functions = functions,
	.code.lines = lines,
	.code.frames = frames,
	.code.stacks = stacks,
	.samples = samples,
	.accounts = accounts,
	.process_count = COUNT_OF(processes),
	.thread_count = COUNT_OF(threads),
	.state_count = COUNT_OF(states),
	.code.module_count = COUNT_OF(modules),
	.code.function_count = COUNT_OF(functions),
	.code.line_count = COUNT_OF(lines),
	.code.frame_count = COUNT_OF(frames),
	.code.stack_count = COUNT_OF(stacks),
	.sample_count = COUNT_OF(samples),
	.account_count = COUNT_OF(accounts),
	.start_ns = 1000,
	.end_ns = 9000,
	.period_ns = 1000,
	.target = "app",
	.version = "0",
	.kernel = "0",
	.command = "",
};

/* A node's frames, from the outermost on. */
static const char *path_of(const struct calltree *calls, uint32_t node)
{
	static char text[256];
	char rest[256];

	for (*text = '\0'; node != PROFILE_NONE; node = calls->nodes[node].parent) {
		snprintf(rest, sizeof(rest), "%s", text);
		snprintf(text, sizeof(text), "%s %.200s",
			 calls->frames[calls->nodes[node].frame].name, rest);
	}
	return text;
}

static void a_sample_is_its_stack_with_words_for_what_is_no_code(void **state)
{
	struct calltree *calls = NULL;

	assert_int_equal(calltree__new(&profile, &calls), 0);
	assert_string_equal(path_of(calls, calls->samples[0]), "main outer inner ");
	assert_string_equal(path_of(calls, calls->samples[1]),
			    "main outer inner futex_wait [wait.lock] ");
	assert_string_equal(path_of(calls, calls->samples[3]),
			    "[no stack: exec] futex_wait [wait.lock] ");
	assert_string_equal(path_of(calls, calls->samples[4]), "[run.user] ");
	assert_string_equal(path_of(calls, calls->samples[5]),
			    "[cut: deep] main outer inner [ready.woken] ");
	calltree__free(calls);
}

static void equal_stacks_are_one_node_and_parents_come_first(void **state)
{
	struct calltree *calls = NULL;

	assert_int_equal(calltree__new(&profile, &calls), 0);
	assert_int_equal(calls->samples[1], calls->samples[2]);
	assert_int_equal(calls->wakers[1], PROFILE_NONE);
	assert_string_equal(path_of(calls, calls->wakers[2]), "main ");
	/* 5 for the first two, 3 and 1 for the next, 5 below "[cut: deep]". */
	assert_int_equal(calls->node_count, 14);
	for (size_t i = 0; i < calls->node_count; i++)
		assert_true(calls->nodes[i].parent == PROFILE_NONE || calls->nodes[i].parent < i);
	calltree__free(calls);
}

static void inlined_frames_know_how_deep_they_are(void **state)
{
	struct calltree *calls = NULL;
	const struct calltree_frame *inner, *outer;

	assert_int_equal(calltree__new(&profile, &calls), 0);
	inner = &calls->frames[calls->nodes[calls->samples[0]].frame];
	outer = &calls->frames[calls->nodes[calls->nodes[calls->samples[0]].parent].frame];
	assert_int_equal(inner->inlined, 1);
	assert_int_equal(outer->inlined, 0);
	assert_int_equal(inner->frame, outer->frame);
	assert_int_equal(lines[inner->line].line, 2);
	assert_int_equal(lines[outer->line].line, 8);
	calltree__free(calls);
}

/* The states of a slice have shares, and no order. */
static void slices_have_shares(void **state)
{
	static const struct {
		struct slice slice;
		int64_t run, lock, ready;
	} expected[] = {
		{ { MAIN, 1000, 2000, 0, 2 }, 400000, 600000, 0 },
		{ { MAIN, 2000, 4000, 2, 2 }, 0, 1000000, 0 },
		{ { WORKER, 1500, 2000, 4, 2 }, 600000, 0, 400000 },
		{ { WORKER, 2000, 3000, 6, 1 }, 0, 0, 900000 },
	};
	struct slice slice;
	size_t at = 0;

	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		assert_true(spans__next_slice(&profile, &at, &slice));
		assert_int_equal(slice.thread, expected[i].slice.thread);
		assert_int_equal(slice.begin_ns, expected[i].slice.begin_ns);
		assert_int_equal(slice.end_ns, expected[i].slice.end_ns);
		assert_int_equal(slice.first, expected[i].slice.first);
		assert_int_equal(slice.count, expected[i].slice.count);
		assert_int_equal(spans__share(&profile, &slice, RUN), expected[i].run);
		assert_int_equal(spans__share(&profile, &slice, LOCK), expected[i].lock);
		assert_int_equal(spans__share(&profile, &slice, READY), expected[i].ready);
	}
	assert_false(spans__next_slice(&profile, &at, &slice));
}

/* 1 s in pieces of 300 ms at most, with a weight that cannot be divided: nothing is lost. */
static void a_long_wait_is_many_pieces_over_its_time(void **state)
{
	static const int64_t ends[] = { 250, 500, 750, 1000, 1000 };
	struct pieces pieces = {};
	int64_t sum = 0;

	assert_int_equal(pieces__add(&pieces, 7, 0, 1000, 1003, 300), 0);
	assert_int_equal(pieces__add(&pieces, 3, 1000, 1000, 5, 300), 0);
	pieces__sort(&pieces);
	assert_int_equal(pieces.count, COUNT_OF(ends));
	for (size_t i = 0; i < pieces.count; i++) {
		assert_int_equal(pieces.list[i].time_ns, ends[i]);
		assert_in_range(pieces.list[i].weight_ns, i == 3 ? 5 : 250, 251);
		sum += pieces.list[i].weight_ns;
	}
	assert_int_equal(pieces.list[3].of, 3);
	assert_int_equal(sum, 1008);
	pieces__release(&pieces);
}

static void waits_of_a_thread_do_not_overlap_or_begin_too_early(void **state)
{
	const struct profile_sample early = { .time_ns = 1100, .thread = WORKER, .wait_ns = 5000 };
	int64_t *free_ns = spans__free_ns(&profile);
	struct span first = spans__wait(&samples[1], free_ns);
	struct span second = spans__wait(&samples[2], free_ns);

	assert_int_equal(first.begin_ns, 2500);
	assert_int_equal(first.ns, 500);
	assert_int_equal(second.begin_ns, 3000);
	assert_int_equal(second.ns, 100);
	assert_int_equal(spans__wait(&early, free_ns).begin_ns, profile.start_ns);
	free(free_ns);
}

static void threads_without_time_are_not_shown(void **state)
{
	bool *used = NULL;

	assert_int_equal(spans__used(&profile, &used), 0);
	assert_true(used[MAIN] && used[WORKER]);
	assert_false(used[INTERRUPT] || used[UNUSED]);
	free(used);
}

static void labels_say_who_and_how_it_is_known(void **state)
{
	char text[LABEL_SIZE];

	assert_string_equal(label__state(&states[LOCK], text), "wait.lock");
	assert_string_equal(label__thread(&threads[WORKER], text), "worker (thread 8)");
	assert_string_equal(label__thread(&threads[INTERRUPT], text), "[interrupt]");
	assert_string_equal(label__evidence(&samples[2]), "held by");
	assert_string_equal(label__evidence(&(struct profile_sample) {}), "woken by");
	assert_string_equal(
		label__evidence(&(struct profile_sample) { .evidence = PROFILE_HANDED }),
		"held last by");
	assert_string_equal(
		label__evidence(&(struct profile_sample) { .evidence = PROFILE_TIMEOUT }),
		"timed out");
}

static void json_decimals_are_exact(void **state)
{
	char *text = NULL;
	size_t size = 0;
	struct json_out out = { .file = open_memstream(&text, &size) };

	json_out__open(&out, NULL, '[');
	json_out__decimal(&out, NULL, 1, 6);
	json_out__decimal(&out, NULL, -1500000, 6);
	json_out__decimal(&out, NULL, 20000000, 6);
	json_out__decimal(&out, NULL, 0, 3);
	json_out__number(&out, NULL, INT64_MIN);
	json_out__decimal(&out, NULL, INT64_MAX, 3);
	json_out__text(&out, NULL, "a\"\\");
	json_out__open(&out, NULL, '{');
	json_out__bool(&out, "k", true);
	json_out__null(&out, "n");
	json_out__close(&out, '}');
	json_out__close(&out, ']');
	assert_int_equal(json_out__end(&out), 0);
	fclose(out.file);
	assert_string_equal(text,
			    "[0.000001,-1.5,20,0,-9223372036854775808,"
			    "9223372036854775.807,\"a\\\"\\\\\",\n{\"k\":true,\"n\":null}]\n");
	free(text);
}

/* What an exporter writes, all of it. */
static char *export(const struct exporter *exporter, const struct profile *from)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(exporter->write(from, out), 0);
	fclose(out);
	return text;
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	char *text = export(&export_firefox, &profile);

	assert_non_null(
		strstr(text, "\"pid\":\"7\",\"processName\":\"app\",\"isMainThread\":true"));
	assert_non_null(
		strstr(text, "\"pid\":\"7.1\",\"processName\":\"again\",\"isMainThread\":false"));
	free(text);
}

/* Run 400 of the first 1000 ns, then no more; the worker 300 of 500. */
static void cpu_use_comes_from_the_accounts(void **state)
{
	char *text = export(&export_firefox, &profile);

	assert_non_null(strstr(text, "\"threadCPUDelta\":[400,0,0,0,0]"));
	assert_non_null(strstr(text, "\"threadCPUDelta\":[300]"));
	free(text);
}

static void markers_do_not_overlap(void **state)
{
	char *text = export(&export_firefox, &profile);

	/* The second wait is longer than the time since the first. */
	assert_non_null(strstr(text, "\"startTime\":[0.0015,0.002],\n"
				     "\"endTime\":[0.002,0.0021]"));
	free(text);
}

/* Perfetto's texts are plain in the trace, each behind its length. */
static void a_wait_that_timed_out_has_no_culprit(void **state)
{
	struct profile one = profile;
	struct profile_sample sample = samples[1];
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	sample.evidence = PROFILE_TIMEOUT;
	one.samples = &sample;
	one.sample_count = 1;
	assert_int_equal(export_perfetto.write(&one, out), 0);
	fclose(out);
	assert_non_null(memmem(text, size, "timed out", 9));
	assert_null(memmem(text, size, "woken by", 8));
	free(text);
	text = export(&export_chrome, &one);
	assert_non_null(strstr(text, "\"ended\":\"timed out\""));
	assert_null(strstr(text, "woken by"));
	free(text);
	text = export(&export_firefox, &one);
	assert_non_null(strstr(text, "\"timed out\""));
	assert_null(strstr(text, "woken by"));
	free(text);
}

static void a_thread_without_samples_shows_its_accounts(void **state)
{
	struct profile cut = profile;
	char *text;

	cut.sample_count--; /* the worker's only one */
	text = export(&export_firefox, &cut);
	assert_non_null(strstr(text, "\"time\":[0.001,0.001,0.002],\n"
				     "\"weight\":[0.0003,0.0002,0.0009],\n"
				     "\"threadCPUDelta\":[300,0,0]}"));
	free(text);
}

/* As much as a recording can say, in a nanosecond. */
static void a_rate_that_is_too_large_is_the_largest(void **state)
{
	struct profile_point point = { 1000, 1001, INT64_MAX / 2 };
	struct profile_counter counter = { "block read: size", "bytes", 0, 1 };
	struct profile hostile = profile;
	char *text;

	hostile.counters = &counter;
	hostile.points = &point;
	hostile.counter_count = hostile.point_total = 1;
	text = export(&export_chrome, &hostile);
	assert_non_null(strstr(text, "\"ts\":0,\"args\":{\"bytes\":4611686018427387.904}"));
	free(text);
}

static void a_step_fits_whatever_the_lengths_add_up_to(void **state)
{
	enum { COUNT = 500000 };
	struct profile_account *many = calloc(COUNT, sizeof(*many));
	struct profile hostile = profile;

	for (size_t i = 0; i < COUNT; i++)
		many[i] = (struct profile_account) { MAIN, RUN, 0, INT64_MAX / 2, 0 };
	hostile.accounts = many;
	hostile.account_count = COUNT;
	assert_true(pieces__step(&hostile) == INT64_C(1) << 62);
	free(many);
}

static void a_profile_without_samples_or_anything_is_written(void **state)
{
	static const struct exporter *const all[] = { &export_firefox, &export_perfetto,
						      &export_chrome };
	struct profile empty = { .target = "?", .version = "?", .kernel = "?", .command = "" };
	struct profile only_accounts = profile;

	only_accounts.sample_count = 0;
	only_accounts.code = (struct code) {};
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		free(export(all[i], &empty));
		free(export(all[i], &only_accounts));
	}
}

static void a_full_disk_is_an_error(void **state)
{
	static const struct exporter *const all[] = { &export_firefox, &export_perfetto,
						      &export_chrome };

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		FILE *full = fopen("/dev/full", "we");

		assert_non_null(full);
		setvbuf(full, NULL, _IONBF, 0);
		assert_int_not_equal(all[i]->write(&profile, full), 0);
		fclose(full);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_its_stack_with_words_for_what_is_no_code),
		cmocka_unit_test(equal_stacks_are_one_node_and_parents_come_first),
		cmocka_unit_test(inlined_frames_know_how_deep_they_are),
		cmocka_unit_test(slices_have_shares),
		cmocka_unit_test(a_long_wait_is_many_pieces_over_its_time),
		cmocka_unit_test(waits_of_a_thread_do_not_overlap_or_begin_too_early),
		cmocka_unit_test(threads_without_time_are_not_shown),
		cmocka_unit_test(labels_say_who_and_how_it_is_known),
		cmocka_unit_test(json_decimals_are_exact),
		cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(cpu_use_comes_from_the_accounts),
		cmocka_unit_test(markers_do_not_overlap),
		cmocka_unit_test(a_wait_that_timed_out_has_no_culprit),
		cmocka_unit_test(a_thread_without_samples_shows_its_accounts),
		cmocka_unit_test(a_rate_that_is_too_large_is_the_largest),
		cmocka_unit_test(a_step_fits_whatever_the_lengths_add_up_to),
		cmocka_unit_test(a_profile_without_samples_or_anything_is_written),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
