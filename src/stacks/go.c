/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows for Go programs. Go describes its frames twice. .debug_frame is missing in many shipped
 * programs, and says nothing about the frame pointer. The other table (.gopclntab) is for Go's
 * garbage collector; it is always there and has the names of the functions. We read the latter: for
 * each function, it gives the distance from sp to the return address at every instruction. If a
 * function has a frame, the assembler saves the caller's bp just below the return address.
 *
 * Neither table says that some functions of the runtime switch to another stack. These functions
 * are recognised by name. Checked against asm_amd64.s and sys_linux_amd64.s of Go 1.16, 1.19 and
 * the development tree of 1.28; time_linux_amd64.s, race_amd64.s and runtime/cgo of 1.19.
 *
 * Before Go 1.21 some of these functions (systemstack, asmcgocall) have no frame. There, bp is the
 * frame pointer of their caller, so the walk continues at the caller's caller: one function of the
 * runtime is missing in the stack.
 */
#include "stacks/go.h"

#include <errno.h>
#include <string.h>

#define MOST_NAME  64
#define MAGIC_1_16 0xfffffffaU
#define MAGIC_1_18 0xfffffff0U
#define MAGIC_1_20 0xfffffff1U

#define MOST_STEPS (64U << 20) /* of all functions: in a hostile table many can share steps */
#define MOST_FRAME (1 << 30)

/*
 * Up to Go 1.20 a function begins with sub, mov bp to the stack, lea to bp; later with push bp, mov
 * sp to bp, sub. In both cases sp and bp are set within PROLOGUE_BYTES. From sub, the mov is less
 * than SAVE_BYTES away, and the lea more.
 */
#define PROLOGUE_BYTES 24
#define CHECK_BYTES    32 /* longest code before sub: the stack overflow check */
#define SAVE_BYTES     8
#define EPILOGUE_BYTES 9 /* mov and add, at most: bp is already the caller's */

struct go {
	const uint8_t *bytes;
	size_t size;
	bool has_addresses; /* 8 bytes each; otherwise 4 bytes, relative to `text` */
	uint64_t text;
	uint64_t count;
	uint64_t names, steps, functions; /* offsets of these tables */
	uint64_t steps_left;
};

struct function {
	uint64_t begin, end;
	const char *name;
	size_t name_size;
	bool has_steps; /* C functions that Go linked have no steps */
	struct cursor steps;
};

static const struct {
	const char *name;
	enum unwind_kind kind;
} special[] = {
	/* first functions of threads and goroutines */
	{ "_rt0_amd64", UNWIND_END },
	{ "_rt0_amd64_linux", UNWIND_END },
	{ "runtime.rt0_go", UNWIND_END },
	{ "runtime.mstart", UNWIND_END },
	{ "runtime.goexit", UNWIND_END },
	/* jump to a goroutine: halfway through, sp is on its stack, but nobody there called them */
	{ "gogo", UNWIND_END },
	{ "runtime.gogo", UNWIND_END },
	/* switch to the scheduler's stack and do not return: another goroutine may run next */
	{ "runtime.mcall", UNWIND_BOTTOM },
	{ "runtime.morestack", UNWIND_BOTTOM },
	{ "runtime.clone", UNWIND_BOTTOM },
	/* call a function on another stack, or on this one after realigning it; bp stays valid */
	{ "runtime.systemstack", UNWIND_SWITCH },
	{ "runtime.asmcgocall", UNWIND_SWITCH },
	{ "runtime.asmcgocall_no_g", UNWIND_SWITCH },
	{ "runtime.cgocallback", UNWIND_SWITCH },
	{ "runtime.nanotime1", UNWIND_SWITCH },
	{ "runtime.walltime1", UNWIND_SWITCH },
	{ "runtime.vgetrandom1", UNWIND_SWITCH },
	{ "time.now", UNWIND_SWITCH },
	{ "runtime.callCgoMmap", UNWIND_SWITCH },
	{ "runtime.callCgoMunmap", UNWIND_SWITCH },
	{ "runtime.callCgoSigaction", UNWIND_SWITCH },
	{ "runtime.sigfwd", UNWIND_SWITCH },
	{ "racecall", UNWIND_SWITCH },
	/* return from a signal handler */
	{ "runtime.sigreturn", UNWIND_SIGNAL },
	{ "runtime.sigreturn__sigaction", UNWIND_SIGNAL },
};

