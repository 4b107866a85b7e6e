/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_cost.h"

#include <time.h>
#include <unistd.h>

#include "core/sys.h"
#include "signals/heap/heap.h"
#include "signals/heap/heap_links.h"

#define CALLS 300

/* Begins like most functions of allocators, with an instruction that the kernel emulates. */
#if defined(__x86_64__)
void heap_cost_call(void);
__asm__(".text\n"
	".globl heap_cost_call\n"
	".type heap_cost_call, @function\n"
	"heap_cost_call:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size heap_cost_call, . - heap_cost_call\n");
#else
static __attribute__((noinline)) void heap_cost_call(void)
{
	__asm__ volatile("nop");
}
#endif

static struct heap_links links;

bool heap_cost__open(const struct bpf_object *object)
{
	struct heap_file file = { .path = "/proc/self/exe",
				  .count = 1,
				  .cookies = { HEAP_COOKIE(HEAP_NONE, 0, 0) } };

	return !sys__file_offset((uintptr_t)heap_cost_call, &file.offsets[0]) &&
	       !heap_links__attach(&links, object, &file, getpid());
}

void heap_cost__close(void)
{
	heap_links__detach(&links);
}

static uint64_t cpu_now(void)
{
	struct timespec time = {};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The function itself takes a nanosecond or two, which is nothing compared with a trap. */
uint64_t heap_cost__measure(void)
{
	uint64_t begin_ns = cpu_now();

	if (!links.count)
		return 0;
	for (int i = 0; i < CALLS; i++)
		heap_cost_call();
	return (cpu_now() - begin_ns) / CALLS;
}
