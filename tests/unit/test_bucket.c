/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "fold/bucket.h"
#include "fold/lexicon.h"

static const struct bucket_limits limits = { .most_rows = 6, .most_objects = 2, .most_groups = 2 };

struct table {
	struct lexicon *words;
	struct bucket *bucket;
};

static struct table make(void)
{
	struct table table;

	assert_int_equal(lexicon__new(&table.words), 0);
	assert_int_equal(bucket__new(&limits, &table.bucket), 0);
	return table;
}

static void release(struct table *table)
{
	bucket__free(table->bucket);
	lexicon__free(table->words);
}

static void add(struct table *table, uint64_t workload, const char *threads, const char *object,
		int slot, uint64_t ns)
{
	const struct bucket_key key = { .workload = workload,
					.threads = lexicon__word(table->words, threads),
					.object = lexicon__word(table->words, object),
					.by_service = LEXICON_NONE,
					.by_threads = LEXICON_NONE,
					.slot = (uint8_t)slot };

	assert_int_equal(bucket__add(table->bucket, &key, ns, 1), 0);
	assert_int_equal(bucket__add_life(table->bucket, workload, key.threads, ns, 0), 0);
}

static uint64_t sum(const struct bucket *bucket, uint64_t workload, const char *threads,
		    const char *object)
{
	size_t count;
	const struct bucket_row *rows = bucket__rows(bucket, &count);
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].key.workload == workload &&
		    (!threads || !strcmp(rows[i].key.threads, threads)) &&
		    (!object || !strcmp(rows[i].key.object, object)))
			ns += rows[i].ns;
	return ns;
}

static size_t rows_of(const struct bucket *bucket)
{
	size_t count;

	bucket__rows(bucket, &count);
	return count;
}

static void equal_keys_share_a_row(void **state)
{
	struct table table = make();

	add(&table, 1, "main", "", SLOT_RUN_ANY, 3);
	add(&table, 1, "main", "", SLOT_RUN_ANY, 4);
	add(&table, 2, "main", "", SLOT_RUN_ANY, 5);
	assert_int_equal(rows_of(table.bucket), 2);
	assert_int_equal(sum(table.bucket, 1, "main", ""), 7);
	assert_int_equal(sum(table.bucket, 2, NULL, NULL), 5);
	assert_true(bucket__closes(table.bucket));
	assert_int_equal(bucket__folded(table.bucket), 0);
	release(&table);
}

static void groups_beyond_the_limit_become_other_and_no_time_is_lost(void **state)
{
	struct table table = make();
	char name[16];

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "group-%c", 'a' + i);
		add(&table, 1, name, "", SLOT_RUN_ANY, 1);
	}
	assert_int_equal(sum(table.bucket, 1, "group-a", NULL), 1);
	assert_int_equal(sum(table.bucket, 1, "(other)", NULL), 18);
	assert_int_equal(sum(table.bucket, 1, NULL, NULL), 20);
	assert_int_equal(bucket__folded(table.bucket), 18);
	assert_true(bucket__closes(table.bucket));
	release(&table);
}

static void objects_beyond_the_limit_become_other_for_each_cause(void **state)
{
	struct table table = make();

	add(&table, 1, "main", "tcp :1", SLOT_WAIT_NET, 1);
	add(&table, 1, "main", "tcp :2", SLOT_WAIT_NET, 2);
	add(&table, 1, "main", "tcp :3", SLOT_WAIT_NET, 4);
	add(&table, 1, "main", "tcp :1", SLOT_WAIT_NET, 8);
	add(&table, 1, "main", "tcp :3", SLOT_WAIT_POLL, 16);
	assert_int_equal(sum(table.bucket, 1, NULL, "tcp :1"), 9);
	assert_int_equal(sum(table.bucket, 1, NULL, "(other)"), 4);
	assert_int_equal(sum(table.bucket, 1, NULL, "tcp :3"), 16);
	release(&table);
}

static uint64_t other_workload(void *context)
{
	return 99;
}

