/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to io_uring, from submission to completion, attributed to the submitting thread.
 *
 * A request is known by its address from the event of its submission to that of its completion.
 * File and result are read at the completion, because the kernel assigns the file after the first
 * event and holds it until after the last one. The address is reused soon, so an entry that is
 * found at a submission belongs to a request whose end was not seen, and is dropped.
 *
 * - A multishot request has many completions. The events of all but the last have no request, only
 *   the ring and the program's own number (user_data). Requests that may repeat are therefore known
 *   by these two as well. Each completion counts, and its time begins at the one before.
 * - A completion that finds the ring full has an event of its own, again without a request. It is
 *   kept until the request's address is reused, or until the next look at all requests in flight.
 * - The second completion of a zero-copy send says that its memory is free; it is not counted.
 * - A request that is to complete silently (IOSQE_CQE_SKIP_SUCCESS) has no event at its end: it
 *   stays unpaired.
 * - Threads of the kernel (workers.bpf.h) work for the submitter.
 *
 * Rejected: the two events of io_uring_enter(), which say neither how many requests were completed
 * nor which.
 */
#pragma once

#include "signals/uring/flights.bpf.h"
#include "signals/uring/names.bpf.h"

#define URING_MOST_ERRNO 4095

/* A completion that found no room in its ring. */
struct uring_overflow {
	__u64 time_ns;
	__s32 result;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, URING_MOST_RINGS);
	__type(key, struct uring_tag);
	__type(value, struct uring_overflow);
} uring_overflows SEC(".maps");

/* How many completions found no room; the next look at all requests in flight is worth it. */
__u64 uring_overflown;

static __always_inline void uring_send(const struct series_key *key, const __u64 *values, __u64 now,
				       bool is_part)
{
	struct uring_slow_record *record = bpf_ringbuf_reserve(&uring_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(uring, LOST_RING_FULL);
		return;
	}
	*record = (struct uring_slow_record) {
		.thread = key->thread,
		.object = { key->object[0], key->object[1] },
		.duration_ns = values[URING_TIME],
		.bytes = values[URING_BYTES],
		.in_flight = values[URING_IN_FLIGHT],
		.place = key->place,
		.operation = key->operation,
		.error = key->error,
		.is_async = values[URING_ASYNC],
		.is_part = is_part,
	};
	wire_head_at(&record->head, sizeof(*record), URING_SLOW, 1, now);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline bool uring_transfers(__u64 opcode)
{
	barrier_var(opcode);
	return opcode < URING_OPCODES && uring_knobs.transfers[opcode / 64] >> opcode % 64 & 1;
}

/* Adds one completion. The request still has its file. */
VERIFIED_ONCE int uring_account(const struct uring_flight *flight, __s32 result, __u64 now,
				bool is_part)
{
	struct series_key key = {};
	__u64 values[URING_MEASURES] = {};
	struct io_kiocb *request;

	if (!is_on(SIGNAL_uring) || !flight)
		return 0;
	request = (void *)flight->address;
	key.thread = flight->thread;
	key.operation = BPF_CORE_READ(request, opcode);
	uring_take_file(BPF_CORE_READ(request, file), &key);
	if (result < 0)
		key.error = result < -URING_MOST_ERRNO ? URING_MOST_ERRNO : -result;
	else if (uring_transfers(key.operation))
		values[URING_BYTES] = result;
	if (now > flight->begin_ns)
		values[URING_TIME] = now - flight->begin_ns;
	values[URING_IN_FLIGHT] = flight->in_flight;
	values[URING_ASYNC] = flight->flags & URING_WAS_ASYNC;
	series_reduce(&key);
	series_add(SERIES(uring), &key, values);
	if (!by_class && series_is_slow(SERIES(uring), values[URING_TIME]))
		uring_send(&key, values, now, is_part);
	return 0;
}

/* --- overflow ------------------------------------------------------------------------------- */

/* Ends a request whose completion found no room. False: there was none such. */
static __always_inline bool uring_end_overflown(const struct uring_flight *flight)
{
	struct uring_tag tag = { flight->ring, flight->user_data };
	struct uring_overflow *found = bpf_map_lookup_elem(&uring_overflows, &tag), overflow;

	if (!found || found->time_ns < flight->begin_ns)
		return false;
	overflow = *found;
	bpf_map_delete_elem(&uring_overflows, &tag);
	uring_account(flight, overflow.result, overflow.time_ns, false);
	uring_leaves(flight);
	return true;
}

/* --- submission ----------------------------------------------------------------------------- */

/* The end of the request that had this address before was not seen. */
static __always_inline void uring_drop_old(__u64 address)
{
	struct uring_flight *found = bpf_map_lookup_elem(&uring_flights, &address), old;

	if (!found)
		return;
	old = *found;
	bpf_map_delete_elem(&uring_flights, &address);
	if (uring_overflown && uring_end_overflown(&old))
		return;
	uring_leaves_ring(&old);
}

/* `request` is a pointer that the verifier trusts, so plain loads do. */
static __always_inline void uring_submits(struct io_kiocb *request)
{
	struct uring_flight flight = {};
	struct uring_tag tag;
	struct uring_ring *ring;
	struct identity who;
	__u64 address = (__u64)request;
	__u8 opcode;

	if (!is_wanted_now(SIGNAL_uring, &who)) {
		bpf_map_delete_elem(&uring_flights, &address);
		return;
	}
	uring_drop_old(address);
	flight.address = address;
	flight.ring = (__u64)request->ctx;
	flight.user_data = request->cqe.user_data;
	ring = uring_find_ring(flight.ring);
	flight.thread = uring_submitter(&who, ring);
	if (ring)
		flight.in_flight = __sync_fetch_and_add(&ring->in_flight, 1) + 1;
	opcode = request->opcode;
	if (request->flags & uring_knobs.multishot || opcode == OP_POLL_ADD ||
	    opcode == OP_TIMEOUT) {
		tag = (struct uring_tag) { flight.ring, flight.user_data };
		bpf_map_update_elem(&uring_repeating, &tag, &address, BPF_ANY);
		flight.flags |= URING_MAY_REPEAT;
	}
	flight.begin_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&series[SIGNAL_uring].unpaired, 1);
	if (!bpf_map_update_elem(&uring_flights, &address, &flight, BPF_ANY))
		return;
	COUNT_LOST(uring, LOST_MAP_FULL);
	if (ring)
		__sync_fetch_and_add(&ring->in_flight, -1);
}

