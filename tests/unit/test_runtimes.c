/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the runtime of a process, with a real helper process that reads a real CPython: what
 * happens if either ends, and if there are more of them than can be looked at at once.
 */
#include "../harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtimes/runtimes.h"

#define PYTHON   "/usr/bin/python3"
#define WAIT_MS  60000
#define TICKS(n) (1000 + (uint64_t)(n))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	unsigned reports;
	uint32_t pid;
	uint64_t start_ticks;
	enum runtime_kind kind;
	enum runtime_state state;
	char version[64];
} found;

static void take_found(void *context, const struct runtime_found *what)
{
	pthread_mutex_lock(&lock);
	found.reports++;
	found.pid = what->pid;
	found.start_ticks = what->start_ticks;
	found.kind = what->kind;
	found.state = what->state;
	snprintf(found.version, sizeof(found.version), "%s", what->version);
	pthread_mutex_unlock(&lock);
}

static unsigned reports(void)
{
	unsigned count;

	pthread_mutex_lock(&lock);
	count = found.reports;
	pthread_mutex_unlock(&lock);
	return count;
}

static struct runtimes *begin(void)
{
	struct runtimes *runtimes = NULL;

	memset(&found, 0, sizeof(found));
	assert_int_equal(
		runtimes__new(&(struct runtimes_options) { .found = take_found }, &runtimes), 0);
	return runtimes;
}

static void wait_until_idle(struct runtimes *runtimes)
{
	for (int i = 0; i < WAIT_MS && runtimes__is_busy(runtimes); i++)
		usleep(1000);
	assert_false(runtimes__is_busy(runtimes));
}

static void wait_for_reports(unsigned count)
{
	for (int i = 0; i < WAIT_MS && reports() < count; i++)
		usleep(1000);
	assert_int_equal(reports(), count);
}

/* --- a process with CPython ------------------------------------------------------------------- */

struct python {
	pid_t pid;
	int input;
	struct runtimes_mapping mapping;
	char path[256];
};

static void spawn(struct python *python)
{
	int in[2], out[2];
	char byte;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	python->pid = fork();
	if (!python->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(PYTHON, PYTHON, "-IS", "-c",
		      "import sys; print(1, flush=True); sys.stdin.read()", NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	python->input = in[1];
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(out[0]);
}

/* The code of the program or library with the interpreter. The bias is right for both. */
static bool find_mapping(struct python *python)
{
	uint64_t first = 0, begin, offset;
	char maps[64], line[512], rights[8];
	bool is_found = false;
	FILE *file;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", python->pid);
	file = fopen(maps, "re");
	while (file && !is_found && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "python3") ||
		    sscanf(line, "%" SCNx64 "-%*x %7s %" SCNx64 " %*s %*s %255s", &begin, rights,
			   &offset, python->path) != 4 ||
		    !runtimes__is_candidate(python->path))
			continue;
		if (!offset)
			first = begin;
		is_found = rights[2] == 'x';
	}
	if (file)
		fclose(file);
	/* A program at a fixed address begins below all others. */
	python->mapping = (struct runtimes_mapping) {
		.pid = (uint32_t)python->pid,
		.start_ticks = TICKS(1),
		.fd = open(python->path, O_RDONLY | O_CLOEXEC),
		.path = python->path,
		.begin = begin,
		.bias = first < (1 << 28) ? 0 : first,
	};
	return is_found;
}

static void end_python(struct python *python)
{
	close(python->input);
	if (python->pid)
		kill(python->pid, SIGKILL);
	if (python->pid)
		waitpid(python->pid, NULL, 0);
	close(python->mapping.fd);
}

static bool begin_python(struct python *python)
{
	if (access(PYTHON, X_OK)) {
		print_message("# skip: no '%s'\n", PYTHON);
		return false;
	}
	spawn(python);
	if (find_mapping(python))
		return true;
	print_message("# skip: no file of CPython's is mapped\n");
	end_python(python);
	return false;
}

static bool is_helper(pid_t pid)
{
	char path[64], line[64] = "";
	FILE *name;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	name = fopen(path, "re");
	if (name && !fgets(line, sizeof(line), name))
		line[0] = '\0';
	if (name)
		fclose(name);
	return !strcmp(line, "gapless-frames\n");
}

/* It is a child of the thread that has asked first. */
static pid_t helper_pid(void)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *thread;
	pid_t pid = 0, child;

	assert_non_null(threads);
	while ((thread = readdir(threads))) {
		FILE *children;
		char path[300];

		snprintf(path, sizeof(path), "/proc/self/task/%s/children", thread->d_name);
		children = fopen(path, "re");
		while (children && fscanf(children, "%d", &child) == 1)
			if (is_helper(child))
				pid = child;
		if (children)
			fclose(children);
	}
	closedir(threads);
	return pid;
}

static int take_name(void *context, size_t index, const struct symbol_chain *chain)
{
	return 0;
}

