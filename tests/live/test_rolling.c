/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that goes on for ever holds on to nothing that is over. */
#include "../harness.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

#define SECONDS     "26"
#define KEPT        "4"
#define RATE        "200"
#define EACH        "10" /* processes of one file */
#define FILES       (20 * 26)
#define SAMPLES     26
#define WARM        14 /* seconds: what is kept, and what modules stay longer */
#define MOST_GROWTH 60 /* in six seconds; without any forgetting it is 120 */

/* Beside this program, or in its folder of workloads. */
static pid_t start(const char *const *args, int out)
{
	char self[512], path[640];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	pid_t pid;

	assert_true(length > 0);
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/%s", self, args[0]);
	pid = fork();
	if (!pid) {
		dup2(out, STDOUT_FILENO);
		execv(path, (char *const *)args);
		_exit(127);
	}
	return pid;
}

static int descriptors_of(pid_t pid)
{
	char path[64];
	DIR *folder;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder = opendir(path);
	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		count += isdigit((unsigned char)entry->d_name[0]) != 0;
	closedir(folder);
	return count;
}

static void read_line(int fd, char *line, size_t size)
{
	size_t length = 0;

	while (length < size - 1 && read(fd, line + length, 1) == 1 && line[length] != '\n')
		length++;
	line[length] = '\0';
}

static int most(const int *counts, int from, int to)
{
	int most = 0;

	for (int i = from; i < to; i++)
		if (counts[i] > most)
			most = counts[i];
	return most;
}

static void files_that_come_and_go_leave_no_descriptors_and_no_modules(void **state)
{
	char folder[] = "/tmp/test-rolling-XXXXXX", line[64];
	int out[2], starts_out[2], counts[SAMPLES], before, after, status, modules = 0;
	pid_t keeper, starts;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(starts_out), 0);
	keeper = start(ARGS("keeper", SECONDS, "none", KEPT), out[1]);
	close(out[1]);
	read_line(out[0], line, sizeof(line));
	assert_string_equal(line, "recording");
	starts = start(ARGS("workloads/starts", RATE, SECONDS, EACH, folder), starts_out[1]);
	for (int i = 0; i < SAMPLES - 1; i++) {
		sleep(1);
		counts[i] = descriptors_of(keeper);
	}
	before = most(counts, WARM - 4, WARM);
	after = most(counts, SAMPLES - 5, SAMPLES - 1);
	/* What it says of its memory comes before. */
	do
		read_line(out[0], line, sizeof(line));
	while (*line && sscanf(line, "%d modules", &modules) != 1);
	assert_int_equal(waitpid(keeper, &status, 0), keeper);
	assert_int_equal(status, 0);
	read_line(starts_out[0], line, sizeof(line));
	assert_int_equal(waitpid(starts, &status, 0), starts);
	assert_int_equal(rmdir(folder), 0);
	print_message("# %d descriptors, later %d; %d modules of at most %d files; %s\n", before,
		      after, modules, FILES, line);
	assert_in_range(after, 0, before + MOST_GROWTH);
	assert_in_range(modules, 1, FILES * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(files_that_come_and_go_leave_no_descriptors_and_no_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
