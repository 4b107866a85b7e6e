/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons of recordings whose difference is known. */
#include "../harness.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diff/flame.h"
#include "diff/metric.h"
#include "sample.h"
#include "vocabulary/histogram.h"

#define RUNS 5

/* What a recording is made of; all else is the same in each. */
struct made {
	int64_t user_ns, lock_ns, fsync_ns;
	int64_t lost;
	int64_t timed; /* fsyncs in the histogram, of 5 ms each */
	const char *level, *ended, *object, *target;
	const char *key, *value; /* of meta */
};

static char *folder;

static int set_up(void **state)
{
	folder = sample__path();
	*strrchr(folder, '/') = '\0';
	return 0;
}

static int tear_down(void **state)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	assert_int_equal(system(command), 0);
	free(folder);
	return 0;
}

static void write_recording(const char *path, const struct made *made)
{
	struct recording *recording = sample__begin(path);
	int64_t rest = 30 * SECOND - made->user_ns - made->lock_ns;

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_MAIN, 1, "app", 0);
	sample__thread(recording, SAMPLE_LOGGER, 1, "logger", 0);
	sample__account(recording, SAMPLE_MAIN, SAMPLE_RUN_USER, 1, 3, made->user_ns, 1);
	sample__account(recording, SAMPLE_MAIN, SAMPLE_POLL, 1, 3, rest, 1);
	sample__account(recording, SAMPLE_LOGGER, SAMPLE_POLL, 1, 3, 30 * SECOND, 1);
	if (made->lock_ns) {
		sample__account(recording, SAMPLE_MAIN, SAMPLE_LOCK, 1, 3, made->lock_ns, 10);
		recording__put_object(recording,
				      &(struct recording_object) {
					      .id = 1, .kind = "futex", .name = made->object });
		recording__add_wait(recording, &(struct recording_wait) { .thread = SAMPLE_MAIN,
									  .state = SAMPLE_LOCK,
									  .object = 1,
									  .by = SAMPLE_LOGGER,
									  .evidence = "owner",
									  .ns = made->lock_ns,
									  .count = 10 });
	}
	recording__add_syscall(recording, &(struct recording_syscall) { .number = 74,
									.name = "fsync",
									.from = 1,
									.to = 3,
									.count = 100,
									.total_ns = made->fsync_ns,
									.max_ns = made->fsync_ns });
	if (made->timed)
		recording__add_bucket(recording, &(struct recording_bucket) {
							 .of = RECORDING_HISTOGRAM_SYSCALL,
							 .key = 74,
							 .from = 1,
							 .to = 3,
							 .bucket = (int)histogram_bucket(5 * MS),
							 .count = made->timed });
	if (made->level)
		recording__set_text(recording, "level", made->level);
	if (made->ended)
		recording__set_text(recording, "ended", made->ended);
	if (made->target)
		recording__set_text(recording, "target", made->target);
	if (made->key && made->value)
		recording__set_text(recording, made->key, made->value);
	recording__put_quality(recording, "lost_ring_full", made->lost, "missing", "");
	sample__finish(recording);
}

/* A noise of one percent that is the same in every run of the test. */
static int64_t noisy(int64_t value, int i)
{
	static const int parts[] = { 3, -9, 12, -4, -1, 7, -12, 5, -2, 10 };

	return value + value * parts[i % 10] / 1000;
}

static void path_of(enum diff_side side, int i, char *path, size_t size)
{
	snprintf(path, size, "%s/%s-%d.gapless", folder, side == DIFF_BASE ? "base" : "new", i + 1);
}

static void write_side(enum diff_side side, int runs, const struct made *made)
{
	for (int i = 0; i < runs; i++) {
		struct made noised = *made;
		char path[256], object[32];

		/* Addresses differ from run to run. */
		snprintf(object, sizeof(object), "0x7f%x", 4096 * (i + 7 * side));
		noised.object = object;
		noised.user_ns = noisy(made->user_ns, i + 5 * side);
		noised.lock_ns = noisy(made->lock_ns, 3 * i + side);
		noised.fsync_ns = noisy(made->fsync_ns, 2 * i + 3 * side);
		path_of(side, i, path, sizeof(path));
		write_recording(path, &noised);
	}
}

