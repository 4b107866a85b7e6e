/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles from rows of the store, and what is written to it. */
#include "../harness.h"

#include <math.h>

#include "export/exporter.h"
#include "fleet.h"
#include "fleet/burst.h"
#include "fleet/flame_error.h"
#include "fleet/flame_profile.h"
#include "fleet/fleet_flame.h"

#define NOW UINT64_C(1794943980)

static char *folded_of(const struct profile *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(export_folded.write(profile, out), 0);
	fclose(out);
	return text;
}

static const struct fleet_line script[] = {
	FLEET_ABOUT,
	{ "sum(square)", "60000000000\t3.6e19\t60\t5000000000\n", 0 },
	{ "SELECT stack, state, cause, kind",
	  "11\trun\tany\trun\t40000000000\t40\n12\twait\tlock\tundecided\t10000000000\t10\n"
	  "13\twait\tlock\tdelaying\t2000000000\t2\n0\trun\tany\trun\t1000000000\t1\n",
	  0 },
	{ "SELECT stack, modules, offsets",
	  "11\t[7,7]\t[16,32]\n12\t[7,8]\t[16,4660]\n99\t[1]\t[1]\n", 0 },
	{ "SELECT module, argMax(kind", "7\tfile\t/opt/app\n8\tfile\t/lib/libx.so.1\n", 0 },
	{ "SELECT module, offset",
	  "7\t16\tmain\tmain.c\t[3]\n7\t32\tinner\\nouter\ta.c\\nb.c\t[1,2]\n", 0 },
	{ "SELECT sum(ns) FROM (SELECT ns FROM gapless.ledger", "80000000000\n", 0 },
	/* Two minutes of a host that follow each other, and one of another host. */
	{ "AS c LEFT JOIN",
	  "1\t1794943500\t20000000000\t1e19\t500000\n"
	  "1\t1794943560\t10000000000\t1e19\t500000\n"
	  "2\t1794943560\t30000000000\t1.6e19\t0\n",
	  0 },
	{ "SELECT countIf(is_known)", "2\t16\t2\t15\t0\t0\t\t1\n", 0 },
	{ "SELECT name, sum(value)", "", 0 },
	{},
};

static void stacks_are_named_or_module_and_offset(void **state)
{
	struct fleet_store store = { .script = script };
	struct connection *connection = fleet_open(&store);
	struct period period = { .tenant = "", .service = "api", .from_s = NOW - 600, .to_s = NOW };
	struct fleet_flame flame = {};
	char *text;

	assert_int_equal(fleet_flame__load(connection, &period, false, NOW, &flame), 0);
	assert_int_equal(flame.ledger_ns, 80000000000);
	assert_int_equal(flame.samples, 60);
	assert_true(flame.drawing_ns > 5.9e9 && flame.drawing_ns < 6.1e9);
	/* 0.5 * 30² + 0.5 * 20, and of the other host 1 * 30² + 0 * 16, in s²: 1360. */
	assert_true(flame.has_error);
	assert_true(fabs(flame.error_ns - sqrt(1360) * 1e9) < 1);
	assert_int_equal(flame.minutes, 3);
	assert_int_equal(flame.minutes_seen, 15);
	assert_int_equal(flame.unnamed_ns, 10000000000);
	assert_int_equal(flame.profile->left_out_ns, 5000000000);
	assert_int_equal(flame.left_out_ns, 2000000000);
	text = folded_of(flame.profile);
	assert_string_equal(text, "api;[no stack: not in the store];[wait.lock] 2000000000\n"
				  "api;[no stack: not recorded] 1000000000\n"
				  "api;main;libx.so.1+0x1234;[wait.lock] 10000000000\n"
				  "api;main;outer;inner_[i] 40000000000\n");
	free(text);
	fleet_flame__release(&flame);
	period__release(&period);
	fleet_close(&store, connection);
}

