/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of libjvm.so in memory that a test makes: those of a recording have only the entries
 * that were needed. The symbols are told by what replaces runtime_file__find().
 */
#pragma once

#include "recorded.h"

#include "runtimes/hotspot.h"

/* Where the variables, the tables and the texts are. */
#define TABLES_VARIABLES 0x1000
#define TABLES_STRUCTS   0x2000
#define TABLES_TYPES     0x8000
#define TABLES_TEXTS     0xa000

enum { STRUCT_BYTES = 48, TYPE_BYTES = 16 };

static const struct {
	const char *name;
	uint64_t value;
} tables_symbols[] = {
	{ "gHotSpotVMStructs", TABLES_STRUCTS },
	{ "gHotSpotVMStructEntryArrayStride", STRUCT_BYTES },
	{ "gHotSpotVMStructEntryTypeNameOffset", 0 },
	{ "gHotSpotVMStructEntryFieldNameOffset", 8 },
	{ "gHotSpotVMStructEntryTypeStringOffset", 16 },
	{ "gHotSpotVMStructEntryIsStaticOffset", 24 },
	{ "gHotSpotVMStructEntryOffsetOffset", 32 },
	{ "gHotSpotVMStructEntryAddressOffset", 40 },
	{ "gHotSpotVMTypes", TABLES_TYPES },
	{ "gHotSpotVMTypeEntryArrayStride", TYPE_BYTES },
	{ "gHotSpotVMTypeEntryTypeNameOffset", 0 },
	{ "gHotSpotVMTypeEntrySizeOffset", 8 },
};
#define TABLES_SYMBOLS (sizeof(tables_symbols) / sizeof(*tables_symbols))

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count);
int __wrap_hotspot__find_code(const struct runtime_file *file, uint64_t *ret_begin,
			      uint64_t *ret_end);

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count)
{
	int found = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < TABLES_SYMBOLS; k++)
			if (!strcmp(wanted[i].name, tables_symbols[k].name)) {
				wanted[i].address = TABLES_VARIABLES + 8 * k;
				found++;
			}
	return found;
}

int __wrap_hotspot__find_code(const struct runtime_file *file, uint64_t *ret_begin,
			      uint64_t *ret_end)
{
	*ret_begin = 0x100000;
	*ret_end = 0x200000;
	return 0;
}

struct tables {
	int memory;
	uint64_t structs, types, texts; /* how many bytes are used */
};

static inline void tables_write(const struct tables *tables, uint64_t address, const void *bytes,
				size_t size)
{
	assert_int_equal(pwrite(tables->memory, bytes, size, (off_t)address), size);
}

static inline void tables_begin(struct tables *tables, int memory)
{
	*tables = (struct tables) { .memory = memory };
	for (size_t i = 0; i < TABLES_SYMBOLS; i++)
		tables_write(tables, TABLES_VARIABLES + 8 * i, &tables_symbols[i].value, 8);
}

static inline uint64_t tables_text(struct tables *tables, const char *text, size_t size)
{
	uint64_t address = TABLES_TEXTS + tables->texts;

	tables_write(tables, address, text, size);
	tables_write(tables, address + size, "", 1);
	tables->texts += size + 1;
	return address;
}

/* A name is "Type::field". Values above 2^32 are addresses of static fields. */
static inline void tables_add_field(struct tables *tables, const char *name, uint64_t value,
				    unsigned bytes)
{
	const char *type = bytes == 4 ? "int" : bytes == 2 ? "u2" : "void*";
	const char *field = strstr(name, "::") + 2;
	const bool is_static = value >> 32;
	const uint64_t entry[STRUCT_BYTES / 8] = {
		tables_text(tables, name, (size_t)(field - name) - 2),
		tables_text(tables, field, strlen(field)),
		tables_text(tables, type, strlen(type)),
		is_static,
		is_static ? 0 : value,
		is_static ? value : 0,
	};

	tables_write(tables, TABLES_STRUCTS + tables->structs, entry, sizeof(entry));
	tables->structs += sizeof(entry);
}

static inline void tables_add_size(struct tables *tables, const char *name, uint64_t value)
{
	const uint64_t entry[TYPE_BYTES / 8] = { tables_text(tables, name, strlen(name)), value };

	tables_write(tables, TABLES_TYPES + tables->types, entry, sizeof(entry));
	tables->types += sizeof(entry);
}

/* Leaves out the field of this name, if one is given. */
static inline void tables_load(struct tables *tables, const char *path, const char *without)
{
	FILE *file = fopen(path, "re");
	char line[32768], name[128];
	unsigned long value;
	unsigned bytes;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "field %127s %lx %x", name, &value, &bytes) == 3) {
			if (!without || strcmp(name, without) != 0)
				tables_add_field(tables, name, value, bytes);
		} else if (sscanf(line, "size %127s %lx", name, &value) == 2) {
			tables_add_size(tables, name, value);
		}
	fclose(file);
}
