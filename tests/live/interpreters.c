/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interpreters.h"

#include "../harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH       60
#define CHAIN_BYTES 4096

const struct known_program python_program = {
	.file = "stacks.py",
	.top = "top stacks.py:63",
	.down = "down stacks.py:55",
	.last = "down stacks.py:49",
	.tenth = { "down stacks.py:51", "through stacks.py:40" },
	.fifth = { "down stacks.py:53", "once stacks.py:44" },
};

const struct known_program java_program = {
	.file = "Stacks.java",
	.top = "Stacks.top Stacks.java:86",
	.down = "Stacks.down Stacks.java:77",
	.last = "Stacks.down Stacks.java:71",
	.tenth = { "Stacks.down Stacks.java:73", "Stacks.through Stacks.java:29" },
	.fifth = { "Stacks.down Stacks.java:75", "Stacks$Step.compare Stacks.java:23" },
	.comm = "walk",
};

static char classes[] = "/tmp/gapless-classes-XXXXXX";

const char *interpreters__path(const char *variable, const char *path)
{
	const char *named = getenv(variable);

	path = named ? named : path;
	if (access(path, X_OK)) {
		print_message("# skip: there is no %s [%s]\n", path, variable);
		skip();
	}
	return path;
}

int interpreters__number(const char *variable, int usual)
{
	const char *named = getenv(variable);

	return named ? atoi(named) : usual;
}

static void make_folder(void)
{
	if (!strstr(classes, "XXXXXX"))
		return;
	assert_non_null(mkdtemp(classes));
	chmod(classes, 0755);
}

const char *interpreters__classes(const char *name)
{
	char path[128], command[512];

	if (system("command -v javac >/dev/null 2>&1")) {
		print_message("# skip: there is no javac\n");
		skip();
	}
	make_folder();
	snprintf(path, sizeof(path), "%s/%s.class", classes, name);
	if (!access(path, F_OK))
		return classes;
	snprintf(path, sizeof(path), "%s.java", name);
	snprintf(command, sizeof(command), "javac -nowarn -source 8 -target 8 -d %s %s 2>&1",
		 classes, workload__path(path));
	assert_int_equal(system(command), 0);
	return classes;
}

int interpreters__remove_classes(void **state)
{
	char command[64];

	if (strstr(classes, "XXXXXX"))
		return 0;
	snprintf(command, sizeof(command), "rm -r %s", classes);
	return system(command);
}

/* Samples by what their stacks are. */
struct tally {
	int64_t all, whole;
	int64_t exact;         /* all 60 calls */
	int64_t less;          /* as many as there were on the way down or up */
	int64_t wrong;         /* a call that is missing, or not at its line */
	int64_t none;          /* nothing of the program */
	int64_t frames, lines; /* of the program, and those that have a line */
};

static void add(char *chain, const char *place)
{
	size_t length = strlen(chain);

	snprintf(chain + length, CHAIN_BYTES - length, "%s;", place);
}

/* As in sample_row.places, without the outermost ';'. */
static void expect_chain(char *ret, const struct known_program *program)
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
static void own_places(char *ret, const char *places, const struct known_program *program)
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

static bool is_asked_for(const struct sample_row *sample, const struct known_program *program)
{
	if (!strcmp(sample->cause, "child")) /* whoever started the interpreter */
		return false;
	if (!strcmp(sample->none, "at the end of the recording"))
		return false;
	if (program->comm && strcmp(sample->comm, program->comm) != 0)
		return false;
	return !program->is_main || sample->is_main;
}

static struct tally count(const struct stacks_recording *recording,
			  const struct known_program *program, bool ticks)
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

void assert_known_stacks(const struct stacks_recording *recording,
			 const struct known_program *program, bool ticks, int permille)
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
			interpreters__number("GAPLESS_TEST_LINES", ticks ? 980 : 990));
	/* A wait is where it waits; a tick can be anywhere. */
	if (!ticks)
		assert_permille("at full depth", tally.all - tally.less, tally.all, 995);
}

int64_t interpreters__known(const char *path, const char *language)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "select count(*) from process where runtime = '%s' and runtime_state = 'known'",
		 language);
	return trial__ask(path, sql);
}

int64_t interpreters__waits(const char *path, const char *what, const char *waiter,
			    const char *condition)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) from waits where waiter_comm = '%s' and %s", what,
		 waiter, condition);
	return trial__ask(path, sql);
}

/* If it was handed on, it was free in between: the owner is the first, or the last one. */
void assert_java_owner(const char *path, const char *waiter, const char *owner, const char *object)
{
	char condition[256];
	int64_t part, all;

	snprintf(condition, sizeof(condition),
		 "evidence in ('owner', 'handed') and (by_comm = '%s' or first_comm = '%s') and"
		 " object = '%s'",
		 owner, owner, object);
	part = interpreters__waits(path, "ns", waiter, condition);
	all = interpreters__waits(path, "ns", waiter, "object_kind in ('monitor', 'lock')");
	print_message("# %s: %" PRId64 " of %" PRId64 " ms were held by %s\n", waiter,
		      part / 1000000, all / 1000000, owner);
	assert_true(all > 1500 * MS);
	assert_true(part * 100 >= all * 99);
	/*
	 * The wait that was open when the recording began, and short ones for the mutexes by which
	 * HotSpot wakes its threads.
	 */
	part = interpreters__waits(path, "ns", waiter, "object_kind = 'futex'");
	assert_true(part * 100 <= all * 5);
}

int64_t interpreters__gil_ns(const char *path, const char *condition)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(ns), 0) from waits where (waiter_comm like 'python%%'"
		 " or waiter_comm like 'Thread-%%') and %s",
		 condition);
	return trial__ask(path, sql);
}

void assert_share(const char *what, int64_t part, int64_t all, int percent)
{
	print_message("# %s: %" PRId64 " of %" PRId64 " us, %.1f %%\n", what, part / 1000,
		      all / 1000, all ? 100.0 * (double)part / (double)all : 0.0);
	assert_true(all > 100 * MS);
	assert_true(part * 100 >= all * percent);
}

#define OTHERS "waiter_tid != waiter_pid and cause = 'gil'"
#define HELD   OTHERS " and evidence in ('owner', 'handed')"

void assert_gil_of_main_thread(const char *path)
{
	int64_t all = interpreters__gil_ns(path, OTHERS), held = interpreters__gil_ns(path, HELD);

	/* Nobody has it while it is handed on, which takes long on a busy machine. */
	assert_share("with a holder", held, all, 85);
	/* Who has got it can lose the CPU while it has it. */
	assert_share("held by the main thread",
		     interpreters__gil_ns(path, HELD " and (by_tid = waiter_pid or"
						     " first_tid = waiter_pid)"),
		     held, 98);
	/* What else they wait for is the sleep, and the GIL's own mutexes while one begins. */
	assert_share(
		"waits at a futex that are for the GIL", all,
		interpreters__gil_ns(path, "waiter_tid != waiter_pid and cause in ('gil', 'lock')"),
		98);
}