static void the_account_is_that_of_the_whole_period(void **state)
{
	struct fleet_line lines[16] = { { "sum(rows)", "1794938400\t60\n", 0 },
					{ "SELECT count() FROM gapless", "60\n", 0 } };
	struct fleet_store store = { .script = lines };
	struct period period = {
		.tenant = "", .service = "api", .from_s = 1794938400, .to_s = 1794942000
	};
	struct fleet_flame flame = {};
	struct connection *connection;

	memcpy(lines + 2, script, sizeof(script));
	connection = fleet_open(&store);
	assert_int_equal(fleet_flame__load(connection, &period, false, NOW, &flame), 0);
	assert_int_equal(flame.ledger_ns, 80000000000);
	assert_null(strstr(fleet_asked(&store, "SELECT sum(ns) FROM (SELECT ns"), "DISTINCT"));
	/* Which hours have sums of the account is asked by itself. */
	fleet_asked(&store, "sum(rows) FROM gapless.samples_1h");
	fleet_asked(&store, "sum(rows) FROM gapless.ledger_1h");
	fleet_flame__release(&flame);
	period__release(&period);
	fleet_close(&store, connection);
}

static void of_expired_minutes_only_the_error_of_drawing_is_known(void **state)
{
	struct fleet_line lines[16] = { { "AS c LEFT JOIN", "", 0 } };
	struct fleet_store store = { .script = lines };
	struct period period = { .tenant = "", .service = "api", .from_s = NOW - 600, .to_s = NOW };
	struct fleet_flame flame = {};
	struct connection *connection;

	memcpy(lines + 1, script, sizeof(script));
	connection = fleet_open(&store);
	assert_int_equal(fleet_flame__load(connection, &period, false, NOW, &flame), 0);
	assert_false(flame.has_error);
	assert_false(flame.is_cut);
	assert_true(flame.drawing_ns > 5.9e9);
	fleet_flame__release(&flame);
	period__release(&period);
	fleet_close(&store, connection);
}

static double error_of(const struct flame_minute *minutes, size_t count)
{
	struct flame_error error = {};

	for (size_t i = 0; i < count; i++)
		flame_error__add(&error, &minutes[i]);
	assert_int_equal(error.minutes, count);
	return flame_error__of(&error);
}

static void if_all_minutes_are_chosen_only_drawing_has_an_error(void **state)
{
	const struct flame_minute minutes[] = { { 1, 60, 100, 9, 1 }, { 1, 120, 100, 16, 1 } };

	assert_true(fabs(error_of(minutes, 2) - 5) < 1e-9);
	assert_true(error_of(minutes, 0) == 0);
}

static void minutes_that_were_chosen_apart_add_their_squares(void **state)
{
	/* 0.75 * (10² + 20²) + 0.25 * (4 + 4) = 377 */
	const struct flame_minute minutes[] = { { 1, 60, 10, 4, 0.25 }, { 1, 180, 20, 4, 0.25 } };
	/* By other hosts as well. */
	const struct flame_minute hosts[] = { { 1, 60, 10, 4, 0.25 }, { 2, 120, 20, 4, 0.25 } };

	assert_true(fabs(error_of(minutes, 2) - sqrt(377)) < 1e-9);
	assert_true(fabs(error_of(hosts, 2) - sqrt(377)) < 1e-9);
}

static void minutes_of_a_burst_are_one_cluster_and_no_longer_than_it(void **state)
{
	struct flame_minute minutes[6];

	for (size_t i = 0; i < 6; i++)
		minutes[i] = (struct flame_minute) { 7, 60 * (i + 1), 10, 2, 0.5 };
	/* 0.5 * 50² + 0.5 * 10 */
	assert_true(fabs(error_of(minutes, 5) - sqrt(1255)) < 1e-9);
	/* And a sixth by itself: 0.5 * 10² + 0.5 * 2 */
	assert_true(fabs(error_of(minutes, 6) - sqrt(1255 + 51)) < 1e-9);
}

