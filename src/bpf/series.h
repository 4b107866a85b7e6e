/*
 * What signals sum up: for each (thread, object, place, operation, error) how many events there
 * were and up to six values of each, added up; for each (place, operation) how the values are
 * distributed. Shared by the kernel halves (series.bpf.h) and core/series.c.
 */
#pragma once

#include "bpf/wire.h"
#include "vocabulary/histogram.h"

#define SERIES_VALUES 6

/* The operation of what had no room: the other fields of its key are lost. */
#define SERIES_OTHER 0xffff

struct series_key {
	__u64 thread;    /* the ledger's id; 0: none, or a thread without an account */
	__u64 object[2]; /* what the signal says: an inode, a cookie; both 0: none */
	__u32 place;     /* where: a device, a file system; 0: nowhere in particular */
	__u16 operation; /* the signal has names for them */
	__u16 error;     /* an errno; 0: it went well */
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

#define SERIES_SIDE (1u << 31)
/* User space itself puts it there: it does not take turns. */
#define SERIES_SHARED (1u << 30)

/* The only variable of the section .data.series, by which the user half steers and looks. */
struct series_control {
	__u32 active;               /* which of the two maps takes the sums: 0 is series_a */
	__u16 enabled;              /* nothing is counted before and after */
	__u16 every_thread;         /* also those that the ledger does not know */
	__u64 slow_ns;              /* what takes at least as long is worth an event of its own */
	__u64 slow;                 /* how many did */
	__u64 no_histogram;         /* events whose (place, operation) had no room there */
	__u64 unsent;               /* events worth sending, but too many at once */
	__u64 unpaired;             /* ends without a begin, or the other way round */
	struct series_sum overflow; /* what had no room among the sums */
};
_Static_assert(sizeof(struct series_control) == 152, "wire format");
