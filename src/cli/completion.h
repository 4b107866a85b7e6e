/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a shell can offer as the next word of a command line, derived from the tables of options. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"

enum completion_kind {
	COMPLETION_NONE, /* cannot be completed */
	COMPLETION_WORDS,
	COMPLETION_LIST, /* words separated by commas */
	COMPLETION_PIDS, /* separated by commas */
	COMPLETION_USERS,
	COMPLETION_FILES,
	COMPLETION_RECORDINGS,
};

struct completion_value {
	enum completion_kind kind;
	char words[1024]; /* for COMPLETION_WORDS and _LIST, separated by blanks */
};

struct completion_option {
	const char *name; /* NULL: only a letter */
	char letter;      /* 0: only a name */
	const char *arg;  /* as in --help; NULL: none */
	const char *doc;
	struct completion_value value;
};

#define COMPLETION_MOST 64

/*
 * The options of a command, including those that argp adds. Returns their number, at most
 * COMPLETION_MOST.
 */
size_t completion__options(const struct command *command, struct completion_option *options);

/* The arguments of a command other than options. */
struct completion_args {
	struct completion_value value;
	bool many;    /* any number of arguments; otherwise one */
	bool command; /* another command follows "--" */
};

void completion__args(const struct command *command, struct completion_args *ret_args);

/* The names of all commands, separated by blanks. */
void completion__verbs(char *words, size_t size);

/* Writes `text` with a backslash before each character of `special`, and `quote` for each "'". */
void completion__put(FILE *out, const char *text, const char *special, const char *quote);

struct completion_shell {
	const char *name;
	void (*print)(FILE *out); /* prints its script */
};

/* The last entry is empty. */
extern const struct completion_shell completion_shells[];

void completion__bash(FILE *out);
void completion__fish(FILE *out);
void completion__zsh(FILE *out);
