/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk and the names of V8, on memory that was recorded of each version (recorded/recorded.js);
 * its strings, positions and lines on memory made by hand.
 */
#include <errno.h>

#include "recorded/v8.h"

struct expected {
	const char *function;
	int line, first_line;
};

struct fixture {
	struct recorded_v8 file;
	struct subject subject;
	struct unwind walk;
};

static const char *const versions[] = { "16", "18", "20", "22", "24" };
#define VERSIONS (sizeof(versions) / sizeof(*versions))

/* --- the file of the program, which is not there ---------------------------------------------- */

static struct fixture *current;

#define SIZES_AT 0x10000 /* the "address" of the sizes; that of a constant is its number plus 1 */

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count);
int __wrap_runtime_file__read(const struct runtime_file *file, uint64_t address, void *to,
			      size_t size);
GElf_Ehdr *__wrap_gelf_getehdr(Elf *elf, GElf_Ehdr *to);

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count)
{
	const struct recorded_v8 *v8 = &current->file;
	int found = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < v8->count; k++)
			if (!strcmp(wanted[i].name, v8->constants[k].name))
				wanted[i].address = k + 1;
		if (strstr(wanted[i].name, "kBytecodeSizes") && v8->sizes_bytes) {
			wanted[i].address = SIZES_AT;
			wanted[i].size = v8->sizes_bytes;
		}
		found += wanted[i].address != 0;
	}
	return found;
}

int __wrap_runtime_file__read(const struct runtime_file *file, uint64_t address, void *to,
			      size_t size)
{
	const struct recorded_v8 *v8 = &current->file;

	if (address >= SIZES_AT) {
		assert_true(address - SIZES_AT + size <= v8->sizes_bytes);
		memcpy(to, v8->sizes + (address - SIZES_AT), size);
		return 0;
	}
	assert_int_equal(size, sizeof(int32_t));
	assert_true(address && address <= v8->count);
	memcpy(to, &v8->constants[address - 1].value, size);
	return 0;
}

GElf_Ehdr *__wrap_gelf_getehdr(Elf *elf, GElf_Ehdr *to)
{
	*to = (GElf_Ehdr) { .e_machine = EM_X86_64 };
	return to;
}

/* --- recorded memory -------------------------------------------------------------------------- */

static struct fixture *load(const char *version)
{
	static struct fixture fixture;
	static struct image image;
	char path[512];

	snprintf(path, sizeof(path), "%s/v8-%s.memory", RECORDED, version);
	memset(&fixture, 0, sizeof(fixture));
	current = &fixture;
	v8_load(&fixture.file, path);
	fixture.subject = (struct subject) { .maps_fd = fixture.file.maps,
					     .file = { .image = &image },
					     .runtime = { .kind = RUNTIME_V8 } };
	assert_int_equal(remote__new(fixture.file.recorded.memory, &fixture.subject.memory), 0);
	return &fixture;
}

static struct fixture *open_recorded(const char *version)
{
	struct fixture *fixture = load(version);

	assert_int_equal(language_v8.open(&fixture->subject), 0);
	return fixture;
}

static void finish(struct fixture *fixture)
{
	language_v8.close(&fixture->subject);
	assert_null(fixture->subject.own);
	remote__free(fixture->subject.memory);
	close(fixture->file.maps);
}

static int32_t *constant(struct fixture *fixture, const char *part)
{
	for (size_t i = 0; i < fixture->file.count; i++)
		if (strstr(fixture->file.constants[i].name, part))
			return &fixture->file.constants[i].value;
	fail_msg("no constant '%s'", part);
	return NULL;
}

static int read_recorded(void *from, void *to, uint32_t bytes, uint64_t address)
{
	return remote__read(from, address, to, bytes) ? -1 : 0;
}

static void walk_recorded(struct fixture *fixture)
{
	const struct recorded *recorded = &fixture->file.recorded;
	struct world world = { .modules = { [V8_MODULE] = &fixture->file.rows },
			       .read = read_recorded,
			       .from = fixture->subject.memory };

	v8_map(&fixture->file, &fixture->subject.runtime);
	unwind_begin(&fixture->walk, 1, recorded_word(recorded, "pc"),
		     recorded_word(recorded, "sp"), recorded_word(recorded, "bp"));
	fixture->walk.exact = 0;
	walk_all(&world, &fixture->walk, &fixture->file.process);
}

