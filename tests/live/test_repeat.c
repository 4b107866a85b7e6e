/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several recordings in a row, and warm-ups: the same in each, and nothing from before. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

/* Long enough for what the workload does before it waits for the second phase. */
#define WARMUP (is_emulated() ? "4s" : "1s")
#define LITTLE "--signals", "none", "--no-stacks"

/* Recording number `number` of those whose base is `base`; one of a few static buffers. */
static const char *nth(const char *base, int number)
{
	static char paths[4][96];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(*paths), "%.*s-%d.gapless", (int)strlen(base) - 8, base, number);
	return path;
}

static void remove_all(const char *base)
{
	for (int i = 1; i <= 3; i++)
		trial__remove(nth(base, i));
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static int64_t meta(const char *path, const char *key)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT value FROM meta WHERE key = '%s'", key);
	return trial__query(path, sql);
}

static bool ended_by(const char *path, const char *word)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT value = '%s' FROM meta WHERE key = 'ended'", word);
	return trial__query(path, sql);
}

static int64_t calls_of(const char *path, const char *name)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT SUM(count) AS calls FROM syscalls WHERE name = '%s'",
		 name);
	return trial__query(path, sql);
}

static int64_t threads_of(const char *path, const char *comm)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM threads WHERE comm = '%s'", comm);
	return trial__query(path, sql);
}

static void closes(const char *path)
{
	json_t *report = trial__report(path);

	assert_closes(report);
	json_decref(report);
}

/* Reads what the recorder says until there is this in a line. */
static void await_words(struct trial *trial, const char *words)
{
	char line[1024];

	while (fgets(line, sizeof(line), trial->err))
		if (strstr(line, words))
			return;
	fail_msg("gapless record did not say '%s'", words);
}

/* The only process of a recording. */
static pid_t process_of(const char *path)
{
	return (pid_t)trial__query(path, "SELECT MAX(pid) FROM threads");
}

/* A command that tells its niceness, counts how often it was run, and fails from the second on. */
static void each_holds_one_run_of_the_command(void **state)
{
	const char *script = "\"$1\" count; read -r line < /proc/$$/stat; set -- $line; "
			     "echo ${19}; echo >> \"$0\"; "
			     "exit $(( $(wc -l < \"$0\") * 3 - 3 ))";
	int nice = getpriority(PRIO_PROCESS, 0);
	char base[64], counter[96], three[64];
	struct output output;

	snprintf(three, sizeof(three), "%d\n%d\n%d\n", nice, nice, nice);
	trial__path(base, sizeof(base));
	snprintf(counter, sizeof(counter), "%s-counter", base);
	output = live__gapless("record", "-o", base, "--repeat", "3", LITTLE, "--", "/bin/sh", "-c",
			       script, counter, workload__path("callers"));
	assert_int_equal(output.status, 3);
	assert_string_equal(output.out, three);
	assert_null(strstr(output.err, "recording 1 of 3;"));
	assert_non_null(strstr(output.err, "status 3 in recording 2 of 3;"));
	assert_non_null(strstr(output.err, "status 6 in recording 3 of 3;"));
	assert_non_null(strstr(output.err, "made 3 of 3"));
	assert_non_null(strstr(output.err, "gapless diff"));
	live__release(&output);
	for (int i = 1; i <= 3; i++) {
		const char *path = nth(base, i);

		assert_int_equal(meta(path, "repeat"), i);
		assert_int_equal(meta(path, "repeats"), 3);
		assert_int_equal(meta(path, "warmup_ns"), 0);
		assert_true(ended_by(path, "command"));
		assert_int_equal(threads_of(path, "c4"), 1);
		assert_int_equal(trial__query(path, "SELECT SUM(count) FROM syscall_errors WHERE "
						    "name = 'openat' AND errno = 20"),
				 100);
		closes(path);
	}
	unlink(counter);
	remove_all(base);
}

