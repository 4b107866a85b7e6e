/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks for ClickHouse, and the files that hold them. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store/batch.h"
#include "store/fact.h"
#include "store/native.h"
#include "vocabulary/states.h"

#define LONG_TEXT                                                                                  \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"                        \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct row {
	uint64_t number;
	float real;
	uint64_t day_s, time_s;
	const char *text;
	const uint64_t *list, *counts;
	const uint16_t *keys;
	size_t length, keys_length;
};

static struct native_value get_number(const void *at, const void *context)
{
	return (struct native_value) { .number = ((const struct row *)at)->number };
}

static struct native_value get_real(const void *at, const void *context)
{
	return (struct native_value) { .real = ((const struct row *)at)->real };
}

static struct native_value get_day(const void *at, const void *context)
{
	return (struct native_value) { .number = ((const struct row *)at)->day_s };
}

static struct native_value get_time(const void *at, const void *context)
{
	return (struct native_value) { .number = ((const struct row *)at)->time_s };
}

static struct native_value get_text(const void *at, const void *context)
{
	return (struct native_value) { .text = ((const struct row *)at)->text };
}

static struct native_value get_list(const void *at, const void *context)
{
	const struct row *row = at;

	return (struct native_value) { .list = row->list, .count = row->length };
}

static struct native_value get_map(const void *at, const void *context)
{
	const struct row *row = at;

	return (struct native_value) { .keys = row->keys,
				       .list = row->counts,
				       .count = row->keys_length };
}

static struct native_value get_count(const void *at, const void *context)
{
	const struct row *row = at;

	return (struct native_value) { .number = row->number == 1 ? 2 : UINT64_MAX };
}

static struct native_value get_ns(const void *at, const void *context)
{
	const struct row *row = at;

	return (struct native_value) { .number = row->number == 1 ? 3 : UINT64_MAX };
}

static int compare_numbers(const void *a, const void *b, void *context)
{
	const struct row *row = a, *other = b;

	return (row->number > other->number) - (row->number < other->number);
}

static const struct native_column columns[] = {
	{ "cpus", NATIVE_UINT16, get_number, NULL }, { "count", NATIVE_UINT32, get_count, NULL },
	{ "ns", NATIVE_UINT64, get_ns, NULL },       { "real", NATIVE_FLOAT32, get_real, NULL },
	{ "day", NATIVE_DATE, get_day, NULL },       { "t", NATIVE_DATETIME, get_time, NULL },
	{ "s", NATIVE_STRING, get_text, NULL },      { "l", NATIVE_LIST, get_list, NULL },
	{ "m", NATIVE_MAP, get_map, NULL },
};
static const struct native_table table = {
	"test",          columns, sizeof(columns) / sizeof(*columns), sizeof(struct row),
	compare_numbers, "ns"
};

/* SELECT … FORMAT Native of ClickHouse 26.7, two rows. */
static const char from_server[] =
	"\x09\x02"
	"\4cpus\6UInt16\1\0\xff\xff"
	"\5count\6UInt32\2\0\0\0\xff\xff\xff\xff"
	"\2ns\6UInt64\3\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"
	"\4real\7Float32\0\0\xc0\x3f\0\0\x10\xc0"
	"\3day\4Date\x26\x51\1\0"
	"\1t\x08"
	"DateTime\xc0\x41\xfc\x6a\1\0\0\0"
	"\1s\6String\1a\x82\1" LONG_TEXT "\1l\x0d"
	"Array(UInt64)\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
	"\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
	"\1m\x13Map(UInt16, UInt64)\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
	"\7\0\1\0\x2c\1\x08\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0";

static const uint64_t list[] = { 1, 2 }, counts[] = { 8 }, more_counts[] = { 2, 4 };
static const uint16_t keys[] = { 7 }, more_keys[] = { 1, 300 };
/* Not in the order of the key. */
static const struct row rows[] = {
	{ .number = 65535,
	  .real = -2.25F,
	  .day_s = 86400,
	  .time_s = 1,
	  .text = LONG_TEXT,
	  .counts = more_counts,
	  .keys = more_keys,
	  .keys_length = 2 },
	{ .number = 1,
	  .real = 1.5F,
	  .day_s = 1794916800 + 3600,
	  .time_s = 1794916800,
	  .text = "a",
	  .list = list,
	  .length = 2,
	  .counts = counts,
	  .keys = keys,
	  .keys_length = 1 },
};

