/* The command line: one struct command per verb, each in its own cmd_VERB.c. */
#pragma once

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit codes: 0 done, 1 failed, and these. */
enum { CLI_EXIT_USAGE = 2, CLI_EXIT_GAPS = 3, CLI_EXIT_CROSSED = 4 };

struct command {
	const char *name;
	const char *about;                 /* one line for --help */
	int (*run)(int argc, char **argv); /* argv[0] is "gapless VERB"; returns the exit code */
};

extern const struct command record_command, doctor_command, list_command, watch_command,
	report_command, export_command, query_command, diff_command, top_command;

int cli__main(int argc, char **argv);

/* Options that every command has. */
struct cli_common {
	bool json;
};

/* Put this into the argp's children and point the parser's child_inputs[0] at a cli_common. */
extern const struct argp cli_common_argp;

/* Whom to look at; the input is a struct target. What cannot be ends the program. */
extern const struct argp cli_target_argp;

/*
 * argp_parse() with two additions: an unknown long option suggests the nearest, and errors exit
 * with CLI_EXIT_USAGE. Does not return on a usage error.
 */
void cli__parse(const struct argp *argp, int argc, char **argv, void *input);

/* "unknown WHAT 'typed'; did you mean 'x'?" on stderr. `known` ends with NULL. */
void cli__unknown(const char *what, const char *typed, const char *const *known);

/* A time from the start of a recording, "10s"; a usage error if it is none. */
void cli__offset(struct argp_state *state, const char *arg, uint64_t *ret_ns);

/*
 * Whether standard output did not take all that was printed; says why, once. Best asked when the
 * printing is over, while errno knows.
 */
bool cli__stdout_failed(void);

/* Prints and frees. Returns false if stdout could not take it. */
bool cli__print_json(json_t *json);
