/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: one struct command per verb, each in its own cmd_VERB.c. */
#pragma once

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/redact.h"
#include "model/scope.h"

#include "cli_list.h"

/* Exit codes: 0 done, 1 failed, and these. */
enum { CLI_EXIT_USAGE = 2, CLI_EXIT_GAPS = 3, CLI_EXIT_CROSSED = 4 };

/* The words that an option accepts. The last entry of a table is empty. */
struct cli_words {
	const char *option;       /* the long name */
	const char *const *words; /* ends with NULL */
};

struct command {
	const char *name;
	const char *about;                 /* one line for --help */
	const struct argp *argp;           /* its options, for run() and for shell completion */
	const struct cli_words *words;     /* for options that accept certain words; or NULL */
	int (*run)(int argc, char **argv); /* argv[0] is "gapless VERB"; returns the exit code */
};

#define CLI_DECLARE(name) extern const struct command name##_command;
EACH_COMMAND(CLI_DECLARE)

/* Those of src/cli/list, up to a NULL. */
extern const struct command *const cli_commands[];

int cli__main(int argc, char **argv);

/* Options that every command has. */
struct cli_common {
	bool json;
};

/* Put this into the argp's children and point the parser's child_inputs[0] at a cli_common. */
extern const struct argp cli_common_argp;

/*
 * The options that select targets; the input is a struct target. An invalid one ends the program.
 */
extern const struct argp cli_target_argp;

#define CLI_SCOPE_MOST 64 /* values of one key */

/* The part of a recording that a command is about. */
struct cli_scope {
	struct scope scope;
	char why[SCOPE_WHY_SIZE]; /* see scope.why */
	const char *only[SCOPE_KEYS][CLI_SCOPE_MOST + 1];
};

/* The options that choose that part; the input is a struct cli_scope. */
extern const struct argp cli_scope_argp;
/* The options that choose requests and calls; the input is a struct windows_options. */
extern const struct argp cli_window_argp;

/*
 * argp_parse() with two additions: an unknown long option suggests the nearest, and errors exit
 * with CLI_EXIT_USAGE. Does not return on a usage error.
 */
void cli__parse(const struct argp *argp, int argc, char **argv, void *input);

/*
 * Like argp_error(). If the option comes from a file, the message names the place that was set with
 * log__set_place(). Does not return.
 */
__attribute__((format(printf, 2, 3), noreturn)) void cli__refuse(struct argp_state *state,
								 const char *format, ...);

/* "unknown WHAT 'typed'; did you mean 'x'?" on stderr. `known` ends with NULL. */
void cli__unknown(const char *what, const char *typed, const char *const *known);

/* Parses a time of a recording, "10s" or "14:20:05"; a usage error if it is invalid. */
void cli__time(struct argp_state *state, const char *arg, struct scope_time *ret);

/* Parses how much of arguments is shown, "redacted"; a usage error if it is invalid. */
void cli__args(const char *arg, enum redact_args *ret);
#define CLI_ARGS_ABOUT "Show arguments: full, redacted or none"

/* The known levels; ends with NULL. */
extern const char *const cli_levels[];

/* Whether the level is "full"; false for "sched", a usage error for anything else. */
bool cli__is_full(struct argp_state *state, const char *level);
/* --budget: millionths of the target's CPU time; 0: none. An invalid one ends the program. */
uint32_t cli__budget(struct argp_state *state, const char *text);

/* Whether the process may load BPF programs; if not, prints what it lacks. */
bool cli__may_measure(void);

/*
 * The most recently changed "*.gapless" file of the current folder. Prints its name to standard
 * error. If there is none, prints that and returns NULL.
 */
const char *cli__newest_recording(void);

/*
 * Whether writing to standard output failed; prints why, once. Call this right after printing,
 * while errno is still valid.
 */
bool cli__stdout_failed(void);

/* The number in an environment variable that only tests set; 0: not set. */
uint32_t cli__test_switch(const char *name);

/* Prints an object with its format, and frees it. Returns false if writing to stdout failed. */
bool cli__print_json(json_t *json);
