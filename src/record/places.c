/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules and frames get small ids in the order in which they are first seen, and rows in the
 * recording. Frames that no stack uses any more are dropped. A module is dropped with its last
 * frame. Ids are never reused, so a reader may keep them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "bpf/stack.h"
#include "record/samples_internal.h"
#include "vocabulary/runtimes.h"

/* --- modules ---------------------------------------------------------------------------------- */

static uint64_t code_key(enum code_kind kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

static int write_file(struct samples *samples, struct code *code)
{
	struct mapper_module module;

	code->id = ++samples->last_file;
	if (mapper__hold(samples->mapper, code->number, &module))
		module = (struct mapper_module) { .path = "[unknown]" };
	return recording__add_module(samples->recording,
				     &(struct recording_module) {
					     .id = code->id,
					     .kind = module.is_vdso ? "vdso" : "file",
					     .path = module.path,
					     .build_id = module.build_id,
				     });
}

/* One module for each runtime, whatever process it is in: functions are compared by name. */
static int write_runtime(struct samples *samples, struct code *code)
{
	const char *key = runtime__words(code->number)->key;
	char path[32];

	code->id = MODULE_KERNEL - ++samples->last_jit;
	snprintf(path, sizeof(path), "[%s]", key);
	return recording__add_module(
		samples->recording,
		&(struct recording_module) { .id = code->id, .kind = key, .path = path });
}

static int write_code(struct samples *samples, struct code *code)
{
	char path[32];

	if (code->kind == CODE_FILE)
		return write_file(samples, code);
	if (code->kind == CODE_RUNTIME)
		return write_runtime(samples, code);
	code->id = MODULE_KERNEL;
	if (code->kind == CODE_KERNEL)
		return recording__add_module(samples->recording,
					     &(struct recording_module) { .id = code->id,
									  .kind = "kernel",
									  .path = "[kernel]" });
	code->id = MODULE_KERNEL - ++samples->last_jit;
	snprintf(path, sizeof(path), "[jit %" PRIu32 "]", code->number);
	return recording__add_module(
		samples->recording,
		&(struct recording_module) { .id = code->id, .kind = "jit", .path = path });
}

/* Finds or creates the module and counts one use of it. */
static int hold(struct samples *samples, enum code_kind kind, uint32_t number, struct code **ret)
{
	uint64_t key = code_key(kind, number);
	struct code *code = map__get(&samples->modules, key);
	int err = 0;

	if (!code) {
		code = calloc(1, sizeof(*code));
		if (!code || map__put(&samples->modules, key, code)) {
			free(code);
			return -ENOMEM;
		}
		*code = (struct code) { .key = key, .kind = kind, .number = number };
		err = write_code(samples, code);
	}
	code->uses++;
	*ret = code;
	return err;
}

int places__hold_file(struct samples *samples, uint32_t number, struct code **ret)
{
	return hold(samples, CODE_FILE, number, ret);
}

int places__leave(struct samples *samples, struct code *code)
{
	int64_t id = code->id;

	if (--code->uses)
		return 0;
	if (code->kind == CODE_FILE)
		mapper__leave(samples->mapper, code->number);
	naming__forget_module(samples->naming, code);
	free(map__take(&samples->modules, code->key));
	return recording__drop(samples->recording, RECORDING_DROP_MODULE, id);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The address is that of the position, if the object is code; it tells frames apart in any case. */
static int locate_object(struct samples *samples, const uint64_t raw[2], uint32_t pid,
			 struct frame *frame)
{
	frame->pid = pid;
	frame->words = (struct runtime_frame) { .object = FRAME_OBJECT(raw[0]),
						.position = FRAME_POSITION(raw[1]),
						.cookie = FRAME_COOKIE(raw[1]) };
	frame->address = frame->words.object + frame->words.position;
	return hold(samples, CODE_RUNTIME, FRAME_RUNTIME(raw[0]), &frame->code);
}

static int locate(struct samples *samples, uint64_t raw, uint32_t pid, struct frame *frame)
{
	uint32_t module;

	frame->address = raw;
	if (FRAME_IS_KERNEL(raw))
		return hold(samples, CODE_KERNEL, 0, &frame->code);
	if (FRAME_IS_MODULE(raw)) {
		frame->address = FRAME_ADDRESS(raw);
		return hold(samples, CODE_FILE, FRAME_MODULE(raw), &frame->code);
	}
	if (mapper__locate(samples->mapper, pid, raw, &module, &frame->address))
		return hold(samples, CODE_FILE, module, &frame->code);
	/* Code of one process that is in no file: generated at run time (JIT). */
	return hold(samples, CODE_JIT, pid, &frame->code);
}

/* Hashes two 64-bit numbers into one key. There are too few frames for a collision to matter. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	a = (a ^ a >> 32 ^ b << 1) * UINT64_C(0xd6e8feb86659fd93);
	return a ^ a >> 29;
}

static int note_unnamed(struct samples *samples, struct frame *frame)
{
	struct frame **added;

	if (frame->code->kind == CODE_RUNTIME)
		added = APPEND(&samples->objects, &samples->object_count);
	else
		added = APPEND(&samples->unnamed, &samples->unnamed_count);
	if (!added)
		return -ENOMEM;
	*added = frame;
	return 0;
}

static uint64_t frame_key(const uint64_t *raw, uint32_t pid)
{
	if (FRAME_IS_KERNEL(*raw) || FRAME_IS_MODULE(*raw))
		return *raw;
	return FRAME_IS_RUNTIME(*raw) ? mix(mix(raw[0], pid), raw[1]) : mix(*raw, pid);
}

int places__find(struct samples *samples, const uint64_t *raw, uint32_t pid, struct frame **ret)
{
	uint64_t key = frame_key(raw, pid);
	struct frame *frame = map__get(&samples->frames, key);
	int err;

	*ret = frame;
	if (frame)
		return 0;
	frame = calloc(1, sizeof(*frame));
	if (!frame || map__put(&samples->frames, key, frame)) {
		free(frame);
		return -ENOMEM;
	}
	frame->id = ++samples->last_frame;
	err = FRAME_IS_RUNTIME(*raw) ? locate_object(samples, raw, pid, frame)
				     : locate(samples, *raw, pid, frame);
	if (!err)
		err = note_unnamed(samples, frame);
	if (!err)
		err = recording__add_frame(samples->recording, frame->id, frame->code->id,
					   (int64_t)frame->address);
	*ret = frame;
	return err;
}

/* --- dropping frames -------------------------------------------------------------------------- */

struct sweep {
	struct samples *samples;
	uint64_t kept_ns;
	int err; /* the first error */
};

static void note_error(struct sweep *sweep, int err)
{
	if (!sweep->err)
		sweep->err = err;
}

static bool drop_frame(void *context, uint64_t key, void *value)
{
	struct sweep *sweep = context;
	struct samples *samples = sweep->samples;
	struct frame *frame = value;

	if (frame->kept_ns == sweep->kept_ns)
		return false;
	note_error(sweep, recording__drop(samples->recording, RECORDING_DROP_FRAME, frame->id));
	if (frame->function_count) {
		note_error(sweep,
			   recording__drop(samples->recording, RECORDING_DROP_LINES, frame->id));
		note_error(sweep, naming__leave(samples->naming, frame));
	}
	if (frame->code)
		note_error(sweep, places__leave(samples, frame->code));
	free(frame->functions);
	free(frame);
	return true;
}

static void keep(struct frame **frames, size_t *count, uint64_t kept_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (frames[i]->kept_ns == kept_ns)
			frames[kept++] = frames[i];
	*count = kept;
}

int places__sweep(struct samples *samples, uint64_t kept_ns)
{
	struct sweep sweep = { .samples = samples, .kept_ns = kept_ns };

	keep(samples->unnamed, &samples->unnamed_count, kept_ns);
	keep(samples->objects, &samples->object_count, kept_ns);
	map__sweep(&samples->frames, drop_frame, &sweep);
	return sweep.err;
}

void places__release(struct samples *samples)
{
	struct frame *frame;
	size_t at = 0;

	while ((frame = map__next(&samples->frames, &at))) {
		free(frame->functions);
		free(frame);
	}
	map__release(&samples->frames);
	map__free_values(&samples->modules);
	free(samples->unnamed);
	free(samples->objects);
}
