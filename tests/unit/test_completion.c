/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scripts of 'gapless completion': that they know every option, and what shells make of them.
 */
#include "../harness.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/completion.h"

static char folder[] = "/tmp/gapless-completion-XXXXXX";

static char *script(const char *shell)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (size_t i = 0; completion_shells[i].name; i++)
		if (!strcmp(completion_shells[i].name, shell))
			completion_shells[i].print(out);
	fclose(out);
	assert_true(size > 0);
	return text;
}

/* What a script says of one command: from `start` to `end`. */
static char *part(const char *text, const char *start, const char *end)
{
	const char *from = strstr(text, start), *to;

	assert_non_null(from);
	from += strlen(start);
	to = strstr(from, end);
	return to ? strndup(from, (size_t)(to - from)) : strdup(from);
}

/* As a word: no letter, digit or dash before or behind it. */
static void assert_has(const char *text, const char *word, const char *command)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if (!isalnum(at[length]) && at[length] != '-' &&
		    (at == text || (!isalnum(at[-1]) && at[-1] != '-')))
			return;
	fail_msg("no '%s' of '%s' in: %s", word, command, text);
}

static void assert_all_known(const struct argp *argp, const char *command, const char *bash,
			     const char *fish, const char *zsh)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
		char word[64];

		if (o->flags & OPTION_HIDDEN)
			continue;
		if (o->name) {
			snprintf(word, sizeof(word), "--%s", o->name);
			assert_has(bash, word, command);
			assert_has(zsh, word, command);
			snprintf(word, sizeof(word), "-l %s", o->name);
			assert_has(fish, word, command);
		}
		if (o->key > ' ' && o->key < 127) {
			snprintf(word, sizeof(word), "-%c", o->key);
			assert_has(bash, word, command);
			assert_has(zsh, word, command);
			snprintf(word, sizeof(word), "-s %c", o->key);
			assert_has(fish, word, command);
		}
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		assert_all_known(child->argp, command, bash, fish, zsh);
}

static void every_option_of_every_command_is_in_every_script(void **state)
{
	char *bash = script("bash"), *fish = script("fish"), *zsh = script("zsh");

	for (size_t i = 0; cli_commands[i]; i++) {
		const char *name = cli_commands[i]->name;
		char start[64], fish_start[64];
		char *parts[3];

		snprintf(start, sizeof(start), "\t%s)\n", name);
		snprintf(fish_start, sizeof(fish_start), "__gapless_no_verb -a %s ", name);
		parts[0] = part(bash, start, ";;");
		parts[1] = part(fish, fish_start, "__gapless_no_verb");
		parts[2] = part(zsh, start, ";;");
		assert_non_null(cli_commands[i]->argp);
		assert_all_known(cli_commands[i]->argp, name, parts[0], parts[1], parts[2]);
		for (int j = 0; j < 3; j++)
			free(parts[j]);
	}
	free(bash);
	free(fish);
	free(zsh);
}

/* What a command line of sh prints, in the folder with the scripts; without the last newline. */
static char *said(const char *line)
{
	static char text[65536];
	char whole[1024];
	size_t size;
	FILE *out;

	snprintf(whole, sizeof(whole), "cd %s && { %s; } 2>&1", folder, line);
	out = popen(whole, "r");
	assert_non_null(out);
	size = fread(text, 1, sizeof(text) - 1, out);
	text[size] = '\0';
	if (size && text[size - 1] == '\n')
		text[size - 1] = '\0';
	assert_int_equal(pclose(out), 0);
	return text;
}

/* What bash offers for the last of the words, which sh reads. */
static char *bash_offers(const char *words)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "bash --norc --noprofile -c 'source ./bash; COMP_WORDS=(\"$@\"); "
		 "COMP_CWORD=$(($# - 1)); _gapless; echo \"${COMPREPLY[*]}\"' - gapless %s",
		 words);
	return said(line);
}

