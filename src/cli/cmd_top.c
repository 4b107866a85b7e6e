/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gapless top: where the time of processes and threads goes, now.
 *
 * The recorder writes into memory, and top queries it there. The list covers everything and is
 * cheap (one snapshot per interval, level sched by default). A second recorder, of one process
 * only, runs while the user drills into that process: stacks and names cost that process something,
 * and only then. The same holds for requests, which need syscalls: a recorder of their own runs
 * while they are on the screen.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "live/rolling.h"
#include "signals/registry.h"
#include "tui/rescue.h"
#include "tui/screen.h"
#include "tui/top.h"

#define MS_NS               UINT64_C(1000000)
#define SECOND_NS           UINT64_C(1000000000)
#define DEFAULT_INTERVAL_NS SECOND_NS
#define LEAST_INTERVAL_NS   (100 * MS_NS)
#define MOST_INTERVAL_NS    (60 * SECOND_NS)
/*
 * Longer intervals are composed of shorter ones, so that choosing a shorter one takes effect soon.
 */
#define MOST_SNAPSHOT_NS SECOND_NS
/* The first numbers of a drill come soon; later ones follow the interval. */
#define DRILL_FIRST_NS (SECOND_NS / 2)
#define DRILL_NEW_NS   (5 * SECOND_NS)
/* The list is hidden during a drill, so it is updated less often. */
#define BEHIND_NS         (2 * SECOND_NS)
#define DRILL_RATE        99
#define DRILL_TABLE_BYTES (UINT64_C(64) << 20)
#define DRILL_NAMING_NS   (30 * MS_NS)
#define OWN_NICENESS      (-10)
#define MOST_FILES        1000

DEFINE_CLEANUP(struct features *, features__free)

struct options {
	struct cli_common common;
	struct target target;
	struct top_options top;
	enum { LEVEL_MIXED, LEVEL_SCHED, LEVEL_FULL } level;
	uint32_t budget_ppm;
};

struct top {
	const struct options *options;
	struct features *features;
	struct rolling *list, *drill; /* drill: NULL unless the user drills into a process */
	struct rolling *services;     /* NULL unless requests are on the screen */
	uint64_t interval_ns;
	bool settled; /* the drill is no longer new */
	int words_fd; /* receives standard error while top controls the screen */
};

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
	stopped = number;
}

static int open_state(void *context, int64_t thread)
{
	const struct rolling *rolling = context;

	return run__open_state(rolling__run(rolling), thread);
}

/* --- what top asks for ----------------------------------------------------------------------- */

static uint64_t snapshot_ns(uint64_t interval_ns)
{
	return interval_ns < MOST_SNAPSHOT_NS ? interval_ns : MOST_SNAPSHOT_NS;
}

static bool is_old_drill(const struct top *top)
{
	return top->drill && clock__now_ns() - rolling__started_ns(top->drill) >= DRILL_NEW_NS;
}

/* Call this when the drill is no longer new, and whenever something else changes. */
static void set_pace(struct top *top)
{
	uint64_t ns = snapshot_ns(top->interval_ns);

	top->settled = is_old_drill(top);
	run__set_interval(rolling__run(top->list), top->drill || top->services ? BEHIND_NS : ns);
	if (top->settled)
		run__set_interval(rolling__run(top->drill),
				  ns < DRILL_FIRST_NS ? DRILL_FIRST_NS : ns);
}

static void set_interval(void *context, uint64_t interval_ns)
{
	struct top *top = context;

	top->interval_ns = interval_ns;
	set_pace(top);
}