struct seen {
	unsigned int calls;
	uint64_t rows, sum;
	size_t largest;
	char first[8192];
	size_t first_bytes;
	char columns[512];
	int fail_at;
};

static int see(void *context, const struct native_block *block)
{
	struct seen *seen = context;

	assert_int_equal(block->part, seen->calls);
	assert_int_equal(block->rows_before, seen->rows);
	assert_true(block->sum_before == seen->sum);
	seen->sum += block->sum;
	if (!seen->calls++) {
		assert_in_range(block->size, 1, sizeof(seen->first));
		memcpy(seen->first, block->bytes, block->size);
		seen->first_bytes = block->size;
		snprintf(seen->columns, sizeof(seen->columns), "%s", block->columns);
	}
	seen->rows += block->rows;
	if (block->size > seen->largest)
		seen->largest = block->size;
	return seen->fail_at && seen->calls == (unsigned int)seen->fail_at ? -EIO : 0;
}

static void a_block_has_the_bytes_of_a_real_server(void **state)
{
	struct seen seen = { 0 };

	assert_int_equal(native__encode(&table, rows, 2, NULL, 1 << 20, see, &seen), 0);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.first_bytes, sizeof(from_server) - 1);
	assert_memory_equal(seen.first, from_server, sizeof(from_server) - 1);
	assert_string_equal(seen.columns, "cpus, count, ns, real, day, t, s, l, m");
}

static void no_rows_make_no_block(void **state)
{
	struct seen seen = { 0 };

	assert_int_equal(native__encode(&table, rows, 0, NULL, 1 << 20, see, &seen), 0);
	assert_int_equal(seen.calls, 0);
}

static void many_rows_are_split_at_the_limit(void **state)
{
	struct row many[100];
	struct seen seen = { 0 };

	for (int i = 0; i < 100; i++)
		many[i] = rows[1];
	assert_int_equal(native__encode(&table, many, 100, NULL, 1024, see, &seen), 0);
	assert_int_equal(seen.rows, 100);
	assert_in_range(seen.calls, 2, 99);
	assert_in_range(seen.largest, 512, 1024);
	/* A row that is larger than the limit is sent alone. */
	seen = (struct seen) { 0 };
	assert_int_equal(native__encode(&table, many, 100, NULL, 1, see, &seen), 0);
	assert_int_equal(seen.calls, 100);
	seen = (struct seen) { .fail_at = 3 };
	assert_int_equal(native__encode(&table, many, 100, NULL, 1, see, &seen), -EIO);
	assert_int_equal(seen.calls, 3);
}

/* --- the ledger --- */

static const struct workload workloads[] = {
	{ .id = 5, .service = "web", .version = "1.2" },
	{ .id = 6, .service = "db", .version = "" },
};

static const struct workload *find(void *context, uint64_t id)
{
	for (size_t i = 0; i < 2; i++)
		if (workloads[i].id == id)
			return &workloads[i];
	return NULL;
}

static struct bucket_row make_row(uint64_t workload, enum ledger_slot slot, uint64_t ns)
{
	return (struct bucket_row) { .key = { .workload = workload,
					      .threads = "t-*",
					      .object = "",
					      .by_service = "",
					      .by_threads = "",
					      .slot = (uint8_t)slot,
					      .kind = (uint8_t)states__words(slot)->kind },
				     .ns = ns };
}

/* The position of `text` in the block, with its length before it. */
static const char *find_word(const struct seen *seen, const char *text)
{
	char word[64];

	snprintf(word, sizeof(word), "%c%s", (int)strlen(text), text);
	return memmem(seen->first, seen->first_bytes, word, strlen(text) + 1);
}

