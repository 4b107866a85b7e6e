/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython on recorded memory: what open() finds out and what code is called, against what the
 * interpreter itself said when it was recorded; and on memory made by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "recorded/recorded.h"

#include "runtimes/language.h"
#include "runtimes/python.h"

#define MOST_FRAMES 256

struct known {
	struct runtime_frame frame;
	int line, first_line;
	char function[64], file[64];
};

struct python {
	struct recorded recorded;
	struct subject subject;
	struct known known[MOST_FRAMES];
	size_t count;
};

static const char *const versions[] = { "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14" };
#define VERSIONS (sizeof(versions) / sizeof(*versions))

/* --- the file of the interpreter, which is not there ------------------------------------------ */

static struct python *current;
static uint32_t said_version; /* Py_Version */

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count);
int __wrap_runtime_file__read(const struct runtime_file *file, uint64_t address, void *to,
			      size_t size);

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count)
{
	const struct recorded *recorded = &current->recorded;
	int found = 0;

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(wanted[i].name, "_PyRuntime"))
			wanted[i].address = recorded_word(recorded, "runtime");
		else if (!strcmp(wanted[i].name, "_PyEval_EvalFrameDefault"))
			wanted[i].address = recorded_word(recorded, "loop");
		else if (!strcmp(wanted[i].name, "_PyEval_EvalFrameDefault.cold"))
			wanted[i].address = 64;
		else if (!strcmp(wanted[i].name, "Py_Version") && said_version)
			wanted[i].address = 8;
		wanted[i].size = i == 1 ? recorded_word(recorded, "loop_size") : 4;
		found += wanted[i].address != 0;
	}
	return found;
}

int __wrap_runtime_file__read(const struct runtime_file *file, uint64_t address, void *to,
			      size_t size)
{
	if (address != 8 || size != sizeof(said_version))
		return -EFAULT;
	memcpy(to, &said_version, size);
	return 0;
}

static void load_known(struct python *python, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[32768];

	while (fgets(line, sizeof(line), file)) {
		struct known *known = &python->known[python->count];

		if (sscanf(line, "frame %" SCNx64 " %" SCNx32 " %" SCNx32 " %d %d %63s %63s",
			   &known->frame.object, &known->frame.position, &known->frame.cookie,
			   &known->line, &known->first_line, known->function, known->file) == 7)
			python->count++;
		assert_true(python->count < MOST_FRAMES);
	}
	fclose(file);
}

/* The caller calls release(). */
static struct python *load(const char *version)
{
	static char library[64];
	char path[256];

	current = calloc(1, sizeof(*current));
	assert_non_null(current);
	snprintf(path, sizeof(path), RECORDED "/python-%s.memory", version);
	snprintf(library, sizeof(library), "/usr/lib/libpython%s.so.1.0", version);
	current->recorded = recorded_load(path);
	load_known(current, path);
	current->subject = (struct subject) { .maps_fd = -1,
					      .file = { .path = library },
					      .runtime = { .kind = RUNTIME_PYTHON } };
	current->subject.file.bias = recorded_word(&current->recorded, "bias");
	assert_int_equal(remote__new(current->recorded.memory, &current->subject.memory), 0);
	return current;
}

static void release(struct python *python)
{
	remote__free(python->subject.memory);
	free(python);
}

static void put(struct python *python, uint64_t address, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(python->recorded.memory, bytes, size, (off_t)address), size);
}

static uint64_t runtime_of(const struct python *python)
{
	return python->subject.file.bias + recorded_word(&python->recorded, "runtime");
}

/* --- open ------------------------------------------------------------------------------------- */

