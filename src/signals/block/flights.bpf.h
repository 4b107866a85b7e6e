/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of requests in flight and of their devices, and how both are added to the sums. The hooks
 * are in block.bpf.c.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "bpf/kernel_block.h"
#include "signals/block/block.h"

/* include/linux/blk_types.h; unchanged from 6.1 to 6.18. */
#define REQ_OP_MASK    0xff
#define REQ_OP_READ    0
#define REQ_OP_WRITE   1
#define REQ_OP_FLUSH   2
#define REQ_OP_DISCARD 3
#define REQ_OP_APPEND  7
#define REQ_OP_DRV_IN  34

#define MINOR_BITS   20
#define SECTOR_BITS  9
#define MOST_FLIGHTS 16384
#define MOST_DEVICES 256
#define NO_SECTOR    (~0ULL)

/* Sequential is 0 or 1: the sum is enough, no histogram. */
SERIES_MAPS(block, 6, 0x20, 8192);

enum flight_flags {
	FLIGHT_WANTED = 1,
	FLIGHT_FRONT = 2,  /* a bio merged in front of a request; not its origin */
	FLIGHT_IS_BIO = 4, /* the bio of a device without requests */
	FLIGHT_SEQUENTIAL = 8,
	FLIGHT_LIMITED = 16, /* a limit of its cgroup held it back, see limits.bpf.h */
};

/*
 * A bio until its request is issued; or a request, or a bio of a device without requests, until it
 * ends.
 */
struct flight {
	__u64 begin_ns;
	__u64 issue_ns; /* 0: not issued, or requeued */
	__u64 thread;
	__u64 sector;
	__u32 bytes;
	__u32 device;
	__u32 depth;
	__u16 requeues;
	__u8 operation;
	__u8 flags;
	__u8 status; /* the first blk_status_t that is not OK */
	__u8 pad[7];
};

struct flights {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_FLIGHTS);
	__type(key, __u64); /* address of the bio or request */
	__type(value, struct flight);
};

struct flights block_bios SEC(".maps");
struct flights block_requests SEC(".maps");

struct device {
	__u64 in_flight;
	__u64 next_sector;    /* where the last request ended */
	__u64 flush_issue_ns; /* of the last completed flush */
	__u64 flush_depth;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_DEVICES);
	__type(key, __u32);
	__type(value, struct device);
} block_devices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} block_ring SEC(".maps");

static __always_inline __u32 block_number_of(const struct gendisk *disk)
{
	return (__u32)disk->major << MINOR_BITS | (__u32)disk->first_minor;
}

static __always_inline enum block_operation block_operation_of(__u32 flags, __u32 bytes)
{
	switch (flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		return BLOCK_READ;
	case REQ_OP_WRITE:
		return bytes ? BLOCK_WRITE : BLOCK_FLUSH;
	case REQ_OP_APPEND:
		return BLOCK_WRITE;
	case REQ_OP_FLUSH:
		return BLOCK_FLUSH;
	case REQ_OP_DISCARD:
		return BLOCK_DISCARD;
	default:
		return BLOCK_OTHER;
	}
}

/*
 * The kernel's errno for each blk_status_t (block/blk-core.c). Statuses above 13 were renumbered.
 */
static const __u8 errnos[] = {
	0,   95, /* BLK_STS_NOTSUPP: EOPNOTSUPP */
	110,     /* TIMEOUT: ETIMEDOUT */
	28,      /* NOSPC: ENOSPC */
	67,      /* TRANSPORT: ENOLINK */
	121,     /* TARGET: EREMOTEIO */
	52,      /* RESV_CONFLICT: EBADE */
	61,      /* MEDIUM: ENODATA */
	84,      /* PROTECTION: EILSEQ */
	12,      /* RESOURCE: ENOMEM */
	5,       /* IOERR: EIO */
	78,      /* DM_REQUEUE: EREMCHG */
	11,      /* AGAIN: EAGAIN */
	16,      /* DEV_RESOURCE: EBUSY */
};
#define ERRNOS    (sizeof(errnos) / sizeof(*errnos))
#define ERRNO_EIO 5

static __always_inline __u16 errno_of(__u64 status)
{
	barrier_var(status);
	return status < ERRNOS ? errnos[status] : ERRNO_EIO;
}

