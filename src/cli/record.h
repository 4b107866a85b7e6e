/* What the parts of `gapless record` share: options, one recording, several in a row. */
#pragma once

#include <limits.h>

#include "cli/cli.h"
#include "record/run.h"
#include "signals/registry.h"

#define RECORD_DEFAULT_FILE "run.gapless"
#define RECORD_MOST         1000

/* Where an option comes from. An earlier one wins. */
enum record_source { RECORD_NOWHERE, RECORD_COMMAND_LINE, RECORD_CONFIG, RECORD_LIKE };

#define RECORD_NOTES_MOST       32
#define RECORD_NOTE_NAME_BYTES  64
#define RECORD_NOTE_VALUE_BYTES 1000

/* --note NAME=VALUE. Both point into `text`, which is the note's own. */
struct record_note {
	char *text;
	const char *name, *value;
	enum record_source source;
};

/* Larger than every key of an option. */
#define RECORD_KEYS 512

struct record_options {
	struct cli_common common;
	struct run_options run;
	uint64_t duration_ns; /* 0: until it ends or Ctrl-C */
	uint64_t warmup_ns;   /* 0: none */
	uint64_t repeats;     /* how many recordings; 0: one, with a report */
	const char *output;   /* NULL: the default */
	bool force;
	bool no_report;
	uint64_t rate; /* of samples, a second */
	enum { STACKS_BY_LEVEL, STACKS_YES, STACKS_NO } stacks;
	const char *signal_list;
	const struct signal *signals[SIGNALS_MOST];
	char **command;      /* NULL: none */
	char **command_line; /* of gapless itself */
	const char *config;  /* NULL: none */
	const char *like;    /* NULL: none */
	struct record_note notes[RECORD_NOTES_MOST];
	size_t note_count;
	enum record_source source;          /* of what is parsed now */
	unsigned char sources[RECORD_KEYS]; /* of each option, by its key */
	char *texts[2];                     /* of options that did not come from the command line */
};

/*
 * Options from elsewhere than the command line, which wins over both: from --config, then from
 * --like. What is wrong ends the program.
 */
void record__take_config(struct record_options *options, struct argp_state *state);
void record__take_like(struct record_options *options, struct argp_state *state);
/* The options in force, as a file of --config, but for what is only of this one run. */
void record__say_options(const struct record_options *options, char *text, size_t size);

/* Adds a note, "NAME=VALUE". What is wrong ends the program. */
void record__add_note(struct record_options *options, const char *arg, struct argp_state *state);
/* Of what record__take_*() and record__add_note() allocated. */
void record__release(struct record_options *options);

/* How a recording ended. `meta.ended` has it in words. */
enum record_end { RECORD_COMMAND, RECORD_DURATION, RECORD_INTERRUPT, RECORD_TARGET };
const char *record__end_word(enum record_end end);

struct record_result {
	enum record_end end;
	int status; /* the command's; 0 if it goes on, or there is none */
};

/* Ctrl-C and its like end a recording, and let no other begin. */
void record__catch_signals(void);
bool record__is_interrupted(void);

/*
 * Makes the recording number `number` at `path`. Logs. 0: it is complete. -ECANCELED: an interrupt
 * came within the warm-up; -ECHILD: the command ended within it; else another -errno. What could
 * not be begun leaves no file.
 */
int record__one(struct record_options *options, const char *path, uint64_t number,
		struct features *features, struct record_result *ret);

/* What its result means to whoever started gapless. */
int record__exit_status(int err, const struct record_result *result);

/* All of --repeat: makes them, says what was made. Returns the exit status. */
int record__repeat(struct record_options *options, struct features *features);

/* `base` with the number before its suffix: "a/run.gapless" → "a/run-3.gapless". -ENAMETOOLONG. */
int record__name(const char *base, uint64_t number, char ret[PATH_MAX]);
