/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gapless top: the list, the drill, the keys. It shows recordings that other code writes at the
 * same time, through struct top_source.
 */
#pragma once

#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/ask.h"

/* A recording in progress. */
struct top_view {
	sqlite3 *db;
	ask_open_state *open_state;
	void *context;
};

struct top_source {
	void *context;
	struct top_view list;
	const char *target; /* what the list covers, in words */
	/* Does the work that is due and returns. -errno ends top. */
	int (*work)(void *context);
	void (*set_interval)(void *context, uint64_t interval_ns);
	/*
	 * Starts recording one process in detail, until leave(). On failure, `why` says why. On
	 * success, the recording exists from then on.
	 */
	int (*drill)(void *context, int pid, struct top_view *ret, char *why, size_t size);
	void (*leave)(void *context);
	/* Starts and ends recording requests, like drill() and leave(). */
	int (*serve)(void *context, struct top_view *ret, char *why, size_t size);
	void (*stop_serving)(void *context);
	/* Whether all threads of the drill have ended. */
	bool (*is_over)(void *context);
	/*
	 * Saves the drill or, if `drill` is false, the requests or else the list. `words` tells the
	 * user the result, good or bad.
	 */
	void (*save)(void *context, bool drill, char *words, size_t size);
};

struct top_options {
	uint64_t interval_ns;
	bool by_thread;
	bool drill_full; /* a drill includes syscalls and stacks */
	/* Not 0: top must end. */
	const volatile sig_atomic_t *stop;
};

/* Runs until 'q', a signal or an error. The caller starts and stops the screen. */
int top__run(const struct top_options *options, const struct top_source *source);
