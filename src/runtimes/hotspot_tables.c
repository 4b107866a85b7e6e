/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the tables in which libjvm.so describes itself. The symbols are variables that hold the
 * addresses of the tables, and the offsets and distances of their columns. Entries hold addresses
 * of texts, so all of it is read from the process: the file has it without relocations.
 */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/hotspot.h"

#define MOST_ENTRIES     8192
#define MOST_ENTRY_BYTES 256
#define MOST_NAME        160
#define CACHED_BYTES     4096

enum variable {
	STRUCTS,
	STRUCT_STRIDE,
	STRUCT_TYPE,
	STRUCT_FIELD,
	STRUCT_TYPE_STRING,
	STRUCT_IS_STATIC,
	STRUCT_OFFSET,
	STRUCT_ADDRESS,
	TYPES,
	TYPE_STRIDE,
	TYPE_NAME,
	TYPE_SIZE,
	VARIABLE_COUNT
};

static const char *const variables[VARIABLE_COUNT] = {
	[STRUCTS] = "gHotSpotVMStructs",
	[STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[STRUCT_TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
	[STRUCT_FIELD] = "gHotSpotVMStructEntryFieldNameOffset",
	[STRUCT_TYPE_STRING] = "gHotSpotVMStructEntryTypeStringOffset",
	[STRUCT_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[TYPES] = "gHotSpotVMTypes",
	[TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
};

static const struct {
	const char *name, *other;
	bool is_needed;
} fields[HOTSPOT_FIELD_COUNT] = {
#define X(id, needed, first, second) [HOTSPOT_##id] = { first, second, needed },
	HOTSPOT_FIELDS(X)
#undef X
};

static const char *const sizes[HOTSPOT_SIZE_COUNT] = {
#define X(id, name) [HOTSPOT_SIZE_OF_##id] = name,
	HOTSPOT_SIZES(X)
#undef X
};

/* Texts lie close together, so they are read by blocks. */
struct reading {
	struct subject *subject;
	uint64_t at[VARIABLE_COUNT];
	uint64_t block; /* address of what is in `bytes`; 0: nothing */
	char bytes[CACHED_BYTES];
};

static int find_variables(struct reading *reading)
{
	const struct runtime_file *file = &reading->subject->file;
	struct wanted_symbol wanted[VARIABLE_COUNT] = { 0 };
	int err;

	for (size_t i = 0; i < VARIABLE_COUNT; i++)
		wanted[i].name = variables[i];
	err = runtime_file__find(file, wanted, VARIABLE_COUNT);
	if (err < 0)
		return err;
	if (err < VARIABLE_COUNT)
		return -ENOTSUP;
	for (size_t i = 0; i < VARIABLE_COUNT; i++) {
		err = remote__read_u64(reading->subject->memory, file->bias + wanted[i].address,
				       &reading->at[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Whether a column of `bytes` bytes lies in its entry. */
static bool has_column(uint64_t offset, uint64_t stride, size_t bytes)
{
	return stride <= MOST_ENTRY_BYTES && stride >= bytes && offset <= stride - bytes;
}

static bool has_columns(const uint64_t at[VARIABLE_COUNT])
{
	return has_column(at[STRUCT_TYPE], at[STRUCT_STRIDE], 8) &&
	       has_column(at[STRUCT_FIELD], at[STRUCT_STRIDE], 8) &&
	       has_column(at[STRUCT_TYPE_STRING], at[STRUCT_STRIDE], 8) &&
	       has_column(at[STRUCT_IS_STATIC], at[STRUCT_STRIDE], 4) &&
	       has_column(at[STRUCT_OFFSET], at[STRUCT_STRIDE], 8) &&
	       has_column(at[STRUCT_ADDRESS], at[STRUCT_STRIDE], 8) &&
	       has_column(at[TYPE_NAME], at[TYPE_STRIDE], 8) &&
	       has_column(at[TYPE_SIZE], at[TYPE_STRIDE], 8);
}

/* Copies a text to `to`; an empty one if it is not there or too long. */
static void copy_text(struct reading *reading, uint64_t address, char *to, size_t size)
{
	uint64_t block = address & ~(uint64_t)(CACHED_BYTES - 1);
	size_t begin = address - block, length;

	*to = '\0';
	if (!address)
		return;
	if (block != reading->block) {
		reading->block = 0;
		if (remote__read(reading->subject->memory, block, reading->bytes, CACHED_BYTES))
			return;
		reading->block = block;
	}
	length = strnlen(reading->bytes + begin, CACHED_BYTES - begin);
	if (length == CACHED_BYTES - begin) {
		/* It goes on in the next block. */
		if (remote__read_text(reading->subject->memory, address, to, size) < 0)
			*to = '\0';
	} else if (length < size) {
		memcpy(to, reading->bytes + begin, length + 1);
	}
}

static uint64_t column(const char *entry, uint64_t offset)
{
	uint64_t value;

	memcpy(&value, entry + offset, sizeof(value));
	return value;
}

static uint8_t bytes_of(const char *type)
{
	static const struct {
		const char *name;
		uint8_t bytes;
	} integers[] = {
		{ "int", 4 },        { "u4", 4 },
		{ "u2", 2 },         { "int16_t", 2 },
		{ "short", 2 },      { "uint16_t", 2 },
		{ "uint32_t", 4 },   { "jint", 4 },
		{ "int32_t", 4 },    { "jushort", 2 },
		{ "const uint", 4 }, { "unsigned short", 2 },
		{ "juint", 4 },      { "uint", 4 },
		{ "pid_t", 4 },      { "OSThread::thread_id_t", 4 },
	};

	for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++)
		if (!strcmp(type, integers[i].name))
			return integers[i].bytes;
	return 8;
}

static void take_field(struct reading *reading, struct hotspot *hotspot, const char *entry)
{
	const uint64_t *at = reading->at;
	char name[MOST_NAME], class[MOST_NAME / 2 - 2], field[MOST_NAME / 2], type[MOST_NAME];
	uint32_t is_static;

	copy_text(reading, column(entry, at[STRUCT_TYPE]), class, sizeof(class));
	copy_text(reading, column(entry, at[STRUCT_FIELD]), field, sizeof(field));
	snprintf(name, sizeof(name), "%s::%s", class, field);
	for (size_t i = 0; i < HOTSPOT_FIELD_COUNT; i++) {
		struct hotspot_field *found = &hotspot->fields[i];

		if (strcmp(name, fields[i].name) &&
		    (!fields[i].other || strcmp(name, fields[i].other)))
			continue;
		memcpy(&is_static, entry + at[STRUCT_IS_STATIC], sizeof(is_static));
		copy_text(reading, column(entry, at[STRUCT_TYPE_STRING]), type, sizeof(type));
		found->value = column(entry, at[is_static ? STRUCT_ADDRESS : STRUCT_OFFSET]);
		found->bytes = bytes_of(type);
		found->is_found = true;
		found->is_handle = strstr(type, "OopHandle") != NULL;
		found->is_other = strcmp(name, fields[i].name) != 0;
	}
}

static void take_size(struct reading *reading, struct hotspot *hotspot, const char *entry)
{
	char name[MOST_NAME];

	copy_text(reading, column(entry, reading->at[TYPE_NAME]), name, sizeof(name));
	for (size_t i = 0; i < HOTSPOT_SIZE_COUNT; i++)
		if (!strcmp(name, sizes[i]))
			hotspot->sizes[i] = column(entry, reading->at[TYPE_SIZE]);
}

/* The last entry of a table has no name. */
static int read_table(struct reading *reading, struct hotspot *hotspot, enum variable table,
		      enum variable stride, enum variable name,
		      void (*take)(struct reading *, struct hotspot *, const char *))
{
	char entry[MOST_ENTRY_BYTES];

	for (uint64_t i = 0; i < MOST_ENTRIES; i++) {
		uint64_t bytes = reading->at[stride];
		int err = remote__read(reading->subject->memory, reading->at[table] + i * bytes,
				       entry, bytes);

		if (err)
			return err;
		if (!column(entry, reading->at[name]))
			return 0;
		take(reading, hotspot, entry);
	}
	return -ENOTSUP;
}

static bool is_complete(const struct hotspot *hotspot)
{
	for (size_t i = 0; i < HOTSPOT_FIELD_COUNT; i++)
		if (fields[i].is_needed && !hotspot->fields[i].is_found)
			return false;
	for (size_t i = HOTSPOT_SIZE_OF_FLAG_8 + 1; i < HOTSPOT_SIZE_COUNT; i++)
		if (!hotspot->sizes[i] || hotspot->sizes[i] > UINT16_MAX)
			return false;
	return true;
}

static int read_tables(struct reading *reading, struct hotspot *hotspot)
{
	int err = find_variables(reading);

	if (err)
		return err;
	if (!reading->at[STRUCTS] || !reading->at[TYPES])
		return -EAGAIN;
	if (!has_columns(reading->at))
		return -ENOTSUP;
	err = read_table(reading, hotspot, STRUCTS, STRUCT_STRIDE, STRUCT_TYPE, take_field);
	return err ?: read_table(reading, hotspot, TYPES, TYPE_STRIDE, TYPE_NAME, take_size);
}

int hotspot__read_tables(struct subject *subject, struct hotspot *ret)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	struct hotspot hotspot = { 0 };
	int err;

	if (!reading)
		return -ENOMEM;
	reading->subject = subject;
	err = read_tables(reading, &hotspot);
	free(reading);
	if (err && err != -ENOTSUP)
		return err;
	*ret = hotspot;
	return !err && is_complete(&hotspot) ? 0 : -ENOTSUP;
}

/* --- flags ------------------------------------------------------------------------------------ */

static const char *const flags[HOTSPOT_FLAG_COUNT] = {
	[HOTSPOT_SHORT_OOPS] = "UseCompressedOops",
	[HOTSPOT_SHORT_CLASSES] = "UseCompressedClassPointers",
	[HOTSPOT_COMPACT_HEADERS] = "UseCompactObjectHeaders",
	[HOTSPOT_ZGC] = "UseZGC",
	[HOTSPOT_SHENANDOAH] = "UseShenandoahGC",
};

static int take_flag(struct reading *reading, const struct hotspot *hotspot, const char *entry,
		     uint8_t *ret)
{
	char name[MOST_NAME];

	copy_text(reading, column(entry, hotspot->fields[HOTSPOT_FLAG_NAME].value), name,
		  sizeof(name));
	for (size_t i = 0; i < HOTSPOT_FLAG_COUNT; i++)
		if (!strcmp(name, flags[i]))
			return remote__read(reading->subject->memory,
					    column(entry, hotspot->fields[HOTSPOT_FLAG_AT].value),
					    &ret[i], 1);
	return 0;
}

static int read_flags(struct reading *reading, const struct hotspot *hotspot, uint8_t *ret)
{
	struct subject *subject = reading->subject;
	uint64_t bytes =
		hotspot->sizes[HOTSPOT_SIZE_OF_FLAG] ?: hotspot->sizes[HOTSPOT_SIZE_OF_FLAG_8];
	uint64_t table, count;
	char entry[MOST_ENTRY_BYTES];

	if (!has_column(hotspot->fields[HOTSPOT_FLAG_NAME].value, bytes, 8) ||
	    !has_column(hotspot->fields[HOTSPOT_FLAG_AT].value, bytes, 8))
		return -ENOTSUP;
	if (hotspot__read_field(subject, hotspot, 0, HOTSPOT_FLAGS, &table) ||
	    hotspot__read_field(subject, hotspot, 0, HOTSPOT_FLAGS_COUNT, &count))
		return -EFAULT;
	if (count > MOST_ENTRIES)
		return -ENOTSUP;
	for (uint64_t i = 0; i < count; i++) {
		int err = remote__read(subject->memory, table + i * bytes, entry, bytes);

		if (!err)
			err = take_flag(reading, hotspot, entry, ret);
		if (err)
			return err;
	}
	return 0;
}

int hotspot__read_flags(struct subject *subject, const struct hotspot *hotspot,
			bool ret[HOTSPOT_FLAG_COUNT])
{
	struct reading *reading;
	uint8_t values[HOTSPOT_FLAG_COUNT] = { 0 };
	int err;

	if (!hotspot->fields[HOTSPOT_FLAGS].is_found ||
	    !hotspot->fields[HOTSPOT_FLAGS_COUNT].is_found ||
	    !hotspot->fields[HOTSPOT_FLAG_NAME].is_found ||
	    !hotspot->fields[HOTSPOT_FLAG_AT].is_found)
		return -ENOTSUP;
	reading = calloc(1, sizeof(*reading));
	if (!reading)
		return -ENOMEM;
	reading->subject = subject;
	err = read_flags(reading, hotspot, values);
	free(reading);
	for (size_t i = 0; i < HOTSPOT_FLAG_COUNT && !err; i++)
		ret[i] = values[i] != 0;
	return err;
}

int hotspot__find_code(const struct runtime_file *file, uint64_t *ret_begin, uint64_t *ret_end)
{
	uint64_t begin = 0, end = 0;
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(file->image->elf, &count))
		return -ENOTSUP;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		if (!gelf_getphdr(file->image->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X))
			continue;
		begin = begin && begin < header.p_vaddr ? begin : header.p_vaddr;
		if (header.p_vaddr + header.p_memsz > end)
			end = header.p_vaddr + header.p_memsz;
	}
	*ret_begin = begin;
	*ret_end = end;
	return 0;
}

int hotspot__read_field(struct subject *subject, const struct hotspot *hotspot, uint64_t address,
			enum hotspot_field_id id, uint64_t *ret)
{
	const struct hotspot_field *field = &hotspot->fields[id];
	uint64_t value = 0;
	int err = remote__read(subject->memory, address + field->value, &value, field->bytes);

	if (!err)
		*ret = value;
	return err;
}
