/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of known programs in CPython, HotSpot, V8, CRuby and PHP, which are attached to while they
 * run: ticks and waits have the whole stack, and each function of the program in its order, with
 * its line.
 *
 * GAPLESS_TEST_PYTHON, _JAVA, _NODE, _RUBY and _PHP name other interpreters than those of the
 * system, GAPLESS_TEST_SECONDS the length of each recording (longer ones leave less to chance), and
 * GAPLESS_TEST_LINES how many of 1,000 frames need a line.
 */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpreters.h"

static const struct known_program node_program = {
	.file = "stacks.js",
	.top = "top stacks.js:43",
	.down = "down stacks.js:37",
	.last = "down stacks.js:31",
	.tenth = { "down stacks.js:33", "order stacks.js:21" },
	.fifth = { "down stacks.js:35", "through stacks.js:26" },
	.is_main = true,
	.loop = "poll",
};

static const struct known_program ruby_program = {
	.file = "stacks.rb",
	.top = "top stacks.rb:53;block in top stacks.rb:54;block (2 levels) in top stacks.rb:55",
	.down = "down stacks.rb:48",
	.last = "down stacks.rb:38",
	.tenth = { "down stacks.rb:40", "block in down stacks.rb:41" },
	.fifth = { "down stacks.rb:44", "block in down stacks.rb:45" },
	.is_main = true,
};

static const struct known_program php_program = {
	.file = "stacks.php",
	.top = "top stacks.php:60",
	.down = "down stacks.php:52",
	.last = "down stacks.php:45",
	.tenth = { "down stacks.php:48", "Order::compare stacks.php:32" },
	.fifth = { "down stacks.php:50", "through stacks.php:39" },
};

/* Every test that tests/live has by default costs seconds. */
static void only_in_long_runs(void)
{
	if (getenv("GAPLESS_TEST_SECONDS"))
		return;
	print_message("# skip: GAPLESS_TEST_SECONDS is not set, as tests/runtimes/run does\n");
	skip();
}

static struct stacks_recording attach(const char *const *command)
{
	struct workload workload = workload__start(command);
	struct trial trial;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-F", "499", "--signals", "none", "-p", pid));
	sleep((unsigned int)interpreters__number("GAPLESS_TEST_SECONDS", 1));
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	return stacks__open(trial.path);
}

static void check(const char *const *command, const struct known_program *program,
		  const char *language, int permille)
{
	struct stacks_recording recording = attach(command);

	assert_known_stacks(&recording, program, true, permille);
	assert_known_stacks(&recording, program, false, 995);
	assert_int_equal(interpreters__known(recording.path, language), 1);
	stacks__release(&recording);
}

static void python_functions_and_what_calls_them_from_c(void **state)
{
	check(ARGS(interpreters__path("GAPLESS_TEST_PYTHON", "/usr/bin/python3"),
		   workload__path("stacks.py")),
	      &python_program, "python", 990);
}

/* Reflection calls through the virtual machine, in all versions. */
static void check_java(const char *mode)
{
	const char *java = interpreters__path("GAPLESS_TEST_JAVA", "/usr/bin/java");

	check(ARGS(java, "-XX:+UseSerialGC", "-XX:+IgnoreUnrecognizedVMOptions", mode,
		   "-Dsun.reflect.inflationThreshold=2147483647",
		   "-Djdk.reflect.useNativeAccessorOnly=true", "-cp",
		   interpreters__classes("Stacks"), "Stacks"),
	      &java_program, "java", 980);
}

static void java_methods_that_are_interpreted(void **state)
{
	check_java("-Xint");
}

static void java_methods_of_the_first_compiler(void **state)
{
	only_in_long_runs();
	check_java("-XX:TieredStopAtLevel=1");
}

static void java_methods_of_both_compilers(void **state)
{
	check_java("-XX:+TieredCompilation");
}

static void check_node(const char *mode)
{
	check(ARGS(interpreters__path("GAPLESS_TEST_NODE", "/usr/bin/node"), mode,
		   workload__path("stacks.js")),
	      &node_program, "v8", 980);
}

static void javascript_functions_that_are_compiled(void **state)
{
	check_node("--opt");
}

static void javascript_functions_that_are_interpreted(void **state)
{
	only_in_long_runs();
	check_node("--no-opt");
}

static void ruby_methods_and_blocks_that_c_calls(void **state)
{
	check(ARGS(interpreters__path("GAPLESS_TEST_RUBY", "/usr/bin/ruby"),
		   workload__path("stacks.rb")),
	      &ruby_program, "ruby", 990);
}

static void php_functions_and_what_calls_them_from_c(void **state)
{
	check(ARGS(interpreters__path("GAPLESS_TEST_PHP", "/usr/bin/php"),
		   workload__path("stacks.php")),
	      &php_program, "php", 990);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_functions_and_what_calls_them_from_c),
		cmocka_unit_test(java_methods_that_are_interpreted),
		cmocka_unit_test(java_methods_of_the_first_compiler),
		cmocka_unit_test(java_methods_of_both_compilers),
		cmocka_unit_test(javascript_functions_that_are_compiled),
		cmocka_unit_test(javascript_functions_that_are_interpreted),
		cmocka_unit_test(ruby_methods_and_blocks_that_c_calls),
		cmocka_unit_test(php_functions_and_what_calls_them_from_c),
	};

	return cmocka_run_group_tests(tests, NULL, interpreters__remove_classes);
}
