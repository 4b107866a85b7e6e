/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/completion.h"

#include <string.h>

#include "base/words.h"
#include "export/exporter.h"
#include "signals/registry.h"
#include "vocabulary/states.h"

const struct completion_shell completion_shells[] = {
	{ "bash", completion__bash },
	{ "fish", completion__fish },
	{ "zsh", completion__zsh },
	{},
};

static void add_word(struct completion_value *value, const char *word)
{
	words__say(value->words, sizeof(value->words), "%s%s", value->words[0] ? " " : "", word);
}

static void add_words(struct completion_value *value, const char *const *words)
{
	for (; *words; words++)
		add_word(value, *words);
}

static void add_levels(struct completion_value *value)
{
	add_words(value, cli_levels);
}

static void add_formats(struct completion_value *value)
{
	for (size_t i = 0; exporters[i]; i++)
		add_word(value, exporters[i]->name);
}

static void add_signals(struct completion_value *value)
{
	for (size_t i = 0; signals[i]; i++)
		add_word(value, signals[i]->name);
}

static void add_signals_to_record(struct completion_value *value)
{
	static const char *const sets[] = { "all", "default", "none", NULL };

	add_words(value, sets);
	add_signals(value);
}

/* Wait states of different kinds may have the same cause. */
static void add_causes(struct completion_value *value)
{
	for (int i = SLOT_WAIT_FIRST; i < SLOT_WAIT_END; i++) {
		const char *cause = states__words(i)->cause;
		int first = SLOT_WAIT_FIRST;

		while (strcmp(states__words(first)->cause, cause))
			first++;
		if (first == i)
			add_word(value, cause);
	}
}

static void add_shells(struct completion_value *value)
{
	for (size_t i = 0; completion_shells[i].name; i++)
		add_word(value, completion_shells[i].name);
}

/* The kind of an argument, by its name in --help and, where that is ambiguous, by its option. */
static const struct {
	const char *arg, *option;
	enum completion_kind kind;
	void (*add)(struct completion_value *value);
} known[] = {
	{ "BASE", NULL, COMPLETION_RECORDINGS, NULL },
	{ "CAUSE", NULL, COMPLETION_WORDS, add_causes },
	{ "FILE", NULL, COMPLETION_FILES, NULL },
	{ "FORMAT", NULL, COMPLETION_WORDS, add_formats },
	{ "LEVEL", NULL, COMPLETION_WORDS, add_levels },
	{ "LIST", "signals", COMPLETION_LIST, add_signals_to_record },
	{ "PATH", NULL, COMPLETION_FILES, NULL },
	{ "PID,...", NULL, COMPLETION_PIDS, NULL },
	{ "RECORDING", NULL, COMPLETION_RECORDINGS, NULL },
	{ "SHELL", NULL, COMPLETION_WORDS, add_shells },
	{ "SIGNAL", NULL, COMPLETION_WORDS, add_signals },
	{ "USER", NULL, COMPLETION_USERS, NULL },
};

static void find_value(const char *arg, const char *option, struct completion_value *ret_value)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].arg, arg) ||
		    (known[i].option && (!option || strcmp(known[i].option, option))))
			continue;
		ret_value->kind = known[i].kind;
		if (known[i].add)
			known[i].add(ret_value);
		return;
	}
}

static void describe(const struct command *command, const struct argp_option *from,
		     struct completion_option *ret_option)
{
	struct completion_value *value = &ret_option->value;

	*ret_option = (struct completion_option) {
		.name = from->name,
		.letter = from->key > ' ' && from->key < 127 ? (char)from->key : '\0',
		.arg = from->arg,
		.doc = from->doc ? from->doc : "",
	};
	if (!from->arg)
		return;
	find_value(from->arg, from->name, value);
	for (const struct cli_words *words = command->words; words && words->option; words++)
		if (from->name && !strcmp(words->option, from->name)) {
			value->kind =
				strcmp(from->arg, "LIST") ? COMPLETION_WORDS : COMPLETION_LIST;
			add_words(value, words->words);
		}
}

static size_t collect(const struct command *command, const struct argp *argp,
		      struct completion_option *options, size_t count)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
		if ((o->name || o->key) && !(o->flags & (OPTION_HIDDEN | OPTION_DOC)) &&
		    count < COMPLETION_MOST)
			describe(command, o, &options[count++]);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		count = collect(command, child->argp, options, count);
	return count;
}

size_t completion__options(const struct command *command, struct completion_option *options)
{
	static const struct argp_option added[] = {
		{ "help", 'h', NULL, 0, "List the options", 0 },
		{ "usage", 0, NULL, 0, "List the options in one line", 0 },
		{ "version", 'V', NULL, 0, "Print the version", 0 },
		{},
	};
	static const struct argp argp = { .options = added };

	return collect(command, &argp, options, collect(command, command->argp, options, 0));
}

void completion__args(const struct command *command, struct completion_args *ret_args)
{
	const char *doc = command->argp->args_doc ? command->argp->args_doc : "";
	char first[32];

	*ret_args = (struct completion_args) {
		.many = strstr(doc, "..."),
		.command = strstr(doc, "-- COMMAND"),
	};
	doc += strspn(doc, "[");
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(doc, " ].\n"), doc);
	find_value(first, NULL, &ret_args->value);
}

void completion__verbs(char *words, size_t size)
{
	words[0] = '\0';
	for (size_t i = 0; cli_commands[i]; i++)
		words__say(words, size, "%s%s", i ? " " : "", cli_commands[i]->name);
}

void completion__put(FILE *out, const char *text, const char *special, const char *quote)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs(quote, out);
			continue;
		}
		if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}
