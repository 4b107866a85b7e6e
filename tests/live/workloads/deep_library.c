/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What deep and broken load at run time. Everything is exported, so calls inside go through the
 * PLT. */
#include "workload.h"

#define EXPORTED     __attribute__((noinline, visibility("default")))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
#define DEEPER       20

void library_deeper(uint64_t ns, void (*then)(uint64_t ns));
void library_calls(uint64_t ns, void (*then)(uint64_t ns));
void library_down(int left, uint64_t ns, void (*then)(uint64_t ns));
unsigned int library_tiny(unsigned int value);
void bottom_plt(uint64_t ns);

EXPORTED void library_down(int left, uint64_t ns, void (*then)(uint64_t ns))
{
	if (left)
		library_down(left - 1, ns, then);
	else
		then(ns);
	KEEP_FRAME();
}

EXPORTED void library_deeper(uint64_t ns, void (*then)(uint64_t ns))
{
	library_down(DEEPER, ns, then);
	KEEP_FRAME();
}

EXPORTED unsigned int library_tiny(unsigned int value)
{
	KEEP_FRAME();
	return value ^ 1;
}

EXPORTED void bottom_plt(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	volatile unsigned int value = 0;

	while (now_ns() < end)
		for (int i = 0; i < 1000; i++)
			value = library_tiny(value);
	KEEP_FRAME();
}

EXPORTED void library_calls(uint64_t ns, void (*then)(uint64_t ns))
{
	bottom_plt(ns / 2);
	KEEP_FRAME();
}
