/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls functions known numbers of times. `functions all COUNT`: see main(); prints how long it
 * slept by its own clock. `functions count COUNT`: COUNT calls. `functions timed`: prints how many
 * nanoseconds a call takes, the least of many. `functions spin`: calls until it is killed.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "usdt.h"

#define KEEP __attribute__((noinline))

static jmp_buf back;

int counted(int number);
int sleeps(void);
int recurses(int depth);
void jumps(int depth);
void declared(int kind, long number);

/* On x86-64 it begins with a push, which the kernel emulates. */
KEEP int counted(int number)
{
#if defined(__x86_64__)
	__asm__ volatile("" ::: "rbx");
#endif
	return number & 1;
}

KEEP int sleeps(void)
{
	nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
	return -1;
}

KEEP int recurses(int depth)
{
	int below = depth ? recurses(depth - 1) + 1 : 1;

	__asm__ volatile("" : "+r"(below));
	return below;
}

KEEP void jumps(int depth)
{
	if (!depth)
		longjmp(back, 1);
	if (depth > 0)
		jumps(depth - 1);
	__asm__ volatile("");
}

/* Until a tracer raises it, the program does not pass the probe. */
__attribute__((section(".probes"), used)) volatile unsigned short shop_sold_semaphore;

KEEP void declared(int kind, long number)
{
	if (shop_sold_semaphore)
		USDT("shop", "sold", "shop_sold_semaphore", "-4@%%edi 8@%%rsi -1@$-7", "D"(kind),
		     "S"(number));
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Not inlined, so that all callers are this function. */
KEEP static void do_all(int count)
{
	static long long slept_ns;
	volatile int sum = 0;

	for (int i = 0; i < count; i++)
		sum += counted(i);
	for (int i = 0; i < 100; i++) {
		long long begin_ns = now_ns();

		sleeps();
		slept_ns += now_ns() - begin_ns;
	}
	for (int i = 0; i < 20; i++)
		sum += recurses(49);
	for (int i = 0; i < 10; i++)
		if (!setjmp(back))
			jumps(5);
	for (int i = 0; i < 30; i++)
		declared(i % 3 - 1, 1L << 40);
	for (int i = 0; i < 1000; i++)
		sum += getppid() > 0;
	/* The last calls that longjmp() left are found out by the next one. */
	counted(0);
	printf("%lld\n", slept_ns);
}

static void time_calls(void)
{
	long long least_ns = 1LL << 62;

	for (int i = 0; i < 200; i++) {
		long long begin_ns = now_ns(), ns;

		for (int j = 0; j < 500; j++)
			counted(j);
		ns = (now_ns() - begin_ns) / 500;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	printf("%lld\n", least_ns);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;

	if (argc > 1 && !strcmp(argv[1], "all"))
		do_all(count);
	else if (argc > 1 && !strcmp(argv[1], "timed"))
		time_calls();
	else if (argc > 1 && !strcmp(argv[1], "spin"))
		for (;;)
			counted(0);
	else
		for (int i = 0; i < count; i++)
			counted(i);
	return 0;
}
