/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/completion.h"

/* Characters that must be escaped in a quoted spec of _arguments. */
#define SPECIAL "\\[]:"

static void put_text(FILE *out, const char *text)
{
	completion__put(out, text, SPECIAL, "'\\''");
}

static void put_value(FILE *out, const char *name, const struct completion_value *value)
{
	fputc(':', out);
	put_text(out, name);
	switch (value->kind) {
	case COMPLETION_WORDS:
		fprintf(out, ":(%s)", value->words);
		break;
	case COMPLETION_LIST:
		fprintf(out, ":_values -s , word %s", value->words);
		break;
	case COMPLETION_PIDS:
		fputs(":_sequence _gapless_pids", out);
		break;
	case COMPLETION_USERS:
		fputs(":_users", out);
		break;
	case COMPLETION_FILES:
		fputs(":_files", out);
		break;
	case COMPLETION_RECORDINGS:
		fputs(":_files -g \"*.gapless\"", out);
		break;
	default:
		fputs(": ", out);
	}
}

/* '*': any option may be repeated. The tables do not say which should not. */
static void put_option(FILE *out, const struct completion_option *option)
{
	const char *equals = option->arg ? "=" : "", *plus = option->arg ? "+" : "";

	fputs(" \\\n\t\t\t'*", out);
	if (option->name && option->letter)
		fprintf(out, "'{-%c%s,--%s%s}'", option->letter, plus, option->name, equals);
	else if (option->name)
		fprintf(out, "--%s%s", option->name, equals);
	else
		fprintf(out, "-%c%s", option->letter, plus);
	fputc('[', out);
	put_text(out, option->doc);
	fputc(']', out);
	if (option->arg)
		put_value(out, option->arg, &option->value);
	fputc('\'', out);
}

static void put_command(FILE *out, const struct command *command)
{
	struct completion_option options[COMPLETION_MOST];
	size_t count = completion__options(command, options);
	struct completion_args args;

	completion__args(command, &args);
	fprintf(out, "\t%s)\n\t\t_arguments -s -S", command->name);
	for (size_t i = 0; i < count; i++)
		put_option(out, &options[i]);
	if (args.command) {
		fputs(" \\\n\t\t\t'*:::command:_normal'", out);
	} else if (args.value.kind != COMPLETION_NONE) {
		fprintf(out, " \\\n\t\t\t'%s", args.many ? "*" : "1");
		put_value(out, "argument", &args.value);
		fputc('\'', out);
	}
	fputs("\n\t\t;;\n", out);
}

void completion__zsh(FILE *out)
{
	fputs("#compdef gapless\n# Completion for zsh, made by 'gapless completion zsh'.\n\n"
	      "# _pids has only those of this terminal.\n_gapless_pids()\n{\n"
	      "\tlocal -a shown=(${(f)\"$(ps -eo pid=,comm=)\"})\n\n"
	      "\tcompadd \"$@\" -l -d shown -- ${${shown##[[:space:]]##}%% *}\n}\n\n"
	      "_gapless()\n{\n\tlocal -a verbs=(\n",
	      out);
	for (size_t i = 0; cli_commands[i]; i++) {
		fprintf(out, "\t\t'%s:", cli_commands[i]->name);
		completion__put(out, cli_commands[i]->about, "\\:", "'\\''");
		fputs("'\n", out);
	}
	fputs("\t)\n\n\tif (( CURRENT == 2 )); then\n"
	      "\t\tverbs+=('help:the options of a command')\n"
	      "\t\t_describe -t commands command verbs\n\t\treturn\n\tfi\n"
	      "\tshift words\n\t(( CURRENT-- ))\n\tcase $words[1] in\n"
	      "\thelp)\n\t\t(( CURRENT != 2 )) || _describe -t commands command verbs\n\t\t;;\n",
	      out);
	for (size_t i = 0; cli_commands[i]; i++)
		put_command(out, cli_commands[i]);
	fputs("\tesac\n}\n\n"
	      "# Found by its name in $fpath, or read with 'source'.\n"
	      "if [[ $funcstack[1] == _gapless ]]; then\n\t_gapless \"$@\"\n"
	      "elif (( $+functions[compdef] )); then\n\tcompdef _gapless gapless\nfi\n",
	      out);
}