static const struct made usual = { .user_ns = 10 * SECOND, .fsync_ns = 500 * MS };

struct compared {
	struct diff diff;
	char *why;
	int err;
};

static struct compared compare(int runs, const char *per, const char *const *gates)
{
	const char *paths[DIFF_SIDES][RUNS];
	static char names[DIFF_SIDES][RUNS][256];
	struct diff_options options = { .per = per, .gates = gates };
	struct compared compared = {};

	for (int side = 0; side < DIFF_SIDES; side++) {
		for (int i = 0; i < runs; i++) {
			path_of(side, i, names[side][i], sizeof(names[side][i]));
			paths[side][i] = names[side][i];
		}
		options.paths[side] = paths[side];
		options.counts[side] = (size_t)runs;
	}
	compared.err = diff__make(&options, &compared.diff, &compared.why);
	return compared;
}

static void compared__release(struct compared *compared)
{
	diff__release(&compared->diff);
	free(compared->why);
}

static const struct diff_change *find(const struct diff *diff, const char *measure,
				      const char *name)
{
	for (size_t i = 0; i < diff->change_count; i++)
		if (!strcmp(diff->changes[i].metric->name, name) &&
		    !strcmp(diff->changes[i].metric->measure, measure))
			return &diff->changes[i];
	fail_msg("there is no %s of '%s'", measure, name);
	return NULL;
}

static bool warns(const struct diff *diff, const char *words)
{
	for (size_t i = 0; i < diff->warning_count; i++)
		if (strstr(diff->warnings[i], words))
			return true;
	return false;
}

static char *text_of(const struct diff *diff)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(diff__print_text(diff, 0, out), 0);
	fclose(out);
	return text;
}

static double run_ns_of_samples(const char *path)
{
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	double ns;

	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT sum(weight_ns) FROM sample x JOIN state s ON"
					    " s.id = x.state JOIN thread t ON t.id = x.thread"
					    " WHERE s.state = 'run' AND t.flags & 4 = 0",
					    -1, &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	ns = sqlite3_column_double(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return ns;
}

static void the_same_is_no_change(void **state)
{
	struct compared compared;
	char *text;

	write_side(DIFF_BASE, RUNS, &usual);
	write_side(DIFF_NEW, RUNS, &usual);
	compared = compare(RUNS, NULL, NULL);
	assert_int_equal(compared.err, 0);
	assert_true(compared.diff.enough);
	assert_true(compared.diff.compared > 5);
	assert_int_equal(compared.diff.certain, 0);
	text = text_of(&compared.diff);
	assert_non_null(strstr(text, "no significant change"));
	free(text);
	compared__release(&compared);
}

static void what_grew_is_found_and_named(void **state)
{
	struct made slower = usual;
	const struct diff_change *change;
	struct compared compared;
	char *text;

	slower.user_ns = 10500 * MS;
	slower.lock_ns = 2 * SECOND;
	slower.fsync_ns = 700 * MS;
	write_side(DIFF_BASE, RUNS, &usual);
	write_side(DIFF_NEW, RUNS, &slower);
	compared = compare(RUNS, NULL, NULL);
	assert_int_equal(compared.err, 0);
	change = find(&compared.diff, "time", "run.user");
	assert_true(diff__is_certain(&compared.diff, change));
	/* A second of it, since these are no whole runs: 10 s in 30. */
	assert_true(fabs(change->sides[DIFF_BASE].mean - 1e9 / 3) < 5e6);
	assert_true(fabs(diff__ratio(change) - 0.05) < 0.02);
	change = find(&compared.diff, "mean", "syscall:fsync");
	assert_true(diff__is_certain(&compared.diff, change));
	assert_true(fabs(change->sides[DIFF_NEW].mean - 7e6) < 1e5);
	assert_false(
		diff__is_certain(&compared.diff, find(&compared.diff, "count", "syscall:fsync")));
	change = find(&compared.diff, "time", "wait.lock: app for a futex held by logger");
	assert_true(diff__is_certain(&compared.diff, change));
	assert_true(isinf(diff__ratio(change)));
	text = text_of(&compared.diff);
	assert_non_null(strstr(text, "wait.lock: app for a futex held by logger takes"));
	assert_non_null(strstr(text, "which is new"));
	free(text);
	compared__release(&compared);
}

static void few_recordings_claim_nothing(void **state)
{
	struct made slower = usual;
	struct compared compared;
	char *text;

	slower.user_ns = 20 * SECOND;
	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &slower);
	compared = compare(1, NULL, NULL);
	assert_int_equal(compared.err, 0);
	assert_int_equal(compared.diff.certain, 0);
	assert_true(isnan(find(&compared.diff, "time", "run.user")->probability));
	text = text_of(&compared.diff);
	assert_non_null(strstr(text, "within-run only"));
	assert_non_null(strstr(text, "run.user"));
	free(text);
	compared__release(&compared);
}