/* The runtime's frame of this number, from the innermost on. */
static struct runtime_frame frame_at(const struct fixture *fixture, uint32_t number)
{
	const __u64 *words = fixture->walk.frames;

	for (uint32_t i = 0; i + 1 < fixture->walk.count; i++) {
		if (!FRAME_IS_RUNTIME(words[i]))
			continue;
		if (!number--)
			return (struct runtime_frame) { .object = FRAME_OBJECT(words[i]),
							.position = FRAME_POSITION(words[i + 1]),
							.cookie = FRAME_COOKIE(words[i + 1]) };
		i++;
	}
	fail_msg("no such frame");
	return (struct runtime_frame) {};
}

/* What the frames of the test's own functions are, and what is inlined in them. */
enum { OPTIMIZED, BASELINE, ARROW, RUSSIAN, FILE_ITSELF, FRAMES };

static const struct {
	enum v8_kind kind;
	int count;
	struct expected names[4];
} frames[FRAMES] = {
	[OPTIMIZED] = { V8_IS_COMPILED,
			4,
			{ { "nap", 8, 6 },
			  { "leaf", 12, 12 },
			  { "middle", 16, 15 },
			  { "outer", 19, 18 } } },
	[BASELINE] = { V8_IS_COMPILED, 1, { { "baseline", 24, 23 } } },
	[ARROW] = { V8_IS_INTERPRETED, 1, { { "(anonymous)", 41, 41 } } },
	[RUSSIAN] = { V8_IS_INTERPRETED, 1, { { "функция", 41, 27 } } },
	[FILE_ITSELF] = { V8_IS_INTERPRETED, 1, { { "(anonymous)", 45, 1 } } },
};

static void assert_named(struct fixture *fixture, uint32_t number, bool with_lines)
{
	static struct runtime_names names;
	const struct runtime_frame frame = frame_at(fixture, number);

	names.count = 0;
	assert_int_equal(V8_COOKIE_KIND(frame.cookie), frames[number].kind);
	assert_int_equal(language_v8.name(&fixture->subject, &frame, &names), 0);
	assert_int_equal(names.count, frames[number].count);
	for (int i = 0; i < names.count; i++) {
		const struct expected *expected = &frames[number].names[i];

		assert_string_equal(names.frames[i].function, expected->function);
		assert_string_equal(names.frames[i].file, "/srv/recorded.js");
		assert_int_equal(names.frames[i].line, with_lines ? expected->line : 0);
		assert_int_equal(names.frames[i].first_line, expected->first_line);
	}
}

static void check(const char *version, const char *name)
{
	struct fixture *fixture = open_recorded(version);

	assert_string_equal(fixture->subject.version, name);
	assert_true(fixture->subject.runtime.areas[0].end -
			    fixture->subject.runtime.areas[0].begin >=
		    1 << 20);
	walk_recorded(fixture);
	for (uint32_t i = 0; i < FRAMES; i++)
		assert_named(fixture, i, true);
	assert_true(fixture->walk.how & STACK_BY_RUNTIME);
	/* The outermost frame is not JavaScript. */
	assert_false(FRAME_IS_RUNTIME(fixture->walk.frames[fixture->walk.count - 1]));
	finish(fixture);
}

static void version_16(void **state)
{
	check("16", "9.4.146.26");
}

static void version_18(void **state)
{
	check("18", "10.2.154.26");
}

static void version_20(void **state)
{
	check("20", "11.3.244.8");
}

static void version_22(void **state)
{
	check("22", "12.4.254.21");
}

static void version_24(void **state)
{
	check("24", "13.6.233.17");
}

/* --- what is not what it was ------------------------------------------------------------------ */

