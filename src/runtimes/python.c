/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython: where its frames are, and what their code objects are called. The walk is in
 * bpf/python_walk.h.
 *
 * The address of everything comes from one variable, _PyRuntime, which is in the dynamic symbol
 * table of the interpreter or of libpython.
 */
#include "runtimes/python.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/language.h"

#define MOST_LINE_TABLE (1U << 20)
/* Objects/bytesobject.c: the size and the first byte. The same in all versions. */
#define BYTES_SIZE 16
#define BYTES_DATA 32
/* struct pthread of glibc: its first 32 keys, then blocks of 32, each key with a sequence number.
 */
#define GLIBC_KEYS      784
#define GLIBC_BLOCKS    1296
#define GLIBC_BLOCK     32
#define GLIBC_KEY_BYTES 16
#define GLIBC_KEY_VALUE 8
/* musl: a pointer to an array of values. */
#define MUSL_KEYS 128
#define MOST_KEYS 1024
/* In the names of its files; to read of /proc/PID/maps. */
#define MUSL      "/ld-musl-"
#define MOST_MAPS (4 << 20)
/* _Py_DebugOffsets, since 3.13. */
#define COOKIE "xdebugpy"

enum wanted { RUNTIME, LOOP, COLD, VERSION, SYMBOLS };

static const struct wanted_symbol all_symbols[SYMBOLS] = {
	[RUNTIME] = { .name = "_PyRuntime" },
	[LOOP] = { .name = "_PyEval_EvalFrameDefault" },
	[COLD] = { .name = "_PyEval_EvalFrameDefault.cold" },
	[VERSION] = { .name = "Py_Version" },
};

static bool is_in(const struct runtime_file *file)
{
	struct wanted_symbol symbol = { .name = "_PyRuntime" };

	return runtime_file__find(file, &symbol, 1) == 1;
}

/* --- the version ------------------------------------------------------------------------------ */

/* "3.9" of a path such as /usr/bin/python3.9 or libpython3.9.so.1.0. 0: there is none. */
static unsigned minor_in(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, "python3.");

	return at ? (unsigned)strtoul(at + strlen("python3."), NULL, 10) : 0;
}

static unsigned find_minor(struct subject *subject, const struct wanted_symbol *version)
{
	uint32_t value;

	if (version->address &&
	    !runtime_file__read(&subject->file, version->address, &value, sizeof(value))) {
		snprintf(subject->version, sizeof(subject->version), "%u.%u.%u", value >> 24,
			 value >> 16 & 255, value >> 8 & 255);
		return value >> 24 == 3 ? value >> 16 & 255 : 0;
	}
	value = minor_in(subject->file.path);
	if (value)
		snprintf(subject->version, sizeof(subject->version), "3.%u", value);
	return value;
}

/*
 * What 3.13 and later say of themselves: numbers behind the cookie and the version. A build with
 * other options has other offsets, and would be read wrongly by the row of its version. A build
 * without a GIL says so first.
 */
struct said_offset {
	uint8_t at[2]; /* index of the number: in 3.13, in 3.14 */
	uint16_t offset;
};

/* -ENOTSUP: it does not; -EAGAIN: it cannot be told yet. */
static int agrees(struct subject *subject, const struct python_layout *layout, uint64_t runtime)
{
	const struct said_offset said[] = {
		{ { 0, 0 }, 0 }, /* the interpreter has a GIL */
		{ { 3, 3 }, layout->interpreters },
		{ { 12, 13 }, layout->interpreter_gil },
		{ { 21, 24 }, layout->thread_frame },
		{ { 23, 26 }, layout->thread_native_id },
		{ { 27, 30 }, layout->frame_previous },
		{ { 28, 31 }, layout->frame_code },
		{ { 29, 32 }, layout->frame_position },
		{ { 31, 34 }, layout->frame_owner },
		{ { 33, 38 }, layout->file },
		{ { 35, 40 }, layout->name },
		{ { 36, 41 }, layout->lines },
		{ { 37, 42 }, layout->first_line },
		{ { 41, 46 }, layout->bytecode },
	};
	uint64_t numbers[64], version;
	char cookie[8];

	/* Until the loader has mapped the data of the library, something else is there. */
	if (remote__read(subject->memory, runtime, cookie, sizeof(cookie)) ||
	    memcmp(cookie, COOKIE, sizeof(cookie)) != 0)
		return -EAGAIN;
	if (remote__read_u64(subject->memory, runtime + 8, &version) || version >> 24 != 3 ||
	    (version >> 16 & 255) != layout->minor ||
	    remote__read(subject->memory, runtime + 16, numbers, sizeof(numbers)))
		return -ENOTSUP;
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
		if (numbers[said[i].at[layout->minor >= 14]] != said[i].offset)
			return -ENOTSUP;
	return 0;
}

