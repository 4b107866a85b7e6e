/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/uprobe_cost.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "core/hooks.h"
#include "core/sys.h"
#include "symbol/instruction.h"

#define CALLS 400
#define TRIES 3
/* What the program does for a thread that is recorded; at the entry, and at the return. */
#define ENTRY_WORK_NS  200
#define RETURN_WORK_NS 200
#define RETURN_NS      450

#if defined(__x86_64__)
void uprobe_cost_emulated(void);
void uprobe_cost_stepped(void);
__asm__(".text\n"
	".globl uprobe_cost_emulated\n"
	".type uprobe_cost_emulated, @function\n"
	"uprobe_cost_emulated:\n"
	"	push %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size uprobe_cost_emulated, . - uprobe_cost_emulated\n"
	".globl uprobe_cost_stepped\n"
	".type uprobe_cost_stepped, @function\n"
	"uprobe_cost_stepped:\n"
	"	lea 1(%rdi), %rax\n"
	"	ret\n"
	".size uprobe_cost_stepped, . - uprobe_cost_stepped\n");
#else
static __attribute__((noinline)) void uprobe_cost_emulated(void)
{
	__asm__ volatile("");
}

static __attribute__((noinline)) void uprobe_cost_stepped(void)
{
	__asm__ volatile("" ::: "memory");
}
#endif

/* The least of some tries: the others were disturbed. */
static uint64_t time_calls(void (*function)(void))
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t begin_ns = clock__now_ns(), ns;

		for (int j = 0; j < CALLS; j++)
			function();
		ns = clock__now_ns() - begin_ns;
		least = ns < least ? ns : least;
	}
	return least / CALLS;
}

/* 0: it cannot be measured. */
static uint64_t measure(const struct bpf_object *object, void (*function)(void),
			const char *program, const char *at_return)
{
	struct hook_target target = { .file = "/proc/self/exe" };
	struct bpf_link *entry = NULL, *back = NULL;
	uint64_t before = time_calls(function), with = 0;

	if (sys__file_offset((uintptr_t)function, &target.offset) ||
	    hooks__attach(object, program, &target, &entry))
		return 0;
	if (!at_return || !hooks__attach(object, at_return, &target, &back))
		with = time_calls(function);
	hooks__detach(back);
	hooks__detach(entry);
	return with > before ? with - before : 0;
}

void uprobe_cost__measure(const struct bpf_object *object, const char *program,
			  const char *at_return, struct uprobe_cost *ret)
{
	uint64_t entry = measure(object, uprobe_cost_emulated, program, NULL);
	uint64_t both = at_return ? measure(object, uprobe_cost_emulated, program, at_return) : 0;
	uint64_t stepped = measure(object, uprobe_cost_stepped, program, NULL);

	*ret = (struct uprobe_cost) { .entry_ns = instruction__hit_ns(INSTRUCTION_EMULATED),
				      .return_ns = RETURN_NS,
				      .stepped_ns = instruction__hit_ns(INSTRUCTION_STEPPED) };
	if (entry)
		ret->entry_ns = entry;
	if (entry && both > entry)
		ret->return_ns = both - entry;
	if (stepped)
		ret->stepped_ns = stepped;
}

uint64_t uprobe_cost__of_hit(const struct uprobe_cost *cost, uint32_t instruction, bool has_return)
{
	uint64_t entry = instruction == INSTRUCTION_STEPPED ? cost->stepped_ns : cost->entry_ns;

	return entry + ENTRY_WORK_NS + (has_return ? cost->return_ns + RETURN_WORK_NS : 0);
}

bool uprobe_cost__optimizes_nops(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return true;
	return major > 6 || (major == 6 && minor >= 18);
}
