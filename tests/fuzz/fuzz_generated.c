/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk in code that HotSpot and V8 have generated, over hostile memory: it must end, stay in
 * bounds, and read no more than so much of each frame. The input is the kind, registers and what is
 * known of the runtime; the rest is the memory. Some of its words are turned into addresses of code
 * or of the stack, so that the walk goes on.
 */
#include "../walk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MODULE     1
#define PROGRAM    0x400000ULL
#define AREA(i)    (0x7f0000000000ULL + ((uint64_t)(i) << 24))
#define AREA_BYTES (1ULL << 24)
#define STACK      0x7ffc00000000ULL

/* Of one frame: the segment map, the blob (twice), code, and words of the stack three times. */
#define MOST_READS (HOTSPOT_MOST_STEPS + 8)

struct input {
	uint8_t is_hotspot, is_exact, pad[6];
	uint64_t pc, sp, bp;
	uint64_t registers[ARCH_REGISTERS];
	union {
		struct runtime_hotspot hotspot;
		struct runtime_v8 v8;
	} runtime;
};

struct memory {
	const uint8_t *bytes;
	size_t size;
};

/* By the two highest bits. */
static uint64_t make_address(uint64_t word)
{
	switch (word >> 62) {
	case 0:
		return AREA(word >> 56 & 7) + (word & (AREA_BYTES - 1));
	case 1:
		return STACK + (word & 0xffff8);
	case 2:
		return PROGRAM + (word & 0xffff);
	default:
		return word << 2 >> 2;
	}
}

static int read_input(void *from, void *to, uint32_t bytes, uint64_t address)
{
	const struct memory *memory = from;

	if (!memory->size || address > ARCH_MOST_ADDRESS || !(address >> 12))
		return -1;
	for (uint32_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = memory->bytes[(address + i) % memory->size];
	for (uint32_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t word;

		memcpy(&word, (uint8_t *)to + i, 8);
		word = make_address(word);
		memcpy((uint8_t *)to + i, &word, 8);
	}
	return 0;
}

static void make_runtime(struct runtime *runtime, const struct input *input)
{
	memset(runtime, 0, sizeof(*runtime));
	runtime->kind = input->is_hotspot & 1 ? RUNTIME_HOTSPOT : RUNTIME_V8;
	for (int i = 0; i < RUNTIME_AREAS; i++) {
		runtime->areas[i].begin = AREA(i);
		runtime->areas[i].end = AREA(i) + AREA_BYTES;
	}
	memcpy(runtime->room, &input->runtime, sizeof(input->runtime));
	if (runtime->kind != RUNTIME_HOTSPOT)
		return;
	runtime->hotspot.low = AREA(0);
	runtime->hotspot.high = AREA(RUNTIME_AREAS);
	runtime->hotspot.vm_low = PROGRAM;
	runtime->hotspot.vm_high = PROGRAM + 0x10000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct unwind_process empty;
	static struct unwind_page no_blocks;
	const struct rows rows = { .block_pages = &no_blocks, .block_page_count = 1 };
	static struct unwind_process process;
	static struct unwind walk;
	struct input input;
	struct memory memory;
	struct world world = { .modules = { [MODULE] = &rows },
			       .read = read_input,
			       .from = &memory };

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	memory = (struct memory) { data + sizeof(input), size - sizeof(input) };
	process = empty;
	process.count = 1;
	process.mappings[0] = (struct unwind_mapping) {
		.page_and_module = PROGRAM >> UNWIND_PAGE_SHIFT << UNWIND_MODULE_BITS | MODULE,
		.pages = 16,
	};
	make_runtime(&process.runtime, &input);
	memcpy(walk.registers, input.registers, sizeof(walk.registers));
	unwind_begin(&walk, 1, make_address(input.pc), make_address(input.sp),
		     make_address(input.bp));
	walk.exact = input.is_exact & 1;
	walk_all(&world, &walk, &process);
	if (walk.count > STACK_MOST_WORDS || walk.end >= STACK_END_COUNT)
		abort();
	if (world.reads > (uint64_t)MOST_READS * STACK_MOST_FRAMES)
		abort();
	for (uint32_t i = 0; i < walk.count; i++)
		if (FRAME_IS_RUNTIME(walk.frames[i]) && ++i == walk.count)
			abort();
	return 0;
}
