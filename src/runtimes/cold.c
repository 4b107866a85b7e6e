/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compilers move code that is rarely run out of a function, into a part of its own with a local
 * symbol. In a stripped file, such a part is known only by its entry in .eh_frame, and by the jumps
 * that lead from the function into the middle of it. (A jump to the beginning is a call of another
 * function.) Code is not disassembled: every byte may begin a jump, and the part with the most
 * jumps is taken if there are several.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/language.h"

#define MOST_CODE     (1U << 20)
#define MOST_ENTRIES  (1U << 20)
#define MOST_PARTS    8
#define MOST_LOOKUPS  4096
#define LEAST_JUMPS   2
#define HEADER_SIGNS  0x3b031b01U /* version 1, and the usual encodings of three fields */
#define JUMP          0xe9
#define JUMP_IF       0x0f /* … 80 to 8f */
#define OFFSET_BYTES  4
#define FDE_CODE      8 /* where an entry says where its code begins, from there */
#define FDE_CODE_SIZE 12

/* One row of the search table in .eh_frame_hdr; both are relative to its beginning. */
struct place {
	int32_t code, entry;
};

struct search {
	const struct runtime_file *file;
	uint64_t header; /* address of .eh_frame_hdr */
	struct place *table;
	size_t count;
	uint64_t begin, end; /* of the function */
	struct {
		uint64_t begin, end;
		unsigned jumps;
	} parts[MOST_PARTS];
	size_t part_count, lookups;
};

static int read_table(struct search *search)
{
	const struct image *image = search->file->image;
	struct {
		uint32_t signs, frames, count;
	} head;
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(image->elf, &count))
		return -ENOENT;
	for (size_t i = 0; i < count && i < INT32_MAX; i++)
		if (gelf_getphdr(image->elf, (int)i, &header) && header.p_type == PT_GNU_EH_FRAME)
			search->header = header.p_vaddr;
	if (!search->header ||
	    runtime_file__read(search->file, search->header, &head, sizeof(head)) ||
	    head.signs != HEADER_SIGNS || !head.count || head.count > MOST_ENTRIES)
		return -ENOENT;
	search->table = calloc(head.count, sizeof(*search->table));
	if (!search->table)
		return -ENOMEM;
	search->count = head.count;
	return runtime_file__read(search->file, search->header + sizeof(head), search->table,
				  head.count * sizeof(*search->table));
}

/* The code of the entry with `address` in it. */
static int find_entry(struct search *search, uint64_t address, uint64_t *ret_begin,
		      uint64_t *ret_end)
{
	int64_t at = (int64_t)(address - search->header);
	size_t low = 0, high = search->count;
	uint32_t size;
	int32_t to;
	uint64_t entry;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->table[middle].code <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	*ret_begin = search->header + (uint64_t)(int64_t)search->table[low - 1].code;
	entry = search->header + (uint64_t)(int64_t)search->table[low - 1].entry;
	if (runtime_file__read(search->file, entry + FDE_CODE, &to, sizeof(to)) ||
	    runtime_file__read(search->file, entry + FDE_CODE_SIZE, &size, sizeof(size)) ||
	    entry + FDE_CODE + (uint64_t)(int64_t)to != *ret_begin)
		return -ENOENT;
	*ret_end = *ret_begin + size;
	return address < *ret_end ? 0 : -ENOENT;
}

static void take_jump(struct search *search, uint64_t to)
{
	uint64_t begin, end;

	if (to >= search->begin && to < search->end)
		return;
	for (size_t i = 0; i < search->part_count; i++)
		if (to > search->parts[i].begin && to < search->parts[i].end) {
			search->parts[i].jumps++;
			return;
		}
	if (search->part_count == MOST_PARTS || search->lookups++ == MOST_LOOKUPS)
		return;
	if (find_entry(search, to, &begin, &end) || to == begin)
		return;
	search->parts[search->part_count].begin = begin;
	search->parts[search->part_count].end = end;
	search->parts[search->part_count++].jumps = 1;
}

static void take_code(struct search *search, const uint8_t *code, size_t size)
{
	for (size_t i = 0; i + 2 + OFFSET_BYTES <= size; i++) {
		size_t length = code[i] == JUMP                                      ? 1
				: code[i] == JUMP_IF && (code[i + 1] & 0xf0) == 0x80 ? 2
										     : 0;
		int32_t offset;

		if (!length)
			continue;
		memcpy(&offset, code + i + length, sizeof(offset));
		take_jump(search,
			  search->begin + i + length + OFFSET_BYTES + (uint64_t)(int64_t)offset);
	}
}

static bool is_x86(const struct runtime_file *file)
{
	GElf_Ehdr header;

	return gelf_getehdr(file->image->elf, &header) && header.e_machine == EM_X86_64;
}

static int take_jumps(struct search *search, const struct wanted_symbol *function)
{
	cleanup(free_p) uint8_t *code = NULL;
	int err = read_table(search);

	if (err)
		return err;
	code = malloc(function->size + 1);
	if (!code)
		return -ENOMEM;
	if (runtime_file__read(search->file, function->address, code, function->size))
		return -ENOENT;
	take_code(search, code, function->size);
	return 0;
}

int runtime_file__find_cold(const struct runtime_file *file, const struct wanted_symbol *function,
			    struct wanted_symbol *ret)
{
	struct search search = { .file = file,
				 .begin = function->address,
				 .end = function->address + function->size };
	unsigned most = LEAST_JUMPS - 1;
	int err;

	if (!is_x86(file) || !function->address || function->size > MOST_CODE)
		return -ENOENT;
	err = take_jumps(&search, function);
	free(search.table);
	if (err)
		return err;
	for (size_t i = 0; i < search.part_count; i++) {
		if (search.parts[i].jumps <= most)
			continue;
		most = search.parts[i].jumps;
		ret->address = search.parts[i].begin;
		ret->size = search.parts[i].end - search.parts[i].begin;
	}
	return most < LEAST_JUMPS ? -ENOENT : 0;
}
