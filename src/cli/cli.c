/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "core/loader.h"
#include "core/sys.h"

#define MOST_WORDS 64

#define ADDRESS(name) &name##_command,
const struct command *const cli_commands[] = { EACH_COMMAND(ADDRESS) NULL };
#define COMMAND_COUNT (sizeof(cli_commands) / sizeof(*cli_commands) - 1)

const char *const cli_levels[] = { "full", "sched", NULL };

/* The name for messages: "gapless VERB" once the verb is known. */
static const char *called = "gapless";

const char *argp_program_version = "gapless " GAPLESS_VERSION;

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct cli_common *common = state->input;

	switch (key) {
	case 'j':
		common->json = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case 'v':
		log__set_level(LOG_LEVEL_DEBUG);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option common_options[] = {
	{ "json", 'j', NULL, 0, "Print JSON instead of text", 10 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 10 },
	{ "verbose", 'v', NULL, 0, "Also print what is tried, and messages of libbpf", 10 },
	{},
};

const struct argp cli_common_argp = { .options = common_options, .parser = parse_common };

static size_t collect_options(const struct argp *argp, const char **words, size_t count)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
		if (o->name && count < MOST_WORDS - 1)
			words[count++] = o->name;
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		count = collect_options(child->argp, words, count);
	return count;
}

/* getopt reports an unknown option before argp could, so check before calling either. */
static void check_long_options(const struct argp *argp, int argc, char **argv)
{
	const char *words[MOST_WORDS] = { "help", "usage", "version" };
	char typed[MOST_WORDS];

	words[collect_options(argp, words, 3)] = NULL;
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		size_t length = strcspn(argv[i], "="), j = 0;

		if (strncmp(argv[i], "--", 2) || length - 2 >= sizeof(typed))
			continue;
		while (words[j] && strncmp(words[j], argv[i] + 2, length - 2))
			j++;
		if (words[j])
			continue;
		snprintf(typed, sizeof(typed), "%.*s", (int)(length - 2), argv[i] + 2);
		cli__unknown("option", typed, words);
		exit(CLI_EXIT_USAGE);
	}
}

/* A write function for fopencookie(): replaces control characters. */
static ssize_t write_sanitized(void *context, const char *bytes, size_t size)
{
	cleanup(free_p) char *text = strndup(bytes, size);

	if (!text)
		return 0;
	utf8__sanitize(text);
	fputs(text, context);
	return (ssize_t)size;
}

/*
 * argp and getopt repeat arguments in their messages, so they write to a stream that replaces
 * control characters. If they end the program, exit() flushes it.
 */
void cli__parse(const struct argp *argp, int argc, char **argv, void *input)
{
	FILE *plain = stderr;
	FILE *tamed = fopencookie(plain, "w", (cookie_io_functions_t) { .write = write_sanitized });
	int err;

	argp_err_exit_status = CLI_EXIT_USAGE;
	called = argv[0];
	check_long_options(argp, argc, argv);
	if (tamed)
		stderr = tamed;
	err = argp_parse(argp, argc, argv, 0, NULL, input);
	stderr = plain;
	if (tamed)
		fclose(tamed);
	if (err)
		exit(CLI_EXIT_USAGE);
}

void cli__refuse(struct argp_state *state, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!log__place())
		argp_error(state, "%s", text);
	log_error("%s", text);
	exit(CLI_EXIT_USAGE);
}

void cli__args(const char *arg, enum redact_args *ret)
{
	for (int i = 0; redact_words[i]; i++) {
		if (strcmp(redact_words[i], arg))
			continue;
		*ret = REDACT_NOTHING + i;
		return;
	}
	cli__unknown("word for --args", arg, redact_words);
	exit(CLI_EXIT_USAGE);
}

bool cli__is_full(struct argp_state *state, const char *level)
{
	if (strcmp(level, "full") && strcmp(level, "sched"))
		cli__refuse(state, "'%s' is not a level [full, sched]", level);
	return !strcmp(level, "full");
}

uint32_t cli__budget(struct argp_state *state, const char *text)
{
	char *end;
	double percent;

	if (!strcmp(text, "none"))
		return 0;
	errno = 0;
	percent = strtod(text, &end);
	/* strtod() also reads hexadecimal numbers, infinity and NaN. */
	if (errno || end == text || strcmp(end, "%") ||
	    strspn(text, "0123456789.") != (size_t)(end - text) || percent < 0.01 || percent > 100)
		cli__refuse(state, "'%s' is not a budget [0.01%% to 100%%, like 5%%, or none]",
			    text);
	return (uint32_t)lround(percent * 10000);
}

/* CAP_SYS_ADMIN or CAP_BPF. Other missing capabilities are reported where they are needed. */
#define CAPS_THAT_LOAD (UINT64_C(1) << 21 | UINT64_C(1) << 39)

