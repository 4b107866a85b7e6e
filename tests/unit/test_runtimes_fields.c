/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a class of Java has its fields, in both forms in which HotSpot describes them. */
#include "../harness.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtimes/hotspot_fields.h"

#define CLASS        0x1000
#define POOL         0x2000
#define ARRAY        0x3000
#define SYMBOLS      0x4000
#define SYMBOL_BYTES 64

/* Where the made class has what is read of it. */
static const struct hotspot made = {
	.fields = {
		[HOTSPOT_KLASS_POOL] = { .value = 8, .bytes = 8, .is_found = true },
		[HOTSPOT_KLASS_FIELDS] = { .value = 16, .bytes = 8 },
		[HOTSPOT_KLASS_FIELD_STREAM] = { .value = 24, .bytes = 8 },
		[HOTSPOT_KLASS_FIELD_COUNT] = { .value = 32, .bytes = 2 },
		[HOTSPOT_SYMBOL_BYTES] = { .value = 4, .bytes = 2, .is_found = true },
		[HOTSPOT_SYMBOL_TEXT] = { .value = 6, .bytes = 8, .is_found = true },
	},
	.sizes = { [HOTSPOT_SIZE_OF_CONSTANT_POOL] = 72 },
};

struct program {
	struct subject subject;
	struct hotspot hotspot;
	int memory;
};

static void put(const struct program *program, uint64_t at, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(program->memory, bytes, size, (off_t)at), size);
}

static void put_u64(const struct program *program, uint64_t at, uint64_t value)
{
	put(program, at, &value, sizeof(value));
}

static void put_name(const struct program *program, uint32_t index, const char *name)
{
	uint64_t symbol = SYMBOLS + index * SYMBOL_BYTES;
	uint16_t bytes = (uint16_t)strlen(name);

	put_u64(program, POOL + 72 + 8 * index, symbol);
	put(program, symbol + 4, &bytes, sizeof(bytes));
	put(program, symbol + 6, name, bytes);
}

static void begin(struct program *program, int major)
{
	*program = (struct program) { .hotspot = made };
	program->hotspot.major = major;
	program->memory = memfd_create("program", 0);
	assert_true(program->memory >= 0);
	assert_int_equal(ftruncate(program->memory, 0x8000), 0);
	assert_int_equal(remote__new(dup(program->memory), &program->subject.memory), 0);
	put_u64(program, CLASS + 8, POOL);
	put_u64(program, CLASS + 16, ARRAY);
	put_u64(program, CLASS + 24, ARRAY);
	put_name(program, 5, "name");
	put_name(program, 6, "parkBlocker");
	put_name(program, 7, "eetop");
}

static int find(struct program *program, const char *name, uint32_t *ret)
{
	program->subject.own = &program->hotspot;
	return hotspot_fields__find(&program->subject, CLASS, name, ret);
}

static void end(const struct program *program)
{
	remote__free(program->subject.memory);
	close(program->memory);
}

static void begin_shorts(struct program *program, uint16_t count, const uint16_t *fields)
{
	const uint32_t length = 6U * count;

	begin(program, 17);
	program->hotspot.fields[HOTSPOT_KLASS_FIELDS].is_found = true;
	program->hotspot.fields[HOTSPOT_KLASS_FIELD_COUNT].is_found = true;
	put(program, CLASS + 32, &count, sizeof(count));
	put(program, ARRAY, &length, sizeof(length));
	put(program, ARRAY + 4, fields, 2U * length);
}

static void fields_of_version_17_are_six_numbers_each(void **state)
{
	/* Access, name, type, value, offset << 2 | 1 in two halves. */
	static const uint16_t fields[] = { 2, 5,      1, 0, 12 << 2 | 1, 0, 2, 6, 1,
					   0, 0x4001, 3, 2, 7,           1, 0, 0, 0 };
	struct program program;
	uint32_t offset = 99;

	begin_shorts(&program, 3, fields);
	assert_int_equal(find(&program, "name", &offset), 0);
	assert_int_equal(offset, 12);
	assert_int_equal(find(&program, "parkBlocker", &offset), 0);
	assert_int_equal(offset, (3U << 16 | 0x4001) >> 2);
	/* It has not been laid out yet. */
	assert_int_equal(find(&program, "eetop", &offset), -ESTALE);
	assert_int_equal(find(&program, "other", &offset), -ENOENT);
	end(&program);
}

static void a_field_that_hotspot_has_added_has_no_name_in_the_pool(void **state)
{
	static const uint16_t fields[] = { 0x400, 5, 1, 0, 12 << 2 | 1, 0 };
	struct program program;
	uint32_t offset;

	begin_shorts(&program, 1, fields);
	assert_int_equal(find(&program, "name", &offset), -ENOENT);
	end(&program);
}

/* Small numbers of a stream are a byte that is one more. */
static void begin_stream(struct program *program, const uint8_t *numbers, uint32_t count)
{
	begin(program, 21);
	program->hotspot.fields[HOTSPOT_KLASS_FIELD_STREAM].is_found = true;
	put(program, ARRAY, &count, sizeof(count));
	for (uint32_t i = 0; i < count; i++)
		put(program, ARRAY + 4 + i, &(uint8_t) { (uint8_t)(numbers[i] + 1) }, 1);
}

static void fields_of_version_21_are_a_stream(void **state)
{
	/* Name, type, offset, access, flags: with a value, a signature and a group; without. */
	static const uint8_t numbers[] = { 2, 1, 5,  1, 12, 2, 1 | 4 | 16, 9,  9, 9,
					   6, 1, 60, 2, 0,  7, 1,          64, 2, 2 };
	struct program program;
	uint32_t offset = 99;

	begin_stream(&program, numbers, sizeof(numbers));
	assert_int_equal(find(&program, "name", &offset), 0);
	assert_int_equal(offset, 12);
	assert_int_equal(find(&program, "parkBlocker", &offset), 0);
	assert_int_equal(offset, 60);
	/* The third one is HotSpot's own. */
	assert_int_equal(find(&program, "eetop", &offset), -ENOENT);
	end(&program);
}

static void a_stream_that_ends_early_has_no_fields(void **state)
{
	static const uint8_t numbers[] = { 2, 0, 5, 1, 12, 2 };
	struct program program;
	uint32_t offset = 99;

	begin_stream(&program, numbers, sizeof(numbers));
	assert_int_equal(find(&program, "name", &offset), -ESTALE);
	assert_int_equal(offset, 99);
	end(&program);
}

static void a_class_without_descriptions_is_refused(void **state)
{
	struct program program;
	uint32_t offset;

	begin(&program, 17);
	assert_int_equal(find(&program, "name", &offset), -ENOTSUP);
	end(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_version_17_are_six_numbers_each),
		cmocka_unit_test(a_field_that_hotspot_has_added_has_no_name_in_the_pool),
		cmocka_unit_test(fields_of_version_21_are_a_stream),
		cmocka_unit_test(a_stream_that_ends_early_has_no_fields),
		cmocka_unit_test(a_class_without_descriptions_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
