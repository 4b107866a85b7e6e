/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot, the virtual machine of OpenJDK, 8 to 25: where its code is, and what the walk has to
 * know of its frames. Names are in hotspot_names.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hotspot_frames.h"
#include "runtimes/hotspot.h"

#define LEAST_MAJOR     8
#define MOST_MAJOR      25
#define MOST_HEAP_BYTES (4ULL << 30)
#define MOST_RELEASE    64
#define BYTECODE_WORD   0  /* 64 bytes below the frame pointer */
#define BYTECODE_WORD_8 1  /* in version 8, where a slot is missing */
#define MAJOR_OF_8      25 /* its virtual machine has a version of its own */
#define HOTSPOT_LIBRARY "gHotSpotVMStructs"

static const char *const hints[] = { "libjvm", NULL };

static bool is_in(const struct runtime_file *file)
{
	struct wanted_symbol wanted = { .name = HOTSPOT_LIBRARY };

	return runtime_file__find(file, &wanted, 1) == 1;
}

static uint64_t value_of(const struct hotspot *hotspot, enum hotspot_field_id id)
{
	return hotspot->fields[id].value;
}

/* "17.0.21+9-1-deb12u1-Debian" becomes "17.0.21+9"; "25.504-b08" of version 8 becomes "8u504". */
static int read_version(struct subject *subject, struct hotspot *hotspot)
{
	char release[MOST_RELEASE], *end;
	uint64_t text;
	int err = hotspot__read_field(subject, hotspot, 0, HOTSPOT_RELEASE, &text);

	if (err)
		return err;
	if (!text)
		return -EAGAIN;
	err = remote__read_text(subject->memory, text, release, sizeof(release));
	if (err < 0)
		return err;
	release[strcspn(release, "-")] = '\0';
	hotspot->major = (int)strtol(release, &end, 10);
	if (hotspot->major == MAJOR_OF_8 && hotspot->fields[HOTSPOT_CODE_HEAP].is_found &&
	    *end == '.') {
		hotspot->major = 8;
		snprintf(subject->version, sizeof(subject->version), "8u%.20s", end + 1);
	} else {
		snprintf(subject->version, sizeof(subject->version), "%.30s", release);
	}
	return hotspot->major >= LEAST_MAJOR && hotspot->major <= MOST_MAJOR ? 0 : -ENOTSUP;
}

/* Where a field of a blob is, for the walk. */
static int take_offset(const struct hotspot *hotspot, enum hotspot_field_id id, uint16_t *ret)
{
	const struct hotspot_field *field = &hotspot->fields[id];

	if (!field->is_found || field->value > HOTSPOT_MOST_BLOB - 8)
		return -ENOTSUP;
	*ret = (uint16_t)field->value;
	return 0;
}

static int take_offsets(const struct hotspot *hotspot, struct runtime_hotspot *to)
{
	bool is_relative = !hotspot->fields[HOTSPOT_BLOB_CODE].is_found;
	bool is_short = hotspot->fields[HOTSPOT_BLOB_HEADER].bytes == 2;
	int err = take_offset(hotspot, is_relative ? HOTSPOT_BLOB_CODE_OFFSET : HOTSPOT_BLOB_CODE,
			      &to->code_begin);

	err = err ?: take_offset(hotspot, HOTSPOT_BLOB_FRAME, &to->frame_size);
	err = err ?: take_offset(hotspot, HOTSPOT_BLOB_COMPLETE, &to->frame_complete);
	err = err ?: take_offset(hotspot, HOTSPOT_BLOB_HEADER, &to->header_bytes);
	err = err ?: take_offset(hotspot, HOTSPOT_BLOB_NAME, &to->blob_name);
	err = err ?: take_offset(hotspot, HOTSPOT_COMPILE_ID, &to->compile_id);
	err = err ?: take_offset(hotspot, HOTSPOT_REAL_PC, &to->real_pc);
	err = err
		      ?: take_offset(hotspot, is_relative ? HOTSPOT_DEOPT_OFFSET : HOTSPOT_DEOPT,
				     &to->deopt_handler);
	err = err ?: take_offset(hotspot, HOTSPOT_METHOD_CONST, &to->method_const);
	if (err || (hotspot->fields[HOTSPOT_BLOB_COMPLETE].bytes == 2) != is_short ||
	    hotspot->sizes[HOTSPOT_SIZE_OF_HEAP_BLOCK] > UINT8_MAX)
		return -ENOTSUP;
	to->method_bytes = (uint16_t)hotspot->sizes[HOTSPOT_SIZE_OF_NMETHOD];
	to->const_bytes = (uint16_t)hotspot->sizes[HOTSPOT_SIZE_OF_CONST_METHOD];
	to->block_bytes = (uint8_t)hotspot->sizes[HOTSPOT_SIZE_OF_HEAP_BLOCK];
	to->bytecode_word = hotspot->major == 8 ? BYTECODE_WORD_8 : BYTECODE_WORD;
	to->is_relative = is_relative;
	to->is_short = is_short;
	return 0;
}

