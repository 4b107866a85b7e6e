/*
 * What the kernel counts itself of what signals count: requests to disks in /proc/diskstats, TCP in
 * /proc/net/snmp. Only a recording of all threads can be held against them.
 */
#pragma once

#include <stdint.h>

#include "recording/recording.h"

/* Of disks that have requests, and of the network namespace of this process alone. */
struct kernel_counts {
	int64_t requests;    /* reads, writes and discards that are complete */
	int64_t in_flight;   /* requests that are under way */
	int64_t connects;    /* begun */
	int64_t connecting;  /* under way */
	int64_t retransmits; /* segments */
};

/* What cannot be read is 0. */
void kernel_counts__read(struct kernel_counts *ret);

/*
 * Holds what the signals wrote until now against what the kernel counted from `begin` to `end`:
 * meta.kernel_counts, and a row of quality for what is missing.
 */
int kernel_counts__write(struct recording *recording, const struct kernel_counts *begin,
			 const struct kernel_counts *end);
