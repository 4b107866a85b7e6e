/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lockstep PERIOD_US MS: a thread that works at the begin of each period of the clock, for a fifth
 * of it in early_part() and then for three tenths in late_part(), and sleeps for the rest. It logs
 * the CPU time of both.
 */
#include "workload.h"

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static NOINLINE void spin_to(uint64_t end_ns)
{
	while (now_ns() < end_ns)
		for (volatile int i = 0; i < 200; i++)
			;
}

static NOINLINE void early_part(uint64_t end_ns)
{
	spin_to(end_ns);
	KEEP_FRAME();
}

static NOINLINE void late_part(uint64_t end_ns)
{
	spin_to(end_ns);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t period_ns = (argc > 1 ? strtoul(argv[1], NULL, 10) : 2000) * 1000;
	uint64_t end_ns = now_ns() + (argc > 2 ? strtoul(argv[2], NULL, 10) : 1000) * MS;
	uint64_t early_ns = 0, late_ns = 0;

	set_name("lockstep");
	for (uint64_t next = now_ns() + period_ns; next < end_ns; next += period_ns) {
		uint64_t begin, middle;

		sleep_until(next);
		begin = read_clock(CLOCK_THREAD_CPUTIME_ID);
		early_part(next + period_ns * 2 / 10);
		middle = read_clock(CLOCK_THREAD_CPUTIME_ID);
		late_part(next + period_ns * 5 / 10);
		late_ns += read_clock(CLOCK_THREAD_CPUTIME_ID) - middle;
		early_ns += middle - begin;
	}
	log_line("{\"phase\": \"early_part\", \"comm\": \"lockstep\", \"ns\": %lu}\n", early_ns);
	log_line("{\"phase\": \"late_part\", \"comm\": \"lockstep\", \"ns\": %lu}\n", late_ns);
	return 0;
}