/* --- the table ------------------------------------------------------------------------------ */

static struct cursor cursor_at(const struct go *go, uint64_t base, uint64_t offset)
{
	struct cursor cursor = { .at = go->bytes + go->size, .end = go->bytes + go->size };
	uint64_t at;

	if (__builtin_add_overflow(base, offset, &at) || at > go->size)
		cursor.bad = true;
	else
		cursor.at = go->bytes + at;
	return cursor;
}

static int read_header(struct go *go)
{
	struct cursor cursor = cursor_at(go, 0, 0);
	uint32_t magic = (uint32_t)cursor__fixed(&cursor, 4);

	/* two bytes of padding, the minimum size of an instruction, the size of an address */
	if (cursor__fixed(&cursor, 4) != 0x08010000 ||
	    (magic != MAGIC_1_16 && magic != MAGIC_1_18 && magic != MAGIC_1_20))
		return -ENODATA;
	go->has_addresses = magic == MAGIC_1_16;
	go->count = cursor__fixed(&cursor, 8);
	cursor__fixed(&cursor, 8); /* files */
	if (!go->has_addresses)
		go->text = cursor__fixed(&cursor, 8);
	go->names = cursor__fixed(&cursor, 8);
	cursor__block(&cursor, 16); /* units, names of files */
	go->steps = cursor__fixed(&cursor, 8);
	go->functions = cursor__fixed(&cursor, 8);
	/* An entry has two numbers, and one number follows the last entry. */
	if (cursor.bad || go->functions > go->size ||
	    go->count > (go->size - go->functions) / (go->has_addresses ? 16 : 8))
		return -ENODATA;
	return 0;
}

static int read_function(const struct go *go, uint64_t i, struct function *ret)
{
	const size_t width = go->has_addresses ? 8 : 4;
	struct cursor entry = cursor_at(go, go->functions, i * 2 * width);
	struct cursor details, name;
	uint64_t where, steps;

	ret->begin = go->text + cursor__fixed(&entry, width);
	where = cursor__fixed(&entry, width);
	ret->end = go->text + cursor__fixed(&entry, width);
	details = cursor_at(go, go->functions, where);
	cursor__fixed(&details, width); /* begin */
	name = cursor_at(go, go->names, cursor__fixed(&details, 4));
	cursor__fixed(&details, 8); /* size of arguments, deferred calls */
	steps = cursor__fixed(&details, 4);
	ret->has_steps = steps != 0;
	ret->steps = cursor_at(go, go->steps, steps);
	ret->name = (const char *)name.at;
	/* Only as far as known names go: in a hostile file, the whole table may be one name. */
	ret->name_size = strnlen(ret->name, (size_t)(name.end - name.at) < MOST_NAME
						    ? (size_t)(name.end - name.at)
						    : MOST_NAME);
	return entry.bad || details.bad || name.bad || ret->steps.bad ? -EBADMSG : 0;
}

static bool has_name(const struct function *function, const char *name)
{
	return strlen(name) == function->name_size &&
	       !memcmp(function->name, name, function->name_size);
}

static enum unwind_kind kind_of(const struct function *function)
{
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		if (has_name(function, special[i].name))
			return special[i].kind;
	return UNWIND_SP;
}

/*
 * If a table does not say where the code begins, we assume .text. That is wrong if the linker put
 * something before it. To check, the entry point of the program must be Go's own, as it is if Go
 * linked the program.
 */
static int find_text(struct go *go, uint64_t text, uint64_t entry)
{
	struct function function;

	if (go->has_addresses || go->text)
		return 0;
	go->text = text;
	for (uint64_t i = 0; i < go->count; i++)
		if (!read_function(go, i, &function) && function.begin == entry)
			return has_name(&function, "_rt0_amd64_linux") ? 0 : -ENODATA;
	return -ENODATA;
}

/* --- rows ----------------------------------------------------------------------------------- */

/* A part of a function in which sp is constant. */
struct part {
	uint64_t begin, end;
	int64_t size, size_before; /* from sp to the return address */
};

