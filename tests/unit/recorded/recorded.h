/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was read of a process with a language runtime, so that the runtime need not be there. Made
 * by recorder.c. A line is one of these, with numbers in hex:
 *   word NAME VALUE
 *   at ADDRESS BYTES
 * The bytes are written to a file in memory, at their addresses; src/runtimes/remote.h reads it as
 * it reads /proc/PID/mem. What was not recorded reads as 0.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../harness.h"

#define RECORDED_WORDS 16

struct recorded {
	int memory; /* the caller closes it, or gives it to remote__new() */
	struct {
		char name[32];
		uint64_t value;
	} words[RECORDED_WORDS];
	size_t count;
};

static inline void recorded_take(struct recorded *recorded, uint64_t address, const char *hex)
{
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2, address++)
		assert_int_equal(
			pwrite(recorded->memory, &(uint8_t) { (uint8_t)byte }, 1, (off_t)address),
			1);
}

static inline struct recorded recorded_load(const char *path)
{
	struct recorded recorded = { .memory = memfd_create("recorded", MFD_CLOEXEC) };
	FILE *file = fopen(path, "re");
	unsigned long address;
	char line[32768];
	int hex;

	assert_non_null(file);
	assert_true(recorded.memory >= 0);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "at %lx %n", &address, &hex) == 1) {
			recorded_take(&recorded, address, line + hex);
		} else if (sscanf(line, "word %31s %lx", recorded.words[recorded.count].name,
				  &address) == 2) {
			recorded.words[recorded.count++].value = address;
			assert_true(recorded.count < RECORDED_WORDS);
		}
	}
	fclose(file);
	return recorded;
}

static inline bool recorded_has(const struct recorded *recorded, const char *name)
{
	for (size_t i = 0; i < recorded->count; i++)
		if (!strcmp(recorded->words[i].name, name))
			return true;
	return false;
}

static inline uint64_t recorded_word(const struct recorded *recorded, const char *name)
{
	for (size_t i = 0; i < recorded->count; i++)
		if (!strcmp(recorded->words[i].name, name))
			return recorded->words[i].value;
	fail_msg("no word '%s'", name);
	return 0;
}
