/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless record: account for a target's time until it ends, -d has passed, or Ctrl-C. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/reader.h"
#include "cli/record.h"
#include "report/report.h"
#include "signals/registry.h"

#define DEFAULT_RATE        99
#define MOST_RATE           10000
#define DEFAULT_TABLE_BYTES (UINT64_C(64) << 20)

enum {
	OPTION_LEVEL = 256,
	OPTION_FORCE,
	OPTION_NO_REPORT,
	OPTION_BUDGET,
	OPTION_STACKS,
	OPTION_NO_STACKS,
	OPTION_TABLES,
	OPTION_SIGNALS,
	OPTION_SLOW,
	OPTION_HEAP,
	OPTION_REQUESTS,
	OPTION_WINDOW_TEXT,
	OPTION_REPEAT,
	OPTION_WARMUP,
	OPTION_SEED,
	OPTION_NOTE,
	OPTION_LIKE,
	OPTION_CONFIG,
};

DEFINE_CLEANUP(struct features *, features__free)

/* The first unused name of run.gapless, run-2.gapless, …, so that repeated recordings just work. */
static const char *free_name(char *name, size_t size)
{
	struct stat info;

	snprintf(name, size, "%s", RECORD_DEFAULT_FILE);
	for (int i = 2; i < RECORD_MOST && !stat(name, &info); i++)
		snprintf(name, size, "run-%d.gapless", i);
	return name;
}

static int parse_stacks(int key, const char *arg, struct record_options *options,
			struct argp_state *state)
{
	uint64_t megabytes;

	if (key == OPTION_STACKS) {
		options->stacks = STACKS_YES;
	} else if (key == OPTION_NO_STACKS) {
		options->stacks = STACKS_NO;
	} else if (key == 'F') {
		if (parse__number(arg, 1, MOST_RATE, &options->rate))
			cli__refuse(state, "'%s' is not a rate [1 to %d samples a second]", arg,
				    MOST_RATE);
	} else if (key == OPTION_SEED) {
		if (parse__number(arg, 1, INT64_MAX, &options->run.seed))
			cli__refuse(state, "'%s' is not a seed [a number from 1 on]", arg);
	} else if (parse__number(arg, 1, 65536, &megabytes)) {
		cli__refuse(state, "'%s' is not a number of megabytes", arg);
	} else {
		options->run.table_bytes = megabytes << 20;
	}
	return 0;
}

/* Level sched has no syscall hooks, so stacks are off by default there. */
static uint64_t tick_ns(const struct record_options *options)
{
	if (options->stacks == STACKS_NO || (!options->run.full && options->stacks != STACKS_YES))
		return 0;
	return UINT64_C(1000000000) / options->rate;
}

static void parse_signals(const char *list, struct record_options *options,
			  struct argp_state *state)
{
	const char *bad;

	if (registry__choose(list, options->signals, &bad))
		cli__refuse(state, "'%.*s' is not a signal [see 'gapless list']",
			    (int)strcspn(bad, ","), bad);
	options->signal_list = list;
}

/*
 * Some signals need the ledger at level full. If they were asked for by name, that must be the
 * level.
 */
static void choose_signals(struct record_options *options, struct argp_state *state)
{
	const struct signal **chosen = options->signals;
	size_t kept = 0;

	if (options->heap)
		registry__add(chosen, registry__of(ROLE_HEAP));
	requests__add_signals(&options->requests, chosen);
	for (size_t i = 0; chosen[i]; i++)
		requests__check(&options->requests, chosen[i], state);
	for (size_t i = 0; chosen[i]; i++) {
		if (options->run.full || !chosen[i]->at_syscalls)
			chosen[kept++] = chosen[i];
		else if (options->signal_list)
			log_warning("signal '%s' needs --level full; continuing without it",
				    chosen[i]->name);
	}
	chosen[kept] = NULL;
	options->run.signals = chosen;
}

static int parse_windows(int key, const char *arg, struct record_options *options,
			 struct argp_state *state)
{
	bool is_text = key == OPTION_WINDOW_TEXT;

	if (strcmp(arg, is_text ? "none" : "yes") && strcmp(arg, is_text ? "begin" : "no"))
		cli__refuse(state, "'%s' is not %s", arg, is_text ? "begin or none" : "yes or no");
	if (is_text)
		options->run.no_window_text = !strcmp(arg, "none");
	else
		options->run.no_requests = !strcmp(arg, "no");
	return 0;
}

static int parse_series(int key, const char *arg, struct record_options *options,
			struct argp_state *state)
{
	if (key == OPTION_REPEAT && parse__number(arg, 2, RECORD_MOST, &options->repeats))
		cli__refuse(state, "'%s' is not a number of recordings [2 to %d]", arg,
			    RECORD_MOST);
	if (key == OPTION_WARMUP && parse__duration(arg, &options->warmup_ns))
		cli__refuse(state, "'%s' is not a duration [like 500ms, 10s, 2m]", arg);
	return 0;
}

