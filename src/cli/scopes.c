/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that choose a part of a recording. */
#include <stdio.h>
#include <string.h>

#include "base/daytime.h"
#include "base/parse.h"
#include "cli/cli.h"

enum { KEY_FROM = 400, KEY_TO, KEY_ONLY };

void cli__time(struct argp_state *state, const char *arg, struct scope_time *ret)
{
	bool is_daytime = strchr(arg, ':');

	if (is_daytime ? daytime__parse(arg, &ret->ns) : parse__offset(arg, &ret->ns))
		argp_error(state,
			   "'%s' is not a time [since the start: 500ms, 10s, 2m; of day: 14:20, "
			   "14:20:05]",
			   arg);
	ret->is_daytime = is_daytime;
}

static void check(struct argp_state *state, const struct scope *scope)
{
	bool is_comparable = scope->to.ns && scope->from.is_daytime == scope->to.is_daytime;

	/* Times of day may have midnight between them. */
	if (is_comparable && !scope->to.is_daytime && scope->from.ns >= scope->to.ns)
		argp_error(state, "--from and --to leave nothing: the end is not after the begin");
}

static void check_numbers(struct argp_state *state, const char *option, const char *arg)
{
	const char *list = arg, *word;
	size_t length;

	while ((word = parse__next_word(&list, &length))) {
		char digits[16];
		uint64_t number;

		snprintf(digits, sizeof(digits), "%.*s", (int)(length < 15 ? length : 15), word);
		if (parse__number(digits, 0, INT32_MAX, &number))
			argp_error(state, "--%s takes numbers, not '%s'", option, arg);
	}
}

static void add(struct argp_state *state, struct cli_scope *options, enum scope_key key,
		const char *arg)
{
	size_t i = 0;

	if (!*arg)
		argp_error(state, "--%s takes a value", scope__key(key));
	if (key == SCOPE_PID || key == SCOPE_THREAD)
		check_numbers(state, scope__key(key), arg);
	while (options->only[key][i])
		i++;
	if (i == CLI_SCOPE_MOST)
		argp_error(state, "--%s more than %d times", scope__key(key), CLI_SCOPE_MOST);
	options->only[key][i] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cli_scope *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options->scope.why = options->why;
		for (int i = 0; i < SCOPE_KEYS; i++)
			options->scope.only[i] = options->only[i];
		return 0;
	case KEY_ONLY + SCOPE_PID:
	case KEY_ONLY + SCOPE_THREAD:
	case KEY_ONLY + SCOPE_COMM:
	case KEY_ONLY + SCOPE_CGROUP:
		add(state, options, key - KEY_ONLY, arg);
		return 0;
	case KEY_FROM:
		cli__time(state, arg, &options->scope.from);
		return 0;
	case KEY_TO:
		cli__time(state, arg, &options->scope.to);
		if (!options->scope.to.ns && !options->scope.to.is_daytime)
			argp_error(state, "--to %s leaves nothing", arg);
		return 0;
	case ARGP_KEY_END:
		check(state, &options->scope);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "from", KEY_FROM, "TIME", 0, "Only from TIME on: 10s after the start, or at 14:20:05",
	  1 },
	{ "to", KEY_TO, "TIME", 0, "Only to TIME, likewise", 1 },
	{ "pid", KEY_ONLY + SCOPE_PID, "PID,...", 0, "Only these processes", 1 },
	{ "thread", KEY_ONLY + SCOPE_THREAD, "TID,...", 0, "Only these threads", 1 },
	{ "comm", KEY_ONLY + SCOPE_COMM, "NAME", 0,
	  "Only threads and processes of this name (*, ? and [a-z] as in a shell)", 1 },
	{ "cgroup", KEY_ONLY + SCOPE_CGROUP, "PATH", 0, "Only this cgroup and those below it", 1 },
	{},
};

const struct argp cli_scope_argp = { .options = option_list, .parser = parse };
