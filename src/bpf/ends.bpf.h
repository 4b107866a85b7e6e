/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two ends of a socket. */
#pragma once

#include <bpf/bpf_endian.h>

#include "bpf/common.h"
#include "bpf/ends.h"

#define ENDS_INET  2
#define ENDS_INET6 10

/* Leaves the side alone. `sk` must be a pointer that the verifier trusts. */
static __always_inline void read_ends(struct sock *sk, struct socket_ends *ret)
{
	ret->family = sk->__sk_common.skc_family;
	ret->local_port = sk->__sk_common.skc_num;
	ret->peer_port = bpf_ntohs(sk->__sk_common.skc_dport);
	if (ret->family == ENDS_INET) {
		*(__u32 *)ret->local = sk->__sk_common.skc_rcv_saddr;
		*(__u32 *)ret->peer = sk->__sk_common.skc_daddr;
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&ret->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&ret->peer, sk, __sk_common.skc_v6_daddr);
	}
}

/* The same for any pointer, which takes longer. */
static __always_inline void read_ends_at(struct sock *sk, struct socket_ends *ret)
{
	ret->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	ret->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	ret->peer_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (ret->family == ENDS_INET) {
		BPF_CORE_READ_INTO((__u32 *)ret->local, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)ret->peer, sk, __sk_common.skc_daddr);
	} else if (ret->family == ENDS_INET6 &&
		   bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&ret->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&ret->peer, sk, __sk_common.skc_v6_daddr);
	}
}
