/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_cost.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/sys.h"
#include "signals/heap/heap_links.h"

#define CALLS 200
/* If they cannot be measured. */
#define HIT_NS     700
#define STEPPED_NS 6000
/*
 * A hit also slows down the code that follows it, which finds less in the caches: by 3 to 14 % of
 * the hit, where that was measured.
 */
#define FOLLOWING_PERCENT 8

/*
 * The first begins like most functions of allocators, with an instruction that the kernel emulates;
 * the second with one that it executes in a single step.
 */
#if defined(__x86_64__)
void heap_cost_call(void);
void heap_cost_stepped(void);
__asm__(".text\n"
	".globl heap_cost_call\n"
	".type heap_cost_call, @function\n"
	"heap_cost_call:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size heap_cost_call, . - heap_cost_call\n"
	".globl heap_cost_stepped\n"
	".type heap_cost_stepped, @function\n"
	"heap_cost_stepped:\n"
	"	lea 8(%rsp), %rax\n"
	"	ret\n"
	".size heap_cost_stepped, . - heap_cost_stepped\n");
#else
static __attribute__((noinline)) void heap_cost_call(void)
{
	__asm__ volatile("nop");
}

static __attribute__((noinline)) void heap_cost_stepped(void)
{
	__asm__ volatile("nop\nnop");
}
#endif

static struct heap_links links;
static uint64_t hit_ns, stepped_ns;
static int totals_fd = -1;

int heap_cost__open(const struct bpf_object *object)
{
	const struct bpf_map *totals = bpf_object__find_map_by_name(object, "heap_totals");
	struct heap_file file = { .path = "/proc/self/exe", .count = 2 };

	if (!totals)
		return -EPROTO;
	totals_fd = bpf_map__fd(totals);
	hit_ns = HIT_NS;
	stepped_ns = STEPPED_NS;
	if (!sys__file_offset((uintptr_t)heap_cost_call, &file.offsets[0]) &&
	    !sys__file_offset((uintptr_t)heap_cost_stepped, &file.offsets[1]))
		(void)heap_links__attach(&links, object, &file, getpid());
	(void)heap_cost__measure();
	return 0;
}

void heap_cost__close(void)
{
	heap_links__detach(&links);
	totals_fd = -1;
}

static uint64_t cpu_now(void)
{
	struct timespec time = {};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The function itself takes a nanosecond or two, which is nothing compared with a trap. */
static uint64_t time_calls(void (*call)(void), int count)
{
	uint64_t begin_ns = cpu_now();

	for (int i = 0; i < count; i++)
		call();
	return (cpu_now() - begin_ns) / (uint64_t)count;
}

/* Twice, because the first hits find nothing in the cache. */
uint64_t heap_cost__measure(void)
{
	if (!links.count)
		return hit_ns;
	(void)time_calls(heap_cost_call, CALLS / 4);
	hit_ns = time_calls(heap_cost_call, CALLS);
	(void)time_calls(heap_cost_stepped, CALLS / 20);
	stepped_ns = time_calls(heap_cost_stepped, CALLS / 4);
	return hit_ns;
}

struct heap_totals heap_cost__totals(void)
{
	int cpus = libbpf_num_possible_cpus();
	cleanup(free_p) struct heap_totals *each = calloc((size_t)cpus, sizeof(*each));
	struct heap_totals sum = {};
	__u32 zero = 0;

	if (!each || bpf_map_lookup_elem(totals_fd, &zero, each))
		return sum;
	for (int i = 0; i < cpus; i++) {
		sum.others += each[i].others;
		sum.hits += each[i].hits;
		sum.stepped += each[i].stepped;
		sum.inside_ns += each[i].inside_ns;
		sum.calls += each[i].calls;
		sum.bytes += each[i].bytes;
		sum.frees += each[i].frees;
	}
	return sum;
}

uint64_t heap_cost__between(const struct heap_totals *from, const struct heap_totals *to)
{
	uint64_t stepped = to->stepped - from->stepped, hits = to->hits - from->hits - stepped;

	return (hits * hit_ns + stepped * stepped_ns + to->inside_ns - from->inside_ns) *
	       (100 + FOLLOWING_PERCENT) / 100;
}
