/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line tables of code objects: pairs up to 3.9 (co_lnotab), pairs of ranges in 3.10, entries of
 * variable length since 3.11 (Objects/locations.md of CPython). */
#include <stdbool.h>
#include <stddef.h>

#include "runtimes/python.h"

#define UNIT 2 /* bytes of an instruction with its argument */

/* Up to 3.9: steps in the bytecode, and in the lines. */
static int64_t in_pairs(const uint8_t *table, size_t size, int64_t line, uint32_t at)
{
	uint32_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return line;
}

/* 3.10: the length of a range, and the step in the lines; −128: the range has no line. */
static int64_t in_ranges(const uint8_t *table, size_t size, int64_t line, uint32_t at)
{
	uint32_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t step = (int8_t)table[i + 1];

		end += table[i];
		if (step != INT8_MIN)
			line += step;
		if (at < end)
			return step == INT8_MIN ? 0 : line;
	}
	return line;
}

struct entries {
	const uint8_t *at, *end;
	bool bad;
};

static uint8_t next_byte(struct entries *entries)
{
	if (entries->at == entries->end) {
		entries->bad = true;
		return 0;
	}
	return *entries->at++;
}

/* Six bits a byte, the lowest ones first. */
static uint32_t next_number(struct entries *entries)
{
	uint32_t value = 0, shift = 0;
	uint8_t byte;

	do {
		byte = next_byte(entries);
		if (shift < 32)
			value |= (uint32_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value;
}

static int next_signed(struct entries *entries)
{
	uint32_t value = next_number(entries);

	return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* Reads the rest of an entry after its first byte. The step in the lines. */
static int line_step(struct entries *entries, unsigned code, bool *ret_has_line)
{
	int step = 0;

	*ret_has_line = code != 15;
	if (code == 15)
		return 0;
	if (code == 14) {
		step = next_signed(entries);
		for (int i = 0; i < 3; i++)
			(void)next_number(entries);
	} else if (code == 13) {
		step = next_signed(entries);
	} else if (code >= 10) {
		step = (int)code - 10;
		(void)next_byte(entries);
		(void)next_byte(entries);
	} else {
		(void)next_byte(entries);
	}
	return step;
}

/* Since 3.11. `at` is in instructions. */
static int64_t in_entries(const uint8_t *table, size_t size, int64_t line, uint32_t at)
{
	struct entries entries = { table, table + size, false };
	uint32_t end = 0;

	while (entries.at < entries.end && !entries.bad) {
		uint8_t first = next_byte(&entries);
		bool has_line;

		line += line_step(&entries, first >> 3 & 15, &has_line);
		if (entries.bad)
			return 0;
		end += (first & 7) + 1;
		if (at < end)
			return has_line ? line : 0;
	}
	return 0;
}

int python_lines__find(const struct python_layout *layout, const uint8_t *table, size_t size,
		       int first_line, uint32_t position)
{
	/* The steps of a hostile table, of limited size, cannot leave 64 bits. */
	int64_t line;

	if (layout->position_bytes == 8) {
		/* Before the first instruction: the function is being entered. */
		if (position < layout->bytecode)
			return first_line;
		line = in_entries(table, size, first_line, (position - layout->bytecode) / UNIT);
	} else if (position > INT32_MAX) {
		return first_line;
	} else if (layout->position_unit == 2) {
		line = in_ranges(table, size, first_line, position * UNIT);
	} else {
		line = in_pairs(table, size, first_line, position);
	}
	return line > 0 && line <= INT32_MAX ? (int)line : 0;
}
