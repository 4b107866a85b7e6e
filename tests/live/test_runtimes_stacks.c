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

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stacks.h"

#define DEPTH       60
#define CHAIN_BYTES 4096

/*
 * The functions of a program with the lines at which they call the next one, and which threads are
 * its own. One of ten calls goes through the interpreter, one through its library.
 */
struct program {
	const char *file;
	const char *top, *down, *last; /* last: where `down` calls what runs and waits */
	const char *tenth[2], *fifth[2];
	const char *comm; /* NULL: all threads */
	bool is_main;
	const char *loop; /* the cause of waits in the interpreter's own loop */
};

static const struct program python_program = {
	.file = "stacks.py",
	.top = "top stacks.py:63",
	.down = "down stacks.py:55",
	.last = "down stacks.py:49",
	.tenth = { "down stacks.py:51", "through stacks.py:40" },
	.fifth = { "down stacks.py:53", "once stacks.py:44" },
};

static const struct program java_program = {
	.file = "Stacks.java",
	.top = "Stacks.top Stacks.java:86",
	.down = "Stacks.down Stacks.java:77",
	.last = "Stacks.down Stacks.java:71",
	.tenth = { "Stacks.down Stacks.java:73", "Stacks.through Stacks.java:29" },
	.fifth = { "Stacks.down Stacks.java:75", "Stacks$Step.compare Stacks.java:23" },
	.comm = "walk",
};

static const struct program node_program = {
	.file = "stacks.js",
	.top = "top stacks.js:43",
	.down = "down stacks.js:37",
	.last = "down stacks.js:31",
	.tenth = { "down stacks.js:33", "order stacks.js:21" },
	.fifth = { "down stacks.js:35", "through stacks.js:26" },
	.is_main = true,
	.loop = "poll",
};

static const struct program ruby_program = {
	.file = "stacks.rb",
	.top = "top stacks.rb:53;block in top stacks.rb:54;block (2 levels) in top stacks.rb:55",
	.down = "down stacks.rb:48",
	.last = "down stacks.rb:38",
	.tenth = { "down stacks.rb:40", "block in down stacks.rb:41" },
	.fifth = { "down stacks.rb:44", "block in down stacks.rb:45" },
	.is_main = true,
};

static const struct program php_program = {
	.file = "stacks.php",
	.top = "top stacks.php:60",
	.down = "down stacks.php:52",
	.last = "down stacks.php:45",
	.tenth = { "down stacks.php:48", "Order::compare stacks.php:32" },
	.fifth = { "down stacks.php:50", "through stacks.php:39" },
};

/* Samples by what their stacks are. */
struct tally {
	int64_t all, whole;
	int64_t exact;         /* all 60 calls */
	int64_t less;          /* as many as there were on the way down or up */
	int64_t wrong;         /* a call that is missing, or not at its line */
	int64_t none;          /* nothing of the program */
	int64_t frames, lines; /* of the program, and those that have a line */
};

static char classes[] = "/tmp/gapless-stacks-XXXXXX";

static const char *interpreter(const char *variable, const char *path)
{
	const char *named = getenv(variable);

	path = named ? named : path;
	if (access(path, X_OK)) {
		print_message("# skip: there is no %s [%s]\n", path, variable);
		skip();
	}
	return path;
}

static int number_from(const char *variable, int usual)
{
	const char *named = getenv(variable);

	return named ? atoi(named) : usual;
}

/* Every test that tests/live has by default costs seconds. */
static void only_in_long_runs(void)
{
	if (getenv("GAPLESS_TEST_SECONDS"))
		return;
	print_message("# skip: GAPLESS_TEST_SECONDS is not set, as tests/runtimes/run does\n");
	skip();
}

static void add(char *chain, const char *place)
{
	size_t length = strlen(chain);

	snprintf(chain + length, CHAIN_BYTES - length, "%s;", place);
}

/* As in sample_row.places, without the outermost ';'. */
static void expect_chain(char *ret, const struct program *program)
{
	*ret = '\0';
	add(ret, program->top);
	for (int depth = DEPTH; depth > 0; depth--) {
		bool is_tenth = depth % 10 == 0, is_fifth = depth % 10 == 5;

		add(ret, is_tenth   ? program->tenth[0]
			 : is_fifth ? program->fifth[0]
				    : program->down);
		if (is_tenth || is_fifth)
			add(ret, is_tenth ? program->tenth[1] : program->fifth[1]);
	}
	add(ret, program->last);
}

