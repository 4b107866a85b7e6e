/*
 * gapless top: the list, the drill, the keys. It shows what is in recordings that somebody else
 * writes meanwhile; what that somebody has to do is in struct top_source.
 */
#pragma once

#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/ask.h"

/* A recording under way. */
struct top_view {
	sqlite3 *db;
	ask_open_state *open_state;
	void *context;
};

struct top_source {
	void *context;
	struct top_view list;
	const char *target; /* whom the list is about, for a person */
	/* Does what is due now and returns. -errno ends top. */
	int (*work)(void *context);
	void (*set_interval)(void *context, uint64_t interval_ns);
	/*
	 * Looks closely at one process, until leave(). On failure `why` says why. If all goes well,
	 * there is a recording from then on.
	 */
	int (*drill)(void *context, int pid, struct top_view *ret, char *why, size_t size);
	void (*leave)(void *context);
	/* Whether all threads of the drill are over. */
	bool (*is_over)(void *context);
	/* Saves the drill or, if there is none, the list. `words` are for a person either way. */
	void (*save)(void *context, bool drill, char *words, size_t size);
};

struct top_options {
	uint64_t interval_ns;
	bool by_thread;
	bool drill_full; /* a drill has syscalls and stacks */
	/* Not 0: it is time to go. */
	const volatile sig_atomic_t *stop;
};

/* Until 'q', a signal or an error. The screen is the caller's to start and stop. */
int top__run(const struct top_options *options, const struct top_source *source);
