/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with V8 in a file, besides what recorded.h says. A line is one of these:
 *   constant NAME VALUE    a symbol of the program, and the 32 bits there
 *   sizes NAME BYTES       the same for an array of bytes
 *   map LINE               of /proc/PID/maps
 */
#pragma once

#include <gelf.h>

#include "recorded.h"

#include "../../walk.h"

#include "runtimes/v8.h"

#define V8_CONSTANTS  32
#define V8_MODULE     1 /* the program: it has no rows */
#define V8_MOST_SIZES 1024

struct recorded_v8 {
	struct recorded recorded;
	struct {
		char name[128];
		int32_t value;
	} constants[V8_CONSTANTS];
	size_t count;
	uint8_t sizes[V8_MOST_SIZES];
	size_t sizes_bytes;
	int maps;
	struct unwind_page nothing;
	struct rows rows;
	struct unwind_process process;
};

static inline void v8_take_sizes(struct recorded_v8 *file, const char *hex)
{
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
		assert_true(file->sizes_bytes < V8_MOST_SIZES);
		file->sizes[file->sizes_bytes++] = (uint8_t)byte;
	}
}

static inline void v8_load(struct recorded_v8 *ret, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[32768], name[128];
	int rest, value;

	assert_non_null(file);
	memset(ret, 0, sizeof(*ret));
	ret->recorded = recorded_load(path);
	ret->maps = memfd_create("maps", MFD_CLOEXEC);
	assert_true(ret->maps >= 0);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "constant %127s %d", ret->constants[ret->count].name, &value) ==
		    2) {
			ret->constants[ret->count++].value = value;
			assert_true(ret->count < V8_CONSTANTS);
		} else if (sscanf(line, "sizes %127s %n", name, &rest) == 1) {
			v8_take_sizes(ret, line + rest);
		} else if (!strncmp(line, "map ", 4)) {
			assert_true(write(ret->maps, line + 4, strlen(line + 4)) > 0);
		}
	fclose(file);
}

/* The builtins of the program, which may be mapped a second time. */
static inline void v8_map(struct recorded_v8 *file, const struct runtime *runtime)
{
	static const char *const names[] = { "builtins", "again" };
	char pages[32];

	file->rows = (struct rows) { .block_pages = &file->nothing, .block_page_count = 1 };
	file->process.runtime = *runtime;
	for (size_t i = 0; i < 2; i++) {
		if (i && !recorded_has(&file->recorded, names[i]))
			continue;
		snprintf(pages, sizeof(pages), "%s_pages", names[i]);
		file->process.mappings[file->process.count++] = (struct unwind_mapping) {
			.page_and_module = recorded_word(&file->recorded, names[i]) >>
						   UNWIND_PAGE_SHIFT << UNWIND_MODULE_BITS |
					   V8_MODULE,
			.pages = (uint32_t)recorded_word(&file->recorded, pages),
		};
	}
}