static void sums_are_divided_by_the_work(void **state)
{
	struct made made = usual;
	struct compared compared;

	made.ended = "command";
	write_side(DIFF_BASE, 2, &made);
	write_side(DIFF_NEW, 2, &made);
	compared = compare(2, NULL, NULL);
	assert_string_equal(compared.diff.per, "run");
	assert_true(fabs(find(&compared.diff, "time", "run.user")->sides[0].mean - 1e10) < 1e8);
	compared__release(&compared);
	compared = compare(2, "syscall:fsync", NULL);
	assert_true(fabs(find(&compared.diff, "time", "run.user")->sides[0].mean - 1e8) < 1e6);
	compared__release(&compared);
	compared = compare(2, "syscall:nosuch", NULL);
	assert_int_equal(compared.err, -ENOKEY);
	assert_non_null(strstr(compared.why, "no count of 'syscall:nosuch'"));
	compared__release(&compared);
}

static void what_is_unlike_or_lost_is_told(void **state)
{
	struct made other = usual;
	struct compared compared;

	other.level = "sched";
	other.lost = 12331;
	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &other);
	compared = compare(1, NULL, NULL);
	assert_true(warns(&compared.diff, "unlike levels"));
	assert_true(warns(&compared.diff, "new-1.gapless' has losses: lost_ring_full 12,331"));
	assert_false(warns(&compared.diff, "base-1.gapless' has losses"));
	assert_false(warns(&compared.diff, "kernels"));
	compared__release(&compared);
}

static void pids_and_names_of_commands_are_not_unlike(void **state)
{
	static const struct {
		const char *base, *new;
		bool warns;
	} targets[] = {
		{ "command: ./old", "command: ./new", false },
		{ "process 4242 and its children", "process 17 and its children", false },
		{ "process 4242 and its children", "process 17", true },
		{ "process 4242", "command: ./new", true },
		{ "all threads", "process 4242", true },
	};

	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		struct made base = usual, new = usual;
		struct compared compared;
		char path[256];

		base.target = targets[i].base;
		new.target = targets[i].new;
		write_side(DIFF_BASE, 1, &base);
		write_side(DIFF_NEW, 1, &new);
		compared = compare(1, NULL, NULL);
		assert_int_equal(warns(&compared.diff, "unlike targets"), targets[i].warns);
		compared__release(&compared);
		for (int side = 0; side < DIFF_SIDES; side++) {
			path_of(side, 0, path, sizeof(path));
			assert_int_equal(unlink(path), 0);
		}
	}
}

