/* What the files of the Firefox Profiler's format share. */
#pragma once

#include "base/json_out.h"
#include "export/calltree.h"
#include "export/strings.h"
#include "model/profile.h"

/* Categories that are always there; those of waits follow, one for each cause. */
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
	uint32_t before;           /* how many processes before it had its pid */
};

struct firefox {
	struct json_out out;
	const struct profile *profile;
	struct calltree *calls;
	struct strings strings;
	struct strings causes;                /* of waits: category FIREFOX_WAITS + index */
	uint32_t *categories, *subcategories; /* of each state */
	uint32_t *order;                      /* samples by thread, then time */
	int64_t *free_ns;                     /* of spans__wait() */
	int64_t step_ns;                      /* of pieces */
	struct firefox_process *processes;
	size_t *begins; /* for each thread its first in `order`, and the end */
	uint32_t *event_order;
	size_t *event_begins;  /* likewise of events */
	uint32_t first_thread; /* that is written: what belongs to none is shown with it */
};

#define FIREFOX_MS_DIGITS 6 /* of nanoseconds */

/* A column of numbers, `value` made from `i`; FIREFOX_NULL is null. */
#define FIREFOX_NULL INT64_MIN
#define FIREFOX_COLUMN(firefox, key, i, count, value)                                              \
	do {                                                                                       \
		json_out__open(&(firefox)->out, key, '[');                                         \
		for (size_t i = 0; i < (count); i++)                                               \
			firefox__number(firefox, NULL, value);                                     \
		json_out__close(&(firefox)->out, ']');                                             \
	} while (0)

/* A text's place in the table of strings. */
int64_t firefox__text(struct firefox *firefox, const char *text);
void firefox__number(struct firefox *firefox, const char *key, int64_t number);

/* "libs", and "shared" with all tables. Everything that has a text comes before. */
int firefox__write_libs(struct firefox *firefox);
int firefox__write_shared(struct firefox *firefox);
/* "threads". */
int firefox__write_threads(struct firefox *firefox);
/* "markers" of a thread. */
int firefox__write_markers(struct firefox *firefox, uint32_t thread);
/* "counters". */
void firefox__write_counters(struct firefox *firefox);
/* Whether it has samples or events. */
bool firefox__has_thread(const struct firefox *firefox, uint32_t thread);
/* The pid that the viewer knows its process by: the second process of pid 1000 is "1000.1". */
void firefox__pid(const struct firefox *firefox, uint32_t thread, char *ret, size_t size);
const struct profile_sample *firefox__sample(const struct firefox *firefox, size_t at);
int64_t firefox__since_start(const struct firefox *firefox, int64_t time_ns);
