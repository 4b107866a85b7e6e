/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk, the names and the tables of HotSpot, on memory that was recorded of each version
 * (recorded/Recorded.java), and on memory made by hand.
 */
#include <errno.h>

#include "recorded/hotspot.h"

#include "../walk.h"

#include "bpf/hotspot_frames.h"

struct expected {
	const char *function, *file;
	int line, first_line;
};

struct fixture {
	struct recorded recorded;
	struct subject subject;
	struct unwind_process process;
	struct unwind walk;
};

static int read_recorded(void *from, void *to, uint32_t bytes, uint64_t address)
{
	return remote__read(from, address, to, bytes) ? -1 : 0;
}

static struct fixture *load(const char *name, const char *without)
{
	static struct fixture fixture;
	struct tables tables;
	char path[512];

	snprintf(path, sizeof(path), "%s/hotspot-%s.memory", RECORDED, name);
	memset(&fixture, 0, sizeof(fixture));
	fixture.recorded = recorded_load(path);
	tables_begin(&tables, fixture.recorded.memory);
	tables_load(&tables, path, without);
	assert_int_equal(remote__new(fixture.recorded.memory, &fixture.subject.memory), 0);
	return &fixture;
}

static struct fixture *open_recorded(const char *name)
{
	struct fixture *fixture = load(name, NULL);

	assert_int_equal(language_hotspot.open(&fixture->subject), 0);
	assert_int_equal(fixture->subject.runtime.kind, RUNTIME_HOTSPOT);
	return fixture;
}

static void walk_recorded(struct fixture *fixture)
{
	struct world world = { .read = read_recorded, .from = fixture->subject.memory };

	fixture->process.runtime = fixture->subject.runtime;
	unwind_begin(&fixture->walk, 1, recorded_word(&fixture->recorded, "pc"),
		     recorded_word(&fixture->recorded, "sp"),
		     recorded_word(&fixture->recorded, "bp"));
	fixture->walk.exact = 0;
	walk_all(&world, &fixture->walk, &fixture->process);
}

static void finish(struct fixture *fixture)
{
	language_hotspot.close(&fixture->subject);
	remote__free(fixture->subject.memory);
}

static struct runtime_frame frame_at(const struct fixture *fixture, uint32_t i)
{
	const __u64 *words = fixture->walk.frames + i;

	return (struct runtime_frame) { .object = FRAME_OBJECT(words[0]),
					.position = FRAME_POSITION(words[1]),
					.cookie = FRAME_COOKIE(words[1]) };
}

/* The functions of all frames, inlined ones too. The first `skipped` ones are the library's. */
static void assert_named(struct fixture *fixture, const struct expected *expected, size_t count,
			 size_t skipped)
{
	static struct runtime_names names;
	size_t seen = 0;

	for (uint32_t i = 0;
	     i + 1 < fixture->walk.count && FRAME_IS_RUNTIME(fixture->walk.frames[i]); i += 2) {
		const struct runtime_frame frame = frame_at(fixture, i);

		names.count = 0;
		assert_int_equal(language_hotspot.name(&fixture->subject, &frame, &names), 0);
		for (int k = 0; k < names.count; k++, seen++) {
			const struct expected *wanted = expected;

			if (seen < skipped)
				continue;
			wanted += seen - skipped;
			assert_true(seen - skipped < count);
			assert_string_equal(names.frames[k].function, wanted->function);
			assert_string_equal(names.frames[k].file, wanted->file);
			assert_int_equal(names.frames[k].line, wanted->line);
			assert_int_equal(names.frames[k].first_line, wanted->first_line);
		}
	}
	assert_int_equal(seen, skipped + count);
}