static void the_ledger_is_sorted_by_service_and_uses_the_vocabulary(void **state)
{
	const struct bucket_row ledger[] = { make_row(5, SLOT_WAIT_DISK, 10),
					     make_row(6, SLOT_RUN_ANY, 20),
					     make_row(99, SLOT_WAIT_POLL, 30) };
	const struct fact_host host = { .host_id = 1, .tenant = "" };
	const struct fact_context context = { &host, 1794916800, find, NULL };
	struct seen seen = { 0 };

	assert_int_equal(fact__encode(FACT_LEDGER, &context, ledger, 3, 1 << 20, see, &seen), 0);
	assert_int_equal(seen.rows, 3);
	/* The column `service` in the order of its words. */
	assert_non_null(memmem(seen.first, seen.first_bytes, "\x09(unknown)\2db\3web", 17));
	assert_non_null(find_word(&seen, "disk"));
	assert_non_null(find_word(&seen, "delaying"));
	assert_non_null(find_word(&seen, "idle"));
	assert_non_null(find_word(&seen, "1.2"));
	/* Without a tenant the server sets it. */
	assert_null(strstr(seen.columns, "tenant"));
}

static void a_tenant_is_sent_if_there_is_one(void **state)
{
	const struct fact_quality quality = { "lost", 3 };
	const struct fact_host host = { .host_id = 1, .tenant = "acme" };
	const struct fact_context context = { &host, 1794916800, NULL, NULL };
	struct seen seen = { 0 };

	assert_int_equal(fact__encode(FACT_QUALITY, &context, &quality, 1, 1 << 20, see, &seen), 0);
	assert_string_equal(seen.columns, "bucket, tenant, host_id, name, value");
	assert_non_null(find_word(&seen, "acme"));
}

static void every_table_can_be_encoded(void **state)
{
	const struct fact_host host = { 1, "", "c", "h", "6.1", "x86_64", 8 };
	const struct fact_context context = { &host, 1794916800, find, NULL };
	const struct workload workload = { 5, 1, "web", "", "", "", "", "", "", "", "", 1, 2, 0 };
	const struct fact_histogram histogram = { 5,    "tcp",  "rtt", "eth0", "send",
						  keys, counts, 1,     8,      8 };
	const struct fact_sample sample = { 5, SLOT_RUN_ANY, KIND_RUN, 1, 0, 10, 100.0F, 1 };
	const struct fact_stack stack = { 1, list, list, 2 };
	const struct fact_module module = { 1, "ab", "elf", "/bin/x", 10, 1, 2 };
	const void *all[FACT_TABLES] = { [FACT_WORKLOAD] = &workload,
					 [FACT_HISTOGRAMS] = &histogram,
					 [FACT_SAMPLES] = &sample,
					 [FACT_STACKS] = &stack,
					 [FACT_MODULES] = &module };

	for (int i = 0; i < FACT_TABLES; i++) {
		struct seen seen = { 0 };

		assert_int_equal(fact__find(fact__table(i)->name), i);
		if (!all[i])
			continue;
		assert_int_equal(fact__encode(i, &context, all[i], 1, 1 << 20, see, &seen), 0);
		assert_int_equal(seen.rows, 1);
	}
	assert_int_equal(fact__find("nothing"), FACT_TABLES);
}

/* --- batches --- */

static const struct batch_id id = {
	0xabcdef0123456789, "0123456789abcdef0123456789abcdef", FACT_LEDGER, 1794916800, 42, 0
};

static void the_token_and_the_name_hold_the_same_parts(void **state)
{
	char token[BATCH_TEXT_BYTES], name[BATCH_TEXT_BYTES];
	struct batch_id part = id, parsed;
	uint64_t tried_s = 9;

	batch__token(&id, token);
	assert_string_equal(
		token, "abcdef0123456789:0123456789abcdef0123456789abcdef:ledger:1794916800:42");
	part.part = 3;
	batch__token(&part, token);
	assert_non_null(strstr(token, ":1794916800:42:3"));
	batch__file_name(&part, 0, name);
	assert_int_equal(batch__parse_name(name, &parsed, &tried_s), 0);
	assert_int_equal(batch__compare(&parsed, &part), 0);
	assert_int_equal(tried_s, 0);
	batch__file_name(&part, 1794916900, name);
	assert_int_equal(batch__parse_name(name, &parsed, &tried_s), 0);
	assert_int_equal(tried_s, 1794916900);
}

