/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crashes KIND: a thread named "crasher" runs for a while, then
 *
 *   segv     writes to address 16, in touch_null()
 *   abort    calls abort() in give_up()
 *   handled  does the same as "segv", but has a handler that leaves with siglongjmp()
 *   term     sends itself SIGTERM
 */
#include "workload.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf way_out;

__attribute__((noinline)) static void touch_null(volatile char *where)
{
	*where = 1;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void give_up(void)
{
	abort();
}

static void leave(int number)
{
	siglongjmp(way_out, 1);
}

__attribute__((noinline)) static void serve(const char *kind)
{
	sleep_ns(600 * MS);
	spin_until(now_ns() + 400 * MS);
	if (!strcmp(kind, "abort"))
		give_up();
	if (!strcmp(kind, "term"))
		raise(SIGTERM);
	if (!strcmp(kind, "handled"))
		signal(SIGSEGV, leave);
	if (!sigsetjmp(way_out, 1))
		touch_null((volatile char *)16);
	__asm__ volatile("" ::: "memory");
}

static void *crash(void *arg)
{
	set_name("crasher");
	serve(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_join(start_thread(crash, argc > 1 ? argv[1] : "segv"), NULL);
	return 0;
}