static void an_object_that_was_replaced_has_no_name(void **state)
{
	static struct runtime_names names;

	for (size_t i = 0; i < VERSIONS; i++) {
		struct fixture *fixture = open_recorded(versions[i]);

		walk_recorded(fixture);
		for (uint32_t k = 0; k < FRAMES; k++) {
			struct runtime_frame frame = frame_at(fixture, k);

			frame.cookie ^= V8_COOKIE(0, 1, 0);
			assert_int_equal(language_v8.name(&fixture->subject, &frame, &names),
					 -ESTALE);
			/* Whatever is there now is not a function. */
			frame = frame_at(fixture, k);
			frame.object += 8;
			assert_int_equal(language_v8.name(&fixture->subject, &frame, &names),
					 -ESTALE);
		}
		assert_int_equal(names.count, 0);
		finish(fixture);
	}
}

/* The address tells where in the code; another function's code tells nothing. */
static void code_of_another_function_has_no_lines(void **state)
{
	static struct runtime_names names;
	struct fixture *fixture = open_recorded("20");
	struct runtime_frame compiled, frame;

	walk_recorded(fixture);
	compiled = frame_at(fixture, OPTIMIZED);
	frame = frame_at(fixture, RUSSIAN);
	frame.position = compiled.position;
	frame.cookie = V8_COOKIE(V8_IS_COMPILED, V8_COOKIE_ID(frame.cookie),
				 (uint64_t)V8_COOKIE_UPPER(compiled.cookie) << 32);
	assert_int_equal(language_v8.name(&fixture->subject, &frame, &names), 0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.frames[0].function, "функция");
	assert_int_equal(names.frames[0].line, 0);
	finish(fixture);
}

/* Without the function, the address alone leads to the same names. */
static void code_tells_its_function(void **state)
{
	static struct runtime_names names;

	for (size_t i = 0; i < VERSIONS; i++) {
		struct fixture *fixture = open_recorded(versions[i]);
		struct runtime_frame frame;

		walk_recorded(fixture);
		frame = frame_at(fixture, OPTIMIZED);
		frame.object = (uint64_t)V8_COOKIE_UPPER(frame.cookie) << 32 | frame.position;
		frame.position = 0;
		frame.cookie = V8_COOKIE(V8_IS_CODE, 0, 0);
		names.count = 0;
		assert_int_equal(language_v8.name(&fixture->subject, &frame, &names), 0);
		assert_int_equal(names.count, 4);
		assert_string_equal(names.frames[3].function, "outer");
		assert_int_equal(names.frames[0].line, 8);
		/* That of Sparkplug does not tell. */
		frame = frame_at(fixture, BASELINE);
		frame.object = (uint64_t)V8_COOKIE_UPPER(frame.cookie) << 32 | frame.position;
		frame.cookie = V8_COOKIE(V8_IS_CODE, 0, 0);
		assert_int_equal(language_v8.name(&fixture->subject, &frame, &names), -ESTALE);
		finish(fixture);
	}
}

static void without_sizes_of_bytecodes_sparkplug_has_no_lines(void **state)
{
	struct fixture *fixture = load("20");

	fixture->file.sizes_bytes = 0;
	assert_int_equal(language_v8.open(&fixture->subject), 0);
	walk_recorded(fixture);
	assert_named(fixture, BASELINE, false);
	assert_named(fixture, ARROW, true);
	finish(fixture);
}

static void a_name_costs_a_known_number_of_reads(void **state)
{
	static struct runtime_names names;
	struct fixture *fixture = open_recorded("20");
	struct runtime_frame frame;
	uint64_t reads;

	walk_recorded(fixture);
	for (int i = 0; i < 2; i++) {
		reads = remote__reads(fixture->subject.memory);
		frame = frame_at(fixture, RUSSIAN);
		assert_int_equal(language_v8.name(&fixture->subject, &frame, &names), 0);
		assert_in_range(remote__reads(fixture->subject.memory) - reads, 10, 80);
	}
	finish(fixture);
}

/* --- versions --------------------------------------------------------------------------------- */

static void assert_refused(const char *part, int32_t value, const char *version)
{
	struct fixture *fixture = load("20");

	*constant(fixture, part) = value;
	assert_int_equal(language_v8.open(&fixture->subject), -ENOTSUP);
	assert_string_equal(fixture->subject.version, version);
	finish(fixture);
}

static void a_version_that_is_not_known_is_told(void **state)
{
	assert_refused("6minor_E", 4, "11.4.244.8");
	assert_refused("6major_E", 15, "15.3.244.8");
	assert_refused("6major_E", 0, "");
	assert_refused("6major_E", INT32_MIN, "");
}

