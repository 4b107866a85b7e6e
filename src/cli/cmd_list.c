/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless list: the signals, and whether they work here. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/usdt_list.h"
#include "core/features.h"
#include "ledger/reader/attach.h"
#include "signals/registry.h"
#include "vocabulary/states.h"

DEFINE_CLEANUP(struct features *, features__free)

static json_t *hooks_json(const struct signal *signal, const struct hook_use *uses)
{
	json_t *hooks = json_array();

	for (size_t i = 0; signal->hooks[i].event; i++)
		json_array_append_new(hooks,
				      json_pack("{s:s, s:s?, s:s}", "event", uses[i].event, "kind",
						uses[i].kind, "why_not", uses[i].why_not));
	return hooks;
}

static json_t *signals_json(struct features *features)
{
	json_t *list = json_array();
	struct hook_use uses[SIGNAL_HOOKS];

	for (size_t i = 0; signals[i]; i++) {
		bool available = ledger__look_at(signals[i], features, uses);

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:b, s:o}", "name", signals[i]->name,
						"about", signals[i]->about, "available", available,
						"hooks", hooks_json(signals[i], uses)));
	}
	return list;
}

static json_t *features_json(struct features *features)
{
	json_t *list = json_array();

	for (int i = 0; i < FEATURE_COUNT; i++) {
		const struct feature_state *state = features__get(features, i);

		json_array_append_new(list, json_pack("{s:s, s:b, s:s}", "name", feature__name(i),
						      "available", state->stage == STAGE_DONE,
						      "why_not", state->why));
	}
	return list;
}

static json_t *states_json(void)
{
	json_t *list = json_array();

	for (int slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		const struct state_words *words = states__words(slot);

		json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s}", "state",
						      words->state, "cause", words->cause, "kind",
						      states__key(slot), "about", words->about));
	}
	return list;
}

static void print_states(void)
{
	printf("\nstates of a thread ('gapless record')\n");
	for (int slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		const struct state_words *words = states__words(slot);
		char name[64];

		snprintf(name, sizeof(name), "%s.%s", words->state, words->cause);
		printf("  %-20s %-10s %s\n", name,
		       SLOT_IS_WAIT(slot) ? kinds__words(words->kind)->brief : "", words->about);
	}
}

static void print_mark(bool good)
{
	enum term_style style = good ? TERM_GOOD : TERM_BAD;

	printf("  %s%-8s%s ", term__on(stdout, style), good ? "ok" : "missing",
	       term__off(stdout, style));
}

static void print_signals(struct features *features)
{
	struct hook_use uses[SIGNAL_HOOKS];

	printf("signals ('gapless watch SIGNAL')\n");
	for (size_t i = 0; signals[i]; i++) {
		print_mark(ledger__look_at(signals[i], features, uses));
		printf("%-20s %s\n", signals[i]->name, signals[i]->about);
		for (size_t j = 0; signals[i]->hooks[j].event; j++)
			printf("%32s%s: %s%s%s\n", "", uses[j].event,
			       uses[j].kind ? uses[j].kind : "no hook works",
			       uses[j].why_not[0] ? "; passed over: " : "", uses[j].why_not);
	}
}

static void print_features(struct features *features)
{
	printf("\nhooks and helpers, each tried just now\n");
	for (int i = 0; i < FEATURE_COUNT; i++) {
		const struct feature_state *state = features__get(features, i);

		print_mark(state->stage == STAGE_DONE);
		if (state->stage == STAGE_DONE) {
			printf("%s\n", feature__name(i));
			continue;
		}
		printf("%-20s ", feature__name(i));
		term__wrap(stdout, state->why, 32, term__width(stdout));
	}
}

struct options {
	struct cli_common common;
	bool is_usdt;
	const char *where; /* of `list usdt` */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case ARGP_KEY_ARG:
		if (!state->arg_num && !strcmp(arg, "usdt"))
			options->is_usdt = true;
		else if (state->arg_num == 1 && options->is_usdt)
			options->where = arg;
		else
			argp_error(state, "unexpected word '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (options->is_usdt && !options->where)
			argp_error(state, "the probes of what? [list usdt PID, or FILE]");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };

static const struct argp argp = {
	.parser = parse,
	.children = children,
	.args_doc = "[usdt PID|FILE]",
	.doc = "Lists signals, states, hooks and helpers: available here, or why not. With usdt: "
	       "the probes that a program or library, or all files of a process, declare.",
};

static int run(int argc, char **argv)
{
	cleanup(features__free_p) struct features *features = features__new();
	struct options options = {};

	cli__parse(&argp, argc, argv, &options);
	if (!features)
		return 1;
	if (options.where)
		return usdt_list__print(options.where, options.common.json);
	if (options.common.json)
		return !cli__print_json(json_pack("{s:o, s:o, s:o}", "signals",
						  signals_json(features), "states", states_json(),
						  "hooks", features_json(features)));
	print_signals(features);
	print_states();
	print_features(features);
	return 0;
}

const struct command list_command = {
	.name = "list",
	.about = "signals, states, hooks and helpers: available here, or why not",
	.argp = &argp,
	.run = run,
};
