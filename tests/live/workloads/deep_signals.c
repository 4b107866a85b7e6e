/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variants of deep: the time is spent in a signal's handler. */
#include "deep.h"

#include <signal.h>
#include <sys/mman.h>

#define ALTERNATE_BYTES (256UL << 10)
#define TICK_NS         (1 * MS)
#define IN_HANDLER_NS   (MS / 4)

void *alternate_above;

static NOINLINE void on_signal(int number)
{
	through_plain();
	KEEP_FRAME();
}

static void raise_with(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
}

static void *map_alternate(void)
{
	void *memory = mmap(NULL, ALTERNATE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	return memory;
}

void make_alternate_above(void)
{
	if (!alternate_above)
		alternate_above = map_alternate();
}

static void raise_on(void *memory)
{
	stack_t stack = { .ss_sp = memory, .ss_size = ALTERNATE_BYTES };
	stack_t none = { .ss_flags = SS_DISABLE };

	if (sigaltstack(&stack, NULL))
		die("sigaltstack");
	raise_with(SA_ONSTACK);
	sigaltstack(&none, NULL);
}

NOINLINE void through_signal(void)
{
	raise_with(0);
	KEEP_FRAME();
}

NOINLINE void through_alternate_below(void)
{
	void *memory = malloc(ALTERNATE_BYTES);

	if (!memory)
		die("malloc");
	raise_on(memory);
	free(memory);
	KEEP_FRAME();
}

NOINLINE void through_alternate_above(void)
{
	raise_on(alternate_above);
	KEEP_FRAME();
}

static NOINLINE void on_tick(int number)
{
	bottom_burn(IN_HANDLER_NS);
	KEEP_FRAME();
}

static timer_t start_ticks(void)
{
	struct sigaction action = { .sa_handler = on_tick };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	struct itimerspec ticks = { { 0, TICK_NS }, { 0, TICK_NS } };
	timer_t timer;

	event._sigev_un._tid = gettid();
	sigaction(SIGUSR2, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &ticks, NULL))
		die("timer");
	return timer;
}

static NOINLINE unsigned int three_registers(unsigned int a)
{
	__asm__ volatile("" ::: THREE_SAVED, "memory");
	return a * 3;
}

/* Interrupted anywhere: between two instructions of a prologue, too. */
static NOINLINE void bottom_async(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	volatile unsigned int seed = 1;

	while (now_ns() < end)
		for (int i = 0; i < 1000; i++)
			seed = three_registers(seed);
	KEEP_FRAME();
}

NOINLINE void through_async(void)
{
	timer_t timer = start_ticks();

	bottom_async(deep_ns);
	timer_delete(timer);
	bottom_nap(deep_ns);
	KEEP_FRAME();
}

static NOINLINE void on_nothing(int number)
{
	KEEP_FRAME();
}

/* Most of the time goes into sending a signal, and into the call that ends its handler. */
static NOINLINE void bottom_sigreturn(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	pid_t tid = gettid();

	while (now_ns() < end)
		for (int i = 0; i < 100; i++)
			syscall(SYS_tkill, tid, SIGUSR1);
	KEEP_FRAME();
}

NOINLINE void through_sigreturn(void)
{
	struct sigaction action = { .sa_handler = on_nothing };

	sigaction(SIGUSR1, &action, NULL);
	bottom_sigreturn(deep_ns);
	bottom_nap(deep_ns);
	KEEP_FRAME();
}
