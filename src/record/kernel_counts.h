/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own counts of events that signals count too: disk requests in /proc/diskstats, TCP
 * in /proc/net/snmp. Only a recording of all threads can be compared with them.
 */
#pragma once

#include <stdint.h>

#include "recording/recording.h"

/* Covers disks with a request queue, and only the network namespace of this process. */
struct kernel_counts {
	int64_t requests;    /* completed reads, writes and discards */
	int64_t in_flight;   /* requests in flight */
	int64_t connects;    /* connects that began */
	int64_t connecting;  /* connects in progress */
	int64_t retransmits; /* retransmitted segments */
};

/* Values that cannot be read are 0. */
void kernel_counts__read(struct kernel_counts *ret);

/*
 * Compares what the signals wrote until now with what the kernel counted from `begin` to `end`.
 * Writes meta.kernel_counts and a row of quality with the number of missing events.
 */
int kernel_counts__write(struct recording *recording, const struct kernel_counts *begin,
			 const struct kernel_counts *end);
