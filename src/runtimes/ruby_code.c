/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What only the machine code of CRuby tells. Up to 3.1, the functions and variables have names in
 * the dynamic symbol table. Since then they are hidden.
 *
 * The loop: instructions of Ruby are addresses of machine code in one function, vm_exec_core().
 * The library has a table with the addresses of all of them, more than 150. No other function has
 * so many: the next one is that of regular expressions, with about 100.
 *
 * The execution context: rb_errinfo(), which every version exports, begins by loading its address.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/ruby.h"

#define LEAST_INSTRUCTIONS 150
#define LEAST_LOOP_BYTES   8192
#define MOST_LOOP_BYTES    (1U << 20)
#define MOST_FUNCTIONS     (1U << 20)
/* Tables of pointers are among the data, of which so much is read. */
#define MOST_DATA_BYTES (16ULL << 20)
#define BLOCK_WORDS     2048

/* --- where functions begin -------------------------------------------------------------------- */

/* `.eh_frame_hdr`: a table of 32-bit offsets from its own address, sorted. */
struct entry {
	int32_t function, description;
};

struct functions {
	uint64_t base;
	struct entry *entries;
	size_t count;
};

static void functions_release(struct functions *functions)
{
	free(functions->entries);
}

static bool find_header(const struct runtime_file *file, uint32_t type, GElf_Phdr *ret)
{
	size_t count = 0;

	if (elf_getphdrnum(file->image->elf, &count))
		return false;
	for (size_t i = 0; i < count && i < INT32_MAX; i++)
		if (gelf_getphdr(file->image->elf, (int)i, ret) && ret->p_type == type)
			return true;
	return false;
}

static int functions_load(const struct runtime_file *file, struct functions *ret)
{
	/* Version 1; the encodings of all compilers on 64-bit machines. */
	static const uint8_t expected[] = { 1, 0x1b, 0x03, 0x3b };
	struct {
		uint8_t kind[4];
		int32_t frames;
		uint32_t count;
	} head;
	GElf_Phdr header;
	size_t bytes;

	if (!find_header(file, PT_GNU_EH_FRAME, &header) ||
	    runtime_file__read(file, header.p_vaddr, &head, sizeof(head)) ||
	    memcmp(head.kind, expected, sizeof(expected)) != 0 || !head.count ||
	    head.count > MOST_FUNCTIONS)
		return -ENOTSUP;
	bytes = head.count * sizeof(*ret->entries);
	ret->entries = malloc(bytes);
	if (!ret->entries)
		return -ENOMEM;
	ret->base = header.p_vaddr;
	ret->count = head.count;
	return runtime_file__read(file, header.p_vaddr + sizeof(head), ret->entries, bytes)
		       ? -ENOTSUP
		       : 0;
}

/* The function with `address`, up to the beginning of the next one. */
static bool functions_find(const struct functions *functions, uint64_t address, uint64_t *ret_begin,
			   uint64_t *ret_end)
{
	int64_t offset = (int64_t)(address - functions->base);
	size_t low = 0, high = functions->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions->entries[middle].function <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || low == functions->count)
		return false;
	*ret_begin = functions->base + (uint64_t)(int64_t)functions->entries[low - 1].function;
	*ret_end = functions->base + (uint64_t)(int64_t)functions->entries[low].function;
	return *ret_end > *ret_begin;
}

/* --- the loop --------------------------------------------------------------------------------- */

struct search {
	const struct subject *subject;
	struct functions functions;
	uint64_t code, code_bytes; /* in the file */
	uint64_t begin, end;       /* function of the last pointer; 0: it was not one */
	size_t count;              /* of pointers into it, one after the other */
	uint64_t found;            /* 0: none */
	size_t candidates;
};

static void take_word(struct search *search, uint64_t word)
{
	uint64_t address = word - search->subject->file.bias, bytes;

	if (address >= search->begin && address < search->end) {
		if (++search->count != LEAST_INSTRUCTIONS)
			return;
		search->candidates += search->found != search->begin;
		search->found = search->begin;
		return;
	}
	search->count = 1;
	search->begin = search->end = 0;
	if (address - search->code >= search->code_bytes ||
	    !functions_find(&search->functions, address, &search->begin, &search->end))
		return;
	bytes = search->end - search->begin;
	if (bytes < LEAST_LOOP_BYTES || bytes > MOST_LOOP_BYTES)
		search->begin = search->end = 0;
}

