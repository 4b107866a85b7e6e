/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of the signal irq. Sent by irq.bpf.h, decoded by irq.c. */
#pragma once

#include "bpf/wire.h"

/* Operations. Places are numbered separately for each of them. */
enum irq_kind { IRQ_NONE, IRQ_HARD, IRQ_SOFT, IRQ_VECTOR, IRQ_KINDS };

/* The numbers of vectors differ between kernels, so they have numbers of our own. */
enum irq_vector {
	IRQ_LOCAL_TIMER,
	IRQ_RESCHEDULE,
	IRQ_CALL_FUNCTION,
	IRQ_CALL_FUNCTION_SINGLE,
	IRQ_WORK,
	IRQ_VECTORS,
};

/* Number of softirqs since Linux 2.6.31. */
#define IRQ_SOFTIRQS 10

#define IRQ_PLACE(kind, number) ((__u32)(kind) << 24 | ((number) & 0xffffff))
#define IRQ_PLACE_KIND(place)   ((place) >> 24)
#define IRQ_PLACE_NUMBER(place) ((place) & 0xffffff)

/* An object of this signal is a CPU. 0, 0 means no object, so the second number is never 0. */
#define IRQ_CPU_OBJECT 1

/* A slow interrupt. head.time_ns: when it ended. */
struct irq_record {
	struct wire_head head;
	__u64 thread; /* the thread that it interrupted; 0: unknown to the ledger, or idle */
	__u64 total_ns;
	__u64 own_ns; /* without interrupts that interrupted it */
	__u32 place;
	__u32 cpu;
	__u32 tid; /* of the interrupted thread as the kernel numbers it; 0: the CPU was idle */
	__u32 pad;
	char comm[WIRE_COMM_BYTES];
};
_Static_assert(sizeof(struct irq_record) == 24 + 40 + WIRE_COMM_BYTES, "wire format");