static void probabilities_that_are_none_do_not_make_the_error_smaller(void **state)
{
	const struct flame_minute unknown = { 1, 60, 10, 4, 0 }, bad = { 1, 60, 10, 4, -3 },
				  large = { 1, 60, 10, 4, 7 };

	assert_true(fabs(error_of(&unknown, 1) - 10) < 1e-9);
	assert_true(fabs(error_of(&bad, 1) - 10) < 1e-9);
	assert_true(fabs(error_of(&large, 1) - 2) < 1e-9);
}

/*
 * The formula against the error that there is: 400 minutes with known sums are chosen again and
 * again, and events in them are drawn.
 */
static void the_standard_error_is_that_of_repeated_choices(void **state)
{
	enum { RUNS = 2000, MINUTES = 400, EVENTS = 5 };
	double sum = 0, squares = 0, estimated = 0, mean;

	srand48(15);
	for (int run = 0; run < RUNS; run++) {
		struct flame_error error = {};

		for (unsigned int i = 0; i < MINUTES; i++) {
			struct flame_minute minute = { i, 60, 0, 0, 0.2 };

			for (unsigned int event = 0; event < EVENTS; event++)
				if (drand48() < 0.1) {
					/* 1 to 7 of weight, by the inverse of both chances. */
					double weight = (1 + (i + event) % 7) * 100 / 0.1 / 0.2;

					minute.ns += (uint64_t)weight;
					minute.square += weight * weight;
				}
			if (drand48() < 0.2)
				flame_error__add(&error, &minute);
		}
		sum += (double)error.ns;
		squares += (double)error.ns * (double)error.ns;
		estimated += flame_error__of(&error) * flame_error__of(&error);
	}
	mean = sum / RUNS;
	estimated /= RUNS;
	squares = squares / RUNS - mean * mean;
	/* The total is right: 400 minutes of 5 events of 100 to 700, 400 on average. */
	assert_true(fabs(mean - 800000) < 800000 * 0.02);
	assert_true(fabs(estimated - squares) < squares * 0.12);
}

static void no_samples_are_no_answer(void **state)
{
	static const struct fleet_line nothing[] = { FLEET_ABOUT,
						     { "sum(square)", "0\t0\t0\t0\n", 0 },
						     {} };
	struct fleet_store store = { .script = nothing };
	struct connection *connection = fleet_open(&store);
	struct period period = { .tenant = "", .service = "api", .from_s = NOW - 600, .to_s = NOW };
	struct fleet_flame flame = {};

	assert_int_equal(fleet_flame__load(connection, &period, false, NOW, &flame), -ENODATA);
	period__release(&period);
	fleet_close(&store, connection);
}

static void hostile_stacks_are_cut(void **state)
{
	struct flame_profile flame;
	uint32_t stack = PROFILE_NONE;
	int err = 0, depth = 0;

	assert_int_equal(flame_profile__begin(&flame, "title", "api"), 0);
	while (!err && depth < 2 * CODE_MOST_DEPTH) {
		err = flame_profile__descend(&flame, 1, (uint64_t)depth, &stack);
		depth++;
	}
	assert_int_equal(err, -EMLINK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			flame_profile__add_sample(&flame, &(struct flame_sample) { .state = "run",
										   .cause = "any",
										   .kind = KIND_RUN,
										   .stack = stack,
										   .ns = UINT64_MAX,
										   .n = 1 }),
			0);
	assert_int_equal(flame.profile->samples[0].weight_ns, INT64_MAX);
	assert_int_equal(flame.profile->samples[1].weight_ns, 0);
	flame_profile__release(&flame);
}

