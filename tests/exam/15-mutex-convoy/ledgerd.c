/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledgerd FILE: 8 tellers book under one lock; whoever has it waits for the disk (write and
 * fdatasync). */
#include "exam.h"
#include <fcntl.h>

pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static int audit_log;
static _Atomic long waited_ns, synced_ns;

NAMED void write_audit(long booking)
{
	long start_ns = now_ns();

	dprintf(audit_log, "booking %ld\n", booking);
	fdatasync(audit_log);
	synced_ns += now_ns() - start_ns;
}

NAMED void book(long booking)
{
	long start_ns = now_ns();

	pthread_mutex_lock(&ledger_lock);
	waited_ns += now_ns() - start_ns;
	write_audit(booking);
	pthread_mutex_unlock(&ledger_lock);
}

static void *teller(void *unused)
{
	for (long booking = 0;; booking++) {
		calculate(20000);
		book(booking);
	}
	return unused;
}

int main(int argc, char **argv)
{
	audit_log = argc == 2 ? open(argv[1], O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0644) : -1;
	if (audit_log < 0)
		return 1;
	for (int i = 0; i < 8; i++)
		start_thread_named("teller", i, teller);
	for (;;) {
		long waited = waited_ns, synced = synced_ns;

		sleep(1);
		printf("in a second, tellers waited %.2f s for the lock and wrote for %.2f s with it\n",
		       (waited_ns - waited) / 1e9, (synced_ns - synced) / 1e9);
		fflush(stdout);
	}
}
