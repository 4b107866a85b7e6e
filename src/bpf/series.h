/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sums that signals keep. For each (thread, object, place, operation, error): the number of
 * events and the sums of up to six values. For each (place, operation): the distribution of the
 * values; of the first value also by thread. Shared by the kernel halves (series.bpf.h) and
 * core/series.c.
 */
#pragma once

#include "bpf/wire.h"
#include "vocabulary/histogram.h"

#define SERIES_VALUES 6

/* The operation of events that had no room. The other fields of their keys are lost. */
#define SERIES_OTHER 0xffff

struct series_key {
	__u64 thread;    /* the ledger's id; 0: none, or a thread without an account */
	__u64 object[2]; /* defined by the signal: an inode, a cookie; both 0: none */
	__u32 place;     /* a device, a file system; 0: no particular one */
	__u16 operation; /* numbered and named by the signal */
	__u16 error;     /* an errno; 0: success */
};
_Static_assert(sizeof(struct series_key) == 32, "wire format");

struct series_sum {
	__u64 count;
	__u64 sum[SERIES_VALUES];
	__u64 max[SERIES_VALUES];
};
_Static_assert(sizeof(struct series_sum) == 104, "wire format");

struct series_place {
	__u32 place;
	__u32 operation; /* with SERIES_SIDE: counted while series_b took the sums */
};

/*
 * The key of a number of events: those whose first value is in this bucket. All signals share one
 * map, because a program may refer to 64 maps at most.
 */
struct series_owned {
	__u64 thread;
	__u32 place;
	__u16 operation;
	__u16 bucket; /* | the signal's number << SERIES_OWNED_SHIFT | SERIES_OWNED_SIDE */
};
_Static_assert(sizeof(struct series_owned) == 16, "wire format");
#define SERIES_OWNED_SHIFT 9
#define SERIES_OWNED_SIDE  0x8000 /* as SERIES_SIDE */
#define SERIES_OWNED_MASK  ((1 << SERIES_OWNED_SHIFT) - 1)
_Static_assert(HISTOGRAM_BUCKETS <= 1 << SERIES_OWNED_SHIFT, "room for every bucket");

#define SERIES_SIDE (1u << 31)
/* User space added this histogram itself; such histograms do not take turns. */
#define SERIES_SHARED (1u << 30)

/* One for each signal: user space sets knobs and reads counters. */
struct series_control {
	__u32 active;               /* which of the two maps takes the sums: 0 is series_a */
	__u16 enabled;              /* 0: nothing is counted */
	__u16 every_thread;         /* also threads that the ledger does not know */
	__u64 since_ns;             /* when it was last enabled */
	__u64 slow_ns;              /* an operation of at least this duration is sent as an event */
	__u64 slow;                 /* number of such operations */
	__u64 no_histogram;         /* events whose (place, operation) has no histogram */
	__u64 unsent;               /* events that were not sent because of the rate limit */
	__u64 unpaired;             /* ends without a begin, or begins without an end */
	__u64 lost[LOST_COUNT];     /* law 3, as `lost` in common.h */
	struct series_sum overflow; /* the sum of all events whose key had no room */
};
_Static_assert(sizeof(struct series_control) == 184, "wire format");
