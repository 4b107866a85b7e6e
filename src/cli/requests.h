/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that say what a signal is to measure (struct signal_option): --event, --pair,
 * --function, --usdt. `record` and `watch` have them.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "record/run.h"
#include "signals/registry.h"

#define REQUESTS_MOST 64

struct requests {
	struct {
		const char *option;
		const char *arg; /* NULL: it has none */
	} list[REQUESTS_MOST];
	size_t count;
};

/* The options' entries of an argp, with their keys. */
enum {
	REQUESTS_EVENT = 480,
	REQUESTS_PAIR,
	REQUESTS_FUNCTION,
	REQUESTS_WINDOW,
	REQUESTS_USDT,
	REQUESTS_FORCE_RETURNS,
	REQUESTS_SAMPLE_ON
};

#define REQUESTS_ARGP(group)                                                                               \
	{ "event",                                                                                         \
	  REQUESTS_EVENT,                                                                                  \
	  "EVENT",                                                                                         \
	  0,                                                                                               \
	  "Count a tracepoint, GROUP:NAME[,key=FIELD][,value=FIELD]; may be repeated",                     \
	  group },                                                                                         \
		{ "pair",                                                                                  \
		  REQUESTS_PAIR,                                                                           \
		  "PAIR",                                                                                  \
		  0,                                                                                       \
		  "Time from A to B: 'A -> B by thread', 'A -> B by FIELD', 'function:A -> function:B by " \
		  "arg1'; may be repeated",                                                                \
		  group },                                                                                 \
		{ "function",                                                                              \
		  REQUESTS_FUNCTION,                                                                       \
		  "SPEC",                                                                                  \
		  0,                                                                                       \
		  "Time each call of a function: libc:malloc, ./prog:work, 'shop::*'; may be repeated",    \
		  group },                                                                                 \
		{ "window",                                                                                \
		  REQUESTS_WINDOW,                                                                         \
		  "SPEC",                                                                                  \
		  0,                                                                                       \
		  "Cut the account by calls of a function, like --function: where slow ones spent their "  \
		  "time; may be repeated",                                                                 \
		  group },                                                                                 \
		{ "usdt",                                                                                  \
		  REQUESTS_USDT,                                                                           \
		  "SPEC",                                                                                  \
		  0,                                                                                       \
		  "Count hits of a declared probe: python:gc__start; may be repeated [see 'gapless list "  \
		  "usdt']",                                                                                \
		  group },                                                                                 \
	{                                                                                                  \
		"force-returns", REQUESTS_FORCE_RETURNS, NULL, 0,                                          \
			"Time also functions through which an exception may pass: it would end "           \
			"the program",                                                                     \
			group                                                                              \
	}

/* Whether the key is that of such an option, which is then taken. An invalid one ends the program.
 */
bool requests__parse(struct requests *requests, int key, const char *arg, struct argp_state *state);

/* Whether the option was given. */
bool requests__has(const struct requests *requests, const char *option);

/* Switches on the signals of all that was requested. */
void requests__add_signals(const struct requests *requests, const struct signal *ret[SIGNALS_MOST]);

/* Ends the program if the signal measures only what options name, and none does. */
void requests__check(const struct requests *requests, const struct signal *signal,
		     struct argp_state *state);

/*
 * Lets the chosen signals look for what was requested, before each recording. `command`: a program
 * that does not run yet, or NULL. Logs. 0 or -errno.
 */
int requests__find(const struct run_options *run, const char *command);

/* Appends them in the format of --config. */
void requests__say(const struct requests *requests, char *text, size_t size);
