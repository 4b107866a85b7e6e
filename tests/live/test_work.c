/* SPDX-License-Identifier: GPL-2.0-or-later */
/* work: each write to a terminal queues one work item, which brings it to the other end. */
#include "../harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "ledger.h"

#define WRITES 200

/* A byte that is read was brought by a work item, so each write needs another one. */
static void write_through_a_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct termios raw;
	char byte = 'x';

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	assert_int_equal(tcgetattr(slave, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
	for (int i = 0; i < WRITES; i++) {
		assert_int_equal(write(master, &byte, 1), 1);
		assert_int_equal(read(slave, &byte, 1), 1);
	}
	close(slave);
	close(master);
}

static void every_item_has_its_function_delay_and_time(void **state)
{
	struct trial trial =
		trial__start(ARGS("-a", "--signals", "work", "--no-stacks", "--level", "sched"));
	int64_t count;

	write_through_a_terminal();
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
	count = trial__query(trial.path, "select coalesce(sum(count), 0) as n from signal_sums"
					 " where object = 'flush_to_ldisc' and measure = 'time'");
	print_message("# %lld work items for %d writes\n", (long long)count, WRITES);
	assert_true(count >= WRITES);
	assert_true(trial__query(trial.path,
				 "select min(sum) as n from (select sum(sum) as sum from"
				 " signal_sums where object = 'flush_to_ldisc' group by measure)") >
		    0);
	/* All threads are recorded, so each item has the thread that ran it. */
	assert_int_equal(trial__query(trial.path,
				      "select count(*) as n from signal_sums where object ="
				      " 'flush_to_ldisc' and comm not like 'kworker%'"),
			 0);
	assert_int_equal(trial__query(trial.path, "select sum(value) as n from quality where name"
						  " in ('work_events_lost', 'work_no_room')"),
			 0);
	trial__remove(trial.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item_has_its_function_delay_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
