/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --function and --usdt, for `record` and `watch`. */
#pragma once

#include <argp.h>

#include "record/run.h"
#include "signals/functions/function_probes.h"
#include "signals/registry.h"

#define FUNCTION_OPTIONS_ABOUT                                                                     \
	"Time each call of a function: libc:malloc, ./prog:work, 'shop::*'; may be repeated"
#define FUNCTION_OPTIONS_USDT_ABOUT                                                                \
	"Count hits of a declared probe: python:gc__start; may be repeated [see 'gapless list "    \
	"usdt']"
#define FUNCTION_OPTIONS_FORCE_ABOUT                                                               \
	"Time also functions through which an exception may pass: it would end the program"

/* Takes one of them; too many end the program. `arg` must stay valid. */
void function_options__take(struct argp_state *state, struct function_choice *choice,
			    const char *arg, bool is_probe);

/* Adds the signal if something was chosen. */
void function_options__add_signal(const struct function_choice *choice,
				  const struct signal *to[SIGNALS_MOST]);

/*
 * Finds what was chosen, before the signal starts. `command`: that is not running yet, or NULL.
 * Logs. 0, also if nothing was chosen.
 */
int function_options__find(struct function_choice *choice, const struct run_options *run,
			   const char *command);

/* `gapless list usdt PID|FILE`. Prints, and returns the exit status. */
int function_options__list_usdt(const char *where, bool json);