/* The frames from the program's file, from `top` on; those of libraries differ by version. */
static void own_places(char *ret, const char *places, const struct program *program)
{
	size_t file = strlen(program->file), top = strcspn(program->top, " ") + 1, length = 0;
	bool is_below = false;

	*ret = '\0';
	for (const char *at = places + 1, *end; *at && (end = strchr(at, ';')); at = end + 1) {
		const char *name = memrchr(at, ' ', (size_t)(end - at));

		if (!name || strncmp(name + 1, program->file, file) != 0)
			continue;
		is_below |= !strncmp(at, program->top, top);
		if (!is_below || length + (size_t)(end - at) + 2 > CHAIN_BYTES)
			continue;
		memcpy(ret + length, at, (size_t)(end - at) + 1);
		length += (size_t)(end - at) + 1;
		ret[length] = '\0';
	}
}

/* How far the stack is as expected. A frame may lack its line, which is counted. */
static const char *follow_chain(struct tally *tally, const char *own, const char *chain,
				const char **ret_rest)
{
	const char *end;

	for (const char *at = own; (end = strchr(at, ';')); at = end + 1) {
		tally->frames++;
		tally->lines += strncmp(end - 2, ":0", 2) != 0;
	}
	while ((end = strchr(own, ';')) && *chain) {
		size_t name = strcspn(own, ":") + 1, length = strcspn(chain, ";") + 1;

		if (strncmp(own, chain, name) != 0 ||
		    (strncmp(end - 2, ":0", 2) != 0 && strncmp(own, chain, length) != 0))
			break;
		own = end + 1;
		chain += length;
	}
	*ret_rest = chain;
	return own;
}

/* What runs and waits stands behind the chain; on the way there, only the last line differs. */
static void judge_places(struct tally *tally, const char *own, const char *chain)
{
	const char *rest, *at = follow_chain(tally, own, chain, &rest), *end = strchr(at, ';');

	if (!*rest)
		tally->exact++;
	else if (at == own || !end || !end[1])
		tally->less++;
	else if (tally->wrong++ < 3)
		print_message("#   wrong after %.40s: %.120s\n", at - own > 40 ? at - 40 : own, at);
}

static bool is_asked_for(const struct sample_row *sample, const struct program *program)
{
	if (!strcmp(sample->cause, "child")) /* whoever started the interpreter */
		return false;
	if (!strcmp(sample->none, "at the end of the recording"))
		return false;
	if (program->comm && strcmp(sample->comm, program->comm) != 0)
		return false;
	return !program->is_main || sample->is_main;
}

static struct tally count(const struct stacks_recording *recording, const struct program *program,
			  bool ticks)
{
	struct tally tally = { 0 };
	char chain[CHAIN_BYTES], own[CHAIN_BYTES];

	expect_chain(chain, program);
	for (size_t i = 0; i < recording->count; i++) {
		const struct sample_row *sample = &recording->samples[i];

		if (!is_asked_for(sample, program) || sample->is_tick != ticks ||
		    (!ticks && strcmp(sample->state, "wait") != 0))
			continue;
		tally.all++;
		tally.whole += sample__is_whole(sample);
		own_places(own, sample->places, program);
		if (*own)
			judge_places(&tally, own, chain);
		else
			tally.none += !strstr(sample->places, ";echo ") &&
				      !(program->loop && !strcmp(sample->cause, program->loop));
		if (!sample__is_whole(sample))
			print_message("#   %s.%s is cut: %s%s, %.100s\n", sample->state,
				      sample->cause, sample->none, sample->end, sample->line);
	}
	return tally;
}

/* As much less than `permille` as three standard deviations allow. */
static void assert_permille(const char *what, int64_t part, int64_t all, int permille)
{
	double missing = 1 - permille / 1000.0;
	double most = (double)all * missing + 3 * sqrt((double)all * missing) + 1;

	if ((double)(all - part) > most)
		fail_msg("%s: %" PRId64 " of %" PRId64 ", at most %.0f may be missing", what, part,
			 all, most);
}