/* The last line that was written to standard error: the reason of a failure. */
static void last_captured_line(struct top *top, char *why, size_t size)
{
	char text[1024] = "";
	off_t end = lseek(top->words_fd, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
	ssize_t got = pread(top->words_fd, text, sizeof(text) - 1, from);
	char *line;

	while (got > 0 && text[got - 1] == '\n')
		text[--got] = '\0';
	line = strrchr(text, '\n');
	snprintf(why, size, "%s", line ? line + 1 : text);
}

/* The signal that knows which thread makes which syscalls, and how they fail. */
static const struct signal *const *call_signals(void)
{
	static const struct signal *calls[2];

	calls[0] = registry__of(ROLE_CALLS);
	return calls;
}

static int start_drill(struct top *top, int pid)
{
	struct run_options options = {
		.full = top->options->level != LEVEL_SCHED,
		.interval_ns = DRILL_FIRST_NS,
		.tick_ns = top->options->level == LEVEL_SCHED ? 0 : SECOND_NS / DRILL_RATE,
		.table_bytes = DRILL_TABLE_BYTES,
		.signals = top->options->level == LEVEL_SCHED ? NULL : call_signals(),
		.slow_ns = UINT64_MAX, /* no events */
		.no_slow_calls = true,
		.budget_ppm = top->options->budget_ppm,
		.target.no_descendants = true,
	};
	int err = target__add_pid(&options.target, (uint64_t)pid);

	return err ? err : rolling__start(&options, top->features, &top->drill);
}

static int drill(void *context, int pid, struct top_view *ret, char *why, size_t size)
{
	struct top *top = context;
	int err = start_drill(top, pid);

	if (err == -ESRCH)
		snprintf(why, size, "process %d is over", pid);
	else if (err)
		last_captured_line(top, why, size);
	if (err)
		return err;
	set_pace(top);
	*ret = (struct top_view) { recording__db(rolling__recording(top->drill)), open_state,
				   top->drill };
	return 0;
}

static void leave(void *context)
{
	struct top *top = context;

	rolling__free(top->drill);
	top->drill = NULL;
	set_pace(top);
}

static int serve(void *context, struct top_view *ret, char *why, size_t size)
{
	struct top *top = context;
	struct run_options options = {
		.target = top->options->target,
		.full = true,
		.interval_ns = MOST_SNAPSHOT_NS,
		.slow_ns = UINT64_MAX, /* no events */
		.no_slow_calls = true,
		.budget_ppm = top->options->budget_ppm,
		.no_peers = true,
	};
	int err;

	if (top->options->level == LEVEL_SCHED) {
		snprintf(why, size, "requests need syscalls [top without --level sched]");
		return -EOPNOTSUPP;
	}
	err = rolling__start(&options, top->features, &top->services);
	if (!err && !run__has_windows(rolling__run(top->services)))
		err = -EOPNOTSUPP;
	if (err) {
		last_captured_line(top, why, size);
		rolling__free(top->services);
		top->services = NULL;
		return err;
	}
	set_pace(top);
	*ret = (struct top_view) { recording__db(rolling__recording(top->services)), open_state,
				   top->services };
	return 0;
}

static void stop_serving(void *context)
{
	struct top *top = context;

	rolling__free(top->services);
	top->services = NULL;
	set_pace(top);
}

static bool is_over(void *context)
{
	struct top *top = context;

	return !run__threads(rolling__run(top->drill));
}

static int work(void *context)
{
	struct top *top = context;
	int err = rolling__work(top->list);

	if (!err && top->services)
		err = rolling__work(top->services);
	if (err || !top->drill)
		return err;
	if (!top->settled && is_old_drill(top))
		set_pace(top);
	err = rolling__work(top->drill);
	return err ? err : run__name(rolling__run(top->drill), clock__now_ns() + DRILL_NAMING_NS);
}

/* The first unused name of top.gapless, top-2.gapless, … */
static void free_name(char *name, size_t size)
{
	struct stat info;

	snprintf(name, size, "top.gapless");
	for (int i = 2; i < MOST_FILES && !lstat(name, &info); i++)
		snprintf(name, size, "top-%d.gapless", i);
}

static void save(void *context, bool is_drill, char *words, size_t size)
{
	struct top *top = context;
	char name[64];
	int64_t kept_ns = 0;
	int err;

	free_name(name, sizeof(name));
	err = rolling__save(is_drill        ? top->drill
			    : top->services ? top->services
					    : top->list,
			    name, &kept_ns);
	if (err)
		snprintf(words, size, "cannot save '%s': %s", name, strerror(-err));
	else
		snprintf(words, size, "the last %.0f s are in '%s' [gapless report %s]",
			 (double)kept_ns / 1e9, name, name);
}

/* --- the command ----------------------------------------------------------------------------- */

static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_stop };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Messages would garble the screen, so they are kept and printed afterwards. */
static int capture_stderr(struct top *top)
{
	int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	top->words_fd = memfd_create("words", MFD_CLOEXEC);
	if (before >= 0 && top->words_fd >= 0)
		dup2(top->words_fd, STDERR_FILENO);
	return before;
}

static void speak(struct top *top, int before)
{
	char text[4096];
	ssize_t got;

	fflush(stderr);
	if (before < 0)
		return;
	dup2(before, STDERR_FILENO);
	close(before);
	lseek(top->words_fd, 0, SEEK_SET);
	while ((got = read(top->words_fd, text, sizeof(text))) > 0)
		if (write(STDERR_FILENO, text, (size_t)got) < 0)
			break;
	close(top->words_fd);
}

