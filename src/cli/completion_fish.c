/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/completion.h"

static void put_text(FILE *out, const char *text)
{
	completion__put(out, text, "\\", "\\'");
}

static void put_value(FILE *out, const struct completion_value *value)
{
	switch (value->kind) {
	case COMPLETION_WORDS:
		fprintf(out, " -x -a '%s'", value->words);
		break;
	case COMPLETION_LIST:
		fprintf(out, " -x -a '(__fish_complete_list , \"__gapless_words %s\")'",
			value->words);
		break;
	case COMPLETION_PIDS:
		fputs(" -x -a '(__fish_complete_list , __fish_complete_pids)'", out);
		break;
	case COMPLETION_USERS:
		fputs(" -x -a '(__fish_complete_users)'", out);
		break;
	case COMPLETION_FILES:
		fputs(" -r -F", out);
		break;
	case COMPLETION_RECORDINGS:
		fputs(" -k -x -a '(__fish_complete_suffix .gapless)'", out);
		break;
	default:
		fputs(" -x", out);
	}
}

static void put_option(FILE *out, const char *verb, const struct completion_option *option)
{
	fprintf(out, "complete -c gapless -n '__gapless_is %s'", verb);
	if (option->letter)
		fprintf(out, " -s %c", option->letter);
	if (option->name)
		fprintf(out, " -l %s", option->name);
	if (option->arg)
		put_value(out, &option->value);
	fputs(" -d '", out);
	put_text(out, option->doc);
	fputs("'\n", out);
}

static void put_command(FILE *out, const struct command *command)
{
	struct completion_option options[COMPLETION_MOST];
	size_t count = completion__options(command, options);
	struct completion_args args;

	completion__args(command, &args);
	fprintf(out, "\ncomplete -c gapless -n __gapless_no_verb -a %s -d '", command->name);
	put_text(out, command->about);
	fputs("'\n", out);
	for (size_t i = 0; i < count; i++)
		put_option(out, command->name, &options[i]);
	if (args.command)
		fprintf(out,
			"complete -c gapless -n '__gapless_behind %s' -a '(__gapless_command)'\n",
			command->name);
	if (args.value.kind == COMPLETION_NONE)
		return;
	fprintf(out, "complete -c gapless -n '__gapless_is %s", command->name);
	if (!args.many)
		fprintf(out, "; and __gapless_without %s",
			args.value.kind == COMPLETION_WORDS ? args.value.words : "\"*.gapless\"");
	fputs("'", out);
	put_value(out, &args.value);
	fputc('\n', out);
}

void completion__fish(FILE *out)
{
	static const char start[] =
#include "cli/completion.fish.h"
		;
	char verbs[512];

	completion__verbs(verbs, sizeof(verbs));
	fputs(start, out);
	for (size_t i = 0; cli_commands[i]; i++)
		put_command(out, cli_commands[i]);
	fprintf(out,
		"\ncomplete -c gapless -n __gapless_no_verb -a help -d 'the options of a command'\n"
		"complete -c gapless -n '__gapless_is help; and __gapless_without %s' -x -a '%s'\n",
		verbs, verbs);
}
