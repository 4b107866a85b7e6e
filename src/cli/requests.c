/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"
#include "cli/cli.h"
#include "core/uprobes.h"

static const char *option_of(int key)
{
	static const struct {
		int key;
		const char *option;
	} names[] = {
		{ REQUESTS_EVENT, "event" },        { REQUESTS_PAIR, "pair" },
		{ REQUESTS_FUNCTION, "function" },  { REQUESTS_WINDOW, "window" },
		{ REQUESTS_USDT, "usdt" },          { REQUESTS_FORCE_RETURNS, "force-returns" },
		{ REQUESTS_SAMPLE_ON, "sample-on" }
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].key == key)
			return names[i].option;
	return NULL;
}

bool requests__parse(struct requests *requests, int key, const char *arg, struct argp_state *state)
{
	const char *name = option_of(key);
	const struct signal_option *option = NULL;
	char why[SIGNAL_WHY] = "";
	int err;

	if (!name)
		return false;
	if (!registry__with_option(name, &option))
		cli__refuse(state, "no signal has the option '%s'", name);
	if (requests->count == REQUESTS_MOST)
		cli__refuse(state, "more than %d requests", REQUESTS_MOST);
	err = option->take(arg, why, sizeof(why));
	if (err == -EINVAL || err == -E2BIG)
		cli__refuse(state, "--%s: %s", name, why);
	if (err) {
		log_error("--%s: %s", name, words__clean(why, WORDS_MOST_COLUMNS).text);
		exit(EXIT_FAILURE);
	}
	requests->list[requests->count].option = name;
	requests->list[requests->count++].arg = arg;
	return true;
}

void requests__add_signals(const struct requests *requests, const struct signal *ret[SIGNALS_MOST])
{
	const struct signal_option *option;

	for (size_t i = 0; i < requests->count; i++)
		registry__add(ret, registry__with_option(requests->list[i].option, &option));
}

bool requests__has(const struct requests *requests, const char *option)
{
	for (size_t i = 0; i < requests->count; i++)
		if (!strcmp(requests->list[i].option, option))
			return true;
	return false;
}

static bool is_requested(const struct requests *requests, const struct signal *signal)
{
	const struct signal_option *option;

	for (size_t i = 0; i < requests->count; i++)
		if (registry__with_option(requests->list[i].option, &option) == signal)
			return true;
	return false;
}

void requests__check(const struct requests *requests, const struct signal *signal,
		     struct argp_state *state)
{
	if (signal->on_request && signal->options && !is_requested(requests, signal))
		argp_error(state, "the signal '%s' measures what --%s names", signal->name,
			   signal->options[0].name);
}

int requests__find(const struct run_options *run, const char *command)
{
	const struct uprobe_scope scope = { &run->target, command };
	int err = 0;

	for (size_t i = 0; run->signals[i] && !err; i++)
		if (run->signals[i]->find)
			err = run->signals[i]->find(&scope, run->budget_ppm);
	return err;
}

void requests__say(const struct requests *requests, char *text, size_t size)
{
	for (size_t i = 0; i < requests->count; i++)
		words__say(text, size, "%s%s%s\n", requests->list[i].option,
			   requests->list[i].arg ? " = " : "",
			   requests->list[i].arg ? requests->list[i].arg : "");
}