static const struct expected chain[] = {
	{ "Recorded.nap", "Recorded.java", 10, 9 },
	{ "Recorded.leaf", "Recorded.java", 15, 15 },
	{ "Recorded.middle", "Recorded.java", 23, 23 },
	{ "Recorded.outer", "Recorded.java", 27, 27 },
	{ "Recorded.lambda$main$0", "Recorded.java", 37, 37 },
	{ "Recorded$$Lambda.applyAsInt", "", 0, 0 },
	{ "Recorded.once", "Recorded.java", 31, 31 },
	{ "Recorded.main", "Recorded.java", 37, 35 },
};
#define CHAIN (sizeof(chain) / sizeof(*chain))

/* `skipped`: functions of Thread.sleep(); the last one is the call stub. */
static void check(const char *name, const char *version, size_t skipped, const char *stub)
{
	struct fixture *fixture = open_recorded(name);
	struct expected all[CHAIN + 1];

	assert_string_equal(fixture->subject.version, version);
	walk_recorded(fixture);
	memcpy(all, chain, sizeof(chain));
	all[CHAIN] = (struct expected) { stub, "", 0, 0 };
	assert_named(fixture, all, CHAIN + 1, skipped);
	/* The call stub was called by the library. */
	assert_true(fixture->walk.how & STACK_BY_RUNTIME);
	assert_false(FRAME_IS_RUNTIME(fixture->walk.frames[fixture->walk.count - 1]));
	finish(fixture);
}

static void version_8(void **state)
{
	check("8", "8u504", 1, "StubRoutines (1)");
}

static void version_11(void **state)
{
	check("11", "11.0.24+8", 1, "StubRoutines (1)");
}

static void version_17(void **state)
{
	check("17", "17.0.21+9", 1, "StubRoutines (1)");
}

static void version_17_interpreted(void **state)
{
	check("17-int", "17.0.21+9", 1, "StubRoutines (1)");
}

static void version_17_compiled_by_c1(void **state)
{
	check("17-c1", "17.0.21+9", 1, "StubRoutines (1)");
}

static void version_21(void **state)
{
	check("21", "21.0.12.1+1", 2, "StubRoutines (initial stubs)");
}

static void version_25(void **state)
{
	check("25", "25.0.3+9", 3, "StubRoutines (initialstubs)");
}

/* Another method may be there now: the cookie does not fit. */
static void an_object_that_was_replaced_has_no_name(void **state)
{
	static struct runtime_names names;
	struct fixture *fixture = open_recorded("17");

	walk_recorded(fixture);
	for (uint32_t i = 0; i < 6; i += 2) {
		struct runtime_frame frame = frame_at(fixture, i);

		frame.cookie ^= 1;
		assert_int_equal(language_hotspot.name(&fixture->subject, &frame, &names), -ESTALE);
	}
	assert_int_equal(names.count, 0);
	finish(fixture);
}

static void a_name_costs_a_known_number_of_reads(void **state)
{
	static struct runtime_names names;
	struct fixture *fixture = open_recorded("17-int");
	struct runtime_frame frame;
	uint64_t reads;

	walk_recorded(fixture);
	reads = remote__reads(fixture->subject.memory);
	frame = frame_at(fixture, 2);
	assert_int_equal(language_hotspot.name(&fixture->subject, &frame, &names), 0);
	assert_true(remote__reads(fixture->subject.memory) - reads <= 18);
	finish(fixture);
}

/* --- what is missing ------------------------------------------------------------------------- */

static void a_version_without_a_field_is_told_but_not_known(void **state)
{
	struct fixture *fixture = load("21", "PcDesc::_pc_offset");

	assert_int_equal(language_hotspot.open(&fixture->subject), -ENOTSUP);
	assert_string_equal(fixture->subject.version, "21.0.12.1+1");
	finish(fixture);
}

static void write_u64(const struct fixture *fixture, uint64_t address, uint64_t value)
{
	assert_int_equal(pwrite(fixture->recorded.memory, &value, 8, (off_t)address), 8);
}

