/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless diff: what changed between two sets of recordings, and whether it is more than noise. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/page.h"
#include "cli/reader.h"
#include "diff/diff.h"
#include "diff/flame.h"

#define MOST_GATES 64

enum { KEY_PER = 256, KEY_FAIL_IF, KEY_BASE, KEY_NEW, KEY_TOP, KEY_HTML, KEY_ARGS };

struct options {
	struct cli_common common;
	struct diff_options diff;
	const char **paths;
	size_t path_count, behind; /* behind: number of paths after "--" */
	const char *gates[MOST_GATES + 1];
	size_t gate_count;
	size_t top;
	enum redact_args args;             /* in the page */
	const char *html;                  /* the page's file; NULL: none */
	const char *stretches[DIFF_SIDES]; /* as typed; NULL: not given */
};

static void add_gate(struct argp_state *state, struct options *options, const char *arg)
{
	struct gate gate;

	if (gate__parse(arg, &gate))
		argp_error(state, "'%s' is no condition [like 'p99(syscall:fsync) > +10%%']", arg);
	if (options->gate_count == MOST_GATES)
		argp_error(state, "more than %d conditions", MOST_GATES);
	gate__release(&gate);
	options->gates[options->gate_count++] = arg;
}

/* "0s-30s", "14:20:05-14:20:35", "30s-" up to the end. */
static void set_stretch(struct argp_state *state, struct options *options, enum diff_side side,
			const char *arg)
{
	struct scope *scope = &options->diff.scopes[side];
	const char *dash = strchr(arg, '-');
	char begin[64];

	if (!dash || dash == arg || dash - arg >= (ptrdiff_t)sizeof(begin)) {
		argp_error(state, "'%s' is not a stretch [BEGIN-END: 0s-30s, 14:20:05-14:20:35]",
			   arg);
		return;
	}
	snprintf(begin, sizeof(begin), "%.*s", (int)(dash - arg), arg);
	cli__time(state, begin, &scope->from);
	if (dash[1])
		cli__time(state, dash + 1, &scope->to);
	if (dash[1] && scope->from.is_daytime == scope->to.is_daytime && !scope->to.is_daytime &&
	    scope->to.ns <= scope->from.ns)
		argp_error(state, "the stretch '%s' is empty: its end is not after its begin", arg);
	options->stretches[side] = arg;
}

/* RECORDING --base STRETCH --new STRETCH */
static void take_one(struct argp_state *state, struct options *options)
{
	if (!options->stretches[DIFF_BASE] || !options->stretches[DIFF_NEW])
		argp_error(state, "--base and --new go together");
	if (options->path_count != 1)
		argp_error(state, "--base and --new are stretches of one recording");
	options->diff.stretches = true;
	for (int side = 0; side < DIFF_SIDES; side++) {
		options->diff.paths[side] = options->paths;
		options->diff.counts[side] = 1;
	}
	options->diff.gates = options->gates;
}

