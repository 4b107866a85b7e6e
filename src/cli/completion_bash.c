/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/completion.h"

static void put_value(FILE *out, const struct completion_value *value)
{
	static const char *const kinds[] = {
		[COMPLETION_NONE] = "none",
		[COMPLETION_WORDS] = "words",
		[COMPLETION_LIST] = "list",
		[COMPLETION_PIDS] = "pids",
		[COMPLETION_USERS] = "users",
		[COMPLETION_FILES] = "files",
		[COMPLETION_RECORDINGS] = "recordings",
	};

	fprintf(out, "'%s%s%s'", kinds[value->kind], value->words[0] ? " " : "", value->words);
}

static void put_command(FILE *out, const struct command *command)
{
	struct completion_option options[COMPLETION_MOST];
	size_t count = completion__options(command, options);
	struct completion_args args;

	completion__args(command, &args);
	fprintf(out, "\t%s)\n\t\toptions='", command->name);
	for (size_t i = 0; i < count; i++) {
		if (options[i].name)
			fprintf(out, "--%s ", options[i].name);
		if (options[i].letter)
			fprintf(out, "-%c ", options[i].letter);
	}
	/* A single argument needs no "--" before it. */
	fputs(args.many ? "--'\n" : "'\n", out);
	for (size_t i = 0; i < count; i++) {
		if (!options[i].arg)
			continue;
		fputs("\t\ttakes+=(", out);
		if (options[i].name) {
			fprintf(out, "[--%s]=", options[i].name);
			put_value(out, &options[i].value);
		}
		if (options[i].letter) {
			fprintf(out, "%s[-%c]=", options[i].name ? " " : "", options[i].letter);
			put_value(out, &options[i].value);
		}
		fputs(")\n", out);
	}
	fputs("\t\tfirst=", out);
	put_value(out, &args.value);
	fprintf(out, "\n%s%s\t\t;;\n", args.many ? "\t\tmany=yes\n" : "",
		args.command ? "\t\tcommand=yes\n" : "");
}

void completion__bash(FILE *out)
{
	static const char rest[] =
#include "cli/completion.bash.h"
		;
	char verbs[512];

	completion__verbs(verbs, sizeof(verbs));
	fputs("# Completion for bash, made by 'gapless completion bash'.\n"
	      "# shellcheck shell=bash disable=SC2034\n\n"
	      "# _gapless_know VERB: what it takes, into the variables of _gapless.\n"
	      "_gapless_know()\n{\n",
	      out);
	fprintf(out, "\tverbs='%s help'\n\tcase $1 in\n\thelp)\n\t\tfirst='words %s'\n\t\t;;\n",
		verbs, verbs);
	for (size_t i = 0; cli_commands[i]; i++)
		put_command(out, cli_commands[i]);
	fputs("\tesac\n}\n", out);
	fputs(rest, out);
}
