/* gapless watch: one signal's events, as they happen, until Ctrl-C or the end of -d. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "core/session.h"
#include "report/words.h"

#define POLL_MS 100

DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(struct session *, session__free)

struct options {
	struct cli_common common;
	const struct signal *signal;
	uint64_t duration_ns; /* 0: until interrupted */
	uint64_t most_events; /* 0: no limit */
	uint64_t events;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	interrupted = number;
}

static int take_json(const struct options *options, const struct event *event)
{
	json_t *line = json_pack("{s:I}", "time_ns", (json_int_t)event->time_ns);
	int err;

	for (size_t i = 0; options->signal->columns[i].name; i++) {
		const struct column *column = &options->signal->columns[i];
		const struct value *value = &event->values[i];

		json_object_set_new(line, column->name,
				    column->kind == COLUMN_NUMBER
					    ? json_integer((json_int_t)value->number)
					    : json__text(value->text));
	}
	err = json_dumpf(line, stdout, JSON_COMPACT) || putchar('\n') == EOF;
	json_decref(line);
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

static int take_text(const struct options *options, const struct event *event)
{
	uint64_t wall_ns = event->time_ns + clock__wall_offset_ns();
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm local;

	localtime_r(&seconds, &local);
	printf("%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min, local.tm_sec,
	       (int)(wall_ns / 1000000 % 1000));
	for (size_t i = 0; options->signal->columns[i].name; i++) {
		const struct column *column = &options->signal->columns[i];

		if (column->kind == COLUMN_NUMBER)
			printf(" %*" PRIu64, column->width, event->values[i].number);
		else
			print_text(event->values[i].text, column->width);
	}
	return putchar('\n') == EOF ? -EIO : 0;
}

static int take(void *context, const struct event *event)
{
	struct options *options = context;

	if (options->most_events && options->events == options->most_events)
		return 0; /* came in the same batch as the last one asked for */
	if (++options->events == options->most_events)
		interrupted = SIGINT;
	return options->common.json ? take_json(options, event) : take_text(options, event);
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

static int watch(struct session *session, const struct options *options)
{
	uint64_t start_ns = clock__now_ns();

	while (!interrupted) {
		int err = session__poll(session, POLL_MS);

		if (err < 0 && err != -EINTR)
			return err;
		fflush(stdout);
		if (options->duration_ns && clock__now_ns() - start_ns >= options->duration_ns)
			break;
	}
	/* What arrived before the interrupt still counts. */
	return session__poll(session, 0) < 0 ? -EIO : 0;
}

/* Law 3: the losses, if any, are the last words. */
static void say_losses(const struct session *session)
{
	struct session_losses losses = session__losses(session);
	uint64_t lost = losses.malformed;

	for (int i = 0; i < LOST_COUNT; i++)
		lost += losses.lost[i];
	if (lost)
		log_warning("%" PRIu64 " events were lost (ring full %" PRIu64
			    ", malformed %" PRIu64 "); the list is incomplete",
			    lost, losses.lost[LOST_RING_FULL], losses.malformed);
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
	cleanup(session__free_p) struct session *session = NULL;
	struct sigaction action = { .sa_handler = on_interrupt };
	struct options options = {};
	int err;

	cli__parse(&argp, argc, argv, &options);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!features || session__start(options.signal, features, take, &options, &session))
		return 1;
	log_info("watching '%s'; Ctrl-C to stop", options.signal->name);
	if (!options.common.json)
		print_heading(options.signal);
	err = watch(session, &options);
	if (err)
		log_error("watching '%s' ended early: %s", options.signal->name, strerror(-err));
	say_losses(session);
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