/* BASE NEW, or BASE... -- NEW... */
static void divide(struct argp_state *state, struct options *options)
{
	size_t new = options->behind ? options->behind : 1;

	if (options->stretches[DIFF_BASE] || options->stretches[DIFF_NEW]) {
		take_one(state, options);
		return;
	}
	if (options->path_count <= new || (!options->behind && options->path_count > 2))
		argp_error(state, "which recordings? [BASE NEW, or BASE... -- NEW...]");
	if (options->path_count > DIFF_MOST)
		argp_error(state, "more than %d recordings", DIFF_MOST);
	options->diff.counts[DIFF_BASE] = options->path_count - new;
	options->diff.counts[DIFF_NEW] = new;
	options->diff.paths[DIFF_BASE] = options->paths;
	options->diff.paths[DIFF_NEW] = options->paths + options->path_count - new;
	options->diff.gates = options->gates;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	uint64_t top;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case KEY_PER:
		options->diff.per = arg;
		return 0;
	case KEY_BASE:
	case KEY_NEW:
		set_stretch(state, options, key == KEY_BASE ? DIFF_BASE : DIFF_NEW, arg);
		return 0;
	case KEY_FAIL_IF:
		add_gate(state, options, arg);
		return 0;
	case KEY_HTML:
		if (!*arg)
			argp_error(state, "--html takes the name of a file, or -");
		options->html = arg;
		return 0;
	case KEY_ARGS:
		cli__args(arg, &options->args);
		return 0;
	case KEY_TOP:
		if (parse__number(arg, 1, 1000000, &top))
			argp_error(state, "'%s' is not a number of rows", arg);
		options->top = top;
		return 0;
	case ARGP_KEY_ARG:
		if (*arg == '-' && arg[1])
			argp_error(state, "options come before '--', unlike '%s'", arg);
		options->paths[options->path_count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->common.json && options->html && !strcmp(options->html, "-"))
			argp_error(state, "--json or --html -, not both");
		divide(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Writes the page of the first new recording, with the comparison in it. */
static int write_page(const struct diff *diff, const struct options *options,
		      const struct output *output)
{
	json_t *json = diff__json(diff), *paths = NULL;
	struct model_options model = { .args = options->args,
				       .scope = options->diff.scopes[DIFF_NEW] };
	int err = json ? flame__make(diff, &paths) : -ENOMEM, status = 1;

	if (!err)
		err = json_object_set_new(json, "paths", paths) ? -ENOMEM : 0;
	if (err)
		log_error("no page: %s", model__why(err));
	else
		status = page__write(options->diff.paths[DIFF_NEW][0], &model, json, output);
	json_decref(json);
	return status;
}

static int print(const struct options *options)
{
	cleanup(diff__release) struct diff diff = {};
	cleanup(free_p) char *why = NULL;
	const struct output page = { .path = options->html,
				     .option = "--html",
				     .recordings = options->paths,
				     .recording_count = options->path_count };
	int err;

	reader__begin(options->paths, options->path_count, options->html ? &page : NULL);
	err = diff__make(&options->diff, &diff, &why);
	if (err) {
		log_error("%s", why ? why : strerror(-err));
		/* A condition that cannot be evaluated with these recordings. */
		return err == -EINVAL ? CLI_EXIT_USAGE : 1;
	}
	/* If the page goes to standard output, print nothing else there. */
	if (!options->html || !output__is_stdout(&page)) {
		err = options->common.json ? diff__print_json(&diff, stdout)
					   : diff__print_text(&diff, options->top, stdout);
		if (err) {
			if (!cli__stdout_failed())
				log_error("cannot print: %s", strerror(-err));
			return 1;
		}
	}
	if (options->html && write_page(&diff, options, &page))
		return 1;
	return diff.crossed ? CLI_EXIT_CROSSED : 0;
}

static const struct argp_option option_list[] = {
	{ "per", KEY_PER, "WHAT", 0,
	  "Divide sums by: second, run, a count (syscall:accept4, block:write vda), or the requests "
	  "and calls of a service or name, which are then compared (window:GET /orders)",
	  0 },
	{ "base", KEY_BASE, "STRETCH", 0,
	  "Of one recording: this part (0s-30s, 14:20:05-14:20:35) is the base", 0 },
	{ "new", KEY_NEW, "STRETCH", 0, "Of one recording: what to compare with the base", 0 },
	{ "fail-if", KEY_FAIL_IF, "CONDITION", 0,
	  "Exit with 4 if CONDITION holds: 'p99(syscall:fsync) > +10%', 'wait.lock > 50ms', "
	  "'p99(window:GET /orders) > 50ms'",
	  0 },
	{ "html", KEY_HTML, "FILE", 0,
	  "Also write a page: the report on the first NEW, and what changed", 0 },
	{ "args", KEY_ARGS, "HOW", 0, "On the page, show arguments: full, redacted or none", 0 },
	{ "top", KEY_TOP, "ROWS", 0, "Show up to ROWS rows per table", 0 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.args_doc = "BASE NEW\nBASE... -- NEW...\nRECORDING --base STRETCH --new STRETCH",
	.doc = "What grew, what shrank, and whether that is more than noise.\v"
	       "Significance takes 5 recordings on each side: 'gapless record --repeat 5'.",
};

static int run(int argc, char **argv)
{
	cleanup(free_p) const char **paths = calloc((size_t)argc + 1, sizeof(*paths));
	struct options options = { .paths = paths };

	if (!paths)
		return 1;
	/* argp treats everything after "--" as arguments but does not tell where "--" was. */
	for (int i = 1; i < argc && !options.behind; i++)
		if (!strcmp(argv[i], "--"))
			options.behind = (size_t)(argc - 1 - i);
	cli__parse(&argp, argc, argv, &options);
	return print(&options);
}

const struct command diff_command = {
	.name = "diff",
	.about = "what changed between recordings, and whether it is more than noise",
	.argp = &argp,
	.run = run,
};