static void what_does_not_agree_is_refused(void **state)
{
	static const char version[] = "11.3.244.8";

	/* As in Chromium, which compresses pointers. */
	assert_refused("TaggedSize", 4, version);
	assert_refused("SmiShiftSize", 0, version);
	assert_refused("fp_function", -24, version);
	assert_refused("SharedFunctionInfo__flags", 52, version);
	assert_refused("first_vars", 4, version);
	assert_refused("JSFunction__shared", 4096, version);
	assert_refused("JSFunction__shared", -8, version);
	assert_refused("CODE_TYPE", 65536, version);
	assert_refused("CODE_TYPE", 0, version);
}

static void without_a_constant_it_is_refused(void **state)
{
	struct fixture *first = load("20");
	const size_t count = first->file.count;

	finish(first);
	for (size_t i = 0; i < count; i++) {
		struct fixture *fixture = load("20");

		strcpy(fixture->file.constants[i].name, "another");
		assert_int_equal(language_v8.open(&fixture->subject), -ENOTSUP);
		finish(fixture);
	}
}

static void without_code_it_is_asked_again(void **state)
{
	struct fixture *fixture = load("20");

	assert_int_equal(ftruncate(fixture->file.maps, 0), 0);
	assert_int_equal(language_v8.open(&fixture->subject), -EAGAIN);
	language_v8.close(&fixture->subject);
	/* Nor does it run without the list. */
	fixture->subject.maps_fd = -1;
	assert_int_equal(language_v8.open(&fixture->subject), -EAGAIN);
	fixture->subject.maps_fd = fixture->file.maps;
	finish(fixture);
}

static void assert_area(const char *maps, uint64_t begin, uint64_t end)
{
	struct fixture *fixture = load("20");

	assert_int_equal(ftruncate(fixture->file.maps, 0), 0);
	assert_int_equal(pwrite(fixture->file.maps, maps, strlen(maps), 0), strlen(maps));
	assert_int_equal(language_v8.open(&fixture->subject), begin ? 0 : -EAGAIN);
	assert_int_equal(fixture->subject.runtime.areas[0].begin, begin);
	assert_int_equal(fixture->subject.runtime.areas[0].end, end);
	finish(fixture);
}

static void code_is_in_the_range_that_was_reserved(void **state)
{
	assert_area("00400000-00500000 r-xp 00000000 fe:00 12 /usr/bin/node\n"
		    "00600000-00700000 rw-p 00000000 00:00 0 [heap]\n"
		    "10000000-10001000 ---p 00000000 00:00 0\n"
		    "10001000-10002000 rwxp 00000000 00:00 0\n"
		    "10002000-10003000 r-xp 00000000 fe:00 12 /usr/bin/node\n"
		    "10003000-18000000 ---p 00000000 00:00 0\n"
		    "18001000-18002000 rw-p 00000000 00:00 0\n",
		    0x10000000, 0x18000000);
	/* The kernel's own code is not V8's. */
	assert_area("7fff0000-7fff1000 r-xp 00000000 00:00 0 [vdso]\n", 0, 0);
	/* A program can give its memory a name. */
	assert_area("10001000-10002000 rwxp 00000000 00:00 0 [anon:v8]\n", 0x10001000, 0x10002000);
	assert_area("nonsense\n\n10001000-\n", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_16),
		cmocka_unit_test(version_18),
		cmocka_unit_test(version_20),
		cmocka_unit_test(version_22),
		cmocka_unit_test(version_24),
		cmocka_unit_test(an_object_that_was_replaced_has_no_name),
		cmocka_unit_test(code_of_another_function_has_no_lines),
		cmocka_unit_test(code_tells_its_function),
		cmocka_unit_test(without_sizes_of_bytecodes_sparkplug_has_no_lines),
		cmocka_unit_test(a_name_costs_a_known_number_of_reads),
		cmocka_unit_test(a_version_that_is_not_known_is_told),
		cmocka_unit_test(what_does_not_agree_is_refused),
		cmocka_unit_test(without_a_constant_it_is_refused),
		cmocka_unit_test(without_code_it_is_asked_again),
		cmocka_unit_test(code_is_in_the_range_that_was_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
