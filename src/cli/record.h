/* What the parts of `gapless record` share: options, one recording, several in a row. */
#pragma once

#include <limits.h>

#include "cli/cli.h"
#include "record/run.h"
#include "signals/registry.h"

#define RECORD_DEFAULT_FILE "run.gapless"
#define RECORD_MOST         1000

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
};

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