static __always_inline enum block_operation operation_shown(const struct flight *flight)
{
	if (!(flight->flags & FLIGHT_LIMITED))
		return flight->operation;
	return flight->operation == BLOCK_READ    ? BLOCK_LIMITED_READ
	       : flight->operation == BLOCK_WRITE ? BLOCK_LIMITED_WRITE
						  : flight->operation;
}

static __always_inline struct device *block_find_device(__u32 number)
{
	struct device new = { .next_sector = NO_SECTOR },
		      *device = bpf_map_lookup_elem(&block_devices, &number);

	if (device)
		return device;
	bpf_map_update_elem(&block_devices, &number, &new,
			    BPF_NOEXIST); /* another CPU may be first */
	device = bpf_map_lookup_elem(&block_devices, &number);
	if (!device)
		COUNT_LOST(block, LOST_MAP_FULL);
	return device;
}

static __always_inline void block_enters(struct flight *flight, struct device *device)
{
	if (device)
		flight->depth = __sync_fetch_and_add(&device->in_flight, 1) + 1;
}

static __always_inline void block_leaves(struct device *device)
{
	if (device && device->in_flight)
		__sync_fetch_and_add(&device->in_flight, -1);
}

/* A flush has no position on the device. */
static __always_inline void block_moves(struct flight *flight, struct device *device)
{
	__u64 end = flight->sector + (flight->bytes >> SECTOR_BITS);

	if (device && flight->bytes &&
	    __sync_lock_test_and_set(&device->next_sector, end) == flight->sector)
		flight->flags |= FLIGHT_SEQUENTIAL;
}

/*
 * A recorded request counts as unpaired from its issue to its end. So a request without an end, or
 * whose end was not seen, remains counted: issued = complete + unpaired.
 */
static __always_inline void block_pairs(const struct flight *flight, __s64 by)
{
	if (flight->flags & FLIGHT_WANTED)
		__sync_fetch_and_add(&series[SIGNAL_block].unpaired, by);
}

static __always_inline void block_send(const struct flight *flight, __u64 now, __u16 error)
{
	struct block_record *record = bpf_ringbuf_reserve(&block_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(block, LOST_RING_FULL);
		return;
	}
	*record = (struct block_record) {
		.thread = flight->thread,
		.queue_ns = flight->issue_ns - flight->begin_ns,
		.service_ns = now - flight->issue_ns,
		.sector = flight->sector,
		.device = flight->device,
		.bytes = flight->bytes,
		.depth = flight->depth,
		.requeues = flight->requeues,
		.error = error,
		.operation = operation_shown(flight),
		.sequential = !!(flight->flags & FLIGHT_SEQUENTIAL),
	};
	wire_head_at(&record->head, sizeof(*record), 0, 1, now);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline enum block_class block_class_of(__u32 bytes)
{
	return bytes <= 4 << 10     ? BLOCK_TO_4K
	       : bytes <= 64 << 10  ? BLOCK_TO_64K
	       : bytes <= 256 << 10 ? BLOCK_TO_256K
	       : bytes <= 1 << 20   ? BLOCK_TO_1M
				    : BLOCK_LARGER;
}

/* Queue ends where service begins, so they add up to the total. */
VERIFIED_ONCE int block_account(const struct flight *flight, __u64 now, __u8 status)
{
	struct series_key key = {};
	__u64 values[block_values];

	if (!is_on(SIGNAL_block) || !flight)
		return 0;
	values[0] = now - flight->begin_ns;
	values[1] = flight->issue_ns - flight->begin_ns;
	values[2] = now - flight->issue_ns;
	values[3] = flight->bytes;
	values[4] = flight->depth;
	values[5] = !!(flight->flags & FLIGHT_SEQUENTIAL);
	key.thread = flight->thread;
	if (flight->bytes) {
		key.object[0] = block_class_of(flight->bytes);
		key.object[1] = BLOCK_CLASS_OBJECT;
	}
	key.place = flight->device;
	key.operation = operation_shown(flight);
	key.error = errno_of(flight->status ? flight->status : status);
	series_reduce(&key);
	series_add(SERIES(block), &key, values);
	if (!by_class && series_is_slow(SERIES(block), values[0]))
		block_send(flight, now, key.error);
	return 0;
}