static void rows_are_limited_even_with_too_many_workloads(void **state)
{
	const struct bucket_limits bounded = { .most_rows = 12,
					       .most_objects = 2,
					       .most_groups = 2,
					       .other_workload = other_workload };
	struct table table = make(), minute = make();
	uint64_t ns = 0;

	bucket__free(table.bucket);
	bucket__free(minute.bucket);
	assert_int_equal(bucket__new(&bounded, &table.bucket), 0);
	assert_int_equal(bucket__new(&bounded, &minute.bucket), 0);
	for (int step = 0; step < 3; step++) {
		bucket__clear(table.bucket);
		/* Others in each step. */
		for (uint64_t workload = 1; workload <= 9; workload++) {
			add(&table, workload * 7 % 10 + (uint64_t)step, "main", "", SLOT_RUN_ANY,
			    1);
			add(&table, workload * 7 % 10 + (uint64_t)step, "main", "tcp :1",
			    SLOT_WAIT_NET, 2);
			add(&table, workload * 7 % 10 + (uint64_t)step, "side", "",
			    SLOT_READY_WOKEN, 4);
			ns += 7;
		}
		assert_true(bucket__closes(table.bucket));
		assert_in_range(rows_of(table.bucket), 12, 12 + 3);
		assert_true(sum(table.bucket, 99, "(other)", NULL) > 0);
		assert_int_equal(bucket__merge(minute.bucket, table.bucket), 0);
		assert_true(bucket__closes(minute.bucket));
		assert_in_range(rows_of(minute.bucket), 12, 12 + 3);
	}
	for (uint64_t workload = 0; workload <= 99; workload++)
		ns -= sum(minute.bucket, workload, NULL, NULL);
	assert_int_equal(ns, 0);
	assert_true(sum(minute.bucket, 7, "main", "tcp :1") >= 2);
	release(&table);
	release(&minute);
}

static void rows_beyond_the_limit_are_merged_within_their_workload(void **state)
{
	struct table table = make();

	for (uint64_t workload = 1; workload <= 9; workload++) {
		add(&table, workload, "main", "", SLOT_RUN_ANY, 1);
		add(&table, workload, "main", "", SLOT_READY_WOKEN, 2);
	}
	for (uint64_t workload = 1; workload <= 9; workload++)
		assert_int_equal(sum(table.bucket, workload, NULL, NULL), 3);
	assert_int_equal(sum(table.bucket, 9, "(other)", NULL), 3);
	assert_true(bucket__closes(table.bucket));
	release(&table);
}

static void a_merge_has_the_sums_of_both(void **state)
{
	struct table table = make(), minute = make();
	size_t count;
	const struct bucket_row *rows;
	uint64_t life = 0;

	for (int step = 0; step < 3; step++) {
		bucket__clear(table.bucket);
		add(&table, 1, "main", "", SLOT_RUN_ANY, 10);
		add(&table, 1, "pool", "tcp :1", SLOT_WAIT_NET, 20);
		assert_int_equal(bucket__merge(minute.bucket, table.bucket), 0);
	}
	assert_int_equal(sum(minute.bucket, 1, "main", NULL), 30);
	assert_int_equal(sum(minute.bucket, 1, "pool", NULL), 60);
	rows = bucket__rows(minute.bucket, &count);
	for (size_t i = 0; i < count; i++)
		life += rows[i].thread_ns;
	assert_int_equal(life, 90);
	assert_true(bucket__closes(minute.bucket));
	release(&minute);
	release(&table);
}

static void a_row_that_lacks_time_does_not_close(void **state)
{
	struct table table = make();

	add(&table, 1, "main", "", SLOT_RUN_ANY, 10);
	assert_int_equal(
		bucket__add_life(table.bucket, 1, lexicon__word(table.words, "main"), 1, 0), 0);
	assert_false(bucket__closes(table.bucket));
	assert_int_equal(bucket__add_life(table.bucket, 7, LEXICON_NONE, 1, 0), -ENOENT);
	release(&table);
}

static void time_moves_between_rows_but_never_below_zero(void **state)
{
	struct table table = make();
	struct bucket_key from = { .workload = 1,
				   .threads = lexicon__word(table.words, "main"),
				   .object = LEXICON_NONE,
				   .by_service = LEXICON_NONE,
				   .by_threads = LEXICON_NONE,
				   .slot = SLOT_WAIT_LOCK };
	struct bucket_key to = from;

	to.by_service = lexicon__word(table.words, "db");
	add(&table, 1, "main", "", SLOT_WAIT_LOCK, 10);
	assert_int_equal(bucket__move(table.bucket, &from, &to, 4, 1), 0);
	assert_int_equal(rows_of(table.bucket), 2);
	assert_int_equal(bucket__move(table.bucket, &from, &to, 7, 0), 0);
	assert_int_equal(sum(table.bucket, 1, NULL, NULL), 10);
	assert_true(bucket__closes(table.bucket));
	release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_keys_share_a_row),
		cmocka_unit_test(groups_beyond_the_limit_become_other_and_no_time_is_lost),
		cmocka_unit_test(objects_beyond_the_limit_become_other_for_each_cause),
		cmocka_unit_test(rows_are_limited_even_with_too_many_workloads),
		cmocka_unit_test(rows_beyond_the_limit_are_merged_within_their_workload),
		cmocka_unit_test(a_merge_has_the_sums_of_both),
		cmocka_unit_test(a_row_that_lacks_time_does_not_close),
		cmocka_unit_test(time_moves_between_rows_but_never_below_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
