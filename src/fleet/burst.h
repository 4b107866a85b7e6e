/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks agents to record stacks of a service for a short time, with a row in the table `budget`.
 * Agents read it every few minutes, so a burst begins when all of them can have read it. They
 * choose themselves by hash, with the probability in the row, and go back to their usual level at
 * its end, whatever happens to the store.
 */
#pragma once

#include "fleet/connection.h"

#define BURST_MOST_HOSTS 100
#define BURST_MOST_S     300

struct burst {
	const char *tenant, *service;
	uint64_t hosts;    /* wanted, 1 to BURST_MOST_HOSTS */
	uint64_t length_s; /* 1 to BURST_MOST_S */
	/* Set by burst__write(): */
	uint64_t hosts_known;      /* that had the service in the last ten minutes */
	uint64_t since_s, until_s; /* if another burst is under way, until_s is its end */
	double probability;
};

/*
 * -EINVAL: a limit is exceeded; -ENODATA: no host has the service; -EALREADY: a burst of it is
 * under way; errors of connection__ask().
 */
int burst__write(struct connection *connection, struct burst *burst, uint64_t now_s);