static void lists_of_different_length_are_refused(void **state)
{
	static const struct fleet_line lines[] = {
		FLEET_ABOUT,
		{ "sum(square)", "1\t1\t1\t0\n", 0 },
		{ "SELECT stack, state", "11\trun\tany\trun\t1\t1\n", 0 },
		{ "SELECT stack, modules", "11\t[7\t[16]\n", 0 },
		{},
	};
	struct fleet_store store = { .script = lines };
	struct connection *connection = fleet_open(&store);
	struct period period = { .tenant = "", .service = "api", .from_s = NOW - 600, .to_s = NOW };
	struct fleet_flame flame = {};

	assert_int_equal(fleet_flame__load(connection, &period, false, NOW, &flame), -EBADMSG);
	assert_null(flame.profile);
	period__release(&period);
	fleet_close(&store, connection);
}

static const struct fleet_line burst_script[] = {
	FLEET_ABOUT,
	{ "uniqExact(host_id)", "40\n", 0 },
	{ "max(until)", "0\n", 0 },
	{ "INSERT INTO", "", 0 },
	{},
};

static void a_burst_has_a_begin_an_end_and_a_probability(void **state)
{
	struct fleet_store store = { .script = burst_script };
	struct connection *connection = fleet_open(&store);
	struct burst burst = { .tenant = "", .service = "a'pi", .hosts = 10, .length_s = 60 };

	assert_int_equal(burst__write(connection, &burst, NOW), 0);
	assert_int_equal(burst.until_s - burst.since_s, 60);
	assert_true(burst.since_s >= NOW + 390);
	assert_int_equal(burst.since_s % 60, 0);
	assert_string_equal(
		fleet_asked(&store, "INSERT"),
		"INSERT INTO gapless.budget (tenant, service, probability, since, until, "
		"burst, ver) VALUES ('', 'a\\'pi', 0.25, toDateTime(1794944400), "
		"toDateTime(1794944460), 10, toDateTime(1794943980))");
	fleet_close(&store, connection);
}

static void bursts_have_limits_and_do_not_overlap(void **state)
{
	static const struct fleet_line running[] = { FLEET_ABOUT,
						     { "uniqExact(host_id)", "40\n", 0 },
						     { "max(until)", "1794944000\n", 0 },
						     {} };
	static const struct fleet_line nobody[] = { FLEET_ABOUT,
						    { "uniqExact(host_id)", "0\n", 0 },
						    {} };
	struct fleet_store store = { .script = running };
	struct connection *connection = fleet_open(&store);
	struct burst burst = { .tenant = "", .service = "api", .hosts = 101, .length_s = 60 };

	assert_int_equal(burst__write(connection, &burst, NOW), -EINVAL);
	burst.hosts = 100;
	burst.length_s = 301;
	assert_int_equal(burst__write(connection, &burst, NOW), -EINVAL);
	burst.length_s = 300;
	assert_int_equal(burst__write(connection, &burst, NOW), -EALREADY);
	assert_int_equal(burst.until_s, 1794944000);
	store.script = nobody;
	assert_int_equal(burst__write(connection, &burst, NOW), -ENODATA);
	fleet_close(&store, connection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_named_or_module_and_offset),
		cmocka_unit_test(the_account_is_that_of_the_whole_period),
		cmocka_unit_test(of_expired_minutes_only_the_error_of_drawing_is_known),
		cmocka_unit_test(if_all_minutes_are_chosen_only_drawing_has_an_error),
		cmocka_unit_test(minutes_that_were_chosen_apart_add_their_squares),
		cmocka_unit_test(minutes_of_a_burst_are_one_cluster_and_no_longer_than_it),
		cmocka_unit_test(probabilities_that_are_none_do_not_make_the_error_smaller),
		cmocka_unit_test(the_standard_error_is_that_of_repeated_choices),
		cmocka_unit_test(no_samples_are_no_answer),
		cmocka_unit_test(hostile_stacks_are_cut),
		cmocka_unit_test(lists_of_different_length_are_refused),
		cmocka_unit_test(a_burst_has_a_begin_an_end_and_a_probability),
		cmocka_unit_test(bursts_have_limits_and_do_not_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
