/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends what user space needs to name the object of a wait, when it is first seen. */
#pragma once

#include "ledger/kernel/classes.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct ledger_seen);
	__type(value, __u8);
} objects_seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 * 1024 * 1024);
} ring SEC(".maps");

static __always_inline void describe_socket(struct ledger_object_record *record, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);
	struct pid *peer;

	if (!sock)
		return;
	record->family = BPF_CORE_READ(sock, __sk_common.skc_family);
	record->local_port = BPF_CORE_READ(sock, __sk_common.skc_num);
	record->peer_port = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));
	if (record->family == AF_INET) {
		BPF_CORE_READ_INTO((__u32 *)record->local, sock, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)record->peer, sock, __sk_common.skc_daddr);
	} else if (record->family == AF_INET6 &&
		   bpf_core_field_exists(sock->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&record->local, sock, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&record->peer, sock, __sk_common.skc_v6_daddr);
	} else if (record->family == AF_UNIX) {
		peer = BPF_CORE_READ(sock, sk_peer_pid);
		if (peer)
			record->peer_pid = BPF_CORE_READ(peer, numbers[0].nr);
	}
}

/* A socket that is not connected: where it sent to last. */
static __always_inline void describe_peer(struct ledger_object_record *record)
{
	struct talk *talk = find_talk(record->object[0]);

	if (!talk || record->peer_port)
		return;
	record->peer_port = talk->peer_port;
	__builtin_memcpy(record->peer, talk->peer, sizeof(record->peer));
}

/*
 * Sends what user space needs to name the object, once per object. `fd`: -1 if the process has no
 * descriptor for it.
 */
static __noinline void describe(struct thread *thread, struct file *file, struct dentry *dentry,
				__s32 fd)
{
	struct ledger_key *wait = &thread->wait;
	struct ledger_seen key = { { wait->object[0], wait->object[1] }, wait->object_kind };
	struct ledger_object_record *record;
	__u8 one = 1;

	if (by_class) {
		note_class(thread, file);
		return;
	}
	if (bpf_map_lookup_elem(&objects_seen, &key))
		return;
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record) {
		count_lost(LOST_RING_FULL);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	wire_head_init(&record->head, sizeof(*record), LEDGER_OBJECT, 1);
	record->object[0] = key.object[0];
	record->object[1] = key.object[1];
	record->kind = key.kind;
	record->pid = thread->here_pid;
	record->fd = fd;
	if (key.kind == OBJECT_SOCKET) {
		describe_socket(record, file);
		if (key.object[1])
			describe_peer(record);
	} else {
		if (key.kind == OBJECT_KERNEL)
			record->inode = BPF_CORE_READ(dentry, d_inode, i_ino);
		bpf_probe_read_kernel_str(record->name, sizeof(record->name),
					  BPF_CORE_READ(dentry, d_name.name));
	}
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&objects_seen, &key, &one, BPF_ANY);
}

/* A thread usually waits for the same object as the last time: skip the map lookup then. */
static __always_inline bool is_object_of_cell(const struct thread *thread)
{
	if (by_class)
		return thread->wait.object_kind != OBJECT_SOCKET ||
		       thread->classed == thread->wait.object[0];
	return thread->cell.object[0] == thread->wait.object[0] &&
	       thread->cell.object[1] == thread->wait.object[1] &&
	       thread->cell.object_kind == thread->wait.object_kind;
}
