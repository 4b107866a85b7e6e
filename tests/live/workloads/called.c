/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of known numbers and lengths, which are windows. `called many COUNT`; `called deep`: 10
 * recursions to depth 32, and 10 to depth 40; `called left`: calls that longjmp(), the end of a
 * thread and exec leave, with known ones between them; `called cut`: one call at a time all the
 * time.
 */
#include <setjmp.h>

#include "workload.h"

#define KEEP __attribute__((noinline))

static jmp_buf back;

int handles(int number);
int recurses(int depth);
void jumps(int depth);
void ends(void);
void replaces(char **argv);
void sleeps(uint64_t ns);

KEEP int handles(int number)
{
	__asm__ volatile("" : "+r"(number)::"rbx");
	return number & 1;
}

KEEP int recurses(int depth)
{
	int below = depth > 1 ? recurses(depth - 1) + 1 : 1;

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

KEEP static void come_back(void)
{
	if (!setjmp(back))
		jumps(3);
}

KEEP void sleeps(uint64_t ns)
{
	sleep_ns(ns);
	__asm__ volatile("");
}

KEEP void ends(void)
{
	pthread_exit(NULL);
}

KEEP void replaces(char **argv)
{
	execv("/proc/self/exe", argv);
	die("execv");
}

static void *call_and_end(void *arg)
{
	sleeps(MS);
	ends();
	return arg;
}

static void leave(char **argv)
{
	for (int i = 0; i < 20; i++) {
		come_back();
		sleeps(MS);
	}
	for (int i = 0; i < 20; i++)
		pthread_join(start_thread(call_and_end, NULL), NULL);
	argv[1] = "many";
	argv[2] = "10";
	replaces(argv);
}

static void go_on(void)
{
	await_go();
	for (int i = 0; i < 10; i++)
		sleeps(MS);
	sleeps(1000 * MS);
}

int main(int argc, char **argv)
{
	char *args[] = { argv[0], NULL, NULL, NULL };
	int count = argc > 2 ? atoi(argv[2]) : 0;

	if (argc > 2 && !strcmp(argv[1], "many"))
		for (int i = 0; i < count; i++)
			handles(i);
	else if (argc > 1 && !strcmp(argv[1], "deep"))
		for (int i = 0; i < 20; i++)
			recurses(i < 10 ? 32 : 40);
	else if (argc > 1 && !strcmp(argv[1], "left"))
		leave(args);
	else if (argc > 1 && !strcmp(argv[1], "cut"))
		go_on();
	else
		return 2;
	return 0;
}
