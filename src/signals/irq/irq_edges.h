/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hard interrupt takes before the first hook reads the clock and after the last one does:
 * the exception, the acknowledgement (which leaves a virtual machine in some cases), the rest of
 * the hooks, and the way back. It depends on the machine, so it is measured: one thread does
 * nothing but read the clock, and another one interrupts its CPU, by membarrier(2). What is
 * missing between two readings, less the time that the hooks have seen, are the edges.
 *
 * Interrupts of devices and of the timer are taken to have the same edges.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

/*
 * In nanoseconds; 0: it could not be measured, for example because there is one CPU only. The hooks
 * must be attached and counting. Call it again and again, as the speed of a machine changes. Takes
 * some 5 ms of two CPUs the first time, and 1 ms later. For use by one thread at a time.
 */
uint64_t irq_edges__measure(const struct bpf_object *object);
