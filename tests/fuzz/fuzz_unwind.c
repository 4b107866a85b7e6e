/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over hostile tables and hostile memory: it must end, stay in bounds, and set walk.end.
 * The input consists of counts, mappings, blocks, rows, registers, and what is known of a language
 * runtime, if bit 1 of the size is not set; the rest is the memory.
 */
#include "../walk.h"

#include <stdlib.h>
#include <string.h>

static unsigned most_reads(const struct runtime *runtime)
{
	return runtime->kind == RUNTIME_HOTSPOT ? HOTSPOT_MOST_STEPS + 8 : 5;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t size;
};

/* If the input is too short, the rest of `to` is unchanged. */
static void take(struct input *input, void *to, size_t size)
{
	if (size > input->size)
		size = input->size;
	memcpy(to, input->at, size);
	input->at += size;
	input->size -= size;
}

/* The memory repeats the rest of the input, up to the highest address. */
static int read_input(void *from, void *to, uint32_t bytes, uint64_t address)
{
	const struct input *memory = from;

	if (!memory->size || address > ARCH_MOST_ADDRESS)
		return -1;
	for (uint32_t i = 0; i < bytes; i++)
		((uint8_t *)to)[i] = memory->at[(address + i) % memory->size];
	return 0;
}

/* Only a few mappings and blocks, so that the walk can succeed. */
static void take_tables(struct input *input, struct unwind_process *process,
			struct unwind_page *blocks, struct unwind_page *rows)
{
	uint8_t counts[4] = {};

	take(input, counts, sizeof(counts));
	memset(process, 0, sizeof(*process));
	memset(blocks, 0, sizeof(*blocks));
	memset(rows, 0, sizeof(*rows));
	process->count = counts[0];
	take(input, process->mappings, counts[1] % 8 * sizeof(*process->mappings));
	take(input, blocks, counts[2] % 16 * sizeof(struct unwind_block));
	take(input, rows, counts[3] * sizeof(struct unwind_row));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	static struct unwind_process process;
	static struct unwind_page blocks, row_pages;
	static struct unwind walk;
	const struct rows rows = { .block_pages = &blocks,
				   .block_page_count = 1,
				   .row_pages = &row_pages,
				   .row_page_count = 1 };
	struct world world = { .modules = { [1] = &rows, [2] = &rows },
			       .read = read_input,
			       .from = &input };
	uint64_t begin[3] = {};

	take_tables(&input, &process, &blocks, &row_pages);
	take(&input, begin, sizeof(begin));
	take(&input, walk.registers, sizeof(walk.registers));
	memset(&process.runtime, 0, sizeof(process.runtime));
	if (!(size & 2))
		take(&input, &process.runtime, sizeof(process.runtime));
	unwind_begin(&walk, 1, begin[0], begin[1], begin[2]);
	walk.beside.thread_pointer = begin[1] ^ begin[2];
	walk_all(&world, &walk, size & 1 ? &process : NULL);
	unwind_finish(&walk);
	if (walk.count == 0 || walk.count > STACK_MOST_WORDS || walk.end >= STACK_END_COUNT)
		abort();
	/*
	 * A thread's state is read once. A native frame of Ruby has two reads more than others, and
	 * one of HotSpot may need several to find where its code begins.
	 */
	if (world.reads > most_reads(&process.runtime) * STACK_MOST_FRAMES + 8 ||
	    world.pages > 2 * STACK_MOST_FRAMES)
		abort();
	return 0;
}
