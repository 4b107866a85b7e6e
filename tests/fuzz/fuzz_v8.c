/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose memory is hostile, as the reader of V8 sees it: name() must end, stay in bounds,
 * and make names that are UTF-8 and have an end. The input is the version, frames, and what the
 * memory repeats. Whether an object has a type is told by its address, so that the input need not
 * have maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/v8.h"
#include "taken_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES (4UL << 20) /* that can be read, so that an input does not take long */
#define MOST_READS 400000      /* a search for code looks at each address of a megabyte */
#define FRAMES     4

struct input {
	uint8_t version, kinds, pad[2];
	uint32_t absent; /* of each 65536 bytes, those from here on are not there; 0: all are */
	struct runtime_frame frames[FRAMES];
};

static const uint8_t versions[][2] = { { 9, 4 },  { 9, 6 },  { 10, 2 }, { 10, 8 }, { 11, 3 },
				       { 11, 8 }, { 12, 4 }, { 12, 9 }, { 13, 6 }, { 14, 1 } };
/* In the order of enum v8_type, and some strings. */
static const uint16_t types[16] = {
	262, 261, 167, 191, 245, 128, 8, 0, 1, 9, 10, 2, 3, 11, 13, 262
};

static const uint8_t *memory;
static size_t memory_size, bytes_read;
static struct input input;
static uint64_t reads;

/* These replace src/runtimes/remote.c and file.c. */
int remote__read(struct remote *remote, uint64_t address, void *to, size_t size)
{
	uint8_t *at = to;

	reads++;
	bytes_read += size;
	if (!memory_size || address > INT64_MAX || size > INT64_MAX - address ||
	    bytes_read > MOST_BYTES ||
	    (input.absent && address % 65536 + size > input.absent % 65536))
		return -EFAULT;
	if (size == sizeof(*types)) {
		memcpy(to, &types[(address >> 4) % 16], size);
		return 0;
	}
	while (size) {
		size_t from = address % memory_size, some = memory_size - from;

		some = some < size ? some : size;
		memcpy(at, memory + from, some);
		at += some;
		address += some;
		size -= some;
	}
	return 0;
}

int remote__read_u64(struct remote *remote, uint64_t address, uint64_t *ret)
{
	return remote__read(remote, address, ret, sizeof(*ret));
}

int remote__read_u32(struct remote *remote, uint64_t address, uint32_t *ret)
{
	return remote__read(remote, address, ret, sizeof(*ret));
}

int runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted, size_t count)
{
	return 0;
}

int runtime_file__read(const struct runtime_file *file, uint64_t address, void *to, size_t size)
{
	return -EFAULT;
}

int runtime_file__find_cold(const struct runtime_file *file, const struct wanted_symbol *function,
			    struct wanted_symbol *ret)
{
	return -ENOENT;
}

/* As open() leaves it. */
static struct v8 *make(void)
{
	const uint8_t *version = versions[input.version % (sizeof(versions) / sizeof(*versions))];
	struct v8 *v8 = calloc(1, sizeof(*v8));

	if (!v8 || v8_lines__new(&v8->lines))
		abort();
	v8->layout = v8_layout__find(version[0], version[1]);
	memcpy(v8->types, types, sizeof(v8->types));
	v8->bytecodes = 200;
	memset(v8->bytecode_sizes, 1 + input.version / 16 % 4, sizeof(v8->bytecode_sizes));
	return v8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_names names;
	struct subject subject = { .maps_fd = -1 };
	int err, id;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	memory = data + sizeof(input);
	memory_size = size - sizeof(input);
	bytes_read = 0;
	subject.own = make();
	for (int i = 0; i < FRAMES; i++) {
		struct runtime_frame *frame = &input.frames[i];

		reads = 0;
		names.count = 0;
		/* An object that is a function has the cookie of its number. */
		id = v8_function__id(subject.own, frame->object + 1);
		if (input.kinds >> i & 1 && id >= 0)
			frame->cookie = V8_COOKIE(V8_COOKIE_KIND(frame->cookie), (uint32_t)id,
						  (uint64_t)V8_COOKIE_UPPER(frame->cookie) << 32);
		err = language_v8.name(&subject, frame, &names);
		if (!err != (names.count > 0) && err != -ESTALE)
			abort();
		if (reads > MOST_READS)
			abort();
	}
	language_v8.close(&subject);
	return 0;
}
