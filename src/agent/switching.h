/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a context switch costs: two threads of this process hand a byte to each other through pipes,
 * on one CPU, so each byte is a wakeup and a switch. With hooks and without them, the difference is
 * the cost of the hooks. For a process that may not use the kernel's timing of BPF programs.
 */
#pragma once

#include <stdint.h>

/*
 * CPU time of a switch in nanoseconds, in the batch that was disturbed least; 0 if it cannot be
 * measured. Takes about `most_ns`. The process should have no other threads, because their time
 * counts too. Both measurements need the same CPU: not all of a machine are equal.
 */
double switching__ns(int cpu, uint64_t most_ns);
