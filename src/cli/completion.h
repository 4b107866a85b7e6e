/* What a shell can offer for the next word of a command line, from the tables of options. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"

enum completion_kind {
	COMPLETION_NONE, /* only the user knows */
	COMPLETION_WORDS,
	COMPLETION_LIST, /* of words, with commas between */
	COMPLETION_PIDS, /* with commas between */
	COMPLETION_USERS,
	COMPLETION_FILES,
	COMPLETION_RECORDINGS,
};

struct completion_value {
	enum completion_kind kind;
	char words[1024]; /* of COMPLETION_WORDS and _LIST, with blanks between */
};

struct completion_option {
	const char *name; /* NULL: it has only a letter */
	char letter;      /* 0: it has only a name */
	const char *arg;  /* as in --help; NULL: it takes none */
	const char *doc;
	struct completion_value value;
};

#define COMPLETION_MOST 64

/* The options of a command, with those that argp adds. Returns how many, COMPLETION_MOST at most.
 */
size_t completion__options(const struct command *command, struct completion_option *options);

/* What a command takes besides options. */
struct completion_args {
	struct completion_value value;
	bool many;    /* of them; else one */
	bool command; /* behind "--" is another command */
};

void completion__args(const struct command *command, struct completion_args *ret_args);

/* The names of all commands, with blanks between. */
void completion__verbs(char *words, size_t size);

/* `text` with a backslash before each character of `special`, and `quote` for each "'". */
void completion__put(FILE *out, const char *text, const char *special, const char *quote);

struct completion_shell {
	const char *name;
	void (*print)(FILE *out); /* its script */
};

/* The last is empty. */
extern const struct completion_shell completion_shells[];

void completion__bash(FILE *out);
void completion__fish(FILE *out);
void completion__zsh(FILE *out);
