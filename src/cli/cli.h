/* The command line: one struct command per verb, each in its own cmd_VERB.c. */
#pragma once

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/redact.h"

#include "cli_list.h"

/* Exit codes: 0 done, 1 failed, and these. */
enum { CLI_EXIT_USAGE = 2, CLI_EXIT_GAPS = 3, CLI_EXIT_CROSSED = 4 };

/* The words that an option takes; of a table of these, the last is empty. */
struct cli_words {
	const char *option;       /* the long name */
	const char *const *words; /* up to a NULL */
};

struct command {
	const char *name;
	const char *about;                 /* one line for --help */
	const struct argp *argp;           /* its options, for run() and the completion of shells */
	const struct cli_words *words;     /* of options that take certain words; NULL: none */
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

/* Whom to look at; the input is a struct target. What cannot be ends the program. */
extern const struct argp cli_target_argp;

/*
 * argp_parse() with two additions: an unknown long option suggests the nearest, and errors exit
 * with CLI_EXIT_USAGE. Does not return on a usage error.
 */
void cli__parse(const struct argp *argp, int argc, char **argv, void *input);

/*
 * argp_error(), but for an option that comes from a file: then the message names the place, which
 * log__set_place() was told of. Does not return.
 */
__attribute__((format(printf, 2, 3), noreturn)) void cli__refuse(struct argp_state *state,
								 const char *format, ...);

/* "unknown WHAT 'typed'; did you mean 'x'?" on stderr. `known` ends with NULL. */
void cli__unknown(const char *what, const char *typed, const char *const *known);

/* A time from the start of a recording, "10s"; a usage error if it is none. */
void cli__offset(struct argp_state *state, const char *arg, uint64_t *ret_ns);

/* How much of arguments is shown, "redacted"; a usage error if it is none. */
void cli__args(const char *arg, enum redact_args *ret);
#define CLI_ARGS_ABOUT "Show arguments: full, redacted or none"

/* What there is, up to a NULL. */
extern const char *const cli_levels[];

/* Whether a level is "full", not "sched"; a usage error if it is neither. */
bool cli__is_full(struct argp_state *state, const char *level);

/* Whether the process may load BPF programs; if not, says what it lacks. */
bool cli__may_measure(void);

/*
 * The recording of the current folder that was changed last, "*.gapless"; says which on standard
 * error. NULL: there is none, which is said too.
 */
const char *cli__newest_recording(void);

/*
 * Whether standard output did not take all that was printed; says why, once. Best asked when the
 * printing is over, while errno knows.
 */
bool cli__stdout_failed(void);

/* The number in a variable of the environment that only tests set; 0: it is not set. */
uint32_t cli__test_switch(const char *name);

/* Prints an object, with its format, and frees it. Returns false if stdout could not take it. */
bool cli__print_json(json_t *json);
