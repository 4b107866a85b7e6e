/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the Firefox Profiler's format. */
#pragma once

#include "base/json_out.h"
#include "export/calltree.h"
#include "export/strings.h"
#include "model/profile.h"

/* Fixed categories. Those of waits follow, one for each cause, then those of languages. */
enum {
	FIREFOX_OTHER,
	FIREFOX_USER,
	FIREFOX_KERNEL,
	FIREFOX_JIT,
	FIREFOX_READY,
	FIREFOX_WAITS,
};

struct firefox_process {
	int64_t first_ns, last_ns; /* of its threads */
	uint32_t before;           /* how many earlier processes had the same pid */
};

struct firefox {
	struct json_out out;
	const struct profile *profile;
	struct calltree *calls;
	struct strings strings;
	struct strings causes;                /* of waits; the category is FIREFOX_WAITS + index */
	uint32_t *categories, *subcategories; /* by state */
	uint32_t languages[LANGUAGE_COUNT];   /* of runtimes: their categories; 0: not there */
	uint32_t *order;                      /* samples sorted by thread, then time */
	int64_t *free_ns;                     /* for spans__wait() */
	int64_t step_ns;                      /* length of pieces */
	struct firefox_process *processes;
	size_t *begins; /* by thread: its first index in `order`; and the end */
	uint32_t *event_order;
	size_t *event_begins; /* the same for events */
	uint32_t *window_order;
	size_t *window_begins; /* the same for windows */
	uint32_t first_thread; /* that is written; also shows what belongs to no thread */
};

#define FIREFOX_MS_DIGITS 6 /* from nanoseconds */

/* Writes a column of numbers: `value` is an expression in `i`. FIREFOX_NULL is written as null. */
#define FIREFOX_NULL INT64_MIN
#define FIREFOX_COLUMN(firefox, key, i, count, value)                                              \
	do {                                                                                       \
		json_out__open(&(firefox)->out, key, '[');                                         \
		for (size_t i = 0; i < (count); i++)                                               \
			firefox__number(firefox, NULL, value);                                     \
		json_out__close(&(firefox)->out, ']');                                             \
	} while (0)

/* Returns the index of a text in the string table. */
int64_t firefox__text(struct firefox *firefox, const char *text);
void firefox__number(struct firefox *firefox, const char *key, int64_t number);

/* Write "libs", and "shared" with all tables. Must come after everything that uses texts. */
int firefox__write_libs(struct firefox *firefox);
int firefox__write_shared(struct firefox *firefox);
/* Writes "threads". */
int firefox__write_threads(struct firefox *firefox);
/* Writes "markers" of a thread. */
int firefox__write_markers(struct firefox *firefox, uint32_t thread);
/* Writes "counters". */
void firefox__write_counters(struct firefox *firefox);
/* Whether a thread has samples, events or windows. */
bool firefox__has_thread(const struct firefox *firefox, uint32_t thread);
/* The pid of a thread's process in the viewer. The second process with pid 1000 is "1000.1". */
void firefox__pid(const struct firefox *firefox, uint32_t thread, char *ret, size_t size);
const struct profile_sample *firefox__sample(const struct firefox *firefox, size_t at);
int64_t firefox__since_start(const struct firefox *firefox, int64_t time_ns);