static void every_version_is_opened(void **state)
{
	for (size_t i = 0; i < VERSIONS; i++) {
		struct python *python = load(versions[i]);
		const struct runtime *runtime = &python->subject.runtime;

		assert_int_equal(language_python.open(&python->subject), 0);
		assert_string_equal(python->subject.version, versions[i]);
		assert_int_equal(runtime->python.minor, recorded_word(&python->recorded, "minor"));
		assert_int_equal(runtime->python.slot, recorded_word(&python->recorded, "slot"));
		assert_int_equal(runtime->python.gil, recorded_word(&python->recorded, "gil"));
		assert_int_equal(runtime->areas[0].begin,
				 python->subject.file.bias +
					 recorded_word(&python->recorded, "loop"));
		assert_int_equal(runtime->areas[0].end - runtime->areas[0].begin,
				 recorded_word(&python->recorded, "loop_size"));
		assert_true(runtime->python.frame_bytes <= 112);
		assert_true(runtime->python.code_bytes <= 112);
		release(python);
	}
}

static void a_version_that_is_not_known_is_said(void **state)
{
	struct python *python = load("3.13");

	said_version = 0x031000f0;
	assert_int_equal(language_python.open(&python->subject), -ENOTSUP);
	assert_string_equal(python->subject.version, "3.16.0");
	/* Not one of 3. */
	said_version = 0x040d00f0;
	assert_int_equal(language_python.open(&python->subject), -ENOTSUP);
	assert_string_equal(python->subject.version, "4.13.0");
	said_version = 0;
	python->subject.file.path = "/usr/bin/python3.7";
	assert_int_equal(language_python.open(&python->subject), -ENOTSUP);
	assert_string_equal(python->subject.version, "3.7");
	release(python);
}

/* It has offsets of its own, which would be read wrongly by the row of its version. */
static void a_build_of_another_kind_is_refused(void **state)
{
	const char *const speaking[] = { "3.13", "3.14" };
	const uint64_t one = 1;

	for (size_t i = 0; i < 2; i++) {
		struct python *python = load(speaking[i]);

		/* Free-threaded. */
		put(python, runtime_of(python) + 16, &one, sizeof(one));
		assert_int_equal(language_python.open(&python->subject), -ENOTSUP);
		assert_string_equal(python->subject.version, speaking[i]);
		release(python);
		/* Another cookie: the loader has not mapped the data yet. */
		python = load(speaking[i]);
		put(python, runtime_of(python), "y", 1);
		assert_int_equal(language_python.open(&python->subject), -EAGAIN);
		release(python);
		/* Another place of the current frame, and of the bytecode. */
		for (int number = 20; number < 47; number++) {
			python = load(speaking[i]);
			put(python, runtime_of(python) + 16 + 8 * number, "\xff", 1);
			if (number == (i ? 24 : 21) || number == (i ? 46 : 41))
				assert_int_equal(language_python.open(&python->subject), -ENOTSUP);
			else
				(void)language_python.open(&python->subject);
			release(python);
		}
	}
}

static void an_interpreter_that_has_not_started_is_asked_again(void **state)
{
	const uint64_t none = 0, huge = UINT64_MAX << 32 | 1;

	for (size_t i = 0; i < VERSIONS; i++) {
		const struct python_layout *layout;
		struct python *python = load(versions[i]);

		layout = python_layout__find((unsigned)recorded_word(&python->recorded, "minor"));
		put(python, runtime_of(python) + layout->key, &none, sizeof(none));
		assert_int_equal(language_python.open(&python->subject), -EAGAIN);
		put(python, runtime_of(python) + layout->key, &huge, sizeof(huge));
		assert_int_equal(language_python.open(&python->subject), -EBADMSG);
		release(python);
	}
}

/* --- where a thread keeps a key --------------------------------------------------------------- */

static int maps_with(const char *line, size_t lines_before)
{
	int fd = memfd_create("maps", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < lines_before; i++)
		assert_true(dprintf(fd,
				    "7f0000000000-7f0000001000 r-xp 00000000 00:01 %zu /lib/x.so\n",
				    i) > 0);
	assert_true(dprintf(fd, "%s\n", line) > 0);
	return fd;
}

