/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for CPython's GIL: their time and who held it, in programs whose answers are known. */
#include "../harness.h"

#include "interpreters.h"

/* Two threads that never pause: whenever one of them does not run, the other one has the GIL. */
static const char two_hogs[] = "import threading, time\n"
			       "end = time.monotonic() + 3\n"
			       "def hog():\n"
			       "    while time.monotonic() < end:\n"
			       "        sum(i * i for i in range(100))\n"
			       "threading.Thread(target=hog).start()\n"
			       "hog()\n";

static char recording[64];

static void record(const char *const *arguments)
{
	const char *command[4] = { interpreters__path("GAPLESS_TEST_PYTHON", "/usr/bin/python3") };
	json_t *log = NULL;

	for (size_t i = 0; arguments[i]; i++)
		command[i + 1] = arguments[i];
	trial__path(recording, sizeof(recording));
	trial__record_at(recording, ARGS("-F", "99"), command, &log);
	json_decref(log);
}

static void whoever_wants_the_gil_waits_for_the_thread_that_has_it(void **state)
{
	record(ARGS(workload__path("hog.py"), "3"));
	assert_gil_of_main_thread(recording);
	trial__remove(recording);
}

static void a_thread_without_pauses_waits_for_nothing_but_the_gil(void **state)
{
	record(ARGS("-c", two_hogs));
	/* The main thread waits for the end of the other one, too. */
	assert_share("waits that are for the GIL",
		     interpreters__gil_ns(recording, "waiter_tid != waiter_pid and cause = 'gil'"),
		     interpreters__gil_ns(recording, "waiter_tid != waiter_pid"), 98);
	/* Or ended by it: after a thread has given the GIL up, it waits until it is taken. */
	assert_share("because of the other thread",
		     interpreters__gil_ns(recording, "cause = 'gil' and by != waiter"),
		     interpreters__gil_ns(recording, "cause = 'gil'"), 97);
	trial__remove(recording);
}

static void the_lock_has_a_name(void **state)
{
	record(ARGS("-c", two_hogs));
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