/* Combinations of options can be checked only after all of them are parsed. */
static void check(struct record_options *options, struct argp_state *state)
{
	if (!options->command && target__is_empty(&options->run.target))
		argp_error(state, "record what? [-p PID, -a, or -- COMMAND]");
	if (options->command && !target__is_empty(&options->run.target))
		argp_error(state, "either a command or a target, not both");
	if (options->repeats && !options->command && !options->duration_ns)
		argp_error(state, "--repeat needs to know how long each recording is [-d TIME]");
}

/* Stores the source of each option. --stacks and --no-stacks count as one option. */
static void remember_source(struct record_options *options, int key)
{
	if (key > 0 && key < RECORD_KEYS)
		options->sources[key] = options->source;
	if (key == OPTION_STACKS || key == OPTION_NO_STACKS)
		options->sources[OPTION_STACKS] = options->sources[OPTION_NO_STACKS] =
			options->source;
}

static int parse_repetition(int key, char *arg, struct record_options *options,
			    struct argp_state *state)
{
	const char **file = key == OPTION_CONFIG ? &options->config : &options->like;

	if (key == OPTION_NOTE)
		record__add_note(options, arg, state);
	else if (*file)
		cli__refuse(state, "one file for --%s, not also '%s'",
			    key == OPTION_CONFIG ? "config" : "like", arg);
	else
		*file = arg;
	return 0;
}

/* Called when all options of the command line are parsed. */
static void finish(struct record_options *options, struct argp_state *state)
{
	record__take_config(options, state);
	record__take_like(options, state);
	check(options, state);
	options->run.tick_ns = tick_ns(options);
	options->run.calls = requests__has(&options->requests, "window");
	if (requests__has(&options->requests, "sample-on") && !options->run.tick_ns)
		argp_error(state, "--sample-on takes stacks, which are off [--stacks]");
	choose_signals(options, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *options = state->input;

	remember_source(options, key);
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		state->child_inputs[1] = &options->run.target;
		return 0;
	case 'd':
		if (parse__duration(arg, &options->duration_ns))
			cli__refuse(state, "'%s' is not a duration [like 500ms, 10s, 2m]", arg);
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case OPTION_LEVEL:
		options->run.full = cli__is_full(state, arg);
		return 0;
	case OPTION_BUDGET:
		options->run.budget_ppm = cli__budget(state, arg);
		return 0;
	case 'F':
	case OPTION_STACKS:
	case OPTION_NO_STACKS:
	case OPTION_TABLES:
	case OPTION_SEED:
		return parse_stacks(key, arg, options, state);
	case OPTION_SIGNALS:
		parse_signals(arg, options, state);
		return 0;
	case OPTION_SLOW:
		if (parse__duration(arg, &options->run.slow_ns))
			cli__refuse(state, "'%s' is not a duration [like 500us, 10ms]", arg);
		return 0;
	case OPTION_HEAP:
		options->heap = true;
		return 0;
	case OPTION_REQUESTS:
	case OPTION_WINDOW_TEXT:
		return parse_windows(key, arg, options, state);
	case OPTION_REPEAT:
	case OPTION_WARMUP:
		return parse_series(key, arg, options, state);
	case OPTION_NOTE:
	case OPTION_LIKE:
	case OPTION_CONFIG:
		return parse_repetition(key, arg, options, state);
	case OPTION_FORCE:
		options->force = true;
		return 0;
	case OPTION_NO_REPORT:
		options->no_report = true;
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		finish(options, state);
		return 0;
	default:
		return requests__parse(&options->requests, key, arg, state) ? 0 : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "How:", 2 },
	{ "duration", 'd', "TIME", 0, "Stop after TIME (500ms, 10s, 2m)", 2 },
	{ "warmup", OPTION_WARMUP, "TIME", 0, "Do not record what happens in the first TIME", 2 },
	{ "repeat", OPTION_REPEAT, "N", 0,
	  "Make N recordings, one after the other: run-1.gapless, run-2.gapless, …", 2 },
	{ "level", OPTION_LEVEL, "LEVEL", 0,
	  "full (default): with syscalls; sched: scheduler hooks only, cheaper", 2 },
	{ "budget", OPTION_BUDGET, "SHARE", 0,
	  "Slow the target down by at most SHARE of its CPU time: time fewer calls if needed "
	  "(default: 5%), or none",
	  2 },
	{ "rate", 'F', "RATE", 0, "Take RATE stacks a second of each CPU (default: 99)", 2 },
	{ "seed", OPTION_SEED, "N", 0,
	  "Draw the random time between two stacks of a CPU from N (default: any)", 2 },
	{ "stacks", OPTION_STACKS, NULL, 0, "Take stacks also at level sched", 2 },
	{ "no-stacks", OPTION_NO_STACKS, NULL, 0, "Take no stacks", 2 },
	{ "table-size", OPTION_TABLES, "MB", 0,
	  "Memory for walking stacks without frame pointers (default: 64)", 2 },
	{ "signals", OPTION_SIGNALS, "LIST", 0,
	  "Signals besides the ledger: names, all, default, none [see 'gapless list']", 2 },
	{ "requests", OPTION_REQUESTS, "yes|no", 0,
	  "Cut the account also by the requests that threads serve, at level full (default: yes)",
	  2 },
	{ "window-text", OPTION_WINDOW_TEXT, "begin|none", 0,
	  "Keep the begin of some requests, at most 64 bytes (default), or no text of them", 2 },
	REQUESTS_ARGP(2),
	{ "sample-on", REQUESTS_SAMPLE_ON, "EVENT[/PERIOD]", 0,
	  "Take also a stack at each PERIODth page-faults, context-switches, GROUP:NAME, …; may be "
	  "repeated",
	  2 },
	{ "slow", OPTION_SLOW, "TIME", 0,
	  "Keep single events that take TIME or longer (default: 10ms)", 2 },
	{ "memory-heap", OPTION_HEAP, NULL, 0,
	  "Estimate calls and bytes of malloc() and its family, by stack", 2 },
	{ "note", OPTION_NOTE, "NAME=VALUE", 0, "Keep a note in the recording; may be repeated",
	  2 },
	{ "like", OPTION_LIKE, "RECORDING", 0, "Take the options that RECORDING was made with", 2 },
	{ "config", OPTION_CONFIG, "FILE", 0, "Take options from FILE: lines like 'rate = 99'", 2 },
	{ "output", 'o', "FILE", 0, "The recording (default: run.gapless, run-2.gapless, …)", 2 },
	{ "force", OPTION_FORCE, NULL, 0, "Overwrite FILE", 2 },
	{ "no-report", OPTION_NO_REPORT, NULL, 0, "Do not print the report at the end", 2 },
	{},
};

