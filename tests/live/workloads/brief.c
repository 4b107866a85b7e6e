/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * brief COUNT MS [ATONCE]: processes that live MS milliseconds each, programs of their own: 20
 * calls deep they run for the first half of it and sleep for the second. Logs how many there were.
 */
#include "workload.h"

#include <sys/wait.h>

#define STEPS        20
#define NAP_NS       (2 * MS)
#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static NOINLINE void bottom_burn(uint64_t ns)
{
	spin_until(now_ns() + ns);
	KEEP_FRAME();
}

static NOINLINE void bottom_nap(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		sleep_ns(NAP_NS);
	KEEP_FRAME();
}

static NOINLINE void step_down(int left, uint64_t ns)
{
	if (left) {
		step_down(left - 1, ns);
	} else {
		bottom_burn(ns / 2);
		bottom_nap(ns / 2);
	}
	KEEP_FRAME();
}

static void be_child(const char *ms)
{
	set_name("brief-child");
	step_down(STEPS - 1, strtoul(ms, NULL, 10) * MS);
}

static void become_child(const char *how, const char *ms)
{
	if (!strcmp(how, "exec"))
		execl("/proc/self/exe", "brief-child", "child", "1", ms, NULL);
	else
		be_child(ms);
	_exit(strcmp(how, "fork") != 0);
}

static void await_one(int *failed)
{
	int status;

	if (wait(&status) < 0)
		die("wait");
	*failed += status != 0;
}

int main(int argc, char **argv)
{
	int count, at_once, failed = 0;

	if (argc < 4) {
		fprintf(stderr, "usage: brief exec|fork COUNT MS [ATONCE]\n");
		return 2;
	}
	if (!strcmp(argv[1], "child")) {
		be_child(argv[3]);
		return 0;
	}
	count = atoi(argv[2]);
	at_once = argc > 4 ? atoi(argv[4]) : 1;
	for (int i = 0; i < count; i++) {
		if (i >= at_once)
			await_one(&failed);
		if (!fork())
			become_child(argv[1], argv[3]);
	}
	for (int i = 0; i < count && i < at_once; i++)
		await_one(&failed);
	log_line("{\"phase\": \"brief\", \"count\": %d}\n", count);
	return failed != 0;
}