static void a_newer_version_is_told_but_not_known(void **state)
{
	struct fixture *fixture = open_recorded("25");
	const struct hotspot *hotspot = fixture->subject.own;
	uint64_t text;

	assert_int_equal(remote__read_u64(fixture->subject.memory,
					  hotspot->fields[HOTSPOT_RELEASE].value, &text),
			 0);
	assert_int_equal(pwrite(fixture->recorded.memory, "26+1", 5, (off_t)text), 5);
	language_hotspot.close(&fixture->subject);
	assert_int_equal(language_hotspot.open(&fixture->subject), -ENOTSUP);
	assert_string_equal(fixture->subject.version, "26+1");
	finish(fixture);
}

static void before_it_has_started_it_is_asked_again(void **state)
{
	static const enum hotspot_field_id fields[] = { HOTSPOT_CODE_HEAPS, HOTSPOT_CALL_STUB,
							HOTSPOT_INTERPRETER, HOTSPOT_RELEASE };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct fixture *fixture = open_recorded("17");
		const struct hotspot *hotspot = fixture->subject.own;

		write_u64(fixture, hotspot->fields[fields[i]].value, 0);
		language_hotspot.close(&fixture->subject);
		assert_int_equal(language_hotspot.open(&fixture->subject), -EAGAIN);
		finish(fixture);
	}
}

static void tables_without_an_end_are_refused(void **state)
{
	struct fixture *fixture = load("17", NULL);

	/* All entries are the first one. */
	write_u64(fixture, TABLES_VARIABLES + 8, 0);
	assert_int_equal(language_hotspot.open(&fixture->subject), -ENOTSUP);
	finish(fixture);
}

/* --- names ------------------------------------------------------------------------------------ */

static void assert_tidy(const char *name, const char *expected)
{
	char text[128];

	snprintf(text, sizeof(text), "%s", name);
	hotspot__tidy_class(text);
	assert_string_equal(text, expected);
}

static void names_of_classes_are_the_same_in_each_run(void **state)
{
	assert_tidy("com/example/Shop", "com.example.Shop");
	assert_tidy("com/example/Shop$Cart", "com.example.Shop$Cart");
	assert_tidy("Shop$1", "Shop$1");
	assert_tidy("Shop$$Lambda$14+0x00007f1234567890", "Shop$$Lambda");
	assert_tidy("Shop$$Lambda$14/0x0000000800c03000", "Shop$$Lambda");
	assert_tidy("Shop$$Lambda$14/1234567", "Shop$$Lambda");
	assert_tidy("a/Shop$$Lambda+0x00007f1234567890", "a.Shop$$Lambda");
	assert_tidy("java/lang/invoke/LambdaForm$MH+0x0000000801000400",
		    "java.lang.invoke.LambdaForm$MH");
	assert_tidy("jdk/internal/reflect/GeneratedMethodAccessor12",
		    "jdk.internal.reflect.GeneratedMethodAccessor");
	assert_tidy("com/sun/proxy/$Proxy7", "com.sun.proxy.$Proxy");
	assert_tidy("Shop$Proxy7x", "Shop$Proxy7x");
	assert_tidy("$$Lambda$", "$$Lambda$");
	assert_tidy("", "");
	assert_tidy("+0x", "");
	assert_tidy("/", ".");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_8),
		cmocka_unit_test(version_11),
		cmocka_unit_test(version_17),
		cmocka_unit_test(version_17_interpreted),
		cmocka_unit_test(version_17_compiled_by_c1),
		cmocka_unit_test(version_21),
		cmocka_unit_test(version_25),
		cmocka_unit_test(an_object_that_was_replaced_has_no_name),
		cmocka_unit_test(a_name_costs_a_known_number_of_reads),
		cmocka_unit_test(a_version_without_a_field_is_told_but_not_known),
		cmocka_unit_test(a_newer_version_is_told_but_not_known),
		cmocka_unit_test(before_it_has_started_it_is_asked_again),
		cmocka_unit_test(tables_without_an_end_are_refused),
		cmocka_unit_test(names_of_classes_are_the_same_in_each_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
