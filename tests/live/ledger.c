/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ledger.h"

#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_ARGS  48
#define LINE_BYTES 1024

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

int64_t stolen_ns(void)
{
	FILE *stat = fopen("/proc/stat", "r");
	long ticks = 0;

	assert_non_null(stat);
	assert_int_equal(fscanf(stat, "cpu %*d %*d %*d %*d %*d %*d %*d %ld", &ticks), 1);
	fclose(stat);
	return ticks * (1000 * MS / sysconf(_SC_CLK_TCK));
}

int64_t stolen_since(int64_t before_ns)
{
	int64_t now = stolen_ns();

	return now ? now - before_ns + 1000 * MS / sysconf(_SC_CLK_TCK) : 0;
}

const char *workload__path(const char *name)
{
	static char paths[4][256];
	static unsigned int next;
	const char *dir = getenv("GAPLESS_WORKLOADS");
	char *path = paths[next++ % 4];

	if (!dir)
		fail_msg("GAPLESS_WORKLOADS is not set to the folder of the workloads");
	snprintf(path, sizeof(*paths), "%s/%s", dir, name);
	return path;
}

struct workload workload__start(const char *const *argv)
{
	struct workload workload;
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	workload.pid = fork();
	if (!workload.pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execv(argv[0], (char *const *)argv);
		_exit(126);
	}
	assert_true(workload.pid > 0);
	close(in[0]);
	close(out[1]);
	workload.go = in[1];
	workload.log = fdopen(out[0], "r");
	assert_non_null(workload.log);
	return workload;
}

void workload__await_ready(struct workload *workload)
{
	char line[LINE_BYTES] = "";

	if (!fgets(line, sizeof(line), workload->log) || !strstr(line, "ready"))
		fail_msg("the workload is not ready: %s", line);
}

void workload__go(struct workload *workload)
{
	assert_int_equal(write(workload->go, "x", 1), 1);
}

static json_t *read_log(FILE *file)
{
	json_t *log = json_array();
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), file)) {
		json_t *object = json_loads(line, 0, NULL);

		if (!object)
			fail_msg("the workload's log is no JSON: %s", line);
		json_array_append_new(log, object);
	}
	return log;
}

static json_t *parse_log(char *text)
{
	json_t *log;
	FILE *file;

	/* fmemopen() refuses no bytes. */
	if (!*text)
		return json_array();
	file = fmemopen(text, strlen(text), "r");
	assert_non_null(file);
	log = read_log(file);
	fclose(file);
	return log;
}

static int await_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

json_t *workload__end(struct workload *workload)
{
	json_t *log = read_log(workload->log);

	fclose(workload->log);
	close(workload->go);
	assert_int_equal(await_status(workload->pid), 0);
	return log;
}

void workload__kill(struct workload *workload)
{
	kill(workload->pid, SIGKILL);
	fclose(workload->log);
	close(workload->go);
	await_status(workload->pid);
}

json_t *log_phase(json_t *log, const char *phase, const char *comm)
{
	json_t *object;
	size_t i;

	json_array_foreach (log, i, object) {
		const char *name = json_string_value(json_object_get(object, "phase"));
		const char *is = json_string_value(json_object_get(object, "comm"));
		const char *why = json_string_value(json_object_get(object, "skip"));

		if (!name || strcmp(name, phase))
			continue;
		if (why) {
			print_message("# skip: %s\n", why);
			skip();
		}
		if (!comm || (is && !strcmp(is, comm)))
			return object;
	}
	fail_msg("the workload logged no phase '%s' of a thread '%s'", phase, comm ? comm : "any");
	return NULL;
}

void trial__path(char *ret, size_t size)
{
	static int number;

	snprintf(ret, size, "/tmp/ledger-%d-%d.gapless", getpid(), number++);
	trial__remove(ret);
}

void trial__remove(const char *path)
{
	char journal[128];

	assert_waits_agree(path);
	snprintf(journal, sizeof(journal), "%s-journal", path);
	unlink(path);
	unlink(journal);
}

/* What it says is kept for the message of a failure. */
static void await_recording(struct trial *trial)
{
	char words[4096] = "", line[LINE_BYTES];

	while (fgets(line, sizeof(line), trial->err)) {
		if (strstr(line, "recording"))
			return;
		strncat(words, line, sizeof(words) - strlen(words) - 1);
	}
	fail_msg("gapless record ended with %d before it recorded: %s", await_status(trial->pid),
		 words);
}

