/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stripped program has no symbols for variables of the runtime, but its table of functions
 * (.gopclntab) has the names of all functions. Some of them use the variables: their instructions
 * have the addresses, relative to themselves. Which address is that of the variable is decided by
 * what is there, so a wrong one is not taken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/go.h"

#define MAGIC_1_16 0xfffffffaU
#define MAGIC_1_18 0xfffffff0U
#define MAGIC_1_20 0xfffffff1U

#define MOST_FUNCTIONS  (4U << 20)
#define MOST_CODE       2048
#define MOST_REFERENCES 64

#define SEMAPHORES      251
#define SEMAPHORE_WORDS 8
#define SEMAPHORE_USED  3 /* the others are there to fill a cache line */

/* The table of functions. */
struct table {
	const unsigned char *bytes;
	size_t size;
	bool has_addresses; /* of 8 bytes each; otherwise 4 bytes, from `text` on */
	uint64_t text, count;
	uint64_t names, functions; /* offsets */
};

static uint64_t number_at(const struct table *table, uint64_t offset, size_t bytes)
{
	uint64_t value = 0;

	if (offset <= table->size && bytes <= table->size - offset)
		memcpy(&value, table->bytes + offset, bytes);
	return value;
}

static int open_table(const struct image *image, struct table *table)
{
	uint32_t magic;

	table->bytes = image__section(image, ".gopclntab", &table->size);
	if (!table->bytes)
		table->bytes = image__section(image, ".data.rel.ro.gopclntab", &table->size);
	if (!table->bytes)
		return -ENOENT;
	magic = (uint32_t)number_at(table, 0, 4);
	if (magic != MAGIC_1_16 && magic != MAGIC_1_18 && magic != MAGIC_1_20)
		return -ENOENT;
	table->has_addresses = magic == MAGIC_1_16;
	table->count = number_at(table, 8, 8);
	table->text = table->has_addresses ? 0 : number_at(table, 24, 8);
	table->names = number_at(table, table->has_addresses ? 24 : 32, 8);
	table->functions = number_at(table, table->has_addresses ? 56 : 64, 8);
	return table->count > MOST_FUNCTIONS ? -ENOENT : 0;
}

struct function {
	uint64_t begin, end;
};

/* The function with this name; of the file, without its bias. */
static bool find_function(const struct table *table, const char *name, struct function *ret)
{
	const size_t width = table->has_addresses ? 8 : 4, length = strlen(name) + 1;

	for (uint64_t i = 0; i < table->count; i++) {
		uint64_t entry = table->functions + i * 2 * width;
		uint64_t details = table->functions + number_at(table, entry + width, width);
		uint64_t at = table->names + number_at(table, details + width, 4);

		if (at > table->size || length > table->size - at ||
		    memcmp(table->bytes + at, name, length) != 0)
			continue;
		ret->begin = table->text + number_at(table, entry, width);
		ret->end = table->text + number_at(table, entry + 2 * width, width);
		return ret->end > ret->begin;
	}
	return false;
}

/* Since Go 1.26 the table does not say where the code begins. The entry point shows it. */
static int find_text(const struct image *image, struct table *table)
{
	struct function entry;
	GElf_Ehdr header;

	if (table->has_addresses || table->text)
		return 0;
	if (!gelf_getehdr(image->elf, &header) ||
	    !find_function(table, "_rt0_amd64_linux", &entry) || header.e_entry < entry.begin)
		return -ENOENT;
	table->text = header.e_entry - entry.begin;
	return 0;
}

/*
 * The addresses that the instructions of a function refer to, of the file: mov, lea and cmp with a
 * 64-bit register and an address relative to the next instruction.
 */