static void bash_completes(void **state)
{
	static const struct {
		const char *words, *offered;
	} cases[] = {
		{ "re", "record report" },
		{ "help w", "watch" },
		{ "record --le", "--level" },
		{ "record --level ''", "full sched" },
		{ "record --level s", "sched" },
		{ "record --level =", "full sched" },
		{ "record --level = f", "full" },
		{ "record --level = full --no-st", "--no-stacks" },
		{ "record --signals ta", "" },
		{ "record --signals block,ex", "block,exec" },
		{ "record -d ''", "" },
		{ "record --uid roo", "root" },
		{ "record -- printenv", "printenv" },
		{ "record -d 1 -- env one.g", "one.gapless" },
		{ "export -f spe", "speedscope" },
		{ "export --format p", "pprof perfetto" },
		{ "report ''", "inner one.gapless two.gapless" },
		{ "report one.gapless ''", "" },
		{ "report --by pro", "process" },
		{ "report --busy po", "poll" },
		{ "report --html not", "notes" },
		{ "diff one.gapless t", "two.gapless" },
		{ "diff one.gapless -- t", "two.gapless" },
		{ "query o", "one.gapless" },
		{ "query one.gapless ''", "" },
		{ "watch sys", "syscalls" },
		{ "watch -d 1 sys", "syscalls" },
		{ "watch syscalls ''", "" },
		{ "watch syscalls --by thread,pl", "thread,place" },
		{ "completion ''", "bash fish zsh" },
		{ "nonsense ''", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *offered = bash_offers(cases[i].words);

		if (strcmp(offered, cases[i].offered))
			fail_msg("'%s': offered '%s', not '%s'", cases[i].words, offered,
				 cases[i].offered);
	}
	assert_has(bash_offers("watch syscalls -p 1"), "1", "watch");
	assert_has(bash_offers("top --pid 7,1"), "7,1", "top");
}

/* Skips if the machine does not have the shell. */
static void need(const char *shell)
{
	char line[64];

	snprintf(line, sizeof(line), "command -v %s || true", shell);
	if (*said(line))
		return;
	print_message("# %s is not installed\n", shell);
	skip();
}

static void zsh_reads_its_script(void **state)
{
	need("zsh");
	assert_string_equal(said("zsh -fn ./zsh"), "");
	assert_string_equal(said("zsh -fc 'source ./zsh; whence -w _gapless'"),
			    "_gapless: function");
}

/* The words that fish offers, without what it says of them. */
static char *fish_offers(const char *typed)
{
	char line[512];

	snprintf(
		line, sizeof(line),
		"HOME=%s fish --no-config -c 'source ./fish; complete -C \"gapless %s\"' | cut -f1 | "
		"paste -sd' '",
		folder, typed);
	return said(line);
}

static void fish_completes(void **state)
{
	need("fish");
	assert_string_equal(said("fish -n ./fish"), "");
	assert_string_equal(fish_offers("re"), "record report");
	assert_string_equal(fish_offers("record --level "), "full sched");
	assert_string_equal(fish_offers("record --signals block,ex"), "block,exec");
	assert_string_equal(fish_offers("record -- printenv"), "printenv");
	assert_string_equal(fish_offers("watch sys"), "syscalls");
	assert_string_equal(fish_offers("watch syscalls --ev"), "--every");
	assert_string_equal(fish_offers("query on"), "one.gapless");
	assert_string_equal(fish_offers("help w"), "watch");
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	for (size_t i = 0; completion_shells[i].name; i++) {
		char path[256];
		FILE *out;

		snprintf(path, sizeof(path), "%s/%s", folder, completion_shells[i].name);
		out = fopen(path, "w");
		if (!out)
			return -1;
		completion_shells[i].print(out);
		fclose(out);
	}
	said("mkdir inner && : >one.gapless && : >two.gapless && : >notes");
	return 0;
}

static int tear_down(void **state)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -rf %s", folder);
	return system(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_of_every_command_is_in_every_script),
		cmocka_unit_test(bash_completes),
		cmocka_unit_test(zsh_reads_its_script),
		cmocka_unit_test(fish_completes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
