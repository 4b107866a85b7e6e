/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "live.h"

#include "../harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_ARGS 48

const char *live__program(void)
{
	const char *path = getenv("GAPLESS");

	if (!path)
		fail_msg("GAPLESS is not set to the program under test");
	return path;
}

/* TEST in the environment is the name of the tests to run, which may have * and ?. */
__attribute__((constructor)) static void choose_tests(void)
{
	const char *name = getenv("TEST");

	if (name && *name)
		cmocka_set_test_filter(name);
}

bool is_emulated(void)
{
	return getenv("GAPLESS_VM");
}

static void is_tested_elsewhere(void **state)
{
	print_message("# skip: not about the kernel, and tested outside of the VM\n");
	skip();
}

void (*live__here(void (*test)(void **state)))(void **state)
{
	return is_emulated() ? is_tested_elsewhere : test;
}

bool live__has(const char *const *args, const char *arg)
{
	for (size_t i = 0; args[i]; i++)
		if (!strcmp(args[i], arg))
			return true;
	return false;
}

size_t live__add_signals(const char **args, size_t count, const char *const *options)
{
	if (!is_emulated() || live__has(options, "--signals"))
		return count;
	args[count++] = "--signals";
	args[count++] = "none";
	return count;
}

static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t size = 0;
	FILE *copy = open_memstream(&text, &size);
	int c;

	rewind(file);
	while ((c = getc(file)) != EOF)
		putc(c, copy);
	fclose(copy);
	fclose(file);
	return text;
}

struct output live__run(live_prepare_fn prepare, const char *const *args)
{
	const char *argv[MOST_ARGS] = { live__program() };
	FILE *out = tmpfile(), *err = tmpfile();
	struct output output;
	size_t count = 1;
	int status;
	pid_t child;

	assert_non_null(out);
	assert_non_null(err);
	for (size_t i = 0; args[i] && count < MOST_ARGS - 4; i++) {
		argv[count++] = args[i];
		if (!i && !strcmp(args[0], "record"))
			count = live__add_signals(argv, count, args);
	}
	child = fork();
	if (!child) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		if (prepare)
			prepare();
		execv(argv[0], (char *const *)argv);
		_exit(126);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	output.out = read_all(out);
	output.err = read_all(err);
	return output;
}

void live__release(struct output *output)
{
	free(output->out);
	free(output->err);
}

json_t *live__json(const struct output *output)
{
	json_error_t error;
	json_t *json = json_loads(output->out, 0, &error);

	if (!json)
		fail_msg("not JSON (%s): %.400s; stderr: %.400s", error.text, output->out,
			 output->err);
	return json;
}