/* A request that is refused has no event of its submission, but one of its completion. */
SEC("tp_btf/io_uring_req_failed")
int BPF_PROG(uring_on_refused, const void *entry, struct io_kiocb *request)
{
	if (is_on(SIGNAL_uring))
		uring_submits(request);
	return 0;
}

SEC("tp_btf/io_uring_create")
int BPF_PROG(uring_on_create, int fd, void *ctx_address)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct uring_ring ring = {};
	__u64 address = (__u64)ctx_address;
	struct identity who;
	__u32 tid;

	if (!is_on(SIGNAL_uring) || !is_wanted_now(SIGNAL_uring, &who))
		return 0;
	ring.owner = who.id;
	tid = current->pid;
	bpf_map_update_elem(&uring_rings, &address, &ring, BPF_ANY);
	bpf_map_update_elem(&uring_owners, &tid, &who.id, BPF_ANY);
	return 0;
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(uring_on_async, struct io_kiocb *request)
{
	__u64 address = (__u64)request;
	struct uring_flight *flight = bpf_map_lookup_elem(&uring_flights, &address);

	if (flight)
		flight->flags |= URING_WAS_ASYNC;
	return 0;
}

/* --- completion ----------------------------------------------------------------------------- */

static __noinline int uring_ends(__u64 address)
{
	struct uring_flight *found = bpf_map_lookup_elem(&uring_flights, &address), flight;
	struct io_kiocb *request = (void *)address;
	struct io_cqe cqe = {};
	struct uring_tag tag;

	BPF_CORE_READ_INTO(&cqe, request, cqe);
	if (!found) { /* submitted before the recording, or by a thread that is not recorded */
		if (series[SIGNAL_uring].every_thread && !(cqe.flags & CQE_NOTIF))
			__sync_fetch_and_add(&series[SIGNAL_uring].unpaired, 1);
		return 0;
	}
	flight = *found;
	bpf_map_delete_elem(&uring_flights, &address);
	if (flight.flags & URING_MAY_REPEAT) {
		tag = (struct uring_tag) { flight.ring, flight.user_data };
		bpf_map_delete_elem(&uring_repeating, &tag);
	}
	if (flight.ring != (__u64)BPF_CORE_READ(request, ctx) ||
	    flight.user_data != cqe.user_data) { /* another request at the same address */
		uring_leaves_ring(&flight);
		return 0;
	}
	uring_account(&flight, cqe.res, bpf_ktime_get_ns(), false);
	uring_leaves(&flight);
	return 0;
}

/* A completion of a multishot request, not its last one. False: there is no such request. */
static __noinline bool uring_repeats(const struct uring_tag *tag, __s32 result)
{
	__u64 *found = bpf_map_lookup_elem(&uring_repeating, tag), address, now;
	struct uring_flight *flight, before;

	if (!found)
		return false;
	address = *found;
	flight = bpf_map_lookup_elem(&uring_flights, &address);
	if (!flight || flight->ring != tag->ring || flight->user_data != tag->user_data)
		return false;
	before = *flight;
	now = bpf_ktime_get_ns();
	flight->begin_ns = now;
	uring_account(&before, result, now, true);
	return true;
}

/* `ctx` has the arguments of io_uring_complete: ring, request, completion or its fields. */
static __always_inline void uring_completes(unsigned long long *ctx)
{
	struct uring_tag tag = { .ring = ctx[0] };
	struct io_uring_cqe *cqe;
	__s32 result;

	if (!series[SIGNAL_uring].enabled)
		return;
	if (ctx[1]) {
		uring_ends(ctx[1]);
		return;
	}
	if (uring_knobs.has_cqe) {
		cqe = (void *)ctx[2];
		tag.user_data = BPF_CORE_READ(cqe, user_data);
		result = BPF_CORE_READ(cqe, res);
	} else {
		tag.user_data = ctx[2];
		result = ctx[3];
	}
	uring_repeats(&tag, result);
}

SEC("tp_btf/io_uring_cqe_overflow")
int BPF_PROG(uring_on_overflow, void *ring, __u64 user_data, __s32 result, __u32 flags)
{
	struct uring_tag tag = { (__u64)ring, user_data };
	struct uring_overflow overflow = { .result = result };
	struct identity who;

	if (!is_on(SIGNAL_uring) || !series[SIGNAL_uring].enabled || flags & CQE_NOTIF)
		return 0;
	if (flags & CQE_MORE && uring_repeats(&tag, result))
		return 0;
	if (!is_wanted_now(SIGNAL_uring, &who))
		return 0;
	overflow.time_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&uring_overflows, &tag, &overflow, BPF_ANY);
	__sync_fetch_and_add(&uring_overflown, 1);
	return 0;
}

#include "signals/uring/workers.bpf.h"
