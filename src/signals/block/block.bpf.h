/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to block devices, from submission to completion, attributed to the submitting thread.
 *
 * A request may be issued and completed in any context. Only block_bio_queue is sure to run in the
 * context of the submitter (but see limits.bpf.h), and there only the bio exists, not yet a
 * request. So thread and time are stored by bio, and the request takes them over when it is issued.
 * It takes them from its first bio, skipping bios that were merged in front. Map keys are pointers,
 * which are unique while the request lives; (device, sector) is not unique. Stale entries (a
 * discard that was merged, a completion that was not seen) are overwritten when the address is
 * reused.
 *
 * - The begin is that of the bio, so that the queue time includes the wait for a free request. A
 *   request that is requeued waits again: its service begins with the last issue.
 * - A flush without data never reaches the driver. The kernel sends one flush request of its own
 *   for all that are pending, and completes them when its own is done. So their issue time is that
 *   of the kernel's request.
 * - A write with a flush before or after it completes several times; the last completion counts.
 * - Devices without requests (device mapper, md, zram) are observed by their bios: there is no
 *   queue time, and the service lasts until the bio ends. They send new bios to the devices below
 *   them, which are counted there.
 * - Queue depth and the end of the last request belong to the device. Therefore requests of
 *   threads that are not recorded are tracked too, but without reading the clock.
 *
 * Rejected: the request's own times (start_time_ns, io_start_time_ns), which would save reading the
 * clock. The first is taken after the wait for a free request, and a whole batch may share it. It
 * is used only if the bio was not seen.
 */
#pragma once

#include "signals/block/flights.bpf.h"
#include "signals/block/limits.bpf.h"

#define MOST_FRONT    32 /* bios merged in front of one request */
#define BLK_STS_AGAIN 12

/*
 * The RQF bit for a request that is part of a flush. It moved in 6.12, so user space looks it up.
 */
const volatile __u32 block_flush_sequence SEC(".rodata.block");

/* For a device without requests, the bio is the unit that is counted. */
static __always_inline void bio_enters(struct bio *bio, struct flight *flight)
{
	struct flight *old;
	__u64 pointer = (__u64)bio;
	struct device *device = block_find_device(flight->device);

	old = bpf_map_lookup_elem(&block_bios, &pointer);
	if (old && old->flags & FLIGHT_IS_BIO) /* the end of the old bio was not seen */
		block_leaves(block_find_device(old->device));
	flight->flags |= FLIGHT_IS_BIO;
	flight->issue_ns = flight->begin_ns;
	block_enters(flight, device);
	block_moves(flight, device);
	block_pairs(flight, 1);
	if (bpf_map_update_elem(&block_bios, &pointer, flight, BPF_ANY))
		block_leaves(device); /* no map entry: its end will not be seen */
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_on_bio_queue, struct bio *bio)
{
	struct gendisk *disk = bio->bi_bdev->bd_disk;
	bool has_requests = disk->queue->mq_ops;
	__u64 pointer = (__u64)bio;
	struct flight flight = {};
	struct identity who;
	bool wanted = is_wanted_now(SIGNAL_block, &who);

	if (!is_on(SIGNAL_block) || !series[SIGNAL_block].enabled)
		return 0;
	if (is_held_back(bio, &wanted, &who.id))
		flight.flags = FLIGHT_LIMITED;
	else if (wanted)
		block_note_cgroup(bio, who.id);
	if (!wanted && has_requests) {
		bpf_map_delete_elem(&block_bios, &pointer); /* an earlier bio's stale entry */
		return 0;
	}
	flight.thread = who.id;
	flight.device = block_number_of(disk);
	flight.sector = bio->bi_iter.bi_sector;
	flight.bytes = bio->bi_iter.bi_size;
	flight.operation = block_operation_of(bio->bi_opf, flight.bytes);
	if (wanted) {
		flight.flags |= FLIGHT_WANTED;
		flight.begin_ns = bpf_ktime_get_ns();
	}
	if (!has_requests)
		bio_enters(bio, &flight);
	else if (bpf_map_update_elem(&block_bios, &pointer, &flight, BPF_ANY))
		block_pairs(&flight, 1);
	return 0;
}

/*
 * A bio that is too large is split. The new bio is the front part; it is not queued again, and its
 * parent is the rest. Device mapper also triggers this event with its own bio, which has no such
 * parent.
 */
