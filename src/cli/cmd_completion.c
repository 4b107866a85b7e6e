/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless completion: a script that lets a shell complete command lines of gapless. */
#include <errno.h>
#include <string.h>

#include "cli/completion.h"

#define MOST_SHELLS 8

struct options {
	struct cli_common common;
	void (*print)(FILE *out);
};

static error_t set_shell(struct options *options, const char *arg)
{
	const char *names[MOST_SHELLS + 1] = {};

	for (size_t i = 0; completion_shells[i].name && i < MOST_SHELLS; i++) {
		names[i] = completion_shells[i].name;
		if (!strcmp(names[i], arg)) {
			options->print = completion_shells[i].print;
			return 0;
		}
	}
	cli__unknown("shell", arg, names);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case ARGP_KEY_ARG:
		if (options->print)
			argp_error(state, "one shell at a time, not also '%s'", arg);
		return set_shell(options, arg);
	case ARGP_KEY_END:
		if (!options->print)
			argp_error(state, "for which shell? [bash, fish, zsh]");
		if (options->common.json)
			argp_error(state, "a script is not JSON");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };

static const struct argp argp = {
	.parser = parse,
	.children = children,
	.args_doc = "SHELL",
	.doc = "Prints a script that completes the command lines of gapless in SHELL: bash, fish "
	       "or zsh.\vTo try it in bash: source <(gapless completion bash)",
};

static int run(int argc, char **argv)
{
	struct options options = {};

	cli__parse(&argp, argc, argv, &options);
	options.print(stdout);
	return 0;
}

const struct command completion_command = {
	.name = "completion",
	.about = "a script that completes these command lines in a shell",
	.argp = &argp,
	.run = run,
};