static void names_that_exist_are_told_before_anything_is_started(void **state)
{
	struct output output;
	char base[64];
	FILE *file;

	trial__path(base, sizeof(base));
	file = fopen(nth(base, 2), "w");
	assert_non_null(file);
	fclose(file);
	output = live__gapless("record", "-o", base, "--repeat", "3", "--", "/bin/echo", "started");
	assert_int_equal(output.status, 1);
	assert_string_equal(output.out, "");
	assert_non_null(strstr(output.err, nth(base, 2)));
	assert_non_null(strstr(output.err, "--force"));
	live__release(&output);
	assert_false(exists(nth(base, 1)));
	remove_all(base);
}

static void targets_that_do_not_end_need_a_duration(void **state)
{
	struct output output = live__gapless("record", "--repeat", "3", "-a");

	assert_int_equal(output.status, 2);
	assert_non_null(strstr(output.err, "-d"));
	live__release(&output);
}

/* The first ends with its time, and its command with it; the second one is interrupted. */
static void an_interrupt_ends_the_one_under_way_and_begins_no_other(void **state)
{
	struct trial trial = trial__start(
		ARGS("--repeat", "3", "-d", "3s", LITTLE, "--", workload__path("callers"), "spin"));
	const char *first, *second;

	await_words(&trial, "(2 of 3)");
	usleep(100000);
	kill(trial.pid, SIGINT);
	await_words(&trial, "made 2 of 3");
	first = nth(trial.path, 1);
	second = nth(trial.path, 2);
	/* Its time was over, so it was ended; the other one goes on by itself. */
	assert_int_equal(kill(process_of(first), 0), -1);
	assert_int_equal(kill(process_of(second), SIGKILL), 0);
	assert_int_equal(trial__stop(&trial, 0), 0);
	assert_true(ended_by(first, "duration"));
	assert_true(ended_by(second, "interrupt"));
	assert_int_equal(meta(second, "complete"), 1);
	closes(second);
	assert_false(exists(nth(trial.path, 3)));
	remove_all(trial.path);
}

static void it_stops_when_the_target_is_gone(void **state)
{
	struct workload workload = workload__start(WORKLOAD("stopper"));
	struct trial trial;
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	trial = trial__start(
		ARGS("--repeat", "3", "-d", is_emulated() ? "30s" : "10s", LITTLE, "-p", pid));
	workload__kill(&workload);
	await_words(&trial, "the target is gone");
	assert_int_equal(trial__stop(&trial, 0), 1);
	assert_true(ended_by(nth(trial.path, 1), "target"));
	assert_false(exists(nth(trial.path, 2)));
	remove_all(trial.path);
}

static void make_fifo(const char *base, char *ret_path, size_t size, int *ret_fd)
{
	snprintf(ret_path, size, "%s-fifo", base);
	unlink(ret_path);
	assert_int_equal(mkfifo(ret_path, 0600), 0);
	/* Both ends, so that nobody waits for the other one to be opened. */
	*ret_fd = open(ret_path, O_RDWR | O_CLOEXEC);
	assert_true(*ret_fd >= 0);
}

static void the_warm_up_is_not_recorded_but_whom_it_started_is(void **state)
{
	static const char *const names[] = { "warm-main", "warm-thread", "warm-child",
					     "warm-orphan", "warm-late" };
	struct trial trial;
	char fifo[96];
	int go;

	make_fifo("/tmp/repeat-family", fifo, sizeof(fifo), &go);
	trial = trial__start(ARGS("--repeat", "2", "--warmup", WARMUP, LITTLE, "--",
				  workload__path("warmed"), "family", fifo));
	assert_int_equal(write(go, "xxxxx", 5), 5);
	await_words(&trial, "(2 of 2)");
	assert_int_equal(write(go, "xxxxx", 5), 5);
	assert_int_equal(trial__stop(&trial, 0), 0);
	for (int i = 1; i <= 2; i++) {
		const char *path = nth(trial.path, i);

		assert_int_equal(calls_of(path, "getppid"), 15000);
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++)
			assert_int_equal(threads_of(path, names[j]), 1);
		assert_int_equal(meta(path, "warmup_ns"), (is_emulated() ? 4000 : 1000) * MS);
		assert_true(ended_by(path, "command"));
		closes(path);
	}
	close(go);
	unlink(fifo);
	remove_all(trial.path);
}