static void assert_tally(const struct stacks_recording *recording, const struct program *program,
			 bool ticks, int permille)
{
	struct tally tally = count(recording, program, ticks);
	const char *what = ticks ? "ticks" : "waits";

	print_message("# %s: %" PRId64 " of %" PRId64 " whole; %" PRId64 " exact, %" PRId64
		      " on the way, %" PRId64 " wrong, %" PRId64 " elsewhere; %" PRId64
		      " of %" PRId64 " frames with a line, %" PRId64 " names late\n",
		      what, tally.whole, tally.all, tally.exact, tally.less, tally.wrong,
		      tally.none, tally.lines, tally.frames,
		      quality(recording->report, "runtime_names_late"));
	assert_true(tally.all >= 20 && tally.exact * 3 > tally.all);
	assert_permille(what, tally.whole, tally.all, permille);
	assert_permille("right", tally.all - tally.wrong, tally.all, permille);
	/* The event loop and its timers are the interpreter's own code. */
	assert_permille("found", tally.all - tally.none, tally.all, program->loop ? 850 : permille);
	/* Compiled code has no lines at some of the places where it can be interrupted. */
	assert_permille("frames with a line", tally.lines, tally.frames,
			number_from("GAPLESS_TEST_LINES", ticks ? 980 : 990));
	/* A wait is where it waits; a tick can be anywhere. */
	if (!ticks)
		assert_permille("at full depth", tally.all - tally.less, tally.all, 995);
}

static int64_t known(const struct stacks_recording *recording, const char *language)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "select count(*) from process where runtime = '%s' and runtime_state = 'known'",
		 language);
	return trial__ask(recording->path, sql);
}

static struct stacks_recording attach(const char *const *command)
{
	struct workload workload = workload__start(command);
	struct trial trial;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(ARGS("-F", "499", "--signals", "none", "-p", pid));
	sleep((unsigned int)number_from("GAPLESS_TEST_SECONDS", 1));
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	workload__kill(&workload);
	return stacks__open(trial.path);
}

static void check(const char *const *command, const struct program *program, const char *language,
		  int permille)
{
	struct stacks_recording recording = attach(command);

	assert_tally(&recording, program, true, permille);
	assert_tally(&recording, program, false, 995);
	assert_int_equal(known(&recording, language), 1);
	stacks__release(&recording);
}

static void python_functions_and_what_calls_them_from_c(void **state)
{
	check(ARGS(interpreter("GAPLESS_TEST_PYTHON", "/usr/bin/python3"),
		   workload__path("stacks.py")),
	      &python_program, "python", 990);
}

/* Once for all tests; without a compiler they are skipped. */
static void compile(void)
{
	static bool is_compiled;
	char command[512];

	if (is_compiled)
		return;
	if (system("command -v javac >/dev/null 2>&1")) {
		print_message("# skip: there is no javac\n");
		skip();
	}
	assert_non_null(mkdtemp(classes));
	is_compiled = true;
	chmod(classes, 0755);
	snprintf(command, sizeof(command), "javac -nowarn -source 8 -target 8 -d %s %s 2>&1",
		 classes, workload__path("Stacks.java"));
	assert_int_equal(system(command), 0);
}

/* Reflection calls through the virtual machine, in all versions. */
static void check_java(const char *mode)
{
	const char *java = interpreter("GAPLESS_TEST_JAVA", "/usr/bin/java");

	compile();
	check(ARGS(java, "-XX:+UseSerialGC", "-XX:+IgnoreUnrecognizedVMOptions", mode,
		   "-Dsun.reflect.inflationThreshold=2147483647",
		   "-Djdk.reflect.useNativeAccessorOnly=true", "-cp", classes, "Stacks"),
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
	check(ARGS(interpreter("GAPLESS_TEST_NODE", "/usr/bin/node"), mode,
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
	check(ARGS(interpreter("GAPLESS_TEST_RUBY", "/usr/bin/ruby"), workload__path("stacks.rb")),
	      &ruby_program, "ruby", 990);
}

static void php_functions_and_what_calls_them_from_c(void **state)
{
	check(ARGS(interpreter("GAPLESS_TEST_PHP", "/usr/bin/php"), workload__path("stacks.php")),
	      &php_program, "php", 990);
}

static int remove_classes(void **state)
{
	char command[64];

	if (!strstr(classes, "XXXXXX")) {
		snprintf(command, sizeof(command), "rm -rf %s", classes);
		return system(command);
	}
	return 0;
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

	return cmocka_run_group_tests(tests, NULL, remove_classes);
}