/* --- where things are ------------------------------------------------------------------------- */

/* The kernel gives about a page of the file at a time, which may end in the middle of the name. */
static bool has_musl(struct subject *subject)
{
	char text[16384];
	size_t kept = 0, most = strlen(MUSL);
	off_t offset = 0;

	while (offset < MOST_MAPS) {
		ssize_t got = pread(subject->maps_fd, text + kept, sizeof(text) - 1 - kept, offset);

		if (got <= 0)
			return false;
		offset += got;
		kept += (size_t)got;
		if (memmem(text, kept, MUSL, most))
			return true;
		if (kept > most) {
			memmove(text, text + kept - most, most);
			kept = most;
		}
	}
	return false;
}

/* Where a thread keeps the value of the key. */
static int find_slot(struct subject *subject, uint64_t key_address, struct runtime_python *python)
{
	struct {
		uint32_t is_initialized, key;
	} key;

	if (remote__read(subject->memory, key_address, &key, sizeof(key)))
		return -EFAULT;
	if (key.is_initialized != 1)
		return -EAGAIN;
	if (key.key >= MOST_KEYS)
		return -EBADMSG;
	if (has_musl(subject)) {
		python->slot_block = MUSL_KEYS;
		python->slot = (uint16_t)(8 * key.key);
		return 0;
	}
	python->slot = GLIBC_KEY_VALUE + GLIBC_KEY_BYTES * (uint16_t)(key.key % GLIBC_BLOCK);
	if (key.key < GLIBC_BLOCK)
		python->slot += GLIBC_KEYS;
	else
		python->slot_block = (uint16_t)(GLIBC_BLOCKS + 8 * (key.key / GLIBC_BLOCK));
	return 0;
}

/* 3.12 made the GIL a part of the interpreter. 0: it is not there yet. */
static uint64_t find_gil(struct subject *subject, const struct python_layout *layout,
			 uint64_t runtime)
{
	uint64_t interpreter, gil;

	if (layout->gil)
		return runtime + layout->gil;
	if (remote__read_u64(subject->memory, runtime + layout->interpreters, &interpreter) ||
	    !interpreter ||
	    remote__read_u64(subject->memory, interpreter + layout->interpreter_gil, &gil))
		return 0;
	return gil;
}

static void fill_walk(const struct python_layout *layout, struct runtime_python *python)
{
	python->thread_frame = layout->thread_frame;
	python->has_cframe = layout->has_cframe;
	python->cframe_frame = layout->cframe_frame;
	python->cframe_previous = layout->cframe_previous;
	python->thread_native_id = layout->thread_native_id;
	python->pthread_tid = layout->pthread_tid;
	python->frame_code = layout->frame_code;
	python->frame_previous = layout->frame_previous;
	python->frame_position = layout->frame_position;
	python->frame_owner = layout->frame_owner;
	python->frame_bytes = layout->frame_bytes;
	python->position_bytes = layout->position_bytes;
	python->has_owner = layout->most_owner != 0;
	python->least_owner = layout->least_owner;
	python->most_owner = layout->most_owner;
	python->is_shim = layout->is_shim;
	python->tagged = layout->is_tagged;
	python->code_name = layout->name;
	python->code_first_line = layout->first_line;
	python->code_bytes = (uint8_t)(layout->name + sizeof(uint64_t) - (layout->first_line & ~7));
	python->minor = layout->minor;
}