SEC("tp_btf/block_split")
int BPF_PROG(block_on_split, struct bio *bio)
{
	__u64 pointer = (__u64)bio, parent = (__u64)bio->bi_private;
	struct flight *own = bpf_map_lookup_elem(&block_bios, &pointer), *from, part;

	if (own && own->flags & FLIGHT_IS_BIO)
		return 0;
	from = bpf_map_lookup_elem(&block_bios, &parent);
	if (!from || from->flags & FLIGHT_IS_BIO)
		return 0;
	part = *from;
	if (bpf_map_update_elem(&block_bios, &pointer, &part, BPF_ANY))
		block_pairs(&part, 1);
	return 0;
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(block_on_backmerge, struct bio *bio)
{
	__u64 pointer = (__u64)bio;
	struct flight *origin = bpf_map_lookup_elem(&block_bios, &pointer);

	if (origin && !(origin->flags & FLIGHT_IS_BIO))
		bpf_map_delete_elem(&block_bios, &pointer);
	return 0;
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(block_on_frontmerge, struct bio *bio)
{
	__u64 pointer = (__u64)bio;
	struct flight *origin = bpf_map_lookup_elem(&block_bios, &pointer);
	struct flight front = { .flags = FLIGHT_FRONT };

	if (!is_on(SIGNAL_block) || !series[SIGNAL_block].enabled)
		return 0;
	if (origin)
		origin->flags |= FLIGHT_FRONT;
	else if (bpf_map_update_elem(&block_bios, &pointer, &front, BPF_ANY))
		COUNT_LOST(block, LOST_MAP_FULL); /* the request cannot be attributed */
	return 0;
}

/* Finds the submitter and the begin of a request. False: no recorded thread submitted it. */
static __always_inline bool take_origin(struct request *rq, struct flight *ret)
{
	struct bio *bio = rq->bio;
	__u64 start_ns;

	for (int i = 0; i < MOST_FRONT && bio; i++) {
		__u64 pointer = (__u64)bio;
		struct flight *origin = bpf_map_lookup_elem(&block_bios, &pointer);

		if (!origin)
			return false;
		*ret = *origin;
		if (ret->flags & FLIGHT_IS_BIO) { /* passed down as is; ends later */
			ret->flags &= FLIGHT_WANTED | FLIGHT_LIMITED;
			start_ns = rq->start_time_ns;
			if (start_ns)
				ret->begin_ns = start_ns;
			return ret->flags & FLIGHT_WANTED;
		}
		bpf_map_delete_elem(&block_bios, &pointer);
		if (!(ret->flags & FLIGHT_FRONT))
			return true;
		bio = bio->bi_next;
	}
	if (bio)
		__sync_fetch_and_add(&series[SIGNAL_block].unpaired, 1);
	return false;
}

/*
 * For requests whose bio was not queued: driver commands (attributed to the current thread), copies
 * of requests that device mapper makes, and requests queued before the recording started.
 */
static __always_inline void guess_origin(struct request *rq, struct flight *ret)
{
	__u32 operation = rq->cmd_flags & REQ_OP_MASK;
	struct identity who = {};

	*ret = (struct flight) {};
	if (operation == REQ_OP_FLUSH) /* its waiters are counted instead */
		return;
	if (operation >= REQ_OP_DRV_IN ? !is_wanted_now(SIGNAL_block, &who)
				       : !series[SIGNAL_block].every_thread)
		return;
	ret->flags = FLIGHT_WANTED;
	ret->thread = who.id;
	ret->begin_ns = rq->start_time_ns;
}

/* Handles a request that was issued before. False: it is a new request at the same address. */
static __always_inline bool issued_again(struct flight *flight)
{
	struct device *device = block_find_device(flight->device);

	if (flight->issue_ns) { /* the end of the old request was not seen */
		block_leaves(device);
		return false;
	}
	flight->issue_ns = bpf_ktime_get_ns();
	block_enters(flight, device);
	return true;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_on_issue, struct request *rq)
{
	struct gendisk *disk = rq->q->disk;
	__u64 pointer = (__u64)rq;
	struct flight *old, flight = {};
	struct device *device;

	if (!disk)
		return 0;
	/* If the signal was stopped meanwhile, a later bio at this address must not find the note.
	 */
	if (!series[SIGNAL_block].enabled) {
		take_origin(rq, &flight);
		return 0;
	}
	old = bpf_map_lookup_elem(&block_requests, &pointer);
	if (old && issued_again(old))
		return 0;
	if (!take_origin(rq, &flight))
		guess_origin(rq, &flight);
	flight.device = block_number_of(disk);
	flight.sector = rq->__sector;
	flight.bytes = rq->__data_len;
	flight.operation = block_operation_of(rq->cmd_flags, flight.bytes);
	flight.issue_ns = 1;
	if (flight.flags & FLIGHT_WANTED || flight.operation == BLOCK_FLUSH)
		flight.issue_ns = bpf_ktime_get_ns();
	if (!flight.begin_ns || flight.begin_ns > flight.issue_ns)
		flight.begin_ns = flight.issue_ns;
	device = block_find_device(flight.device);
	block_enters(&flight, device);
	block_moves(&flight, device);
	block_pairs(&flight, 1);
	if (bpf_map_update_elem(&block_requests, &pointer, &flight, BPF_ANY))
		block_leaves(device); /* no map entry: its end will not be seen */
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(block_on_requeue, struct request *rq)
{
	__u64 pointer = (__u64)rq;
	struct flight *flight = bpf_map_lookup_elem(&block_requests, &pointer);

	if (!flight || !flight->issue_ns)
		return 0;
	flight->issue_ns = 0;
	flight->requeues++;
	block_leaves(block_find_device(flight->device));
	return 0;
}

/*
 * The request is merged into the preceding one and is attributed to that one's submitter from now
 * on.
 */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(block_on_merge, struct request *rq)
{
	__u64 pointer = (__u64)rq;
	struct flight *requeued = bpf_map_lookup_elem(&block_requests, &pointer), merged;

	if (!requeued || requeued->issue_ns) { /* not issued yet, or a stale entry */
		take_origin(rq, &merged);
		return 0;
	}
	block_pairs(requeued, -1);
	bpf_map_delete_elem(&block_requests, &pointer);
	return 0;
}

/* A request that ends without being issued: a flush without data, or one that failed early. */
static __always_inline void ends_unissued(struct request *rq, __u8 status, __u32 bytes)
{
	struct flight flight = {};
	struct device *device;
	__u64 now;

	if (!take_origin(rq, &flight)) {
		/* Started before the recording, or by a thread that is not recorded. */
		if (series[SIGNAL_block].enabled && series[SIGNAL_block].every_thread && bytes)
			__sync_fetch_and_add(&series[SIGNAL_block].unpaired, 1);
		return;
	}
	now = bpf_ktime_get_ns();
	flight.issue_ns = now;
	device = block_find_device(flight.device);
	if (flight.operation == BLOCK_FLUSH && device) {
		flight.depth = device->flush_depth;
		if (device->flush_issue_ns < now)
			flight.issue_ns = device->flush_issue_ns;
		if (flight.issue_ns < flight.begin_ns)
			flight.issue_ns = flight.begin_ns;
	}
	if (series[SIGNAL_block].enabled && flight.begin_ns <= now)
		block_account(&flight, now, status);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_on_complete, struct request *rq, __u8 status, unsigned int bytes)
{
	bool is_flush = (rq->cmd_flags & REQ_OP_MASK) == REQ_OP_FLUSH;
	__u64 pointer = (__u64)rq;
	struct flight *found = bpf_map_lookup_elem(&block_requests, &pointer), flight;
	struct device *device;

	if (!found) {
		ends_unissued(rq, status, bytes);
		return 0;
	}
	if (status && !found->status)
		found->status = status;
	if (bytes < rq->__data_len || (!is_flush && rq->rq_flags & block_flush_sequence))
		return 0; /* only a part is complete, or a flush is still to come */
	flight = *found;
	bpf_map_delete_elem(&block_requests, &pointer);
	device = block_find_device(flight.device);
	if (flight.issue_ns)
		block_leaves(device);
	if (is_flush && device) {
		device->flush_issue_ns = flight.issue_ns;
		device->flush_depth = flight.depth;
	}
	if (!(flight.flags & FLIGHT_WANTED) || !flight.issue_ns || !series[SIGNAL_block].enabled)
		return 0;
	block_pairs(&flight, -1);
	block_account(&flight, bpf_ktime_get_ns(), status);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(block_on_bio_complete, struct request_queue *queue, struct bio *bio)
{
	__u64 pointer = (__u64)bio;
	struct flight *found = bpf_map_lookup_elem(&block_bios, &pointer), flight;
	__u8 status = bio->bi_status;
	__u64 now;

	if (!found)
		return 0;
	flight = *found;
	bpf_map_delete_elem(&block_bios, &pointer);
	if (flight.flags & FLIGHT_IS_BIO)
		block_leaves(block_find_device(flight.device));
	else if (!status || status == BLK_STS_AGAIN)
		return 0; /* the bio had no effect and will be retried */
	if (!(flight.flags & FLIGHT_WANTED) || !series[SIGNAL_block].enabled)
		return 0;
	now = bpf_ktime_get_ns();
	if (flight.flags & FLIGHT_IS_BIO)
		block_pairs(&flight, -1);
	else
		flight.issue_ns = now; /* it was never issued: all the time was queue time */
	block_account(&flight, now, status);
	return 0;
}