static void names_of_other_files_are_refused(void **state)
{
	static const char *const names[] = {
		"",
		"lock",
		".native.zst",
		"a-b-c-d-e-f.native.zst",
		"abcdef0123456789-ab-ledger-1-2-3",
		"abcdef0123456789-ab-ledger-1-2-3.native.zst.tmp",
		"abcdef0123456789-ab-ledger-01-2-3.native.zst",
		"abcdef0123456789-ab-ledger-1-2-3-4.native.zst",
		"abcdef0123456789-AB-ledger-1-2-3.native.zst",
		"abcdef0123456789-ab-passwd-1-2-3.native.zst",
		"abcdef0123456789-ab-ledger-1-2-3.tried-0.native.zst",
		"abcdef0123456789-ab-ledger-1-2-3.tried-x.native.zst",
		"abcdef0123456789-ab-ledger-99999999999-2-3.native.zst",
		"../bcdef01234567-ab-ledger-1-2-3.native.zst",
	};
	struct batch_id parsed = { .part = 77 };
	uint64_t tried_s = 78;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(batch__parse_name(names[i], &parsed, &tried_s), -EINVAL);
	assert_int_equal(parsed.part, 77);
	assert_int_equal(tried_s, 78);
}

static void *pack(size_t *ret_bytes)
{
	const struct native_block block = { .bytes = from_server,
					    .size = sizeof(from_server) - 1,
					    .columns = "cpus, count",
					    .rows = 2,
					    .rows_before = 5,
					    .sum = UINT64_MAX,
					    .sum_before = 6 };
	void *packed;

	assert_int_equal(batch__pack(&block, &packed, ret_bytes), 0);
	return packed;
}

static void a_batch_is_unpacked_as_it_was_packed(void **state)
{
	size_t bytes;
	cleanup(free_p) void *packed = pack(&bytes);
	cleanup(free_p) void *raw = NULL;
	struct batch_view view;

	assert_int_equal(batch__view(packed, bytes, &view), 0);
	assert_int_equal(view.head.rows, 2);
	assert_int_equal(view.head.rows_before, 5);
	assert_true(view.head.sum == UINT64_MAX && view.head.sum_before == 6);
	assert_string_equal(view.head.columns, "cpus, count");
	assert_int_equal(batch__unpack(&view, &raw), 0);
	assert_memory_equal(raw, from_server, sizeof(from_server) - 1);
}

static void a_torn_or_changed_batch_is_recognised(void **state)
{
	size_t bytes;
	cleanup(free_p) char *packed = pack(&bytes);
	struct batch_view view;

	for (size_t size = 0; size < bytes; size++)
		assert_int_equal(batch__view(packed, size, &view), -EBADMSG);
	for (size_t i = 0; i < bytes; i++) {
		cleanup(free_p) void *raw = NULL;

		packed[i] ^= 0x10;
		/* A changed head is bad, or has other numbers or names, but never other rows. */
		if (!batch__view(packed, bytes, &view) && !batch__unpack(&view, &raw))
			assert_memory_equal(raw, from_server, sizeof(from_server) - 1);
		packed[i] ^= 0x10;
	}
}

static void columns_that_are_no_names_are_refused(void **state)
{
	const struct native_block block = {
		.bytes = "x", .size = 1, .columns = "a) VALUES (1); DROP TABLE x --", .rows = 1
	};
	cleanup(free_p) void *packed = NULL;
	struct batch_view view;
	size_t bytes;

	assert_int_equal(batch__pack(&block, &packed, &bytes), 0);
	assert_int_equal(batch__view(packed, bytes, &view), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_has_the_bytes_of_a_real_server),
		cmocka_unit_test(no_rows_make_no_block),
		cmocka_unit_test(many_rows_are_split_at_the_limit),
		cmocka_unit_test(the_ledger_is_sorted_by_service_and_uses_the_vocabulary),
		cmocka_unit_test(a_tenant_is_sent_if_there_is_one),
		cmocka_unit_test(every_table_can_be_encoded),
		cmocka_unit_test(the_token_and_the_name_hold_the_same_parts),
		cmocka_unit_test(names_of_other_files_are_refused),
		cmocka_unit_test(a_batch_is_unpacked_as_it_was_packed),
		cmocka_unit_test(a_torn_or_changed_batch_is_recognised),
		cmocka_unit_test(columns_that_are_no_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