static void machines_are_unlike_only_where_both_recordings_say_so(void **state)
{
	static const struct {
		const char *key, *base, *new, *expected;
	} facts[] = {
		{ "cpu_model", "Fast", "Slow", "unlike models of CPU" },
		{ "governor", "performance", "", "(none): the change may be the speed" },
		{ "gapless_commit", "abc", "abd", "unlike builds of gapless" },
		{ "gapless_version", "0.1", "0.2", "unlike versions of gapless" },
		{ "note.build", "1", "2", "(build = 2): whoever" },
		{ "note.token", "1", "2", NULL }, /* secrets are not shown, so not compared */
		{ "cpu_model", "Fast", NULL, NULL },
		{ "governor", NULL, "performance", NULL },
		{ "note.build", "1", NULL, NULL },
		{ "cpu_model", "Fast", "Fast", NULL },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		struct made base = usual, new = usual;
		struct compared compared;
		char path[256];

		base.key = new.key = facts[i].key;
		base.value = facts[i].base;
		new.value = facts[i].new;
		write_side(DIFF_BASE, 1, &base);
		write_side(DIFF_NEW, 1, &new);
		compared = compare(1, NULL, NULL);
		if (facts[i].expected)
			assert_true(warns(&compared.diff, facts[i].expected));
		else
			assert_false(warns(&compared.diff, "unlike"));
		compared__release(&compared);
		for (int side = 0; side < DIFF_SIDES; side++) {
			path_of(side, 0, path, sizeof(path));
			assert_int_equal(unlink(path), 0);
		}
	}
}

static void gates_are_kept_or_crossed(void **state)
{
	const char *const gates[] = { "mean(syscall:fsync) > +10%",
				      "mean(syscall:fsync) > +50%",
				      "mean(syscall:fsync) > +1ms",
				      "mean(syscall:fsync) > 6.5 ms",
				      "mean(syscall:fsync) > 8ms",
				      "run.user < -1%",
				      "wait.disk > 1ms",
				      NULL };
	const bool crossed[] = { true, false, true, true, false, false, false };
	struct made slower = usual;
	struct compared compared;

	slower.fsync_ns = 700 * MS;
	write_side(DIFF_BASE, RUNS, &usual);
	write_side(DIFF_NEW, RUNS, &slower);
	for (int runs = 1; runs <= RUNS; runs += RUNS - 1) {
		compared = compare(runs, NULL, gates);
		assert_int_equal(compared.err, 0);
		for (size_t i = 0; gates[i]; i++)
			assert_int_equal(compared.diff.gates[i].crossed, crossed[i]);
		assert_int_equal(compared.diff.crossed, 3);
		compared__release(&compared);
	}
}

static void a_condition_on_an_unknown_name_is_refused(void **state)
{
	static const struct {
		const char *gate, *why;
	} gates[] = {
		{ "p99(syscall:nosuch) > 1ms", "no recording has a p99 of 'syscall:nosuch'" },
		{ "wait.lokc > 1ms", "[did you mean 'wait.lock'?]" },
	};

	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &usual);
	for (size_t i = 0; i < sizeof(gates) / sizeof(*gates); i++) {
		/* The first one holds, which does not matter. */
		const char *const list[] = { "run.user > 1ns", gates[i].gate, NULL };
		struct compared compared = compare(1, NULL, list);

		assert_int_equal(compared.err, -EINVAL);
		assert_non_null(strstr(compared.why, gates[i].why));
		compared__release(&compared);
	}
}

static void a_percentile_is_a_metric_where_the_count_carries_it(void **state)
{
	static const char *const measures[] = { "p50", "p90", "p95", "p99", "p999" };
	struct made made = usual;
	struct compared compared;

	made.timed = 99;
	write_side(DIFF_BASE, 1, &made);
	write_side(DIFF_NEW, 1, &made);
	compared = compare(1, NULL, NULL);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(metrics__find(&compared.diff.runs[0].metrics, measures[i],
					       "syscall:fsync") != NULL,
				 i < 3);
	assert_int_equal(find(&compared.diff, "p95", "syscall:fsync")->sides[DIFF_NEW].mean,
			 4980736);
	compared__release(&compared);
}

