/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles from rows of the store, and what is written to it. */
#include "../harness.h"

#include "export/exporter.h"
#include "fleet.h"
#include "fleet/burst.h"
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
	{ "SELECT sum(ns) FROM gapless.ledger", "80000000000\n", 0 },
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
	assert_true(flame.error_ns > 5.9e9 && flame.error_ns < 6.1e9);
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

static void hours_are_not_taken_for_minutes(void **state)
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
	assert_true(flame.has_hours);
	assert_int_equal(flame.ledger_ns, 80000000000);
	fleet_flame__release(&flame);
	period__release(&period);
	fleet_close(&store, connection);
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
		cmocka_unit_test(hours_are_not_taken_for_minutes),
		cmocka_unit_test(no_samples_are_no_answer),
		cmocka_unit_test(hostile_stacks_are_cut),
		cmocka_unit_test(lists_of_different_length_are_refused),
		cmocka_unit_test(a_burst_has_a_begin_an_end_and_a_probability),
		cmocka_unit_test(bursts_have_limits_and_do_not_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
