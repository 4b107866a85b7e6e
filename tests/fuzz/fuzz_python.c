/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose memory is hostile, as the readers of CPython see it: open() and name() must end,
 * stay in bounds, and make names that are UTF-8 and have an end. The input is the version, a frame,
 * and what the memory repeats.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/language.h"
#include "runtimes/python.h"
#include "taken_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t minor, key;
	uint8_t pad[2];
	uint32_t version;
	uint64_t shift; /* of the memory */
	uint64_t size;  /* of what is there */
	struct runtime_frame frame;
};

static const uint8_t *memory;
static size_t memory_size;
static struct input input;
static uint64_t reads;

/* These replace src/runtimes/remote.c and file.c. */
int remote__read(struct remote *remote, uint64_t address, void *to, size_t size)
{
	reads++;
	if (!memory_size || address > INT64_MAX || size > INT64_MAX - address ||
	    (input.size & 1 && address % 65536 + size > input.size % 65536))
		return -EFAULT;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = memory[(address + input.shift + i) % memory_size];
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
	for (size_t i = 0; i < count; i++) {
		wanted[i].address = input.shift ^ i << 12;
		wanted[i].size = input.size;
	}
	return (int)count;
}

int runtime_file__read(const struct runtime_file *file, uint64_t address, void *to, size_t size)
{
	memcpy(to, &input.version, size < sizeof(input.version) ? size : sizeof(input.version));
	return 0;
}

int runtime_file__find_cold(const struct runtime_file *file, const struct wanted_symbol *function,
			    struct wanted_symbol *ret)
{
	return -ENOENT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_names names;
	struct subject subject = { .maps_fd = -1, .file = { .path = "/usr/bin/python3.9" } };

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	memory = data + sizeof(input);
	memory_size = size - sizeof(input);
	reads = 0;
	(void)language_python.open(&subject);
	subject.own = (void *)python_layout__find(8 + input.minor % 7);
	/* A name that is read has the cookie of its address. */
	if (input.key & 1) {
		uint64_t name = 0;
		const struct python_layout *layout = subject.own;

		(void)remote__read_u64(NULL, input.frame.object + layout->name, &name);
		input.frame.cookie = (uint32_t)(name >> 3) & FRAME_COOKIE_MASK;
	}
	names.count = 0;
	if (!language_python.name(&subject, &input.frame, &names) != (names.count == 1))
		abort();
	if (reads > 32)
		abort();
	return 0;
}
