/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that say what a signal is to measure (struct signal_option): --event, --pair. `record`
 * and `watch` have them.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "signals/registry.h"

#define REQUESTS_MOST 64

struct requests {
	struct {
		const char *option;
		const char *arg;
	} list[REQUESTS_MOST];
	size_t count;
};

/* The options' entries of an argp, with their keys. */
enum { REQUESTS_EVENT = 480, REQUESTS_PAIR };
#define REQUESTS_ARGP(group)                                                                       \
	{ "event",                                                                                 \
	  REQUESTS_EVENT,                                                                          \
	  "EVENT",                                                                                 \
	  0,                                                                                       \
	  "Count a tracepoint, GROUP:NAME[,key=FIELD][,value=FIELD]; may be repeated",             \
	  group },                                                                                 \
	{                                                                                          \
		"pair", REQUESTS_PAIR, "PAIR", 0,                                                  \
			"Time from one tracepoint to another, 'A -> B by thread' or "              \
			"'A -> B by FIELD'; may be repeated",                                      \
			group                                                                      \
	}

/* Whether the key is that of such an option, which is then taken. An invalid one ends the program.
 */
bool requests__parse(struct requests *requests, int key, const char *arg, struct argp_state *state);

/* Switches on the signals of all that was requested. */
void requests__add_signals(const struct requests *requests, const struct signal *ret[SIGNALS_MOST]);

/* Ends the program if the signal measures only what options name, and none does. */
void requests__check(const struct requests *requests, const struct signal *signal,
		     struct argp_state *state);

/* Appends them in the format of --config. */
void requests__say(const struct requests *requests, char *text, size_t size);
