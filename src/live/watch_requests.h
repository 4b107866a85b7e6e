/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shows the requests of services live: a line for each service and interval, and at the end their
 * histograms. Requests are no signal but a division of the ledger, so watch.h cannot show them.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct watch_requests_options {
	const char *target; /* in words; NULL: all threads */
	bool json;          /* one object per line */
	bool times;         /* the time of day beside intervals */
	FILE *out;
};

struct watch_requests;

/* `db` belongs to the caller and must outlive the watch. 0 or -errno. */
int watch_requests__new(sqlite3 *db, const struct watch_requests_options *options,
			uint64_t start_ns, struct watch_requests **ret);
void watch_requests__free(struct watch_requests *watch);

/* Takes over the sums that the recording has, and deletes them there. */
int watch_requests__take(struct watch_requests *watch);
/* Shows the sums since the last interval. */
int watch_requests__interval(struct watch_requests *watch, uint64_t now_ns);
/* Shows the sums since the start. */
int watch_requests__summary(struct watch_requests *watch, uint64_t now_ns);
