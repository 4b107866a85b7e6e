/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that choose requests and calls of a recording. */
#include "base/parse.h"
#include "cli/cli.h"
#include "model/windows.h"

enum { KEY_WINDOW = 440, KEY_CLASS, KEY_SLOWER };

static void set_id(struct argp_state *state, struct windows_options *options, const char *arg)
{
	uint64_t id;

	if (parse__number(arg, 1, INT64_MAX, &id))
		argp_error(state, "'%s' is not the number of a window [report --full lists some]",
			   arg);
	options->id = (int64_t)id;
}

static void set_slower(struct argp_state *state, struct windows_options *options, const char *arg)
{
	uint64_t ns;

	if (parse__duration(arg, &ns) || ns > INT64_MAX)
		argp_error(state, "'%s' is not a time [50ms, 250us, 2s]", arg);
	options->slower_ns = (int64_t)ns;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct windows_options *options = state->input;

	switch (key) {
	case KEY_WINDOW:
		set_id(state, options, arg);
		return 0;
	case KEY_CLASS:
		if (!*arg)
			argp_error(state, "--window-class takes a part of a service or a name");
		options->only = arg;
		return 0;
	case KEY_SLOWER:
		set_slower(state, options, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "window", KEY_WINDOW, "ID", 0, "Show this request or call alone", 2 },
	{ "window-class", KEY_CLASS, "TEXT", 0,
	  "Only requests and calls with TEXT in their service or name", 2 },
	{ "slower-than", KEY_SLOWER, "TIME", 0,
	  "The slowest requests and calls are those of TIME or longer (50ms)", 2 },
	{},
};

const struct argp cli_window_argp = { .options = option_list, .parser = parse };