/* Heaps grow within the range that was reserved for them, so that range is the area. */
static int take_heap(struct subject *subject, const struct hotspot *hotspot, uint64_t heap,
		     uint32_t area)
{
	struct runtime *runtime = &subject->runtime;
	struct runtime_hotspot *to = &runtime->hotspot;
	uint64_t memory = heap + value_of(hotspot, HOTSPOT_HEAP_MEMORY);
	uint64_t segments = heap + value_of(hotspot, HOTSPOT_HEAP_SEGMENTS);
	uint64_t low, high, map, shift;

	if (!heap || area >= RUNTIME_AREAS)
		return heap ? -ENOTSUP : -EAGAIN;
	if (hotspot__read_field(subject, hotspot, memory, HOTSPOT_SPACE_LOW, &low) ||
	    hotspot__read_field(subject, hotspot, memory, HOTSPOT_SPACE_HIGH, &high) ||
	    hotspot__read_field(subject, hotspot, segments, HOTSPOT_SPACE_LOW, &map) ||
	    hotspot__read_field(subject, hotspot, heap, HOTSPOT_HEAP_SHIFT, &shift))
		return -EFAULT;
	if (!low || !map)
		return -EAGAIN;
	if (high <= low || high - low > MOST_HEAP_BYTES || shift < 4 || shift > 16 ||
	    (area > HOTSPOT_FIRST_HEAP && shift != to->shift))
		return -ENOTSUP;
	runtime->areas[area].begin = low;
	runtime->areas[area].end = high;
	to->segment_maps[area] = map;
	to->shift = (uint8_t)shift;
	to->low = to->low && to->low < low ? to->low : low;
	to->high = to->high > high ? to->high : high;
	return 0;
}

static int take_heaps(struct subject *subject, const struct hotspot *hotspot)
{
	uint64_t heaps, count, data, heap;
	int err;

	if (hotspot->fields[HOTSPOT_CODE_HEAP].is_found) {
		err = hotspot__read_field(subject, hotspot, 0, HOTSPOT_CODE_HEAP, &heap);
		return err ?: take_heap(subject, hotspot, heap, HOTSPOT_FIRST_HEAP);
	}
	if (!hotspot->fields[HOTSPOT_CODE_HEAPS].is_found)
		return -ENOTSUP;
	err = hotspot__read_field(subject, hotspot, 0, HOTSPOT_CODE_HEAPS, &heaps);
	if (err || !heaps)
		return err ?: -EAGAIN;
	if (hotspot__read_field(subject, hotspot, heaps, HOTSPOT_ARRAY_COUNT, &count) ||
	    hotspot__read_field(subject, hotspot, heaps, HOTSPOT_ARRAY_DATA, &data))
		return -EFAULT;
	if (!count || count > RUNTIME_AREAS - HOTSPOT_FIRST_HEAP)
		return count ? -ENOTSUP : -EAGAIN;
	for (uint32_t i = 0; i < count; i++) {
		err = remote__read_u64(subject->memory, data + 8ULL * i, &heap);
		err = err ?: take_heap(subject, hotspot, heap, HOTSPOT_FIRST_HEAP + i);
		if (err)
			return err;
	}
	return 0;
}

