/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store's tables as SQL. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store/fact.h"
#include "store/schema.h"

typedef int (*print_fn)(FILE *out, const struct schema_options *options);

static char *print(print_fn fn, const struct schema_options *options)
{
	cleanup(free_p) char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(fn(out, options), 0);
	fclose(out);
	return strdup(text);
}

static unsigned int count(const char *text, const char *word)
{
	unsigned int n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

static void a_single_server_has_no_word_of_clusters(void **state)
{
	cleanup(free_p) char *sql = print(store__print_schema, &(struct schema_options) { 0 });

	assert_non_null(strstr(sql, "CREATE TABLE IF NOT EXISTS gapless.ledger\n"));
	assert_non_null(strstr(sql, "ENGINE = ReplacingMergeTree(last_seen)\n"));
	assert_non_null(strstr(sql, "non_replicated_deduplication_window = 10000"));
	assert_null(strstr(sql, "CLUSTER"));
	assert_null(strstr(sql, "Distributed"));
	assert_null(strstr(sql, "Replicated"));
	assert_null(strstr(sql, "Enum"));
	assert_null(strchr(sql, '$'));
	assert_int_equal(count(sql, "REFRESH EVERY"), 3);
}

static void a_cluster_has_replicated_and_distributed_tables(void **state)
{
	const struct schema_options options = { "prof", "fleet", true };
	cleanup(free_p) char *sql = print(store__print_schema, &options);

	assert_non_null(strstr(sql, "CREATE TABLE IF NOT EXISTS prof.ledger ON CLUSTER 'fleet'\n"));
	assert_non_null(strstr(sql, "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/prof/"
				    "workload', '{replica}', last_seen)\n"));
	assert_non_null(strstr(sql, "ReplicatedMergeTree('/clickhouse/tables/all/prof/meta', "
				    "'{shard}-{replica}')\n"));
	assert_non_null(strstr(sql, "prof.ledger_all ON CLUSTER 'fleet' AS prof.ledger\n"
				    "ENGINE = Distributed('fleet', 'prof', 'ledger', host_id);\n"));
	assert_non_null(strstr(sql, "tenant LowCardinality(String) DEFAULT currentUser()"));
	assert_null(strstr(sql, "gapless."));
	assert_null(strchr(sql, '$'));
	/* Every statement that creates something says where. */
	assert_int_equal(count(sql, "\nCREATE "), count(sql, " ON CLUSTER 'fleet'"));
}

static void names_that_are_no_names_are_refused(void **state)
{
	static const char *const names[] = { "", "a b", "a'b", "1a", "a;b", "a.b", "\xc3\xa4" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct schema_options database = { .database = names[i] };
		const struct schema_options cluster = { .cluster = names[i] };

		assert_int_equal(store__print_schema(stderr, &database), -EINVAL);
		assert_int_equal(store__print_schema(stderr, &cluster), -EINVAL);
	}
}

/* Every column that is sent is in the table, with a type that takes it. */
static void the_tables_have_the_columns_that_are_sent(void **state)
{
	cleanup(free_p) char *sql = print(store__print_schema, &(struct schema_options) { 0 });

	for (int i = 0; i < FACT_TABLES; i++) {
		const struct native_table *table = fact__table(i);
		char begin[64];
		const char *at, *end;

		snprintf(begin, sizeof(begin), "EXISTS gapless.%s\n", table->name);
		at = strstr(sql, begin);
		assert_non_null(at);
		end = strstr(at, "ENGINE");
		for (size_t k = 0; k < table->column_count; k++) {
			const char *type = native__type_name(table->columns[k].type), *line;
			cleanup(free_p) char *rest = NULL;
			char column[64];

			snprintf(column, sizeof(column), "\n  %s ", table->columns[k].name);
			line = strstr(at, column);
			assert_non_null(line);
			assert_true(line < end);
			rest = strndup(line + 1, strcspn(line + 1, "\n"));
			assert_non_null(strstr(rest, type));
		}
	}
}

static void only_the_steps_after_a_version_are_printed(void **state)
{
	static const struct schema_step steps[] = {
		{ 1, "CREATE TABLE $db.one$on;\n" },
		{ 2, "ALTER TABLE $db.one$on ADD COLUMN b;\n" },
		{ 3, "ALTER TABLE $db.one$on ADD COLUMN c;\n" },
	};
	const struct schema_options options = { .cluster = "fleet" };

	for (unsigned int from = 0; from <= 3; from++) {
		cleanup(free_p) char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(store__print_steps(out, &options, steps, 3, from), 0);
		fclose(out);
		assert_int_equal(count(text, "INSERT INTO gapless.meta"), 3 - from);
		assert_int_equal(count(text, "CREATE TABLE gapless.one ON CLUSTER 'fleet'"), !from);
		assert_int_equal(count(text, "ADD COLUMN c"), from < 3);
	}
}

static int print_hour(FILE *out, const struct schema_options *options)
{
	return store__print_rollup(out, options, 1795000000, 1795007200);
}

static void an_hour_can_be_rolled_up_again(void **state)
{
	cleanup(free_p) char *sql = print(print_hour, &(struct schema_options) { 0 });

	assert_int_equal(count(sql, "INSERT INTO gapless."), 3);
	assert_int_equal(count(sql, "bucket >= toStartOfHour(toDateTime(1795000000))"), 3);
	assert_int_equal(count(sql, "bucket < toStartOfHour(toDateTime(1795007200))"), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_server_has_no_word_of_clusters),
		cmocka_unit_test(a_cluster_has_replicated_and_distributed_tables),
		cmocka_unit_test(names_that_are_no_names_are_refused),
		cmocka_unit_test(the_tables_have_the_columns_that_are_sent),
		cmocka_unit_test(only_the_steps_after_a_version_are_printed),
		cmocka_unit_test(an_hour_can_be_rolled_up_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
