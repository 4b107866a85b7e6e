/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The begin and the end of softirqs, for the ledger's wakers and for the parts of signals. */
#pragma once

#include "ledger/kernel/waker.bpf.h"

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	struct delivery *delivery = delivery_here();

#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_softirq_entry(vector);
	AT_softirq_entry(PART);
#undef PART
	if (!delivery)
		return 0;
	delivery->softirq = vector;
	delivery->seen |= SEEN_SOFTIRQ;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	struct delivery *delivery = delivery_here();

	if (delivery) {
		delivery->softirq = 0; /* also vector 0 (HI), which we never compare with */
		if (vector == NET_RX_SOFTIRQ)
			delivery->sender = 0;
	}
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_softirq_exit(vector);
	AT_softirq_exit(PART);
#undef PART
	return 0;
}