static void a_key_is_found_in_the_thread(void **state)
{
	struct python *python = load("3.12");
	const struct python_layout *layout = python_layout__find(12);
	const struct runtime_python *found = &python->subject.runtime.python;
	uint64_t key = (uint64_t)5 << 32 | 1;

	put(python, runtime_of(python) + layout->key, &key, sizeof(key));
	assert_int_equal(language_python.open(&python->subject), 0);
	assert_int_equal(found->slot_block, 0);
	assert_int_equal(found->slot, 784 + 16 * 5 + 8);
	key = (uint64_t)70 << 32 | 1;
	put(python, runtime_of(python) + layout->key, &key, sizeof(key));
	assert_int_equal(language_python.open(&python->subject), 0);
	assert_int_equal(found->slot_block, 1296 + 8 * 2);
	assert_int_equal(found->slot, 16 * 6 + 8);
	/* musl, however many lines are before its own. */
	for (size_t lines = 0; lines < 1000; lines += 37) {
		python->subject.maps_fd =
			maps_with("7f00 r-xp 0 00:01 1 /lib/ld-musl-x86_64.so.1", lines);
		assert_int_equal(language_python.open(&python->subject), 0);
		assert_int_equal(found->slot_block, 128);
		assert_int_equal(found->slot, 8 * 70);
		close(python->subject.maps_fd);
	}
	python->subject.maps_fd = maps_with("7f00 r-xp 0 00:01 1 /lib/libc.so.6", 1000);
	assert_int_equal(language_python.open(&python->subject), 0);
	assert_int_equal(found->slot_block, 1296 + 8 * 2);
	close(python->subject.maps_fd);
	release(python);
}

/* --- names ------------------------------------------------------------------------------------ */

static void names_and_lines_are_those_of_the_interpreter(void **state)
{
	for (size_t i = 0; i < VERSIONS; i++) {
		struct python *python = load(versions[i]);
		struct runtime_names *names = calloc(1, sizeof(*names));

		assert_non_null(names);
		assert_int_equal(language_python.open(&python->subject), 0);
		assert_true(python->count > 40);
		for (size_t k = 0; k < python->count; k++) {
			const struct known *known = &python->known[k];
			uint64_t before = remote__reads(python->subject.memory);

			names->count = 0;
			assert_int_equal(
				language_python.name(&python->subject, &known->frame, names), 0);
			assert_int_equal(names->count, 1);
			assert_string_equal(names->frames[0].function, known->function);
			assert_string_equal(names->frames[0].file, known->file);
			assert_int_equal(names->frames[0].first_line, known->first_line);
			if (names->frames[0].line != known->line)
				fail_msg("%s: %s, position %u: line %d, not %d", versions[i],
					 known->function, known->frame.position,
					 names->frames[0].line, known->line);
			assert_true(remote__reads(python->subject.memory) - before <= 7);
		}
		free(names);
		release(python);
	}
}

static void an_address_that_was_reused_has_no_name(void **state)
{
	struct python *python = load("3.11");
	struct runtime_names *names = calloc(1, sizeof(*names));
	struct runtime_frame frame = python->known[0].frame;

	assert_non_null(names);
	assert_int_equal(language_python.open(&python->subject), 0);
	frame.cookie ^= 1;
	assert_int_equal(language_python.name(&python->subject, &frame, names), -ESTALE);
	frame.cookie ^= 1;
	frame.object += 16;
	assert_true(language_python.name(&python->subject, &frame, names) < 0);
	frame.object = UINT64_MAX - 8;
	assert_int_equal(language_python.name(&python->subject, &frame, names), -EFAULT);
	assert_int_equal(names->count, 0);
	free(names);
	release(python);
}

/* --- line tables ------------------------------------------------------------------------------ */

