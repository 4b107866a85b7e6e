/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redis: how many commands begin in a message. Each is walked; commands may be cut anywhere. */
#pragma once

#include "ledger/windows/window.bpf.h"

#define REDIS_STEPS 2048

struct redis_walk {
	struct redis *redis;
	__u64 address, left; /* of this piece of the message */
	__u64 pieces, rest;  /* where the next pieces are said to be, and their bytes */
	__u32 commands, is_lost;
};

static __always_inline bool next_redis_piece(struct redis_walk *walk)
{
	struct {
		__u64 base, size;
	} vector;

	if (!walk->rest || !walk->pieces ||
	    bpf_probe_read_user(&vector, sizeof(vector), (void *)walk->pieces))
		return false;
	walk->pieces += sizeof(vector);
	walk->address = vector.base;
	walk->left = vector.size < walk->rest ? vector.size : walk->rest;
	walk->rest -= walk->left;
	return true;
}

static long redis_walk_step(__u32 i, struct redis_walk *walk)
{
	struct redis redis = *walk->redis;
	enum redis_found found;
	struct head head = {};
	__u64 passed = 0;
	__u32 carried, size;

	if (!walk->left)
		return !next_redis_piece(walk);
	if (redis.skip) {
		passed = walk->left < redis.skip ? walk->left : redis.skip;
		walk->redis->skip = redis.skip - passed;
		walk->address += passed;
		walk->left -= passed;
		return 0;
	}
	carried = redis.carried & (HEAD_BYTES - 1);
	size = HEAD_BYTES - carried;
	if (size > walk->left)
		size = walk->left;
	if (carried) {
		__builtin_memcpy(head.bytes, redis.carry, HEAD_BYTES);
		if (bpf_probe_read_user(head.bytes + carried, size & (HEAD_BYTES - 1),
					(void *)walk->address))
			size = 0;
	} else if (bpf_probe_read_user(head.bytes, HEAD_BYTES, (void *)walk->address)) {
		size = 0;
	}
	head.size = carried + size;
	found = redis_step(&redis, &head, &passed, &walk->commands);
	if (found == REDIS_CUT && head.size < HEAD_BYTES) {
		redis.carried = head.size;
		__builtin_memcpy(redis.carry, head.bytes, HEAD_BYTES);
		walk->left = 0;
	} else if (found != REDIS_PASSED || passed <= carried) {
		walk->is_lost = 1;
		redis.elements = redis.carried = 0;
		redis.skip = 0;
		walk->left = walk->rest = 0;
	} else {
		passed -= carried;
		if (passed > walk->left)
			passed = walk->left;
		walk->address += passed;
		walk->left -= passed;
		redis.carried = 0;
	}
	*walk->redis = redis;
	return 0;
}

/*
 * The number of commands that begin in the message: `first` bytes at `address`, and the rest in
 * pieces.
 */
VERIFIED_ONCE __u32 redis_commands(struct socket_window *socket, __u64 address, __u64 first,
				   __u64 pieces, __u64 rest)
{
	struct redis_walk walk;

	if (!socket || !with_windows)
		return 0;
	if (!address)
		return 1;
	walk = (struct redis_walk) { .redis = &socket->redis,
				     .address = address,
				     .left = first,
				     .pieces = pieces,
				     .rest = rest };
	bpf_loop(REDIS_STEPS, redis_walk_step, &walk, 0);
	if (walk.is_lost || walk.left || walk.rest) {
		count_window(WINDOWS_RESYNC, 1);
		socket->redis = (struct redis) {};
	}
	return walk.commands;
}