bool cli__may_measure(void)
{
	char text[32];

	if (sys__status("CapEff", text, sizeof(text)) || strtoull(text, NULL, 16) & CAPS_THAT_LOAD)
		return true;
	if (geteuid())
		log_error("'%s' needs root [sudo; 'gapless doctor --caps' finds the capabilities "
			  "that are enough]",
			  called);
	else
		log_error("'%s' needs the capability bpf or sys_admin, which root does not have "
			  "here [see 'gapless doctor']",
			  called);
	return false;
}

const char *cli__newest_recording(void)
{
	static char newest[NAME_MAX + 1];
	cleanup(closedir_p) DIR *folder = opendir(".");
	struct timespec then = {};
	struct dirent *entry;

	newest[0] = '\0';
	while (folder && (entry = readdir(folder))) {
		const char *suffix = strrchr(entry->d_name, '.');
		struct stat info;

		if (!suffix || strcmp(suffix, ".gapless") || stat(entry->d_name, &info) ||
		    !S_ISREG(info.st_mode) || info.st_mtim.tv_sec < then.tv_sec ||
		    (info.st_mtim.tv_sec == then.tv_sec && info.st_mtim.tv_nsec < then.tv_nsec))
			continue;
		then = info.st_mtim;
		snprintf(newest, sizeof(newest), "%s", entry->d_name);
	}
	if (newest[0])
		log_info("reading '%s', the newest recording here", newest);
	else
		log_error("there is no recording here: no file '*.gapless' [see 'gapless record']");
	return newest[0] ? newest : NULL;
}

void cli__unknown(const char *what, const char *typed, const char *const *known)
{
	const char *near = parse__nearest(typed, known);
	bool is_option = !strcmp(what, "option"), helped = is_option || !strcmp(what, "command");
	const char *dashes = is_option ? "--" : "";
	char list[512] = "";
	size_t length = 0;

	for (size_t i = 0; known[i] && length < sizeof(list); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
					   i ? ", " : "", known[i]);
	if (near)
		log_error("unknown %s '%s%s'; did you mean '%s%s'?", what, dashes, typed, dashes,
			  near);
	else if (helped)
		log_error("unknown %s '%s%s' [see '%s --help']", what, dashes, typed, called);
	else
		log_error("unknown %s '%s' [there are: %s]", what, typed, list);
}

uint32_t cli__test_switch(const char *name)
{
	const char *value = getenv(name);
	uint64_t number;

	return value && !parse__number(value, 1, UINT32_MAX, &number) ? (uint32_t)number : 0;
}

bool cli__print_json(json_t *json)
{
	bool ok;

	json = json__versioned(json);
	ok = json && !json_dumpf(json, stdout, JSON_INDENT(2)) && putchar('\n') != EOF;

	json_decref(json);
	return ok;
}

static int print_help(FILE *out)
{
	fprintf(out, "usage: gapless COMMAND [OPTION...]\n"
		     "Where did the time go? All wall time of every thread, from outside.\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->about);
	fprintf(out,
		"\n'gapless help COMMAND' lists a command's options; 'man gapless' says more.\n"
		"Start with 'sudo gapless doctor'.\n");
	return out == stdout ? 0 : CLI_EXIT_USAGE;
}

static const struct command *find_command(const char *name)
{
	const char *names[COMMAND_COUNT + 1] = {};

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!strcmp(cli_commands[i]->name, name))
			return cli_commands[i];
		names[i] = cli_commands[i]->name;
	}
	cli__unknown("command", name, names);
	return NULL;
}

bool cli__stdout_failed(void)
{
	static bool said;

	if (!fflush(stdout) && !ferror(stdout))
		return false;
	if (!said)
		log_error("cannot write standard output: %s", strerror(errno));
	said = true;
	return true;
}

/* Failure to write the output is a failure, whatever the command returned. */
static int finish(int status)
{
	return cli__stdout_failed() && !status ? EXIT_FAILURE : status;
}

/*
 * Occupies closed standard descriptors, so that no file opened later gets their number. Writing to
 * them fails.
 */
static void keep_standard_numbers(void)
{
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (fcntl(i, F_GETFD) < 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) != i)
			return;
}

/* "help VERB" is "VERB --help". */
static int help_with(const char *verb)
{
	const struct command *command = find_command(verb);
	char name[64], option[] = "--help", *argv[] = { name, option, NULL };

	if (!command)
		return CLI_EXIT_USAGE;
	snprintf(name, sizeof(name), "gapless %s", command->name);
	return command->run(2, argv);
}

int cli__main(int argc, char **argv)
{
	const struct command *command;
	char name[64];

	keep_standard_numbers();
	limits__outlive();
	if (argc < 2)
		return print_help(stderr);
	if (!strcmp(argv[1], "help") && argc > 2)
		return finish(help_with(argv[2]));
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return finish(print_help(stdout));
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts(argp_program_version);
		return finish(0);
	}
	command = find_command(argv[1]);
	if (!command)
		return CLI_EXIT_USAGE;
	loader__capture_log();
	snprintf(name, sizeof(name), "gapless %s", command->name);
	argv[1] = name;
	return finish(command->run(argc - 1, argv + 1));
}