static uint64_t ask_late(struct runtimes *runtimes, pid_t pid, size_t count)
{
	static const struct runtime_frame frames[1000];
	uint64_t late = runtimes__quality(runtimes).names_late;

	assert_int_equal(runtimes__name(runtimes, (uint32_t)pid, frames, count, take_name, NULL),
			 0);
	return runtimes__quality(runtimes).names_late - late;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_runtime_is_found_and_told_again(void **state)
{
	struct python python = {};
	struct runtimes *runtimes;

	if (!begin_python(&python))
		skip();
	runtimes = begin();
	runtimes__mapped(runtimes, &python.mapping);
	wait_for_reports(1);
	assert_int_equal(found.pid, python.pid);
	assert_int_equal(found.start_ticks, TICKS(1));
	assert_int_equal(found.kind, RUNTIME_PYTHON);
	assert_int_equal(found.state, RUNTIME_KNOWN);
	assert_int_equal(strncmp(found.version, "3.", 2), 0);
	/* The mapper has forgotten it. */
	runtimes__mapped(runtimes, &python.mapping);
	wait_for_reports(2);
	/* Another process with the same number. */
	python.mapping.start_ticks = TICKS(2);
	runtimes__mapped(runtimes, &python.mapping);
	wait_for_reports(3);
	assert_int_equal(found.start_ticks, TICKS(2));
	wait_until_idle(runtimes);
	assert_int_equal(runtimes__quality(runtimes).processes, 2);
	assert_int_equal(runtimes__quality(runtimes).failed, 0);
	runtimes__free(runtimes);
	end_python(&python);
}

static void a_new_helper_is_told_everything(void **state)
{
	struct python python = {};
	struct runtimes *runtimes;
	pid_t helper;

	if (!begin_python(&python))
		skip();
	runtimes = begin();
	runtimes__mapped(runtimes, &python.mapping);
	wait_for_reports(1);
	wait_until_idle(runtimes);
	/* The frames are of no object, so all of them are late, but each is asked for. */
	assert_int_equal(ask_late(runtimes, python.pid, 600), 600);
	assert_int_equal(runtimes__quality(runtimes).failed, 0);
	helper = helper_pid();
	assert_true(helper > 0);
	kill(helper, SIGKILL);
	/* All are lost, not only those of the first question. */
	assert_int_equal(ask_late(runtimes, python.pid, 600), 600);
	assert_int_equal(runtimes__quality(runtimes).failed, 1);
	/* For a while, nothing is asked. */
	assert_int_equal(ask_late(runtimes, python.pid, 10), 10);
	assert_int_equal(runtimes__quality(runtimes).failed, 1);
	usleep(300000);
	assert_int_equal(ask_late(runtimes, python.pid, 10), 10);
	assert_true(helper_pid() > 0 && helper_pid() != helper);
	assert_int_equal(runtimes__quality(runtimes).failed, 1);
	runtimes__free(runtimes);
	end_python(&python);
}

/* As at the end of a recording: the helper ends with the thread that has started it. */
static void names_can_be_asked_for_after_the_thread(void **state)
{
	struct python python = {};
	struct runtimes *runtimes;

	if (!begin_python(&python))
		skip();
	runtimes = begin();
	runtimes__mapped(runtimes, &python.mapping);
	wait_for_reports(1);
	runtimes__stop(runtimes);
	assert_int_equal(ask_late(runtimes, python.pid, 10), 10);
	assert_int_equal(runtimes__quality(runtimes).failed, 0);
	assert_true(helper_pid() > 0);
	runtimes__free(runtimes);
	end_python(&python);
}

static void a_process_that_has_ended_is_not_reported(void **state)
{
	struct python python = {};
	struct runtimes *runtimes;

	if (!begin_python(&python))
		skip();
	kill(python.pid, SIGKILL);
	waitpid(python.pid, NULL, 0);
	runtimes = begin();
	runtimes__mapped(runtimes, &python.mapping);
	runtimes__gone(runtimes, python.mapping.pid);
	wait_until_idle(runtimes);
	assert_int_equal(reports(), 0);
	assert_int_equal(runtimes__quality(runtimes).unknown, 0);
	assert_int_equal(ask_late(runtimes, python.pid, 3), 3);
	runtimes__free(runtimes);
	python.pid = 0;
	end_python(&python);
}

static void files_without_a_runtime_are_looked_at_once(void **state)
{
	struct runtimes *runtimes = begin();
	struct runtimes_mapping mapping = {
		.pid = (uint32_t)getpid(),
		.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		.path = "/bin/test",
	};

	for (uint32_t i = 0; i < 2000; i++) {
		runtimes__mapped(runtimes, &mapping);
		runtimes__gone(runtimes, i);
	}
	wait_until_idle(runtimes);
	assert_int_equal(reports(), 0);
	assert_int_equal(runtimes__quality(runtimes).failed, 0);
	runtimes__free(runtimes);
	close(mapping.fd);
}

/* As in a fork storm, while the thread has no CPU: what is left out is counted. */
static void a_queue_that_is_full_counts_what_it_leaves_out(void **state)
{
	struct runtimes *runtimes = begin();
	struct runtimes_mapping mapping = {
		.pid = (uint32_t)getpid(),
		.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		.path = "/bin/test",
	};

	runtimes__stop(runtimes);
	for (uint32_t i = 0; i < 100; i++)
		runtimes__mapped(runtimes, &mapping);
	for (uint32_t i = 0; i < 20000; i++)
		runtimes__gone(runtimes, i);
	assert_int_equal(runtimes__quality(runtimes).failed, 0);
	for (uint32_t i = 0; i < 5000; i++)
		runtimes__mapped(runtimes, &mapping);
	assert_true(runtimes__quality(runtimes).failed >= 1004);
	runtimes__free(runtimes);
	close(mapping.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runtime_is_found_and_told_again),
		cmocka_unit_test(a_new_helper_is_told_everything),
		cmocka_unit_test(names_can_be_asked_for_after_the_thread),
		cmocka_unit_test(a_process_that_has_ended_is_not_reported),
		cmocka_unit_test(files_without_a_runtime_are_looked_at_once),
		cmocka_unit_test(a_queue_that_is_full_counts_what_it_leaves_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
