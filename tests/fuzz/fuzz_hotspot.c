/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose memory is hostile, as the readers of HotSpot see it: tables, layout, names,
 * fields of classes and flags must end, stay in bounds, and make names that have an end. The input
 * is the version, offsets, a frame, and what the memory repeats.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/hotspot_frames.h"
#include "runtimes/hotspot.h"
#include "runtimes/hotspot_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_READS 200000

struct input {
	uint8_t what, major;
	uint8_t pad[6];
	uint64_t shift;   /* of the memory */
	uint64_t size;    /* of what is there */
	uint64_t missing; /* fields that the library does not have */
	struct runtime_frame frame;
	uint8_t offsets[16], sizes[8];
};

static const uint8_t *memory;
static size_t memory_size;
static struct input input;
static uint64_t reads;

/* These replace src/runtimes/remote.c and file.c. */
int remote__read(struct remote *remote, uint64_t address, void *to, size_t size)
{
	if (++reads > MOST_READS)
		abort();
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

int remote__read_text(struct remote *remote, uint64_t address, char *to, size_t size)
{
	if (!size || remote__read(remote, address, to, size - 1))
		return -EFAULT;
	to[size - 1] = '\0';
	return (int)strlen(to);
}

int runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wanted[i].address = input.shift ^ i << 12;
	return (int)count;
}

void runtime_names__add(struct runtime_names *names, const char *function, const char *file,
			int line, int first_line)
{
	if (strnlen(function, RUNTIME_MOST_NAME) == RUNTIME_MOST_NAME ||
	    (file && strnlen(file, RUNTIME_MOST_NAME) == RUNTIME_MOST_NAME) ||
	    names->count >= RUNTIME_MOST_INLINE)
		abort();
	names->count++;
}

/* As if the tables had been read. */
static void fill(struct hotspot *hotspot)
{
	hotspot->major = 8 + input.major % 18;
	for (size_t i = 0; i < HOTSPOT_FIELD_COUNT; i++)
		hotspot->fields[i] = (struct hotspot_field) {
			.value = input.offsets[i % sizeof(input.offsets)] + i,
			.bytes = (uint8_t)(2U << input.sizes[i % sizeof(input.sizes)] % 3),
			.is_found = !(input.missing >> i % 64 & 1),
			.is_handle = i & 1,
		};
	for (size_t i = 0; i < HOTSPOT_SIZE_COUNT; i++)
		hotspot->sizes[i] = 1U + input.sizes[i % sizeof(input.sizes)];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_names names;
	static struct hotspot hotspot;
	struct image image = {};
	struct subject subject = { .maps_fd = -1, .file = { .image = &image }, .own = &hotspot };
	bool flags[HOTSPOT_FLAG_COUNT];
	struct runtime_java_locks locks;
	struct runtime_allocated allocated = {};
	uint32_t offset;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	memory = data + sizeof(input);
	memory_size = size - sizeof(input);
	reads = 0;
	fill(&hotspot);
	switch (input.what % 7) {
	case 0:
		(void)hotspot__read_tables(&subject, &hotspot);
		break;
	case 1:
		(void)hotspot__read_layout(&subject, &hotspot);
		break;
	case 2:
		input.frame.cookie = RUNTIME_CLASS_COOKIE;
		/* fall through */
	case 3:
		names.count = 0;
		(void)hotspot__name(&subject, &input.frame, &names);
		break;
	case 4:
		(void)hotspot_fields__find(&subject, input.frame.object, "eetop", &offset);
		break;
	case 5:
		(void)hotspot__read_allocated(&subject, &allocated);
		free(allocated.list);
		break;
	default:
		(void)hotspot__read_flags(&subject, &hotspot, flags);
		(void)hotspot__find_locks(&subject, &locks);
	}
	return 0;
}
