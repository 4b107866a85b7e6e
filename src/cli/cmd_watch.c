/* gapless watch: one signal's events, as they happen, until Ctrl-C or the end of -d. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "ledger/run.h"
#include "report/words.h"

#define DEFAULT_INTERVAL_NS UINT64_C(100000000)
#define DEFAULT_SLOW_NS     UINT64_C(10000000)

DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(struct recording *, recording__free)
DEFINE_CLEANUP(struct run *, run__free)

struct options {
	struct cli_common common;
	const struct signal *signal;
	uint64_t duration_ns; /* 0: until interrupted */
	uint64_t most_events; /* 0: no limit */
	uint64_t events;
	int64_t last_event; /* the last one that was shown */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	interrupted = number;
}

static int show_json(int64_t time_ns, json_t *fields)
{
	int err;

	json_object_set_new(fields, "time_ns", json_integer(time_ns));
	err = json_dumpf(fields, stdout, JSON_COMPACT) || putchar('\n') == EOF;
	return err ? -EIO : 0;
}

static void print_heading(const struct signal *signal)
{
	printf("%-12s", "TIME");
	for (size_t i = 0; signal->columns[i].name; i++) {
		char heading[32];
		size_t j = 0;

		for (; signal->columns[i].name[j] && j < sizeof(heading) - 1; j++)
			heading[j] = (char)toupper((unsigned char)signal->columns[i].name[j]);
		heading[j] = '\0';
		printf(signal->columns[i].kind == COLUMN_NUMBER ? " %*s" : " %-*s",
		       signal->columns[i].width, heading);
	}
	putchar('\n');
}

/* Names are foreign: what could steer a terminal does not reach it. */
static void print_text(const char *text, int width)
{
	putchar(' ');
	words__field(stdout, words__clean(text, WORDS_MOST_COLUMNS).text, width);
}

static int show_text(const struct options *options, int64_t time_ns, json_t *fields)
{
	uint64_t wall_ns = (uint64_t)time_ns + clock__wall_offset_ns();
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm local;

	localtime_r(&seconds, &local);
	printf("%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min, local.tm_sec,
	       (int)(wall_ns / 1000000 % 1000));
	for (size_t i = 0; options->signal->columns[i].name; i++) {
		const struct column *column = &options->signal->columns[i];
		json_t *value = json_object_get(fields, column->name);

		if (column->kind == COLUMN_TEXT)
			print_text(json_string_value(value), column->width);
		else
			printf(" %*" PRId64, column->width, (int64_t)json_integer_value(value));
	}
	return putchar('\n') == EOF ? -EIO : 0;
}

/* Events that came since the last look, in their order. */
static int show_events(struct options *options, sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT id, time_ns, fields FROM event WHERE id > ?1 ORDER BY id",
			       -1, &statement, NULL))
		return -EIO;
	sqlite3_bind_int64(statement, 1, options->last_event);
	while (!err && sqlite3_step(statement) == SQLITE_ROW) {
		json_t *fields =
			json_loads((const char *)sqlite3_column_text(statement, 2), 0, NULL);
		int64_t time_ns = sqlite3_column_int64(statement, 1);

		options->last_event = sqlite3_column_int64(statement, 0);
		if (options->most_events && options->events == options->most_events) {
			json_decref(fields);
			break; /* came in the same batch as the last one asked for */
		}
		if (++options->events == options->most_events)
			interrupted = SIGINT;
		err = options->common.json ? show_json(time_ns, fields)
					   : show_text(options, time_ns, fields);
		json_decref(fields);
	}
	sqlite3_finalize(statement);
	fflush(stdout);
	return err;
}

static int set_signal(struct options *options, const char *arg)
{
	const char *names[64] = {};

	options->signal = signal__find(arg, strlen(arg));
	if (options->signal)
		return 0;
	for (size_t i = 0; signals[i] && i < 63; i++)
		names[i] = signals[i]->name;
	cli__unknown("signal", arg, names);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case 'd':
		if (parse__duration(arg, &options->duration_ns))
			argp_error(state, "'%s' is not a duration [like 500ms, 10s, 2m]", arg);
		return 0;
	case 'n':
		if (parse__number(arg, 1, UINT64_MAX, &options->most_events))
			argp_error(state, "'%s' is not a number of events", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (options->signal)
			argp_error(state, "one signal at a time, not also '%s'", arg);
		return set_signal(options, arg);
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which signal? [see 'gapless list']");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int watch(struct run *run, struct recording *recording, struct options *options)
{
	uint64_t until_ns = options->duration_ns ? clock__now_ns() + options->duration_ns : 0;
	int err = 0;

	while (!interrupted && !err) {
		err = run__step(run, until_ns);
		if (!err)
			err = show_events(options, recording__db(recording));
		if (until_ns && clock__now_ns() >= until_ns)
			break;
	}
	/* What arrived before the interrupt still counts. */
	if (!err)
		err = run__stop(run);
	return err ? err : show_events(options, recording__db(recording));
}

static int run(int argc, char **argv)
{
	static const struct argp_option option_list[] = {
		{ "duration", 'd', "TIME", 0, "Stop after TIME (500ms, 10s, 2m)", 0 },
		{ "count", 'n', "EVENTS", 0, "Stop after EVENTS events", 0 },
		{},
	};
	static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.children = children,
		.args_doc = "SIGNAL",
		.doc = "Shows a signal's events as they happen, until Ctrl-C.",
	};
	cleanup(features__free_p) struct features *features = features__new();
	cleanup(recording__free_p) struct recording *recording = NULL;
	cleanup(run__free_p) struct run *run = NULL;
	struct run_options run_options = { .interval_ns = DEFAULT_INTERVAL_NS,
					   .slow_ns = DEFAULT_SLOW_NS };
	struct sigaction action = { .sa_handler = on_interrupt };
	struct options options = {};
	const struct signal *wanted[2] = {};
	int err;

	cli__parse(&argp, argc, argv, &options);
	wanted[0] = options.signal;
	run_options.signals = wanted;
	run_options.full = options.signal->in_ledger;
	target__add_all(&run_options.target);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!features || recording__create_in_memory(&recording) ||
	    run__start(&run_options, recording, features, &run))
		return 1;
	log_info("watching '%s'; Ctrl-C to stop", options.signal->name);
	if (!options.common.json)
		print_heading(options.signal);
	err = watch(run, recording, &options);
	if (err)
		log_error("watching '%s' ended early: %s", options.signal->name, strerror(-err));
	if (!options.events && !err)
		log_info("no events: '%s' was attached, but nothing happened",
			 options.signal->name);
	return err ? 1 : 0;
}

const struct command watch_command = {
	.name = "watch",
	.about = "one signal's events, as they happen",
	.run = run,
};
