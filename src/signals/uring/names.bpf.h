/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a request: its number, its place, and its name when it is first seen. */
#pragma once

#include "bpf/ends.bpf.h"
#include "signals/uring/flights.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, URING_MOST_NAMED);
	__type(key, __u64[2]);
	__type(value, __u8);
} uring_named SEC(".maps");

static __always_inline void uring_name_socket(struct uring_name_record *record, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);

	read_ends_at(sock, &record->ends);
}

/* `address`: of the file, which the request keeps open. */
VERIFIED_ONCE int uring_send_name(__u64 address, __u64 inode, __u64 device, __u32 mode)
{
	struct file *file = (void *)address;
	__u64 object[2] = { inode, device };
	struct uring_name_record *record;
	struct path path;
	__u8 one = 1;

	if (!is_on(SIGNAL_uring) || bpf_map_lookup_elem(&uring_named, object))
		return 0;
	record = bpf_ringbuf_reserve(&uring_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(uring, LOST_RING_FULL);
		return 0;
	}
	__builtin_memset(record, 0, sizeof(*record));
	wire_head_init(&record->head, sizeof(*record), URING_NAME, 1);
	record->object[0] = object[0];
	record->object[1] = object[1];
	record->mode = mode;
	if ((mode & S_IFMT) == S_IFSOCK) {
		uring_name_socket(record, file);
	} else {
		BPF_CORE_READ_INTO(&path, file, f_path);
		walk_path(&path, &record->path);
	}
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&uring_named, object, &one, BPF_ANY);
	return 0;
}

/* Sets object and place of the key. A request without a file has neither. */
static __always_inline void uring_take_file(struct file *file, struct series_key *ret)
{
	struct file_facts facts;
	__u32 kind;

	if (!file)
		return;
	look_at_file(file, &facts);
	kind = facts.mode & S_IFMT;
	if (kind != S_IFSOCK && kind != S_IFIFO)
		ret->place = facts.device;
	ret->object[0] = facts.inode;
	ret->object[1] = facts.device | (__u64)facts.generation << 32;
	if (!by_class)
		uring_send_name((__u64)file, ret->object[0], ret->object[1], facts.mode);
}
