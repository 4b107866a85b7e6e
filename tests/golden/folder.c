/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

static char *path;
static char text[65536];

int folder__make(void **state)
{
	char *slash;

	path = sample__path();
	sample__write_with_stacks(path);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(chdir(path), 0);
	*slash = '/';
	return 0;
}

int folder__remove(void **state)
{
	sample__remove(path);
	return chdir("/");
}

int folder__status(const char *line, void (*prepare)(void), const char **ret_text)
{
	const char *gapless = getenv("GAPLESS");
	int ends[2], status = 0;
	ssize_t size, count = 0;
	pid_t child;

	if (!gapless) {
		print_message("# skip: GAPLESS is not set\n");
		skip();
	}
	setenv("G", gapless, 1);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		if (prepare)
			prepare();
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(99);
	}
	close(ends[1]);
	while ((size = read(ends[0], text + count, sizeof(text) - 1 - (size_t)count)) > 0)
		count += size;
	text[count] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	*ret_text = text;
	return WEXITSTATUS(status);
}

void folder__says(const char *line, int status, const char *expected)
{
	const char *said = NULL;
	int result = folder__status(line, NULL, &said);

	if (strcmp(said, expected) || result != status)
		fail_msg("%s: status %d, not %d:\n%snot:\n%s", line, result, status, said,
			 expected);
}