/* A build must not pass because there was too little to judge by. */
static void a_condition_on_a_percentile_of_too_few_values_is_refused(void **state)
{
	static const struct {
		const char *gate;
		int64_t base, new;
		const char *why;
	} cases[] = {
		{ "p99(syscall:fsync) > +10%", 100, 100, NULL },
		{ "p99(syscall:fsync) > +10%", 99, 100, "the base has too few values for a p99" },
		{ "p99(syscall:fsync) > 1s", 99, 100, NULL },
		{ "p99(syscall:fsync) > 1s", 100, 99, "the new side has too few values for a p99" },
		{ "p999(syscall:fsync) > 1s", 100, 100, "no recording has a p999 of" },
		{ "p95(syscall:fsync) > 1s", 20, 20, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const gates[] = { cases[i].gate, NULL };
		struct made made = usual;
		struct compared compared;

		made.timed = cases[i].base;
		write_side(DIFF_BASE, 1, &made);
		made.timed = cases[i].new;
		write_side(DIFF_NEW, 1, &made);
		compared = compare(1, NULL, gates);
		assert_int_equal(compared.err, cases[i].why ? -EINVAL : 0);
		assert_true(!cases[i].why || strstr(compared.why, cases[i].why));
		compared__release(&compared);
		for (int side = 0; side < DIFF_SIDES; side++) {
			char path[256];

			path_of(side, 0, path, sizeof(path));
			assert_int_equal(unlink(path), 0);
		}
	}
}

static void a_bound_has_the_unit_of_what_it_bounds(void **state)
{
	static const struct {
		const char *gate;
		int err;
	} gates[] = {
		{ "mean(syscall:fsync) > 10", -EINVAL },
		{ "mean(syscall:fsync) > +10kB", -EINVAL },
		{ "count(syscall:fsync) > 5ms", -EINVAL },
		{ "count(syscall:fsync) > +0", 0 },
		{ "mean(syscall:fsync) > +0", 0 },
		{ "count(syscall:fsync) > +5%", 0 },
	};

	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &usual);
	for (size_t i = 0; i < sizeof(gates) / sizeof(*gates); i++) {
		const char *const list[] = { gates[i].gate, NULL };
		struct compared compared = compare(1, NULL, list);

		assert_int_equal(compared.err, gates[i].err);
		assert_true(!compared.err || strstr(compared.why, gates[i].gate));
		compared__release(&compared);
	}
}

static void bad_conditions_are_refused(void **state)
{
	static const char *const bad[] = { "",
					   "p99(syscall:fsync)",
					   "p99(syscall:fsync) > ",
					   "p99(syscall:fsync) > fast",
					   "p99(syscall:fsync) > +10 apples",
					   "p99(syscall:fsync) > 10%",
					   "p99() > 1",
					   "> 5",
					   "p98(syscall:fsync) > 1ms",
					   "x > +1e999%",
					   "x > nan" };
	struct gate gate;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(gate__parse(bad[i], &gate), -EINVAL);
	assert_int_equal(gate__parse("self(function:f<int>(a) (x.so)) < -2.5us", &gate), 0);
	assert_string_equal(gate.name, "function:f<int>(a) (x.so)");
	assert_true(gate.relative && !gate.percent && !gate.above && gate.bound == -2500);
	gate__release(&gate);
}

static void json_has_every_value(void **state)
{
	struct compared compared;
	size_t size = 0, i;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	json_t *json, *change;
	int found = 0;

	write_side(DIFF_BASE, RUNS, &usual);
	write_side(DIFF_NEW, RUNS, &usual);
	compared = compare(RUNS, NULL, NULL);
	assert_int_equal(diff__print_json(&compared.diff, out), 0);
	fclose(out);
	json = json_loads(text, 0, NULL);
	assert_non_null(json);
	assert_int_equal(json_array_size(json_object_get(json, "recordings")), 2 * RUNS);
	json_array_foreach (json_object_get(json, "changes"), i, change) {
		json_t *values = json_object_get(json_object_get(change, "new"), "values");

		assert_int_equal(json_array_size(values), RUNS);
		found += !strcmp(json_string_value(json_object_get(change, "name")), "run.user");
	}
	assert_int_equal(found, 1);
	json_decref(json);
	free(text);
	compared__release(&compared);
}