static void fill_areas(struct subject *subject, const struct wanted_symbol *symbols)
{
	const enum wanted loops[] = { LOOP, COLD };
	int count = 0;

	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
		const struct wanted_symbol *loop = &symbols[loops[i]];

		if (!loop->address || !loop->size)
			continue;
		subject->runtime.areas[count].begin = subject->file.bias + loop->address;
		subject->runtime.areas[count].end = subject->file.bias + loop->address + loop->size;
		count++;
	}
}

static int open_python(struct subject *subject)
{
	struct runtime_python *python = &subject->runtime.python;
	struct wanted_symbol symbols[SYMBOLS];
	const struct python_layout *layout;
	int err;

	memcpy(symbols, all_symbols, sizeof(symbols));
	err = runtime_file__find(&subject->file, symbols, SYMBOLS);
	if (err < 0)
		return err;
	if (!symbols[COLD].address)
		(void)runtime_file__find_cold(&subject->file, &symbols[LOOP], &symbols[COLD]);
	layout = python_layout__find(find_minor(subject, &symbols[VERSION]));
	if (!layout || !symbols[RUNTIME].address || !symbols[LOOP].size)
		return -ENOTSUP;
	subject->own = (void *)layout;
	python->state = subject->file.bias + symbols[RUNTIME].address;
	err = layout->minor >= 13 ? agrees(subject, layout, python->state) : 0;
	if (err)
		return err;
	err = find_slot(subject, python->state + layout->key, python);
	if (err)
		return err;
	python->gil = find_gil(subject, layout, python->state);
	if (!python->gil)
		return -EAGAIN;
	fill_walk(layout, python);
	fill_areas(subject, symbols);
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static int find_line(struct subject *subject, uint64_t table, int first_line, uint32_t position)
{
	cleanup(free_p) uint8_t *bytes = NULL;
	uint64_t size;

	if (remote__read_u64(subject->memory, table + BYTES_SIZE, &size) || size > MOST_LINE_TABLE)
		return 0;
	bytes = malloc(size + 1);
	if (!bytes || remote__read(subject->memory, table + BYTES_DATA, bytes, size))
		return 0;
	return python_lines__find(subject->own, bytes, size, first_line, position);
}

static int name_python(struct subject *subject, const struct runtime_frame *frame,
		       struct runtime_names *ret)
{
	const struct python_layout *layout = subject->own;
	char function[RUNTIME_MOST_NAME], file[RUNTIME_MOST_NAME];
	uint64_t name, path, table;
	uint8_t code[192];
	int32_t first_line;

	if (remote__read(subject->memory, frame->object, code, sizeof(code)))
		return -EFAULT;
	memcpy(&name, code + layout->name, sizeof(name));
	memcpy(&path, code + layout->file, sizeof(path));
	memcpy(&table, code + layout->lines, sizeof(table));
	memcpy(&first_line, code + layout->first_line, sizeof(first_line));
	if (first_line < 0)
		first_line = 0;
	if ((name >> 3 & FRAME_COOKIE_MASK) != frame->cookie)
		return -ESTALE;
	if (python_text__read(subject->memory, layout, name, function, sizeof(function)))
		return -ESTALE;
	if (python_text__read(subject->memory, layout, path, file, sizeof(file)))
		file[0] = '\0';
	runtime_names__add(ret, function, file,
			   find_line(subject, table, first_line, frame->position), first_line);
	return 0;
}

/* Not "python": the names of extension modules have it too. */
static const char *const hints[] = { "libpython", NULL };

const struct language language_python = {
	.kind = RUNTIME_PYTHON,
	.hints = hints,
	.is_in = is_in,
	.open = open_python,
	.name = name_python,
};