static void look_at(struct search *search, uint64_t address, uint64_t bytes)
{
	uint64_t words[BLOCK_WORDS];

	while (bytes >= sizeof(*words)) {
		size_t part = bytes < sizeof(words) ? bytes & ~7ULL : sizeof(words);

		if (!remote__read(search->subject->memory, search->subject->file.bias + address,
				  words, part))
			for (size_t i = 0; i < part / sizeof(*words); i++)
				take_word(search, words[i]);
		address += part;
		bytes -= part;
	}
}

/* Looks through what is mapped and is not code. */
static void look_through(struct search *search)
{
	uint64_t left = MOST_DATA_BYTES;
	GElf_Phdr header;
	size_t count = 0;

	if (elf_getphdrnum(search->subject->file.image->elf, &count))
		return;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		uint64_t begin, bytes;

		if (!gelf_getphdr(search->subject->file.image->elf, (int)i, &header) ||
		    header.p_type != PT_LOAD || header.p_flags & PF_X)
			continue;
		begin = (header.p_vaddr + 7) & ~7ULL;
		bytes = header.p_filesz < left ? header.p_filesz : left;
		left -= bytes;
		look_at(search, begin, bytes);
	}
}

static bool find_code(const struct runtime_file *file, uint64_t *ret, uint64_t *ret_bytes)
{
	GElf_Phdr header;
	size_t count = 0;

	if (elf_getphdrnum(file->image->elf, &count))
		return false;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		if (!gelf_getphdr(file->image->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X))
			continue;
		*ret = header.p_vaddr;
		*ret_bytes = header.p_filesz;
		return true;
	}
	return false;
}

/* Adds the function with `address`, unless it is there. Without room for it, it is left out. */
static void add_area(const struct search *search, uint64_t address, struct runtime *ret)
{
	uint64_t begin, end, bias = search->subject->file.bias;
	size_t i = 0;

	if (!functions_find(&search->functions, address, &begin, &end))
		return;
	while (i < RUNTIME_AREAS && ret->areas[i].end && ret->areas[i].begin != bias + begin)
		i++;
	if (i == RUNTIME_AREAS)
		return;
	ret->areas[i].begin = bias + begin;
	ret->areas[i].end = bias + end;
}

#define CALL       0xe8
#define CALL_BYTES 5

/* Adds the functions that call the loop. */
static void add_callers(const struct search *search, struct runtime *ret)
{
	uint8_t code[16384];
	uint64_t at = 0;

	while (at + CALL_BYTES <= search->code_bytes) {
		uint64_t left = search->code_bytes - at, address = search->code + at;
		size_t size = left < sizeof(code) ? left : sizeof(code);

		if (runtime_file__read(&search->subject->file, address, code, size))
			return;
		for (size_t i = 0; i + CALL_BYTES <= size; i++) {
			int32_t distance;

			memcpy(&distance, code + i + 1, sizeof(distance));
			if (code[i] == CALL &&
			    address + i + CALL_BYTES + (uint64_t)(int64_t)distance == search->found)
				add_area(search, address + i, ret);
		}
		at += size - CALL_BYTES + 1;
	}
}

int ruby_code__find_loop(const struct subject *subject, struct runtime *ret)
{
	cleanup(functions_release) struct functions functions = {};
	struct search search = { .subject = subject };
	int err = functions_load(&subject->file, &functions);

	if (err)
		return err;
	if (!find_code(&subject->file, &search.code, &search.code_bytes))
		return -ENOTSUP;
	search.functions = functions;
	look_through(&search);
	if (search.candidates != 1)
		return -ENOTSUP;
	add_area(&search, search.found, ret);
	add_callers(&search, ret);
	return 0;
}

/* --- the execution context -------------------------------------------------------------------- */

#define CODE_BYTES 64
/* The longest sequence below. */
#define SEQUENCE_BYTES 24
#define MOST_MODULES   4096
#define MOST_VARIABLES (1ULL << 20)

/* One of the ways in which compilers load a variable of a thread. */
struct access {
	enum { BY_MODULE, BY_OFFSET, FIXED } kind;
	uint64_t at;     /* in the file: module and offset, or the offset from the thread pointer */
	int64_t offset;  /* FIXED: from the thread pointer; BY_MODULE: in the block, … */
	bool has_offset; /* … unless it is behind the module */
};

