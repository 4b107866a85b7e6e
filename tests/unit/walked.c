/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program to be walked by test_unwind_real: it sends itself SIGUSR1 where its tracer is to look.
 * `walked MODE PLUGIN`. Built without frame pointers and without sanitizers.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define noinline __attribute__((noinline))
/* Between a call and its return, so that the call stays one. */
#define KEEP(value) __asm__ volatile("" : "+r"(value)::"memory")

int recurse(int depth);
void fault(int *nowhere);
void handle(int signal);
void *thread_body(void *unused);
int realign(int count);
int compare(const void *left, const void *right);
void use_libc(void);
void steps(int (*plugin)(int));

/* Faults with its first instruction: the byte before it is not its own. */
__asm__(".text\n"
	".globl fault\n"
	".type fault, @function\n"
	"fault:\n"
	"	.cfi_startproc\n"
#ifdef __aarch64__
	"	str wzr, [x0]\n"
#else
	"	movl $0, (%rdi)\n"
#endif
	"	ret\n"
	"	.cfi_endproc\n"
	".size fault, . - fault\n");

noinline int recurse(int depth)
{
	int result;

	result = depth ? recurse(depth - 1) : raise(SIGUSR1);
	KEEP(result);
	return result + 1;
}

noinline void handle(int signal)
{
	raise(SIGUSR1);
	_Exit(0);
}

static void fault_in_a_handler(int flags)
{
	static char stack[64 << 10];
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	sigaltstack(&own, NULL);
	sigaction(SIGSEGV, &action, NULL);
	fault(NULL);
}

noinline void *thread_body(void *unused)
{
	recurse(20);
	return unused;
}

/* The stack is aligned anew, and its size is not known: the way back needs a register. */
noinline int realign(int count)
{
	_Alignas(64) volatile char aligned[64];
	volatile char *some = __builtin_alloca((size_t)count);

	aligned[count] = 1;
	some[0] = aligned[count];
	return some[0] + (int)strlen("called from a stack that was aligned anew");
}

noinline int compare(const void *left, const void *right)
{
	return *(const int *)left - *(const int *)right;
}

noinline void use_libc(void)
{
	int numbers[] = { 5, 2, 8, 1, 9, 3 };
	struct timespec now;
	char text[128];

	clock_gettime(CLOCK_MONOTONIC, &now);
	qsort(numbers, 6, sizeof(int), compare);
	snprintf(text, sizeof(text), "%d %s %.3f %p", numbers[0], "text", (double)now.tv_nsec / 3,
		 (void *)text);
	free(memset(malloc(100000), (int)strtod(text, NULL), 100000));
}

noinline void steps(int (*plugin)(int))
{
	int result = plugin(raise(SIGUSR1));

	KEEP(result);
	result = realign(result & 31);
	KEEP(result);
	use_libc();
	raise(SIGUSR1);
	KEEP(result);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	pthread_t thread;
	void *plugin;

	if (!strcmp(mode, "recursion")) {
		recurse(100);
	} else if (!strcmp(mode, "handler")) {
		fault_in_a_handler(0);
	} else if (!strcmp(mode, "own-stack")) {
		fault_in_a_handler(SA_ONSTACK);
	} else if (!strcmp(mode, "thread")) {
		pthread_create(&thread, NULL, thread_body, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(mode, "steps")) {
		plugin = dlopen(argv[2], RTLD_LAZY | RTLD_LOCAL);
		if (!plugin)
			return 1;
		steps((int (*)(int))dlsym(plugin, "plugin_outer"));
	}
	return 0;
}