/* false: there is no further part. */
static bool next_part(struct go *go, struct function *function, struct part *part)
{
	bool is_first = part->end == function->begin;
	uint64_t change = cursor__unsigned(&function->steps);
	uint64_t bytes = cursor__unsigned(&function->steps);

	if ((!change && !is_first) || !bytes || function->steps.bad || !go->steps_left)
		return false;
	go->steps_left--;
	part->begin = part->end;
	if (part->begin >= function->end)
		return false;
	part->end = bytes < function->end - part->begin ? part->begin + bytes : function->end;
	if (change >> 1 > MOST_FRAME)
		return false;
	part->size_before = part->size;
	/* Zigzag encoding: 0, -1, 1, -2 … */
	part->size += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
	if (is_first)
		part->size_before = part->size;
	return part->size >= 0 && part->size <= MOST_FRAME;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int add_plain(struct frames *frames, const struct function *function, struct span *span,
		     const struct part *part, enum unwind_kind kind)
{
	struct unwind_row row = { .kind = (uint8_t)kind, .offset = (int32_t)part->size + 8 };
	uint64_t begin = part->begin;
	int err;

	if (part->size > 8 && !part->size_before && begin - function->begin < CHECK_BYTES) {
		err = frames__add_place(frames, span, begin, row);
		if (err)
			return err;
		begin += SAVE_BYTES;
	}
	if (begin >= part->end)
		return 0;
	row.bp = part->size >= 8 ? 2 : 0;
	return frames__add_place(frames, span, begin, row);
}

/* Such a function is like others before it sets bp and after it restored bp. */
static int add_switch(struct frames *frames, const struct function *function, struct span *span,
		      const struct part *part)
{
	const struct unwind_row row = { .kind = UNWIND_SWITCH };
	uint64_t begin = part->begin, end = part->end;
	struct part rest = *part;
	int err = 0;

	if (part->size) {
		begin = later(begin, function->begin + PROLOGUE_BYTES);
		end -= EPILOGUE_BYTES < end - part->begin ? EPILOGUE_BYTES : end - part->begin;
	}
	/* A function without a frame has a single part. */
	if (begin >= end || (!part->size && end - begin < PROLOGUE_BYTES))
		return add_plain(frames, function, span, part, UNWIND_SP);
	rest.end = begin;
	if (rest.begin < rest.end)
		err = add_plain(frames, function, span, &rest, UNWIND_SP);
	if (!err)
		err = frames__add_place(frames, span, begin, row);
	rest.begin = end;
	rest.end = part->end;
	rest.size_before = rest.size;
	return err || rest.begin == rest.end ? err
					     : add_plain(frames, function, span, &rest, UNWIND_SP);
}

static int add_parts(struct go *go, struct frames *frames, struct function *function,
		     struct span *span, enum unwind_kind kind)
{
	struct part part = { .end = function->begin, .size = -1 };
	int err = 0;

	while (!err && next_part(go, function, &part)) {
		span->end = part.end;
		err = kind == UNWIND_SWITCH ? add_switch(frames, function, span, &part)
					    : add_plain(frames, function, span, &part, kind);
	}
	return err;
}

static int add_function(struct go *go, struct frames *frames, struct function *function)
{
	struct span span = { .begin = function->begin,
			     .end = function->end,
			     .first = (uint32_t)frames->place_count,
			     .is_debug = true };
	enum unwind_kind kind = kind_of(function);
	int err;

	if (!function->has_steps)
		return 0;
	if (span.end <= span.begin || !frames__clip(frames, &span))
		return -EBADMSG;
	function->end = span.end;
	/* A handler's return address follows no call: the byte before is in another function. */
	if (kind == UNWIND_SIGNAL)
		span.begin--;
	if (kind == UNWIND_SIGNAL || kind == UNWIND_END)
		err = frames__add_place(frames, &span, span.begin,
					(struct unwind_row) { .kind = (uint8_t)kind });
	else
		err = add_parts(go, frames, function, &span, kind);
	if (err)
		return err;
	span.count = (uint32_t)(frames->place_count - span.first);
	return span.count ? frames__add_span(frames, &span) : -EBADMSG;
}

int go__read(const Elf_Data *table, uint64_t text, uint64_t entry, struct frames *frames)
{
	struct go go = { .bytes = table->d_buf, .size = table->d_size, .steps_left = MOST_STEPS };
	struct function function;
	int err = read_header(&go);

	if (!err)
		err = find_text(&go, text, entry);
	if (err)
		return err;
	for (uint64_t i = 0; i < go.count; i++) {
		err = read_function(&go, i, &function);
		if (!err)
			err = add_function(&go, frames, &function);
		if (err && err != -EBADMSG)
			return err;
		frames->broken_count += err != 0;
	}
	return 0;
}