static int show(struct top *top)
{
	const struct top_source source = {
		.context = top,
		.list = { recording__db(rolling__recording(top->list)), open_state, top->list },
		.target = top->options->target.words,
		.work = work,
		.set_interval = set_interval,
		.drill = drill,
		.leave = leave,
		.serve = serve,
		.stop_serving = stop_serving,
		.is_over = is_over,
		.save = save,
	};
	int before, err = screen__start();

	if (err) {
		log_error("the terminal '%s' cannot place text [set TERM]",
			  getenv("TERM") ? getenv("TERM") : "");
		return err;
	}
	before = capture_stderr(top);
	err = top__run(&top->options->top, &source);
	screen__stop();
	speak(top, before);
	if (err)
		log_error("top ended early: %s", strerror(-err));
	return err;
}

static int run_top(const struct options *options)
{
	cleanup(features__free_p) struct features *features = features__new();
	struct top top = { .options = options,
			   .features = features,
			   .interval_ns = options->top.interval_ns };
	const struct run_options run_options = {
		.target = options->target,
		.full = options->level == LEVEL_FULL,
		.interval_ns = snapshot_ns(options->top.interval_ns),
		.signals = options->level == LEVEL_FULL ? call_signals() : NULL,
		.slow_ns = UINT64_MAX,
		.no_slow_calls = true,
		.budget_ppm = options->budget_ppm,
		.no_requests = true, /* serve() has them */
		.no_peers = true, /* too expensive for all pipes of a machine; a drill has them */
	};
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		log_error("top needs a terminal [see 'gapless record' and 'gapless watch']");
		return 1;
	}
	if (!cli__may_measure())
		return 1;
	err = rescue__start();
	if (err)
		log_warning("nobody restores the terminal after a kill: %s [reset]",
			    strerror(-err));
	/* On an overloaded machine the reader must still get CPU time. */
	setpriority(PRIO_PROCESS, 0, OWN_NICENESS);
	err = features ? rolling__start(&run_options, features, &top.list) : -ENOMEM;
	if (!err)
		err = show(&top);
	rolling__free(top.drill);
	rolling__free(top.services);
	rolling__free(top.list);
	rescue__stop();
	return err ? 1 : 0;
}

enum { OPTION_LEVEL = 256, OPTION_THREADS, OPTION_BUDGET };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		state->child_inputs[1] = &options->target;
		return 0;
	case 'i':
		if (parse__duration(arg, &options->top.interval_ns) ||
		    options->top.interval_ns < LEAST_INTERVAL_NS ||
		    options->top.interval_ns > MOST_INTERVAL_NS)
			argp_error(state, "'%s' is not an interval [from 100ms to 1m]", arg);
		return 0;
	case OPTION_THREADS:
		options->top.by_thread = true;
		return 0;
	case OPTION_LEVEL:
		options->level = cli__is_full(state, arg) ? LEVEL_FULL : LEVEL_SCHED;
		return 0;
	case OPTION_BUDGET:
		options->budget_ppm = cli__budget(state, arg);
		return 0;
	case ARGP_KEY_END:
		if (target__is_empty(&options->target))
			target__add_all(&options->target);
		if (options->common.json)
			argp_error(state, "top is for people [--json: see 'gapless record']");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "interval", 'i', "TIME", 0, "A new picture every TIME (default: 1s)", 2 },
	{ "threads", OPTION_THREADS, NULL, 0, "Begin with threads, not processes", 2 },
	{ "level", OPTION_LEVEL, "LEVEL", 0,
	  "full: separate user and kernel time, at a higher cost; sched: no syscalls and functions in a "
	  "closer look either",
	  2 },
	{ "budget", OPTION_BUDGET, "SHARE", 0,
	  "Slow programs down by at most SHARE of their CPU time (default: 5%), or none", 2 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
					      { &cli_target_argp, 0, "Targets:", 1 },
					      {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.doc = "Shows where the time of processes and threads goes, now; 'h' lists the "
	       "keys.\vWithout a target: the whole machine.",
};

static int run(int argc, char **argv)
{
	struct options options = {
		.budget_ppm = RUN_BUDGET_PPM,
		.top = { .interval_ns = DEFAULT_INTERVAL_NS, .stop = &stopped },
	};

	cli__parse(&argp, argc, argv, &options);
	options.top.drill_full = options.level != LEVEL_SCHED;
	catch_signals();
	return run_top(&options);
}

const struct command top_command = {
	.name = "top",
	.about = "where the time of processes and threads goes, now",
	.argp = &argp,
	.run = run,
};