static int line_at(unsigned minor, const char *table, size_t size, int first, uint32_t at)
{
	const struct python_layout *layout = python_layout__find(minor);

	return python_lines__find(layout, (const uint8_t *)table, size, first,
				  minor < 11 ? at : layout->bytecode + 2 * at);
}

static void tables_of_pairs_have_lines(void **state)
{
	/* 6 bytes, then line +1; 4 bytes and +127, +73; 2 bytes and −5. */
	static const char table[] = "\x06\x01\x04\x7f\x00\x49\x02\xfb";

	for (unsigned minor = 8; minor <= 9; minor++) {
		assert_int_equal(line_at(minor, table, 8, 10, 0), 10);
		assert_int_equal(line_at(minor, table, 8, 10, 5), 10);
		assert_int_equal(line_at(minor, table, 8, 10, 6), 11);
		assert_int_equal(line_at(minor, table, 8, 10, 10), 211);
		assert_int_equal(line_at(minor, table, 8, 10, 12), 206);
		/* Not begun yet, an empty table, half a pair. */
		assert_int_equal(line_at(minor, table, 8, 10, UINT32_MAX), 10);
		assert_int_equal(line_at(minor, table, 0, 10, 6), 10);
		assert_int_equal(line_at(minor, table, 1, 10, 6), 10);
		/* A first line of any value. */
		assert_int_equal(line_at(minor, table, 8, INT32_MAX, 12), 0);
		assert_int_equal(line_at(minor, table, 8, INT32_MIN, 12), 0);
	}
}

static void tables_of_ranges_have_lines(void **state)
{
	/* 4 bytes of line +1, 2 bytes without one, 6 bytes of −3. */
	static const char table[] = "\x04\x01\x02\x80\x06\xfd";

	assert_int_equal(line_at(10, table, 6, 10, 0), 11);
	assert_int_equal(line_at(10, table, 6, 10, 1), 11);
	assert_int_equal(line_at(10, table, 6, 10, 2), 0);
	assert_int_equal(line_at(10, table, 6, 10, 3), 8);
	assert_int_equal(line_at(10, table, 6, 10, 5), 8);
	assert_int_equal(line_at(10, table, 6, 10, INT32_MAX), 8);
	assert_int_equal(line_at(10, table, 6, INT32_MAX, 0), 0);
}

static void tables_of_entries_have_lines(void **state)
{
	/*
	 * One instruction each: the short form; +2 with columns; without columns, −1; the long
	 * form, +100; none.
	 */
	static const char table[] = "\x80\x00"
				    "\xe0\x01\x02"
				    "\xe8\x03"
				    "\xf0\x48\x03\x00\x01\x01"
				    "\xf8";
	size_t size = sizeof(table) - 1;

	for (unsigned minor = 11; minor <= 14; minor++) {
		const struct python_layout *layout = python_layout__find(minor);

		assert_int_equal(line_at(minor, table, size, 10, 0), 10);
		assert_int_equal(line_at(minor, table, size, 10, 1), 12);
		assert_int_equal(line_at(minor, table, size, 10, 2), 11);
		assert_int_equal(line_at(minor, table, size, 10, 3), 111);
		assert_int_equal(line_at(minor, table, size, 10, 4), 0);
		assert_int_equal(line_at(minor, table, size, 10, 5), 0);
		/* A function that is being entered. */
		assert_int_equal(python_lines__find(layout, (const uint8_t *)table, size, 10,
						    layout->bytecode - 2U),
				 10);
		/* Cut anywhere. */
		for (size_t cut = 0; cut < size; cut++)
			(void)line_at(minor, table, cut, 10, 4);
		/* A number without an end. */
		assert_int_equal(line_at(minor, "\xe8\xff\xff\xff\xff\xff\xff\xff", 8, 10, 0), 0);
	}
}

/* --- texts ------------------------------------------------------------------------------------ */

