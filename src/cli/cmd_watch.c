/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless watch: shows one signal live, until Ctrl-C, the end of -d or the last interval. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "cli/cli.h"
#include "cli/requests.h"
#include "cli/watch_requests.h"
#include "live/watch.h"
#include "record/run.h"
#include "signals/registry.h"

/* The counts are taken at least this often, because they need memory until then. */
#define MOST_TAKE_NS UINT64_C(1000000000)
/* After this time without output, tell the user why. */
#define SILENCE_NS UINT64_C(3000000000)
/* What is not a signal but can be watched. */
#define REQUESTS             "requests"
#define REQUESTS_INTERVAL_NS UINT64_C(1000000000)

enum {
	OPTION_BY = 2048,
	OPTION_MEASURE,
	OPTION_SLOW,
	OPTION_EVERY,
	OPTION_BUDGET,
};

DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(struct recording *, recording__free)
DEFINE_CLEANUP(struct run *, run__free)
DEFINE_CLEANUP(struct watch *, watch__free)

struct options {
	struct cli_common common;
	struct run_options run;
	struct watch_options watch;
	uint64_t duration_ns; /* 0: until interrupted */
	uint64_t interval_ns; /* 0: none */
	uint64_t intervals;   /* 0: no limit */
	const char *measure;  /* a name; NULL: the first */
	const struct signal *wanted[2];
	struct requests requests;
	bool by_request; /* not a signal: requests */
	bool measured;   /* an option that only signals have was given */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	interrupted = number;
}

static int set_signal(struct options *options, const char *arg)
{
	const char *names[SIGNALS_MOST] = {};

	if (!strcmp(arg, REQUESTS)) {
		options->by_request = true;
		return 0;
	}
	options->watch.signal = options->wanted[0] = registry__find(arg, strlen(arg));
	if (options->watch.signal)
		return 0;
	names[0] = REQUESTS;
	for (size_t i = 0; signals[i] && i < SIGNALS_MOST - 2; i++)
		names[i + 1] = signals[i]->name;
	cli__unknown("signal", arg, names);
	return EINVAL;
}

static const char *const splits[] = { "thread", "process",   "object", "errno",
				      "place",  "operation", NULL };

static int add_split(struct options *options, const char *word)
{
	static const unsigned bits[] = { WATCH_BY_THREAD, WATCH_BY_PROCESS, WATCH_BY_OBJECT,
					 WATCH_BY_ERRNO,  WATCH_BY_PLACE,   WATCH_BY_OPERATION };

	for (size_t i = 0; splits[i]; i++)
		if (!strcmp(splits[i], word)) {
			options->watch.by |= bits[i];
			return 0;
		}
	cli__unknown("split", word, splits);
	return EINVAL;
}

static int set_splits(struct options *options, const char *list)
{
	const char *word;
	size_t length;
	int err = 0;

	while (!err && (word = parse__next_word(&list, &length))) {
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)length, word);
		err = add_split(options, name);
	}
	return err;
}

static int set_measure(struct options *options)
{
	const struct measure *measures = options->watch.signal->measures;
	const char *names[SERIES_VALUES + 1] = {};

	if (!options->measure)
		return 0;
	options->watch.one_measure = true;
	for (int i = 0; i < SERIES_VALUES && measures[i].name; i++) {
		names[i] = measures[i].name;
		options->watch.measure = i;
		if (!strcmp(names[i], options->measure))
			return 0;
	}
	cli__unknown("measure", options->measure, names);
	return EINVAL;
}

static error_t parse_arg(struct options *options, char *arg, struct argp_state *state)
{
	switch (state->arg_num) {
	case 0:
		return set_signal(options, arg);
	case 1:
		if (parse__duration(arg, &options->interval_ns))
			argp_error(state, "'%s' is not an interval [like 1, 10s, 500ms]", arg);
		return 0;
	case 2:
		if (parse__number(arg, 1, UINT64_MAX, &options->intervals))
			argp_error(state, "'%s' is not a number of intervals", arg);
		return 0;
	default:
		argp_error(state, "what is '%s'? A signal, an interval and a count are all", arg);
		return EINVAL;
	}
}

static void check_requests(const struct options *options, struct argp_state *state)
{
	const struct signal *named[SIGNALS_MOST] = {};

	requests__check(&options->requests, options->watch.signal, state);
	requests__add_signals(&options->requests, named);
	if (named[0] && (named[0] != options->watch.signal || named[1]))
		argp_error(state, "one signal is shown at a time, '%s', and an option is for '%s'",
			   options->watch.signal->name,
			   (named[0] == options->watch.signal ? named[1] : named[0])->name);
}