/* The sample with stacks and the one with signals: names and units outlive their recording. */
static void call_paths_add_up_and_signals_have_units(void **state)
{
	struct compared compared;
	json_t *paths = NULL, *value;
	char path[256];
	double sum = 0;
	size_t i;

	path_of(DIFF_BASE, 0, path, sizeof(path));
	sample__write_with_signals(path);
	path_of(DIFF_NEW, 0, path, sizeof(path));
	sample__write_with_stacks(path);
	compared = compare(1, "run", NULL);
	assert_int_equal(compared.err, 0);
	assert_string_equal(find(&compared.diff, "count", "block:write vda")->metric->unit,
			    "requests");
	assert_int_equal(flame__make(&compared.diff, &paths), 0);
	json_array_foreach (json_object_get(paths, "new_run"), i, value)
		sum += (double)json_integer_value(value);
	/* What each path has by itself adds up to what all samples stand for. */
	assert_true(fabs(sum - run_ns_of_samples(path)) < 1000);
	json_array_foreach (json_object_get(paths, "base_run"), i, value)
		assert_int_equal(json_integer_value(value), 0);
	json_decref(paths);
	compared__release(&compared);
}

static void what_is_no_recording_is_told(void **state)
{
	struct compared compared = compare(1, NULL, NULL);

	assert_int_equal(compared.err, -ENOENT);
	assert_non_null(strstr(compared.why, "base-1.gapless'"));
	compared__release(&compared);
}

static void assert_metric_name(const struct hot_function *function, const char *expected)
{
	char text[512] = "";

	metric__say_function(function, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void a_function_of_a_runtime_has_the_same_name_in_every_run(void **state)
{
	struct hot_function python = { .name = "price",
				       .module = "[python]",
				       .file = "/srv/shop.py",
				       .line = 12,
				       .named = true,
				       .language = LANGUAGE_PYTHON,
				       .is_managed = true };
	struct hot_function jit = { .name = "Shop$$Lambda/0x00007f12a8001000.run",
				    .module = "[jit 4242]",
				    .named = true,
				    .language = LANGUAGE_GENERATED };
	struct hot_function nameless = { .name = "[v8]+0x7f0a6c6245b0",
					 .module = "[v8]",
					 .language = LANGUAGE_JAVASCRIPT,
					 .is_managed = true };

	assert_metric_name(&python, "price (shop.py)");
	python.line = 14;
	python.file = "/tmp/other/shop.py";
	assert_metric_name(&python, "price (shop.py)");
	assert_metric_name(&jit, "Shop$$Lambda.run ([jit])");
	jit.name = "LazyCompile:*render /srv/cart.js:12:3";
	jit.module = "[jit 77]";
	assert_metric_name(&jit, "LazyCompile:*render /srv/cart.js ([jit])");
	jit.name = "std::vector<int>::at";
	assert_metric_name(&jit, "std::vector<int>::at ([jit])");
	assert_metric_name(&nameless, "[v8] (no symbols)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_same_is_no_change),
		TEST(what_grew_is_found_and_named),
		TEST(few_recordings_claim_nothing),
		TEST(sums_are_divided_by_the_work),
		TEST(what_is_unlike_or_lost_is_told),
		TEST(pids_and_names_of_commands_are_not_unlike),
		TEST(machines_are_unlike_only_where_both_recordings_say_so),
		TEST(gates_are_kept_or_crossed),
		TEST(a_condition_on_an_unknown_name_is_refused),
		TEST(a_percentile_is_a_metric_where_the_count_carries_it),
		TEST(a_condition_on_a_percentile_of_too_few_values_is_refused),
		TEST(a_bound_has_the_unit_of_what_it_bounds),
		TEST(bad_conditions_are_refused),
		TEST(json_has_every_value),
		TEST(call_paths_add_up_and_signals_have_units),
		TEST(what_is_no_recording_is_told),
		TEST(a_function_of_a_runtime_has_the_same_name_in_every_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