static struct remote *text_of(uint64_t length, uint32_t state, size_t header, const void *bytes,
			      size_t size)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct remote *memory;

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &length, 8, 4096 + 16), 8);
	assert_int_equal(pwrite(fd, &state, 4, 4096 + 32), 4);
	assert_int_equal(pwrite(fd, &(uint32_t) { 0 }, 4, 4096 + 36), 4);
	assert_int_equal(pwrite(fd, bytes, size, (off_t)(4096 + header)), size);
	assert_int_equal(remote__new(fd, &memory), 0);
	return memory;
}

static void assert_text(unsigned minor, unsigned width, bool is_ascii, const void *bytes,
			uint64_t length, size_t room, const char *expected)
{
	const struct python_layout *layout = python_layout__find(minor);
	struct remote *memory =
		text_of(length, width << 2 | (uint32_t)is_ascii << 6 | 0x83,
			is_ascii ? layout->ascii : layout->wide, bytes, length * width);
	char text[2048];

	memset(text, 'x', sizeof(text));
	assert_int_equal(python_text__read(memory, layout, 4096, text, room), 0);
	assert_string_equal(text, expected);
	assert_int_equal(text[room], 'x');
	remote__free(memory);
}

static void texts_of_all_widths_become_utf8(void **state)
{
	static const uint16_t two[] = { 'a', 0x540d, 0xdcff, 0x7ff };
	static const uint32_t four[] = { 0x1d518, 0x10ffff, 0x110000, 'z' };

	for (unsigned minor = 8; minor <= 14; minor++) {
		assert_text(minor, 1, true, "plain", 5, 512, "plain");
		assert_text(minor, 1, true, "", 0, 512, "");
		assert_text(minor, 1, false, "gr\xf6\xdf", 4, 512, "gr\xc3\xb6\xc3\x9f");
		assert_text(minor, 2, false, two, 4, 512, "a\xe5\x90\x8d\xef\xbf\xbd\xdf\xbf");
		assert_text(minor, 4, false, four, 4, 512,
			    "\xf0\x9d\x94\x98\xf4\x8f\xbf\xbf\xef\xbf\xbdz");
		/* Cut between characters. */
		assert_text(minor, 1, true, "plain", 5, 4, "pla");
		assert_text(minor, 4, false, four, 4, 8, "\xf0\x9d\x94\x98");
	}
}

static void texts_that_are_none_are_refused(void **state)
{
	const struct python_layout *layout = python_layout__find(12);
	struct remote *memory;
	char text[512] = "before";

	for (uint32_t kind = 0; kind < 8; kind++) {
		memory = text_of(4, kind << 2, layout->wide, "0123456789abcdef", 16);
		assert_int_equal(python_text__read(memory, layout, 4096, text, sizeof(text)),
				 kind == 1 || kind == 2 || kind == 4 ? 0 : -EBADMSG);
		remote__free(memory);
	}
	/* Longer than the memory that is there. */
	memory = text_of(UINT64_MAX, 1 << 2 | 1 << 6, layout->ascii, "abc", 3);
	assert_int_equal(python_text__read(memory, layout, 4096, text, sizeof(text)), -EFAULT);
	assert_int_equal(python_text__read(memory, layout, UINT64_MAX, text, 512), -EFAULT);
	remote__free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_is_opened),
		cmocka_unit_test(a_version_that_is_not_known_is_said),
		cmocka_unit_test(a_build_of_another_kind_is_refused),
		cmocka_unit_test(an_interpreter_that_has_not_started_is_asked_again),
		cmocka_unit_test(a_key_is_found_in_the_thread),
		cmocka_unit_test(names_and_lines_are_those_of_the_interpreter),
		cmocka_unit_test(an_address_that_was_reused_has_no_name),
		cmocka_unit_test(tables_of_pairs_have_lines),
		cmocka_unit_test(tables_of_ranges_have_lines),
		cmocka_unit_test(tables_of_entries_have_lines),
		cmocka_unit_test(texts_of_all_widths_become_utf8),
		cmocka_unit_test(texts_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
