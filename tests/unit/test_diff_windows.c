/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons of recordings by their requests, whose difference is known. */
#include "../harness.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "recording/window_rows.h"
#include "sample.h"

#define RUNS   5
#define US     1000LL
#define ORDERS "window:GET /orders"

enum { CLASS_ORDERS = 1, CLASS_FAILED, CLASS_OTHERS, CLASS_ASKED };

/* What a recording is made of. */
struct made {
	int64_t count;     /* of requests that took `busy_ns` and 400 µs */
	int64_t busy_ns;   /* queued */
	int64_t slow;      /* of requests that waited 20 ms for another server besides */
	int64_t failed;    /* of requests that took 1 ms */
	const char *asked; /* the kind of class CLASS_ASKED; NULL: "client" */
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

static void add_classes(struct recording *recording, const char *asked)
{
	const struct recording_window_class classes[] = {
		{ CLASS_ORDERS, "server", "http", "127.0.0.1:8080", "GET /orders/*", "ok", 1 },
		{ CLASS_FAILED, "server", "http", "127.0.0.1:8080", "GET /orders/*", "failed", 1 },
		{ CLASS_OTHERS, "server", "http", "127.0.0.1:8080", "GET /", "ok", 1 },
		{ CLASS_ASKED, asked ? asked : "client", "http", "10.0.0.2:80", "GET /orders/all",
		  "ok", 1 },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		assert_int_equal(window_rows__put_class(recording, &classes[i]), 0);
}

static void add(struct recording *recording, int64_t class, int64_t count,
		const struct sample_part *parts)
{
	struct sample_windows windows = {
		.class = class, .from = 1, .to = 3, .count = count, .n = count
	};

	memcpy(windows.parts, parts, 3 * sizeof(*parts));
	if (count)
		sample__windows(recording, &windows);
}

static void write_recording(const char *path, const struct made *made)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_MAIN, 1, "app", 0);
	sample__account(recording, SAMPLE_MAIN, SAMPLE_RUN_USER, 1, 3, 10 * SECOND, 1);
	sample__account(recording, SAMPLE_MAIN, SAMPLE_POLL, 1, 3, 20 * SECOND, 1);
	add_classes(recording, made->asked);
	add(recording, CLASS_ORDERS, made->count,
	    (struct sample_part[3]) { { "own", SAMPLE_RUN_USER, 400 * US },
				      { "queued.busy", 0, made->busy_ns } });
	add(recording, CLASS_ORDERS, made->slow,
	    (struct sample_part[3]) { { "own", SAMPLE_RUN_USER, 400 * US },
				      { "queued.busy", 0, made->busy_ns },
				      { "downstream", 0, 20 * MS } });
	add(recording, CLASS_FAILED, made->failed,
	    (struct sample_part[3]) { { "own", SAMPLE_RUN_USER, MS } });
	add(recording, CLASS_OTHERS, 5000,
	    (struct sample_part[3]) { { "own", SAMPLE_RUN_USER, 10 * US } });
	add(recording, CLASS_ASKED, 700, (struct sample_part[3]) { { "downstream", 0, 7 * MS } });
	sample__finish(recording);
}

static void path_of(enum diff_side side, int i, char *path, size_t size)
{
	snprintf(path, size, "%s/%s-%d.gapless", folder, side == DIFF_BASE ? "base" : "new", i + 1);
}

static void write_side(enum diff_side side, int runs, const struct made *made)
{
	for (int i = 0; i < runs; i++) {
		struct made noised = *made;
		char path[256];

		noised.busy_ns += (i * 7 + side * 3) % 5 * US;
		path_of(side, i, path, sizeof(path));
		write_recording(path, &noised);
	}
}

static const struct made usual = { .count = 990, .busy_ns = 600 * US, .slow = 10 };

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

static void assert_values(const struct diff_change *change, double base, double new)
{
	if (fabs(change->sides[DIFF_BASE].mean - base) > fabs(base) * 1e-9 ||
	    fabs(change->sides[DIFF_NEW].mean - new) > fabs(new) * 1e-9)
		fail_msg("%s: %f and %f, not %f and %f", change->metric->measure,
			 change->sides[DIFF_BASE].mean, change->sides[DIFF_NEW].mean, base, new);
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

static const struct made busier = { .count = 1490, .busy_ns = 900 * US, .slow = 10, .failed = 500 };

static void requests_are_compared_by_length_and_reasons(void **state)
{
	struct compared compared;
	const struct diff *diff = &compared.diff;

	write_side(DIFF_BASE, 1, &usual);
	write_side(
		DIFF_NEW, 1,
		&(struct made) {
			.count = 1490, .busy_ns = 900 * US - 3 * US, .slow = 10, .failed = 500 });
	compared = compare(1, ORDERS, NULL);
	assert_int_equal(compared.err, 0);
	assert_values(find(diff, "rate", ORDERS), 1000 / 30.0, 2000 / 30.0);
	assert_values(find(diff, "failed", ORDERS), 0, 25);
	assert_values(find(diff, "mean", ORDERS), 1.2e6, 1.325e6);
	assert_values(find(diff, "time", ORDERS " own.run"), 0.4e6, 0.55e6);
	assert_values(find(diff, "time", ORDERS " queued.busy"), 0.6e6, 0.675e6);
	assert_values(find(diff, "time", ORDERS " downstream"), 0.2e6, 0.1e6);
	/* All other sums are for one request too. */
	assert_values(find(diff, "time", "run.user"), 10e6, 5e6);
	assert_false(find(diff, "count", ORDERS)->compared);
	compared__release(&compared);
}

static void errors_follow_from_the_spread_of_lengths(void **state)
{
	struct compared compared;
	const struct diff_change *mean;

	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &busier);
	compared = compare(1, ORDERS, NULL);
	mean = find(&compared.diff, "mean", ORDERS);
	/* 990 of 1 ms and 10 of 21 ms: 63 µs. The new side: 45 µs. Buckets change that a little. */
	assert_true(fabs(diff__error(mean) - 77e3) < 8e3);
	assert_false(diff__is_beyond_sampling(mean));
	assert_true(diff__is_beyond_sampling(find(&compared.diff, "time", ORDERS " own.run")));
	compared__release(&compared);
}