static size_t list_references(const struct runtime_file *file, const struct function *function,
			      uint64_t ret[MOST_REFERENCES])
{
	uint64_t size = function->end - function->begin;
	unsigned char code[MOST_CODE];
	size_t count = 0;

	size = size < MOST_CODE ? size : MOST_CODE;
	if (runtime_file__read(file, function->begin, code, size))
		return 0;
	for (size_t i = 0; i + 7 <= size && count < MOST_REFERENCES; i++) {
		unsigned char operation = code[i + 1];
		int32_t distance;

		if ((code[i] & 0xfb) != 0x48 || (code[i + 2] & 0xc7) != 0x05 ||
		    (operation != 0x8b && operation != 0x8d && operation != 0x89 &&
		     operation != 0x39 && operation != 0x3b))
			continue;
		memcpy(&distance, code + i + 3, sizeof(distance));
		ret[count++] = function->begin + i + 7 + (uint64_t)(int64_t)distance;
	}
	return count;
}

/* --- what is at an address -------------------------------------------------------------------- */

typedef bool (*is_it_fn)(struct subject *subject, const struct go *go, uint64_t address);

/* A slice of pointers to gs, one of which began in runtime.main. */
static bool is_allgs(struct subject *subject, const struct go *go, uint64_t address)
{
	uint64_t slice[3], gs[64], id, start;
	size_t count;

	if (remote__read(subject->memory, address, slice, sizeof(slice)) || !slice[1] ||
	    slice[1] > slice[2])
		return false;
	count = slice[1] < 64 ? slice[1] : 64;
	if (remote__read(subject->memory, slice[0], gs, count * sizeof(*gs)))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!remote__read_u64(subject->memory, gs[i] + go->layout->id, &id) && id == 1)
			return !remote__read_u64(subject->memory, gs[i] + go->layout->start,
						 &start) &&
			       start == go->main;
	return false;
}

/* What only fills cache lines is 0 in all of them. */
static bool is_semtable(struct subject *subject, const struct go *go, uint64_t address)
{
	cleanup(free_p) uint64_t *words = calloc(SEMAPHORES * SEMAPHORE_WORDS, sizeof(*words));

	if (!words || address % 32 ||
	    remote__read(subject->memory, address, words,
			 SEMAPHORES * SEMAPHORE_WORDS * sizeof(*words)))
		return false;
	for (size_t i = 0; i < SEMAPHORES * SEMAPHORE_WORDS; i++)
		if (i % SEMAPHORE_WORDS >= SEMAPHORE_USED && words[i])
			return false;
	return true;
}

static bool is_reasons(struct subject *subject, const struct go *go, uint64_t address)
{
	static const char first[] = "GC assist marking";
	uint64_t texts[4];
	char text[sizeof(first) - 1];

	return !remote__read(subject->memory, address, texts, sizeof(texts)) &&
	       texts[3] == sizeof(text) &&
	       !remote__read(subject->memory, texts[2], text, sizeof(text)) &&
	       !memcmp(text, first, sizeof(text));
}

struct search {
	struct subject *subject;
	struct go *go;
	struct table table;
};

static uint64_t find_variable(struct search *search, const char *user, is_it_fn is_it)
{
	uint64_t references[MOST_REFERENCES];
	struct function function;
	size_t count;

	if (!find_function(&search->table, user, &function))
		return 0;
	count = list_references(&search->subject->file, &function, references);
	for (size_t i = 0; i < count; i++)
		if (is_it(search->subject, search->go, references[i] + search->subject->file.bias))
			return references[i] + search->subject->file.bias;
	return 0;
}

int go_stripped__find(struct subject *subject, struct go *go)
{
	struct search search = { subject, go, {} };
	struct function function;
	int err = open_table(subject->file.image, &search.table);

	if (!err)
		err = find_text(subject->file.image, &search.table);
	if (err || !find_function(&search.table, "runtime.main", &function))
		return -ENOENT;
	go->main = function.begin + subject->file.bias;
	go->allgs = find_variable(&search, "runtime.allgadd", is_allgs);
	if (!go->allgs)
		return -EAGAIN;
	go->semtable = find_variable(&search, "runtime.semacquire1", is_semtable);
	go->reasons = find_variable(&search, "runtime.waitReason.String", is_reasons);
	if (!go->reasons)
		go->reasons = find_variable(&search, "runtime.goroutineheader", is_reasons);
	/* Its length is not known. What follows it is no text, or belongs to no reason. */
	go->reason_count = 48;
	return 0;
}