/*
 * Loading all that takes stacks takes an emulated machine seconds; who wants them names a rate.
 * Hooks cost much there and on a busy machine, and the budget would be reached; who wants one names
 * it.
 */
static size_t add_less(const char **args, size_t count, const char *const *options)
{
	if (!live__has(options, "--budget")) {
		args[count++] = "--budget";
		args[count++] = "none";
	}
	if (is_emulated() && !live__has(options, "-F"))
		args[count++] = "--no-stacks";
	return live__add_signals(args, count, options);
}

struct trial trial__start(const char *const *args)
{
	const char *argv[MOST_ARGS] = { live__program(), "record", "--no-report", "-o" };
	struct trial trial;
	size_t count = 4;
	int err[2];

	trial__path(trial.path, sizeof(trial.path));
	argv[count++] = trial.path;
	count = add_less(argv, count, args);
	for (size_t i = 0; args[i] && count < MOST_ARGS - 1; i++)
		argv[count++] = args[i];
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	trial.pid = fork();
	if (!trial.pid) {
		dup2(err[1], STDERR_FILENO);
		execv(argv[0], (char *const *)argv);
		_exit(126);
	}
	close(err[1]);
	trial.err = fdopen(err[0], "r");
	assert_non_null(trial.err);
	await_recording(&trial);
	return trial;
}

int trial__stop(struct trial *trial, int signal)
{
	char line[LINE_BYTES];

	kill(trial->pid, signal);
	while (fgets(line, sizeof(line), trial->err))
		print_message("# %s", line);
	fclose(trial->err);
	return await_status(trial->pid);
}

json_t *trial__report(const char *path)
{
	struct output output = live__gapless("report", "--json", path);
	json_t *report;

	if (output.status)
		fail_msg("gapless report: %d, %s", output.status, output.err);
	report = live__json(&output);
	live__release(&output);
	return report;
}

json_t *trial__end(struct trial *trial)
{
	json_t *report;

	assert_int_equal(trial__stop(trial, SIGINT), 0);
	report = trial__report(trial->path);
	trial__remove(trial->path);
	return report;
}

void trial__record_at(const char *path, const char *const *options, const char *const *command,
		      json_t **ret_log)
{
	const char *args[MOST_ARGS] = { "record", "--no-report", "-o", path };
	struct output output;
	size_t count = 4;

	count = add_less(args, count, options);
	for (size_t i = 0; options[i]; i++)
		args[count++] = options[i];
	args[count++] = "--";
	for (size_t i = 0; command[i] && count < MOST_ARGS - 2; i++)
		args[count++] = command[i];
	output = live__run(NULL, args);
	if (output.status)
		fail_msg("gapless record: %d, %s", output.status, output.err);
	*ret_log = parse_log(output.out);
	live__release(&output);
}

json_t *trial__record(const char *const *options, const char *const *command, json_t **ret_log)
{
	json_t *report;
	char path[64];

	trial__path(path, sizeof(path));
	trial__record_at(path, options, command, ret_log);
	report = trial__report(path);
	trial__remove(path);
	return report;
}

/* The first number in the answer, in whichever shape rows are printed. */
int64_t trial__query(const char *path, const char *sql)
{
	struct output output = live__gapless("query", path, sql);
	const char *digits;
	int64_t number;

	if (output.status)
		fail_msg("gapless query '%s': %d, %s", sql, output.status, output.err);
	digits = strpbrk(output.out, "-0123456789");
	if (!digits)
		fail_msg("gapless query '%s' gave no number: %s", sql, output.out);
	number = strtoll(digits, NULL, 10);
	live__release(&output);
	return number;
}

int64_t trial__ask(const char *path, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int64_t answer;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	if (sqlite3_step(statement) != SQLITE_ROW)
		fail_msg("%s: no answer", sql);
	answer = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return answer;
}

int64_t trial__events_in(const char *path, const char *signal, const char *comm,
			 const char *function)
{
	char sql[768];

	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE up(event, node) AS (SELECT id, stack FROM events"
		 " WHERE signal = '%s' AND comm = '%s' UNION ALL SELECT up.event, k.parent"
		 " FROM up JOIN stack k ON k.id = up.node WHERE k.parent)"
		 " SELECT count(DISTINCT up.event) FROM up JOIN stack k ON k.id = up.node"
		 " JOIN frames f ON f.id = k.frame WHERE f.function = '%s'",
		 signal, comm, function);
	return trial__ask(path, sql);
}