static void a_text_tells_what_took_longer(void **state)
{
	struct made slower = usual;
	struct compared compared;
	char *text;

	slower.busy_ns = 897 * US;
	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &slower);
	compared = compare(1, ORDERS, NULL);
	text = text_of(&compared.diff);
	if (!strstr(text, "A request took 1.50 ms on average instead of 1.20 ms (+25.0 %); 300 µs "
			  "more of it was 'queued: busy\nwith other requests'.") ||
	    !strstr(text, "requests with 'GET /orders': 1,000 in base, 1,000 in new\n") ||
	    !strstr(text, "time of one, by reason\n  time   queued: busy with other requests"))
		fail_msg("%s", text);
	free(text);
	compared__release(&compared);
}

static void repeated_recordings_tell_it_from_noise(void **state)
{
	struct made slower = usual;
	struct compared compared;

	slower.busy_ns = 900 * US;
	write_side(DIFF_BASE, RUNS, &usual);
	write_side(DIFF_NEW, RUNS, &slower);
	compared = compare(RUNS, ORDERS, NULL);
	assert_int_equal(compared.err, 0);
	assert_true(diff__is_certain(&compared.diff, find(&compared.diff, "mean", ORDERS)));
	assert_true(diff__is_certain(&compared.diff,
				     find(&compared.diff, "time", ORDERS " queued.busy")));
	assert_false(
		diff__is_certain(&compared.diff, find(&compared.diff, "time", ORDERS " own.run")));
	assert_false(diff__is_certain(&compared.diff, find(&compared.diff, "rate", ORDERS)));
	compared__release(&compared);
}

static void a_condition_needs_no_per(void **state)
{
	const char *const gates[] = { "p99(window:GET /orders) > 50ms",
				      "p99(window:GET /orders) > 15ms",
				      "p50(window:GET /orders) > +10%",
				      "mean(window:GET /orders) > +50%",
				      "rate(window:GET /orders) < 60",
				      "failed(window:GET /orders) > 20",
				      "window:GET /orders queued.busy > 650us",
				      "time(window:GET /orders downstream) > +1us",
				      "count(window:127.0.0.1:8080) > 200",
				      NULL };
	const bool crossed[] = { false, false, true, false, false, true, true, false, true };
	struct compared compared;

	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &busier);
	compared = compare(1, NULL, gates);
	if (compared.err)
		fail_msg("%s", compared.why);
	for (size_t i = 0; gates[i]; i++)
		if (compared.diff.gates[i].crossed != crossed[i])
			fail_msg("%s", gates[i]);
	/* They are judged, but not reported. */
	assert_false(find(&compared.diff, "mean", ORDERS)->compared);
	compared__release(&compared);
}

static void what_fits_nothing_is_refused(void **state)
{
	const char *const gates[] = { "p99(window:GET /nosuch) > 50ms", NULL };
	struct compared compared;

	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &usual);
	compared = compare(1, "window:GET /nosuch", NULL);
	assert_int_equal(compared.err, -ENOKEY);
	assert_non_null(strstr(compared.why, "no request or call has 'GET /nosuch' in"));
	compared__release(&compared);
	compared = compare(1, NULL, gates);
	assert_int_equal(compared.err, -EINVAL);
	assert_non_null(strstr(compared.why, "no recording has a p99 of 'window:GET /nosuch'"));
	compared__release(&compared);
}

/* CLASS_ASKED fits too, but it is of another kind. */
static void kinds_are_not_mixed(void **state)
{
	struct made called = usual;
	struct compared compared;

	called.asked = "call";
	write_side(DIFF_BASE, 1, &usual);
	write_side(DIFF_NEW, 1, &called);
	compared = compare(1, ORDERS, NULL);
	assert_int_equal(compared.err, 0);
	assert_values(find(&compared.diff, "mean", ORDERS), 1.2e6, 7e6);
	assert_true(compared.diff.warning_count > 0);
	assert_non_null(strstr(compared.diff.warnings[compared.diff.warning_count - 1],
			       "'GET /orders' fits requests in"));
	compared__release(&compared);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_compared_by_length_and_reasons),
		TEST(errors_follow_from_the_spread_of_lengths),
		TEST(a_text_tells_what_took_longer),
		TEST(repeated_recordings_tell_it_from_noise),
		TEST(a_condition_needs_no_per),
		TEST(what_fits_nothing_is_refused),
		TEST(kinds_are_not_mixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
