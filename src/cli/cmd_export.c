/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless export: a recording in another program's format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/reader.h"
#include "export/exporter.h"
#include "export/label.h"
#include "report/report.h"

#define MOST_EXPORTERS 32

enum { KEY_IDLE = 256, KEY_ARGS };

DEFINE_CLEANUP(struct profile *, profile__free)

struct options {
	struct cli_common common;
	const struct exporter *exporter;
	const char *path, *output;
	struct cli_scope scope;
	enum redact_args args;
	bool idle;
};

static const struct exporter *find_exporter(const char *name)
{
	const char *names[MOST_EXPORTERS + 1] = {};
	char list[256] = "";

	for (size_t i = 0; exporters[i] && i < MOST_EXPORTERS; i++) {
		if (!strcmp(exporters[i]->name, name))
			return exporters[i];
		names[i] = exporters[i]->name;
		words__say(list, sizeof(list), "%s%s", i ? ", " : "", names[i]);
	}
	if (name[0])
		cli__unknown("format", words__clean(name, 40).text, names);
	/* If cli__unknown() found no similar name, it has listed all of them. */
	if (!name[0] || parse__nearest(name, names))
		log_error("-f takes one of: %s", list);
	exit(CLI_EXIT_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		state->child_inputs[1] = &options->scope;
		return 0;
	case 'f':
		options->exporter = find_exporter(arg);
		return 0;
	case 'o':
		if (!*arg)
			argp_error(state, "-o takes the name of a file, or -");
		options->output = arg;
		return 0;
	case KEY_IDLE:
		options->idle = true;
		return 0;
	case KEY_ARGS:
		cli__args(arg, &options->args);
		return 0;
	case ARGP_KEY_ARG:
		if (options->path)
			argp_error(state, "one recording at a time, not also '%s'", arg);
		options->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->common.json)
			argp_error(state, "-f says what to write, --json does not");
		if (!options->exporter)
			find_exporter("");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* "run.gapless" and ".pb.gz" give "run.pb.gz". */
static char *default_output(const char *path, const char *suffix)
{
	static const char own[] = ".gapless";
	size_t length = strlen(path), tail = sizeof(own) - 1;
	char *output = NULL;

	if (length > tail && !strcmp(path + length - tail, own) && path[length - tail - 1] != '/')
		length -= tail;
	return asprintf(&output, "%.*s%s", (int)length, path, suffix) < 0 ? NULL : output;
}

struct job {
	const struct exporter *exporter;
	const struct profile *profile;
};

static int put(FILE *out, void *context)
{
	const struct job *job = context;

	return job->exporter->write(job->profile, out);
}

static int write_output(const struct profile *profile, const struct options *options,
			const struct output *output)
{
	struct job job = { options->exporter, profile };
	int err = output__write(output, put, &job);

	if (!err && !output__is_stdout(output))
		log_info("%s in '%s'", job.exporter->name,
			 words__clean(output->path, WORDS_MOST_COLUMNS).text);
	return err;
}

static const char *why(int err, const struct scope *scope)
{
	if (err != -ENODATA)
		return scope__why(scope, err);
	if (scope->from.ns || scope->from.is_daytime || scope->to.ns || scope->to.is_daytime)
		return "no stacks between --from and --to";
	return "it has no stacks: recorded with --no-stacks or by an older gapless, or nothing ran "
	       "[the times are there: 'gapless report']";
}

static bool has_windows(const struct profile *profile)
{
	for (size_t i = 0; i < profile->window_count; i++)
		if (profile->windows[i].has_details)
			return true;
	return false;
}

static int export(const struct options *options, const struct output *output)
{
	const struct profile_options load = {
		.accounts = options->exporter->accounts,
		.no_idle = options->exporter->no_idle && !options->idle,
		.scope = options->scope.scope,
		.args = options->args,
	};
	cleanup(profile__free_p) struct profile *profile = NULL;
	char left_out[LABEL_SIZE];
	int err = profile__load(options->path, &load, &profile);

	if (err) {
		log_error("'%s': %s", words__clean(options->path, WORDS_MOST_COLUMNS).text,
			  why(err, &options->scope.scope));
		return 1;
	}
	if (profile->code.torn)
		log_warning("'%s' is damaged: %s to rows that are missing, going on with '?' "
			    "for those",
			    words__clean(options->path, WORDS_MOST_COLUMNS).text,
			    words__count(profile->code.torn, "references").text);
	if (options->exporter->windows && !has_windows(profile)) {
		log_error(
			"'%s': it has no requests or calls that were kept [record at level full, or "
			"with --window]",
			words__clean(options->path, WORDS_MOST_COLUMNS).text);
		return 1;
	}
	err = write_output(profile, options, output);
	if (!err && profile->left_out_ns)
		log_info("%s", label__left_out(profile, left_out));
	return err ? 1 : 0;
}

static int export_into(const struct options *options)
{
	const char *suffix = options->exporter->suffix;
	cleanup(free_p) char *made = NULL;
	struct output output = { .path = options->output,
				 .option = "-o",
				 .recordings = &options->path,
				 .recording_count = 1 };

	if (!output.path && suffix) {
		made = default_output(options->path, suffix);
		if (!made) {
			log_error("%s", strerror(ENOMEM));
			return 1;
		}
	}
	output.path = made ? made : output.path ? output.path : "-";
	reader__begin(&options->path, 1, &output);
	if (options->exporter->binary && output__is_stdout(&output) && isatty(STDOUT_FILENO)) {
		log_error("%s is not for a terminal [-o FILE]", options->exporter->name);
		return 1;
	}
	return export(options, &output);
}

static const struct argp_option option_list[] = {
	{ "format", 'f', "FORMAT", 0, "What to write; the list is below", 0 },
	{ "output", 'o', "FILE", 0, "Where to; - is standard output", 0 },
	{ "idle", KEY_IDLE, NULL, 0, "In flame graphs, show idle waits too", 0 },
	{ "args", KEY_ARGS, "HOW", 0, CLI_ARGS_ABOUT, 0 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
					      { &cli_scope_argp, 0, NULL, 0 },
					      {} };

static char doc[2048] = "A recording's stacks in another program's format.\v"
			"RECORDING is the newest in this folder if not given. FILE is named "
			"after it if not given; folded goes to standard output.\n\nFormats:\n";

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.args_doc = "[RECORDING]",
	.doc = doc,
};

static int run(int argc, char **argv)
{
	struct options options = {};

	for (size_t i = 0; exporters[i]; i++)
		words__say(doc, sizeof(doc), "  %-13s%s\n", exporters[i]->name,
			   exporters[i]->about);
	cli__parse(&argp, argc, argv, &options);
	options.path = options.path ? options.path : cli__newest_recording();
	if (!options.path)
		return 1;
	return export_into(&options);
}

const struct command export_command = {
	.name = "export",
	.about = "a recording in another program's format",
	.argp = &argp,
	.run = run,
};
