/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variants of deep: code whose frames are odd. */
#include "deep.h"

#include <alloca.h>
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdalign.h>

#define BIG_BYTES  (3UL << 19) /* 1.5 MB */
#define BIG_FRAMES 3
#define CALLS      1000 /* between two looks at the clock */
#define REOPENED   10

static NOINLINE void grow(int left)
{
	char *room = alloca((size_t)(left + 1) * 160);

	OCCUPY(room);
	if (left)
		grow(left - 1);
	else
		through_plain();
	KEEP_FRAME();
}

NOINLINE void through_alloca(void)
{
	grow(20);
	KEEP_FRAME();
}

/* It moves no stack pointer, and keeps what it needs below it. */
static NOINLINE unsigned int leaf(unsigned int seed)
{
	volatile unsigned int room[4] = { seed };

	for (int i = 0; i < 100; i++)
		room[i % 4] += room[(i + 1) % 4] ^ seed;
	return room[0];
}

static NOINLINE void bottom_leaf(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	unsigned int seed = 1;

	while (now_ns() < end)
		for (int i = 0; i < CALLS / 10; i++)
			seed = leaf(seed);
	KEEP_FRAME();
}

NOINLINE void through_leaf(void)
{
	bottom_leaf(deep_ns);
	bottom_nap(deep_ns);
	KEEP_FRAME();
}

/* Nothing but a prologue and an epilogue. */
static NOINLINE void push_all(void)
{
	__asm__ volatile("" ::: SIX_SAVED, "memory");
}

static NOINLINE void push_twice(void)
{
	push_all();
	__asm__ volatile("" ::: SIX_SAVED, "memory");
}

static NOINLINE void bottom_hot(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		for (int i = 0; i < CALLS; i++)
			push_twice();
	KEEP_FRAME();
}

NOINLINE void through_hot(void)
{
	bottom_hot(deep_ns);
	bottom_nap(deep_ns);
	KEEP_FRAME();
}

static NOINLINE void realigned(int left)
{
	alignas(64) char room[128];

	OCCUPY(room);
	if (left)
		realigned(left - 1);
	else
		through_plain();
	KEEP_FRAME();
}

NOINLINE void through_realign(void)
{
	realigned(20);
	KEEP_FRAME();
}

/*
 * Aligned locals, a size known only at run time, and arguments on the stack: the compiler keeps a
 * pointer to the arguments in memory, and the frame's address is an expression.
 */
static NOINLINE void argument_pointer(long a, long b, long c, long d, long e, long f, long left)
{
	alignas(64) char room[128];
	char *more = alloca((size_t)(left + 1) * 32);

	OCCUPY(room);
	OCCUPY(more);
	if (left)
		argument_pointer(a, b, c, d, e, f, left - 1);
	else
		through_plain();
	KEEP_FRAME();
}

NOINLINE void through_argument_pointer(void)
{
	argument_pointer(1, 2, 3, 4, 5, 6, 20);
	KEEP_FRAME();
}

static NOINLINE void big_frame(int left)
{
	char room[BIG_BYTES];

	OCCUPY(room);
	if (left)
		big_frame(left - 1);
	else
		through_plain();
	KEEP_FRAME();
}

NOINLINE void through_big(void)
{
	big_frame(BIG_FRAMES - 1);
	KEEP_FRAME();
}

static NOINLINE void further(int left)
{
	if (left)
		further(left - 1);
	else
		through_plain();
	KEEP_FRAME();
}

/* Together with the steps, nearly as deep as a stack may be … */
NOINLINE void through_limit(void)
{
	further(800);
	KEEP_FRAME();
}

/* … and deeper. */
NOINLINE void through_beyond(void)
{
	further(2000);
	KEEP_FRAME();
}

/*
 * Code that nothing describes and that keeps something else in the frame pointer: its caller cannot
 * be found. That the frame pointer is 0 here does not mean that a thread begins here.
 */
__asm__(".text\n"
	".globl through_bare\n"
	".type through_bare, @function\n"
	"through_bare:\n"
#ifdef __aarch64__
	"	stp x29, x30, [sp, #-16]!\n"
	"	mov x29, xzr\n"
	"	bl through_plain\n"
	"	ldp x29, x30, [sp], #16\n"
#else
	"	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"	call through_plain@PLT\n"
	"	pop %rbp\n"
#endif
	"	ret\n"
	".size through_bare, . - through_bare\n");

static NOINLINE void bottom_vdso(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
	KEEP_FRAME();
}

NOINLINE void through_vdso(void)
{
	bottom_vdso(deep_ns);
	bottom_nap(deep_ns);
	KEEP_FRAME();
}

/* The library beside this program. */
static void *open_library(void)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 32];
	void *library;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("/proc/self/exe");
	snprintf(path, sizeof(path), "%s/libdeep.so", dirname(self));
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

static void call_library(void *library, const char *name, uint64_t ns)
{
	void (*function)(uint64_t ns, void (*then)(uint64_t ns)) = dlsym(library, name);

	if (!function)
		die(name);
	function(ns, bottom_burn);
	function(ns, bottom_nap);
}

NOINLINE void through_library(void)
{
	void *library = open_library();

	call_library(library, "library_deeper", deep_ns);
	dlclose(library);
	KEEP_FRAME();
}

/* What was mapped there is gone each time, and comes back in the same place or another. */
NOINLINE void through_reopened(void)
{
	for (int i = 0; i < REOPENED; i++) {
		void *library = open_library();

		call_library(library, "library_deeper", deep_ns / REOPENED);
		dlclose(library);
	}
	KEEP_FRAME();
}

NOINLINE void through_plt(void)
{
	void *library = open_library();

	call_library(library, "library_calls", deep_ns);
	bottom_nap(deep_ns);
	dlclose(library);
	KEEP_FRAME();
}
