/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of `gapless record`: options, one recording, several in a row. */
#pragma once

#include <limits.h>

#include "cli/cli.h"
#include "cli/requests.h"
#include "record/run.h"
#include "signals/registry.h"

#define RECORD_DEFAULT_FILE "run.gapless"
#define RECORD_MOST         1000

/* The source of an option. Earlier ones take precedence. */
enum record_source { RECORD_NOWHERE, RECORD_COMMAND_LINE, RECORD_CONFIG, RECORD_LIKE };

#define RECORD_NOTES_MOST       32
#define RECORD_NOTE_NAME_BYTES  64
#define RECORD_NOTE_VALUE_BYTES 1000

/* --note NAME=VALUE. Both point into `text`, which the note owns. */
struct record_note {
	char *text;
	const char *name, *value;
	enum record_source source;
};

/* Larger than the key of any option. */
#define RECORD_KEYS 512

struct record_options {
	struct cli_common common;
	struct run_options run;
	uint64_t duration_ns; /* 0: until the target ends or Ctrl-C */
	uint64_t warmup_ns;   /* 0: none */
	uint64_t repeats;     /* number of recordings; 0: one, with a report */
	const char *output;   /* NULL: the default */
	bool force;
	bool no_report;
	uint64_t rate; /* samples per second */
	enum { STACKS_BY_LEVEL, STACKS_YES, STACKS_NO } stacks;
	const char *signal_list;
	const struct signal *signals[SIGNALS_MOST];
	bool heap;
	struct requests requests;
	char **command;      /* NULL: none */
	char **command_line; /* of gapless itself */
	const char *config;  /* NULL: none */
	const char *like;    /* NULL: none */
	struct record_note notes[RECORD_NOTES_MOST];
	size_t note_count;
	enum record_source source;          /* of the option that is being parsed */
	unsigned char sources[RECORD_KEYS]; /* of each option, by its key */
	char *texts[2];                     /* owns the text of options from --config and --like */
};

/*
 * Takes options from --config, then from --like. The command line takes precedence over both. An
 * invalid option ends the program.
 */
void record__take_config(struct record_options *options, struct argp_state *state);
void record__take_like(struct record_options *options, struct argp_state *state);
/* The options in force, in the format of --config, without those that apply only to this run. */
void record__say_options(const struct record_options *options, char *text, size_t size);

/* Adds a note, "NAME=VALUE". An invalid one ends the program. */
void record__add_note(struct record_options *options, const char *arg, struct argp_state *state);
/* Frees what record__take_*() and record__add_note() allocated. */
void record__release(struct record_options *options);

/* How a recording ended; in words, `meta.ended`. */
enum record_end { RECORD_COMMAND, RECORD_DURATION, RECORD_INTERRUPT, RECORD_TARGET };
const char *record__end_word(enum record_end end);

struct record_result {
	enum record_end end;
	int status; /* the command's; 0 if it is still running, or there is none */
};

/* Ctrl-C and similar signals end a recording, and prevent further ones. */
void record__catch_signals(void);
bool record__is_interrupted(void);

/*
 * Makes recording number `number` at `path`. Logs. 0: it is complete. -ECANCELED: interrupted
 * during the warm-up; -ECHILD: the command ended during the warm-up; otherwise another -errno. If
 * the recording did not begin, no file is left.
 */
int record__one(struct record_options *options, const char *path, uint64_t number,
		struct features *features, struct record_result *ret);

/* The exit status of gapless for this result. */
int record__exit_status(int err, const struct record_result *result);

/* Makes all recordings of --repeat and lists them. Returns the exit status. */
int record__repeat(struct record_options *options, struct features *features);

/* `base` with the number before its suffix: "a/run.gapless" → "a/run-3.gapless". -ENAMETOOLONG. */
int record__name(const char *base, uint64_t number, char ret[PATH_MAX]);
