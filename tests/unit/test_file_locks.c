/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/file_locks.h"

struct seen {
	int pairs;
	pid_t waiter[4], holder[4];
};

static int take(void *context, pid_t waiter, pid_t holder)
{
	struct seen *seen = context;

	assert_true(seen->pairs < 4);
	seen->waiter[seen->pairs] = waiter;
	seen->holder[seen->pairs++] = holder;
	return 0;
}

static struct seen read_text(const char *text)
{
	char path[] = "/tmp/gapless-locks-XXXXXX";
	struct seen seen = {};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(file_locks__waiters(path, take, &seen), 0);
	unlink(path);
	return seen;
}

static void waiters_have_the_holder_before_them(void **state)
{
	struct seen seen = read_text("1: POSIX  ADVISORY  WRITE 173 00:1a:5 10 10\n"
				     "2: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF\n"
				     "2: -> FLOCK  ADVISORY  WRITE 1235 08:01:5678 0 EOF\n"
				     "2:  -> FLOCK  ADVISORY  READ 1236 08:01:5678 0 EOF\n");

	assert_int_equal(seen.pairs, 2);
	assert_int_equal(seen.waiter[0], 1235);
	assert_int_equal(seen.holder[0], 1234);
	assert_int_equal(seen.waiter[1], 1236);
	assert_int_equal(seen.holder[1], 1234);
}

static void unknown_processes_and_other_lines_are_left_out(void **state)
{
	struct seen seen = read_text("1: OFDLCK ADVISORY  WRITE -1 08:01:5 0 EOF\n"
				     "1: -> OFDLCK ADVISORY  WRITE 12 08:01:5 0 EOF\n"
				     "nonsense\n"
				     "2: -> FLOCK  ADVISORY  WRITE 13 08:01:6 0 EOF\n"
				     "3:\n");

	assert_int_equal(seen.pairs, 0);
	assert_int_equal(file_locks__waiters("/nonexistent", take, &seen), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiters_have_the_holder_before_them),
		cmocka_unit_test(unknown_processes_and_other_lines_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