/* The interpreter's code is made after the heaps, so they are complete when it is there. */
static int take_interpreter(struct subject *subject, const struct hotspot *hotspot)
{
	struct runtime *runtime = &subject->runtime;
	uint64_t queue, begin, bytes, stub;

	if (hotspot__read_field(subject, hotspot, 0, HOTSPOT_INTERPRETER, &queue) ||
	    hotspot__read_field(subject, hotspot, 0, HOTSPOT_CALL_STUB, &stub))
		return -EFAULT;
	if (!queue || !stub)
		return -EAGAIN;
	if (hotspot__read_field(subject, hotspot, queue, HOTSPOT_QUEUE_BEGIN, &begin) ||
	    hotspot__read_field(subject, hotspot, queue, HOTSPOT_QUEUE_BYTES, &bytes))
		return -EFAULT;
	if (!begin || !bytes)
		return -EAGAIN;
	runtime->hotspot.call_stub = stub;
	runtime->areas[HOTSPOT_INTERPRETED_AREA].begin = begin;
	runtime->areas[HOTSPOT_INTERPRETED_AREA].end = begin + bytes;
	return 0;
}

static int take_library(struct subject *subject)
{
	uint64_t begin, end;
	int err = hotspot__find_code(&subject->file, &begin, &end);

	if (err)
		return err;
	subject->runtime.hotspot.vm_low = subject->file.bias + begin;
	subject->runtime.hotspot.vm_high = subject->file.bias + end;
	return 0;
}

int hotspot__read_layout(struct subject *subject, struct hotspot *hotspot)
{
	int err = read_version(subject, hotspot);

	err = err ?: take_offsets(hotspot, &subject->runtime.hotspot);
	err = err ?: take_library(subject);
	err = err ?: take_interpreter(subject, hotspot);
	return err ?: take_heaps(subject, hotspot);
}

static int open_tables(struct subject *subject, struct hotspot *hotspot)
{
	int err = hotspot__read_tables(subject, hotspot);

	if (!err)
		return hotspot__read_layout(subject, hotspot);
	/* The version is to be told even if something else is missing. */
	if (err == -ENOTSUP && hotspot->fields[HOTSPOT_RELEASE].is_found)
		(void)read_version(subject, hotspot);
	return err;
}

/*
 * Where threads wait for the end of a safepoint: an object that lives as long as the process, with
 * a futex at its beginning. Only a library with all of its symbols tells where it is.
 */
static void take_barrier(struct subject *subject)
{
	struct wanted_symbol wanted = { .name = "_ZN20SafepointSynchronize13_wait_barrierE" };
	uint64_t barrier;

	if (runtime_file__find(&subject->file, &wanted, 1) == 1 &&
	    !remote__read_u64(subject->memory, subject->file.bias + wanted.address, &barrier))
		subject->runtime.hotspot.barrier = barrier;
}

static int hotspot_open(struct subject *subject)
{
	struct hotspot *hotspot = calloc(1, sizeof(*hotspot));
	int err;

	if (!hotspot)
		return -ENOMEM;
	subject->own = hotspot;
	subject->runtime = (struct runtime) { .kind = RUNTIME_HOTSPOT };
	err = open_tables(subject, hotspot);
	if (!err)
		take_barrier(subject);
	/* Until the loader has relocated the library, its variables lead nowhere. */
	return err == -EFAULT ? -EAGAIN : err;
}

static void hotspot_close(struct subject *subject)
{
	free(subject->own);
	subject->own = NULL;
}

/* At the beginning, there are no threads and no classes yet. */
static int hotspot_refine(struct subject *subject)
{
	return subject->own ? hotspot__find_locks(subject, &subject->runtime.hotspot.locks)
			    : -ENOTSUP;
}

static int hotspot_name(struct subject *subject, const struct runtime_frame *frame,
			struct runtime_names *ret)
{
	ret->count = 0;
	return subject->own ? hotspot__name(subject, frame, ret) : -ESTALE;
}

static int hotspot_read_allocated(struct subject *subject, struct runtime_allocated *ret)
{
	return subject->own ? hotspot__read_allocated(subject, ret) : -ENOTSUP;
}

const struct language language_hotspot = {
	.kind = RUNTIME_HOTSPOT,
	.hints = hints,
	.is_in = is_in,
	.open = hotspot_open,
	.refine = hotspot_refine,
	.name = hotspot_name,
	.read_allocated = hotspot_read_allocated,
	.close = hotspot_close,
};
