/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <string.h>

#include "signals/registry.h"
#include "signals/runtime/runtime.h"

static const struct signal *runtime(void)
{
	return registry__find("runtime", 7);
}

static struct runtime_pause good_pause(void)
{
	return (struct runtime_pause) {
		.head = { .size = sizeof(struct runtime_pause),
			  .kind = RUNTIME_PAUSE,
			  .version = 1,
			  .time_ns = 7 },
		.thread = 11,
		.stack = 12,
		.object = { 0x1234, PAUSE_OBJECT_NAMED },
		.pause_ns = 5000,
		.run_ns = 4000,
		.place = PAUSE_GC,
		.operation = PAUSE_FULL,
	};
}

static struct runtime_name good_name(void)
{
	return (struct runtime_name) {
		.head = { .size = sizeof(struct runtime_name), .kind = RUNTIME_NAME, .version = 1 },
		.object = { 0x1234, PAUSE_OBJECT_NAMED },
		.name = "G1CollectForAllocation",
	};
}

static void decode_gives_every_column(void **state)
{
	struct runtime_pause record = good_pause();
	struct event event = {};
	char place[32];

	assert_int_equal(runtime()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_HAPPENED);
	assert_int_equal(event.duration_ns, 5000);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.stack, 12);
	assert_int_equal(event.object[0], 0x1234);
	assert_int_equal(event.values[0].number, 5000);
	assert_int_equal(event.values[1].number, 4000);
	assert_null(runtime()->columns[2].name);
	runtime()->place(event.place, place, sizeof(place));
	assert_string_equal(place, "gc");
	assert_string_equal(runtime()->operation(event.operation), "full");
}

static void a_name_is_that_of_its_object(void **state)
{
	struct runtime_name record = good_name();
	struct event event = {};

	assert_int_equal(runtime()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_int_equal(event.object[0], 0x1234);
	assert_string_equal(event.object_kind, "operation");
	assert_string_equal(event.object_name, "G1CollectForAllocation");
}

static void decode_refuses_a_wrong_pause_and_leaves_the_output_alone(void **state)
{
	struct runtime_pause record = good_pause();

	refuses_wrong_heads(runtime(), &record, sizeof(record));
	record.place = 0;
	refuses(runtime(), &record, sizeof(record));
	record.place = PAUSE_PLACES;
	refuses(runtime(), &record, sizeof(record));
	record = good_pause();
	record.operation = PAUSE_CAUSES;
	refuses(runtime(), &record, sizeof(record));
	record = good_pause();
	record.head.kind = 7;
	refuses(runtime(), &record, sizeof(record));
}

static void decode_refuses_an_unterminated_name(void **state)
{
	struct runtime_name record = good_name();

	refuses_wrong_heads(runtime(), &record, sizeof(record));
	memset(record.name, 'x', sizeof(record.name));
	refuses(runtime(), &record, sizeof(record));
}

static void every_number_has_a_word(void **state)
{
	char text[32];

	for (uint32_t i = PAUSE_NONE + 1; i < PAUSE_PLACES; i++) {
		runtime()->place(i, text, sizeof(text));
		assert_string_not_equal(text, "");
	}
	runtime()->place(PAUSE_PLACES, text, sizeof(text));
	assert_string_equal(text, "");
	for (uint32_t i = 0; i < PAUSE_CAUSES; i++)
		assert_non_null(runtime()->operation(i));
	assert_null(runtime()->operation(PAUSE_CAUSES));
}

/* Operations of HotSpot 8 to 25, for which a thread of the program waits, and others. */
static void collections_are_known_by_the_names_of_operations(void **state)
{
	static const char collections[][RUNTIME_NAME_BYTES] = {
		"G1CollectForAllocation",       "G1CollectFull",
		"G1TryInitiateConcMark",        "G1IncCollectionPause",
		"GenCollectForAllocation",      "GenCollectFull",
		"SerialCollectForAllocation",   "ParallelGCFailedAllocation",
		"ParallelGCSystemGC",           "ParallelCollectForAllocation",
		"CollectForMetadataAllocation", "CollectForCodeCacheAllocation",
	};
	static const char others[][RUNTIME_NAME_BYTES] = {
		"",
		"G1PauseRemark",
		"G1PauseCleanup",
		"GC_HeapInspection",
		"HeapDumper",
		"Exit",
		"PrintThreads",
		"ThreadDump",
		"RotateGCLog",
		"ClearICs",
		"ICBufferFull",
		"HandshakeAllThreads",
		"BulkRevokeBias",
		"ShenandoahInitMark",
		"ZMarkStart",
		"RendezvousGCThreads",
		"collect",
		"Collec",
	};

	for (size_t i = 0; i < sizeof(collections) / sizeof(*collections); i++)
		assert_true(runtime_is_collection(collections[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(runtime_is_collection(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(collections_are_known_by_the_names_of_operations),
		cmocka_unit_test(a_name_is_that_of_its_object),
		cmocka_unit_test(decode_refuses_a_wrong_pause_and_leaves_the_output_alone),
		cmocka_unit_test(decode_refuses_an_unterminated_name),
		cmocka_unit_test(every_number_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