/* Combinations of options can be checked only after all of them are parsed. */
static error_t parse_end(struct options *options, struct argp_state *state)
{
	if (target__is_empty(&options->run.target))
		target__add_all(&options->run.target);
	if (options->by_request) {
		if (options->measured || options->requests.count)
			argp_error(state, "'" REQUESTS "' takes an interval, a count, targets, -d, "
					  "-T, --budget and --json, no other option");
		return 0;
	}
	if (options->watch.most_events && options->interval_ns && !options->common.json)
		argp_error(state, "-n counts events, which intervals do not show without --json");
	if (options->watch.signal->role == ROLE_HEAP)
		argp_error(state, "'heap' cannot be watched [gapless record --memory-heap]");
	check_requests(options, state);
	return set_measure(options);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		state->child_inputs[1] = &options->run.target;
		return 0;
	case 'd':
		if (parse__duration(arg, &options->duration_ns))
			argp_error(state, "'%s' is not a duration [like 500ms, 10s, 2m]", arg);
		return 0;
	case 'n':
		options->measured = true;
		if (parse__number(arg, 1, UINT64_MAX, &options->watch.most_events))
			argp_error(state, "'%s' is not a number of events", arg);
		return 0;
	case 'T':
		options->watch.times = true;
		return 0;
	case OPTION_BY:
		options->measured = true;
		return set_splits(options, arg);
	case OPTION_MEASURE:
		options->measured = true;
		options->measure = arg;
		return 0;
	case OPTION_SLOW:
		options->measured = true;
		if (parse__duration(arg, &options->run.slow_ns))
			argp_error(state, "'%s' is not a duration [like 500us, 10ms]", arg);
		return 0;
	case OPTION_EVERY:
		options->measured = true;
		options->run.slow_ns = 0; /* 0 remains 0, however many events there are */
		return 0;
	case OPTION_BUDGET:
		options->run.budget_ppm = cli__budget(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		return parse_arg(options, arg, state);
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which signal? [see 'gapless list']");
		return EINVAL;
	case ARGP_KEY_END:
		return parse_end(options, state);
	default:
		return requests__parse(&options->requests, key, arg, state) ? 0 : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "duration", 'd', "TIME", 0, "Stop after TIME (500ms, 10s, 2m)", 2 },
	{ "count", 'n', "EVENTS", 0, "Stop after EVENTS events", 2 },
	{ "timestamp", 'T', NULL, 0, "The time of day beside events and intervals", 3 },
	{ "by", OPTION_BY, "LIST", 0,
	  "Split sums by thread, process, object, place, operation, errno; "
	  "histograms by place and operation, if named",
	  3 },
	{ "measure", OPTION_MEASURE, "NAME", 0,
	  "What histograms show and rows are ordered by (default: the signal's first)", 3 },
	{ "slow", OPTION_SLOW, "TIME", 0, "Show single events that take TIME or longer (10 ms)",
	  3 },
	{ "every", OPTION_EVERY, NULL, 0, "Show all events, not only slow ones; no budget", 3 },
	REQUESTS_ARGP(3),
	{ "budget", OPTION_BUDGET, "SHARE", 0,
	  "Slow the target down by at most SHARE of its CPU time (default: 5%), or none", 3 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
					      { &cli_target_argp, 0, "Targets:", 1 },
					      {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.args_doc = "SIGNAL [INTERVAL [COUNT]]\nrequests [INTERVAL [COUNT]]",
	.doc = "Shows a signal as it happens, until Ctrl-C: its events, or with an interval its "
	       "histograms and sums. Or the requests of services: how many, how long, why.",
};

/* Takes over the sums until now and deletes them from the recording. */
static int take(struct run *run, struct watch *watch, uint64_t now_ns)
{
	int err = watch__take(watch, now_ns);

	return err ? err : run__forget(run, 0);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

static bool is_enough(const struct options *options, const struct watch *watch)
{
	uint64_t most = options->watch.most_events;

	return interrupted || (most && watch__event_count(watch) >= most);
}

/* Only slow events are shown, and there may be none. Say so once, after a while. */
static void say_silence(const struct options *options, const struct watch *watch, uint64_t start_ns,
			bool *said)
{
	if (*said || !options->watch.events || !options->run.slow_ns || watch__event_count(watch) ||
	    clock__now_ns() - start_ns < SILENCE_NS)
		return;
	*said = true;
	log_info("nothing to show so far: events that can be slow are shown from %s on "
		 "[--slow TIME, or --every]",
		 words__time((int64_t)options->run.slow_ns).text);
}

/* *ret_shown: number of intervals shown. */
static int go_on(struct run *run, struct watch *watch, const struct options *options,
		 uint64_t start_ns, uint64_t *ret_shown)
{
	uint64_t until_ns = options->duration_ns ? start_ns + options->duration_ns : 0;
	uint64_t end_ns = options->interval_ns ? start_ns + options->interval_ns : 0;
	uint64_t take_ns = start_ns + MOST_TAKE_NS, now_ns = start_ns;
	bool said = false;
	int err = 0;

	while (!err && !is_enough(options, watch) && (!until_ns || now_ns < until_ns) &&
	       (!options->intervals || *ret_shown < options->intervals)) {
		err = run__step(run, earlier(until_ns, earlier(end_ns, take_ns)));
		if (!err)
			err = watch__events(watch, clock__now_ns());
		now_ns = clock__now_ns();
		say_silence(options, watch, start_ns, &said);
		if (err || now_ns < earlier(end_ns, take_ns))
			continue;
		err = run__flush(run);
		if (!err)
			err = take(run, watch, now_ns);
		take_ns = now_ns + MOST_TAKE_NS;
		if (err || !end_ns || now_ns < end_ns)
			continue;
		err = watch__interval(watch, now_ns);
		++*ret_shown;
		while (end_ns <= now_ns)
			end_ns += options->interval_ns;
	}
	return err;
}

static int watch_all(struct run *run, struct recording *recording, const struct options *options)
{
	uint64_t start_ns = clock__now_ns(), shown = 0;
	cleanup(watch__free_p) struct watch *watch = NULL;
	int err = watch__new(recording__db(recording), &options->watch, start_ns, &watch);

	if (!err)
		err = go_on(run, watch, options, start_ns, &shown);
	/* Events before the interrupt still count. */
	if (!err)
		err = run__stop(run);
	if (!err)
		err = watch__events(watch, INT64_MAX);
	if (!err)
		err = take(run, watch, clock__now_ns());
	/* If a single interval was asked for, it is its own summary. */
	if (err || (shown == 1 && options->intervals == 1 && !options->common.json))
		return err;
	return watch__summary(watch, clock__now_ns());
}

/* Whether any of its hooks is at syscalls, which only level full has. */
static bool uses_calls(const struct signal *signal)
{
	for (size_t i = 0; signal->hooks[i].event; i++)
		if (signal->hooks[i].flags & HOOK_AT_CALLS)
			return true;
	return false;
}

static int watch_by_request(struct options *options)
{
	struct requests_watch watch = { .run = options->run,
					.show = { .json = options->common.json,
						  .times = options->watch.times,
						  .out = stdout },
					.duration_ns = options->duration_ns,
					.interval_ns = options->interval_ns,
					.intervals = options->intervals,
					.interrupted = &interrupted };

	watch.run.full = true;
	watch.run.slow_ns = UINT64_MAX; /* no events */
	watch.run.no_slow_calls = watch.run.no_peers = true;
	watch.run.no_window_text = true; /* it is not shown */
	if (!watch.run.target.all)
		watch.show.target = watch.run.target.words;
	if (!watch.interval_ns)
		watch.interval_ns = REQUESTS_INTERVAL_NS;
	return requests_watch__run(&watch);
}

static int watch_signal(struct options *options)
{
	cleanup(features__free_p) struct features *features = features__new();
	cleanup(recording__free_p) struct recording *recording = NULL;
	cleanup(run__free_p) struct run *run = NULL;
	int err;

	if (!options->run.slow_ns)
		options->run.budget_ppm = 0;
	options->run.keep_signals = true;
	options->run.signals = options->wanted;
	options->run.full = uses_calls(options->watch.signal);
	options->watch.json = options->common.json;
	options->watch.events = options->common.json || !options->interval_ns;
	options->watch.intervals = options->interval_ns;
	if (!options->run.target.all)
		options->watch.target = options->run.target.words;
	/* Only signals are shown. */
	options->run.no_requests = true;
	if (!cli__may_measure() || !features || recording__create_in_memory(&recording) ||
	    requests__find(&options->run, NULL) ||
	    run__start(&options->run, recording, features, &run) || !run__signals(run))
		return 1;
	log_info("watching '%s'; Ctrl-C to stop", options->watch.signal->name);
	err = watch_all(run, recording, options);
	if (err)
		log_error("watching '%s' ended early: %s", options->watch.signal->name,
			  strerror(-err));
	return err ? 1 : 0;
}

static int run(int argc, char **argv)
{
	struct options options = { .run = { .interval_ns = RUN_INTERVAL_NS,
					    .slow_ns = RUN_SLOW_NS,
					    .budget_ppm = RUN_BUDGET_PPM },
				   .watch = { .out = stdout } };
	struct sigaction action = { .sa_handler = on_interrupt };

	cli__parse(&argp, argc, argv, &options);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return options.by_request ? watch_by_request(&options) : watch_signal(&options);
}

const struct command watch_command = {
	.name = "watch",
	.about = "one signal as it happens: events, histograms, sums",
	.argp = &argp,
	.words = (const struct cli_words[]) { { "by", splits }, {} },
	.run = run,
};
