/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that the kernel dropped, by reason. Nothing is known of a thread: a packet may be dropped
 * in any context. Over loopback that is the sender's, so the current thread is the one that counts.
 *
 * The event fires for each packet that is freed otherwise than by being delivered, which may be
 * many thousand times a second; it is not part of tcp for that reason.
 */
#pragma once

#include <bpf/bpf_endian.h>

#include "bpf/identity.bpf.h"
#include "signals/drops/drops.h"

#define DROPS_ETH_IPV4 0x0800
#define DROPS_ETH_IPV6 0x86dd

SERIES_MAPS(drops, 1, 0, 4096);

const volatile struct drops_knobs drops_knobs SEC(".rodata.drops");

static __always_inline __u16 drops_protocol(__u16 protocol)
{
	switch (bpf_ntohs(protocol)) {
	case DROPS_ETH_IPV4:
		return DROPS_IPV4;
	case DROPS_ETH_IPV6:
		return DROPS_IPV6;
	default:
		return DROPS_OTHER;
	}
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(drops_on_free, struct sk_buff *packet, void *location, __u32 reason)
{
	struct series_key key = {};
	struct identity who;
	__u64 bytes;

	if (!is_on(SIGNAL_drops) || reason == drops_knobs.none || reason == drops_knobs.consumed ||
	    !is_wanted_now(SIGNAL_drops, &who))
		return 0;
	bytes = packet->len;
	key.thread = who.id;
	key.place = reason;
	key.operation = drops_protocol(packet->protocol);
	series_reduce(&key);
	series_add(SERIES(drops), &key, &bytes);
	return 0;
}