static int32_t word_at(const uint8_t *code)
{
	int32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

/* The displacement of "mov …(%rax),%REG". */
static bool decode_load(const uint8_t *code, int64_t *ret)
{
	if (code[0] != 0x48 || code[1] != 0x8b)
		return false;
	if ((code[2] & 0xc7) == 0)
		*ret = 0;
	else if ((code[2] & 0xc7) == 0x40)
		*ret = code[3] < 0x80 ? code[3] : code[3] - 0x100;
	else if ((code[2] & 0xc7) == 0x80)
		*ret = word_at(code + 3);
	else
		return false;
	return true;
}

/* `address` is that of the first byte of `code`, of which SEQUENCE_BYTES can be read. */
static bool decode(const uint8_t *code, uint64_t address, struct access *ret)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x3d }, load[] = { 0x48, 0x8b, 0x05 },
			     indirect[] = { 0x64, 0x48, 0x8b, 0x00 },
			     direct[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 };

	if (!memcmp(code, direct, sizeof(direct))) {
		*ret = (struct access) { .kind = FIXED, .offset = word_at(code + 5) };
		return true;
	}
	if (!memcmp(code, load, sizeof(load)) && !memcmp(code + 7, indirect, sizeof(indirect))) {
		*ret = (struct access) { .kind = BY_OFFSET,
					 .at = address + 7 + (uint64_t)word_at(code + 3) };
		return true;
	}
	/* data16 lea, data16 data16 rex.W call: the offset is behind the module. */
	if (code[0] == 0x66 && !memcmp(code + 1, lea, sizeof(lea)) && code[8] == 0x66 &&
	    (code[11] == 0xe8 || code[11] == 0x15)) {
		*ret = (struct access) { .kind = BY_MODULE,
					 .at = address + 8 + (uint64_t)word_at(code + 4),
					 .has_offset = true };
		return true;
	}
	*ret = (struct access) { .kind = BY_MODULE,
				 .at = address + 7 + (uint64_t)word_at(code + 3) };
	return !memcmp(code, lea, sizeof(lea)) && code[7] == 0xe8 &&
	       decode_load(code + 12, &ret->offset);
}

static int by_module(const struct subject *subject, const struct access *access,
		     struct runtime_ruby *ret)
{
	uint64_t words[2], in_block;
	GElf_Phdr header;

	if (remote__read(subject->memory, subject->file.bias + access->at, words, sizeof(words)))
		return -EFAULT;
	if (!words[0])
		return -EAGAIN;
	in_block = access->has_offset ? words[1] : (uint64_t)access->offset;
	if (words[0] >= MOST_MODULES || in_block >= MOST_VARIABLES ||
	    !find_header(&subject->file, PT_TLS, &header) || in_block + 8 > header.p_memsz)
		return -ENOTSUP;
	/* The table of glibc: two words a module. */
	*ret = (struct runtime_ruby) { .in_block = in_block, .block = (uint32_t)(16 * words[0]) };
	return 0;
}

static int by_offset(const struct subject *subject, const struct access *access,
		     struct runtime_ruby *ret)
{
	int64_t offset = access->offset;

	if (access->kind == BY_OFFSET) {
		uint64_t word;

		if (remote__read_u64(subject->memory, subject->file.bias + access->at, &word))
			return -EFAULT;
		offset = (int64_t)word;
	}
	if (!offset)
		return -EAGAIN;
	if (offset > 0 || offset < -(int64_t)MOST_VARIABLES)
		return -ENOTSUP;
	*ret = (struct runtime_ruby) { .from_thread = offset };
	return 0;
}

int ruby_code__find_context(const struct subject *subject, struct runtime_ruby *ret)
{
	struct wanted_symbol symbol = { .name = "rb_errinfo" };
	uint8_t code[CODE_BYTES];
	struct access access;
	GElf_Ehdr header;

	if (!gelf_getehdr(subject->file.image->elf, &header) || header.e_machine != EM_X86_64)
		return -ENOTSUP;
	if (runtime_file__find(&subject->file, &symbol, 1) != 1 ||
	    runtime_file__read(&subject->file, symbol.address, code, sizeof(code)))
		return -ENOTSUP;
	for (size_t i = 0; i + SEQUENCE_BYTES <= sizeof(code); i++) {
		if (!decode(code + i, symbol.address + i, &access))
			continue;
		return access.kind == BY_MODULE ? by_module(subject, &access, ret)
						: by_offset(subject, &access, ret);
	}
	return -ENOTSUP;
}
