/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stopper: a thread that spins and one that sleeps, for the test to stop and continue. */
#include "workload.h"

static void *spinner(void *arg)
{
	set_name("stopped-spin");
	for (;;)
		spin_until(now_ns() + 100 * MS);
	return NULL;
}

static void *sleeper(void *arg)
{
	set_name("stopped-sleep");
	for (;;)
		sleep_ns(3600 * 1000 * MS);
	return NULL;
}

int main(void)
{
	set_name("stopper");
	start_thread(spinner, NULL);
	start_thread(sleeper, NULL);
	await_go();
	for (;;)
		pause();
}
