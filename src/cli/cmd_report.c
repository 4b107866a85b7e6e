/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless report: where the time went, from a recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "cli/cli.h"
#include "cli/page.h"
#include "cli/reader.h"
#include "report/report.h"

#define MOST_CAUSES 32

enum { KEY_BY = 256, KEY_BUSY, KEY_IDLE, KEY_TOP, KEY_HTML, KEY_ARGS, KEY_FULL };

struct options {
	struct cli_common common;
	struct cli_scope scope;
	struct report_options report;
	const char *path;
	const char *html;
	const char *busy[MOST_CAUSES + 1];
	const char *idle[MOST_CAUSES + 1];
};

static const char *const by_words[] = { "thread", "process", "cgroup", "comm",
					"cpu",    "runtime", NULL };

static void set_by(struct argp_state *state, struct options *options, const char *arg)
{
	for (int i = 0; by_words[i]; i++) {
		if (strcmp(by_words[i], arg))
			continue;
		options->report.model.by = MODEL_BY_THREAD + i;
		return;
	}
	cli__unknown("word for --by", arg, by_words);
	exit(CLI_EXIT_USAGE);
}

static void add_cause(struct argp_state *state, const char **causes, const char *arg)
{
	size_t i = 0;

	while (causes[i])
		i++;
	if (i == MOST_CAUSES)
		argp_error(state, "more than %d causes", MOST_CAUSES);
	else
		causes[i] = arg;
}

static void check(struct argp_state *state, const struct options *options)
{
	if (options->html && options->common.json)
		argp_error(state, "--json or --html, not both");
	if (options->html && options->report.model.windows.id)
		argp_error(state, "--window or --html, not both");
	for (size_t i = 0; options->busy[i]; i++)
		for (size_t j = 0; options->idle[j]; j++)
			if (!strcmp(options->busy[i], options->idle[j]))
				argp_error(state, "'%s' is either --busy or --idle",
					   options->busy[i]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	uint64_t top;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		state->child_inputs[1] = &options->scope;
		state->child_inputs[2] = &options->report.model.windows;
		return 0;
	case KEY_BY:
		set_by(state, options, arg);
		return 0;
	case KEY_BUSY:
		add_cause(state, options->busy, arg);
		return 0;
	case KEY_IDLE:
		add_cause(state, options->idle, arg);
		return 0;
	case KEY_TOP:
		if (parse__number(arg, 1, 1000000, &top))
			argp_error(state, "'%s' is not a number of rows", arg);
		options->report.top = top;
		return 0;
	case KEY_HTML:
		if (!*arg)
			argp_error(state, "--html takes the name of a file, or -");
		options->html = arg;
		return 0;
	case KEY_FULL:
		options->report.full = true;
		return 0;
	case KEY_ARGS:
		cli__args(arg, &options->report.model.args);
		return 0;
	case ARGP_KEY_ARG:
		if (options->path)
			argp_error(state, "one recording at a time, not also '%s'", arg);
		options->path = arg;
		return 0;
	case ARGP_KEY_END:
		check(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "full", KEY_FULL, NULL, 0, "Print all tables instead of one screen", 0 },
	{ "by", KEY_BY, "WHAT", 0, "Also by thread, process, cgroup, comm, cpu or runtime", 0 },
	{ "busy", KEY_BUSY, "CAUSE", 0, "Count waiting for CAUSE as held up (poll)", 0 },
	{ "idle", KEY_IDLE, "CAUSE", 0, "Count waiting for CAUSE as idle (lock)", 0 },
	{ "html", KEY_HTML, "FILE", 0, "Write a page for a browser into FILE", 0 },
	{ "args", KEY_ARGS, "HOW", 0, CLI_ARGS_ABOUT, 0 },
	{ "top", KEY_TOP, "ROWS", 0, "Show up to ROWS rows per table", 0 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
					      { &cli_scope_argp, 0, NULL, 0 },
					      { &cli_window_argp, 0, NULL, 0 },
					      {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.args_doc = "[RECORDING]",
	.doc = "Where the time went, who held it up, and what that means.\v"
	       "RECORDING is the newest in this folder if not given.",
};

static int run(int argc, char **argv)
{
	struct options options = {};
	struct output page = { .option = "--html", .recording_count = 1 };
	int err;

	cli__parse(&argp, argc, argv, &options);
	options.path = options.path ? options.path : cli__newest_recording();
	if (!options.path)
		return 1;
	options.report.model.scope = options.scope.scope;
	options.report.json = options.common.json;
	options.report.model.busy = options.busy;
	options.report.model.idle = options.idle;
	page.path = options.html;
	page.recordings = &options.path;
	reader__begin(&options.path, 1, options.html ? &page : NULL);
	if (options.html)
		return page__write(options.path, &options.report.model, NULL, &page);
	err = report__print(options.path, &options.report, stdout);
	if (!err)
		return 0;
	if (!cli__stdout_failed())
		log_error("'%s': %s", words__clean(options.path, WORDS_MOST_COLUMNS).text,
			  scope__why(&options.scope.scope, err));
	return 1;
}

const struct command report_command = {
	.name = "report",
	.about = "where the time went, from a recording",
	.argp = &argp,
	.words = (const struct cli_words[]) { { "by", by_words }, {} },
	.run = run,
};
