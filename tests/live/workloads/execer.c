/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * execer: a thread that is not the leader executes this program again, and takes over the leader's
 * id by that. What comes after sleeps and spins for known times.
 */
#include "workload.h"

#define BEFORE_NS (100 * MS)
#define SLEEPS    4
#define SLEEP_NS  (50 * MS)
#define SPIN_NS   (100 * MS)

static char *self;

static void *executor(void *arg)
{
	struct phase phase = phase_begin("before", "exec-thread");

	call_begins(&phase);
	sleep_ns(BEFORE_NS);
	call_ends(&phase);
	phase_end(&phase);
	execl(self, self, "after", NULL);
	die(self);
	return NULL;
}

static int after(void)
{
	struct phase phase = phase_begin("after", "exec-after");

	for (int i = 0; i < SLEEPS; i++) {
		call_begins(&phase);
		sleep_ns(SLEEP_NS);
		call_ends(&phase);
	}
	spin_until(now_ns() + SPIN_NS);
	phase_end(&phase);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "after"))
		return after();
	self = argv[0];
	set_name("exec-leader");
	start_thread(executor, NULL);
	for (;;)
		pause();
}
