/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The smallest program that runs for a moment: no library, no build-id. See starts.c. */

#define TURNS 100000

void _start(void);
void _start(void)
{
	for (volatile int turn = 0; turn < TURNS; turn++)
		;
	__asm__ volatile("syscall" ::"a"(231L), "D"(0L) : "rcx", "r11", "memory"); /* exit_group */
	__builtin_unreachable();
}