/* One line with the commands that tell more. */
static void say_more(const char *path, FILE *out)
{
	const char *name = words__clean(path, WORDS_MOST_COLUMNS).text;

	fprintf(out,
		"More: gapless report %s --full | --by thread | --html page.html; "
		"gapless export -f svg %s\n",
		name, name);
}

struct printing {
	const char *path;
	struct report_options report;
	FILE *out;
};

/* Runs in a process without privileges: a recording has names that others chose. */
static int print_report(void *context)
{
	const struct printing *printing = context;
	int err = report__print(printing->path, &printing->report, printing->out);

	if (err)
		log_error("'%s': %s", printing->path, model__why(err));
	else if (!printing->report.json)
		say_more(printing->path, printing->out);
	return !err && cli__stdout_failed() ? -EIO : err;
}

static int record_and_report(struct record_options *options, struct features *features)
{
	/* Standard output belongs to the command. */
	struct printing printing = { .report = { .json = options->common.json },
				     .out = options->command ? stderr : stdout };
	struct record_result result = {};
	char name[64];
	int err;

	if (!options->output)
		options->output = free_name(name, sizeof(name));
	err = record__one(options, options->output, 1, features, &result);
	if (err || options->no_report)
		return record__exit_status(err, &result);
	printing.path = options->output;
	err = reader__call(options->output, print_report, &printing);
	return record__exit_status(err, &result);
}

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
					      { &cli_target_argp, 0, "Targets:", 1 },
					      {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.args_doc = "[-- COMMAND ARGUMENT...]",
	.doc = "Accounts for all time of the target's threads, and says where it went.\v"
	       "Targets can be combined. With a COMMAND, its exit status is returned, and the "
	       "report goes to standard error.",
};

static int run(int argc, char **argv)
{
	struct record_options options = { .run = { .full = true,
						   .interval_ns = RUN_INTERVAL_NS,
						   .table_bytes = DEFAULT_TABLE_BYTES,
						   .outside = true,
						   .slow_ns = RUN_SLOW_NS,
						   .budget_ppm = RUN_BUDGET_PPM },
					  .rate = DEFAULT_RATE,
					  .source = RECORD_COMMAND_LINE };
	cleanup(features__free_p) struct features *features = features__new();
	int status;

	registry__choose("default", options.signals, &(const char *) { NULL });
	cli__parse(&argp, argc, argv, &options);
	options.run.drop_every = cli__test_switch("GAPLESS_TEST_DROP_WAKEUPS");
	options.run.refused_signal = cli__test_switch("GAPLESS_TEST_REFUSE");
	options.command_line = argv;
	if (!cli__may_measure() || !features)
		return 1;
	record__catch_signals();
	status = options.repeats ? record__repeat(&options, features)
				 : record_and_report(&options, features);
	record__release(&options);
	return status;
}

const struct command record_command = {
	.name = "record",
	.about = "account for all time of a process, a command or the machine",
	.argp = &argp,
	.run = run,
};
