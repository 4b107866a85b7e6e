/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for CPython's GIL: their time and who held it, in programs whose answers are known. */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

/* The main thread never gives the GIL up by itself; three others want it for microseconds. */
static const char one_hog[] = "import threading, time\n"
			      "end = time.monotonic() + 3\n"
			      "def want():\n"
			      "    while time.monotonic() < end:\n"
			      "        time.sleep(0.0005)\n"
			      "def hog():\n"
			      "    while time.monotonic() < end:\n"
			      "        sum(i * i for i in range(100))\n"
			      "for _ in range(3):\n"
			      "    threading.Thread(target=want).start()\n"
			      "hog()\n";

/* Two threads that never pause: whenever one of them does not run, the other one has the GIL. */
static const char two_hogs[] = "import threading, time\n"
			       "end = time.monotonic() + 3\n"
			       "def hog():\n"
			       "    while time.monotonic() < end:\n"
			       "        sum(i * i for i in range(100))\n"
			       "threading.Thread(target=hog).start()\n"
			       "hog()\n";

static char recording[64];

/* The interpreter to test: the one that the environment names, else the system's. */
static const char *python(void)
{
	const char *named = getenv("GAPLESS_TEST_PYTHON");
	const char *path = named ? named : "/usr/bin/python3";

	if (access(path, X_OK)) {
		print_message("# skip: there is no %s [GAPLESS_TEST_PYTHON]\n", path);
		skip();
	}
	return path;
}

static void record(const char *script)
{
	json_t *log = NULL;

	trial__path(recording, sizeof(recording));
	trial__record_at(recording, ARGS("-F", "99"), ARGS(python(), "-c", script), &log);
	json_decref(log);
}

static int64_t ask(const char *condition)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(ns), 0) from waits where (waiter_comm like 'python%%'"
		 " or waiter_comm like 'Thread-%%') and %s",
		 condition);
	return trial__ask(recording, sql);
}

static void assert_share(const char *what, int64_t part, int64_t all, int percent)
{
	print_message("# %s: %" PRId64 " of %" PRId64 " us, %.1f %%\n", what, part / 1000,
		      all / 1000, all ? 100.0 * (double)part / (double)all : 0.0);
	assert_true(all > 100 * MS);
	assert_true(part * 100 >= all * percent);
}

#define OTHERS "waiter_tid != waiter_pid and cause = 'gil'"
#define HELD   "evidence in ('owner', 'handed')"

static void whoever_wants_the_gil_waits_for_the_thread_that_has_it(void **state)
{
	record(one_hog);
	/* Nobody has it while it is handed on, which takes long on a busy machine. */
	assert_share("with a holder", ask(OTHERS " and " HELD), ask(OTHERS), 95);
	/* Who has got it can lose the CPU while it has it. */
	assert_share(
		"held by the main thread",
		ask(OTHERS " and " HELD " and (by_tid = waiter_pid or first_tid = waiter_pid)"),
		ask(OTHERS " and " HELD), 98);
	/* What else they wait for is the sleep, and the GIL's own mutexes while one begins. */
	assert_share("waits at a futex that are for the GIL", ask(OTHERS),
		     ask("waiter_tid != waiter_pid and cause in ('gil', 'lock')"), 98);
	trial__remove(recording);
}

static void a_thread_without_pauses_waits_for_nothing_but_the_gil(void **state)
{
	record(two_hogs);
	/* The main thread waits for the end of the other one, too. */
	assert_share("waits that are for the GIL", ask(OTHERS), ask("waiter_tid != waiter_pid"),
		     98);
	/* Or ended by it: after a thread has given the GIL up, it waits until it is taken. */
	assert_share("because of the other thread", ask("cause = 'gil' and by != waiter"),
		     ask("cause = 'gil'"), 97);
	trial__remove(recording);
}

static void the_lock_has_a_name(void **state)
{
	record(two_hogs);
	assert_int_equal(trial__ask(recording, "select count(distinct object) from waits where"
					       " cause = 'gil' and object = 'GIL'"),
			 1);
	assert_int_equal(trial__ask(recording, "select count(*) from waits where cause = 'gil' and"
					       " object != 'GIL'"),
			 0);
	assert_int_equal(trial__ask(recording, "select count(*) from process where"
					       " runtime = 'python' and runtime_state = 'known'"),
			 1);
	trial__remove(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_wants_the_gil_waits_for_the_thread_that_has_it),
		cmocka_unit_test(a_thread_without_pauses_waits_for_nothing_but_the_gil),
		cmocka_unit_test(the_lock_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