/* Births at all times, also between the end of the warm-up and the begin of the accounts. */
static void a_chain_of_processes_does_not_break_where_the_warm_up_ends(void **state)
{
	struct trial trial;
	char fifo[96];
	int go;

	make_fifo("/tmp/repeat-chain", fifo, sizeof(fifo), &go);
	trial = trial__start(
		ARGS("--warmup", "500ms", LITTLE, "--", workload__path("warmed"), "chain", fifo));
	assert_int_equal(write(go, "x", 1), 1);
	assert_int_equal(trial__stop(&trial, 0), 0);
	assert_int_equal(calls_of(trial.path, "getppid"), 1000);
	assert_true(threads_of(trial.path, "warm-link") > 0);
	closes(trial.path);
	close(go);
	unlink(fifo);
	trial__remove(trial.path);
}

static void a_command_that_ends_within_the_warm_up_is_an_error(void **state)
{
	struct output output;
	char path[64];

	trial__path(path, sizeof(path));
	output = live__gapless("record", "-o", path, "--warmup", "60s", LITTLE, "--", "/bin/true");
	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "within the warm-up"));
	assert_string_equal(output.out, "");
	live__release(&output);
	assert_false(exists(path));
}

static bool has_options(const char *path, const char *expected)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT COUNT(*) FROM meta WHERE key = 'options' AND value = '%s'", expected);
	return trial__query(path, sql);
}

static bool has_note(const char *path, const char *name, const char *value)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT COUNT(*) FROM meta WHERE key = 'note.%s' AND value = '%s'", name, value);
	return trial__query(path, sql);
}

static void options_come_from_a_file_and_from_a_recording(void **state)
{
	char first[64], second[64], config[96];
	struct output output;
	FILE *file;

	trial__path(first, sizeof(first));
	trial__path(second, sizeof(second));
	snprintf(config, sizeof(config), "%s.conf", first);
	file = fopen(config, "w");
	assert_non_null(file);
	fputs("level = sched\nno-report\nslow = 1500us\nsignals = none\nduration = 20s\n"
	      "no-stacks\npid = 2000000000\nnote = load=file\nnote = where=file\n",
	      file);
	fclose(file);
	output = live__gapless("record", "--config", config, "-d", "10s", "--note", "load=mine",
			       "-o", first, "--", "/bin/true");
	assert_int_equal(output.status, 0);
	assert_true(has_options(first, "level = sched\nsignals = none\nno-stacks\n"
				       "slow = 1500us\nduration = 10s\n"));
	assert_int_equal(trial__query(first, "SELECT COUNT(*) FROM meta WHERE key IN"
					     " ('gapless_commit', 'cpu_model', 'governor')"),
			 3);
	assert_true(trial__query(first, "SELECT COUNT(*) FROM meta WHERE json_valid(value) AND key"
					" IN ('settings', 'limits', 'maps')") == 3);
	assert_true(meta(first, "memory_bytes") > 0);
	assert_true(has_note(first, "load", "mine"));
	assert_true(has_note(first, "where", "file"));
	live__release(&output);
	output = live__gapless("record", "--like", first, "--slow", "2s", "--no-report", "-o",
			       second, "--", "/bin/true");
	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.err, "--level sched --signals none --no-stacks --duration "
					   "10s\n"));
	assert_true(has_options(second, "level = sched\nsignals = none\nno-stacks\n"
					"slow = 2s\nduration = 10s\n"));
	assert_false(has_note(second, "load", "mine"));
	live__release(&output);
	unlink(config);
	trial__remove(first);
	trial__remove(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(each_holds_one_run_of_the_command),
		HERE(names_that_exist_are_told_before_anything_is_started),
		HERE(targets_that_do_not_end_need_a_duration),
		HERE(an_interrupt_ends_the_one_under_way_and_begins_no_other),
		HERE(it_stops_when_the_target_is_gone),
		HERE(the_warm_up_is_not_recorded_but_whom_it_started_is),
		cmocka_unit_test(a_chain_of_processes_does_not_break_where_the_warm_up_ends),
		HERE(options_come_from_a_file_and_from_a_recording),
		HERE(a_command_that_ends_within_the_warm_up_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
