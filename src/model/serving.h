/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of services in the last slices of a recording that is being written. */
#pragma once

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "vocabulary/histogram.h"
#include "vocabulary/percentiles.h"

#define SERVING_NAME 128

/* What requests spent time on, as in struct windows_reason; "": none. */
struct serving_reason {
	char part[32], state[32], cause[32];
	int64_t ns;
};

/* All requests or calls of one kind, protocol, service and process. */
struct serving_row {
	char kind[16], protocol[16];
	char service[SERVING_NAME]; /* not cleaned */
	char comm[32];              /* not cleaned; "": unknown */
	int64_t process;            /* 0: unknown */
	int64_t pid;
	int64_t count, n;        /* windows, and requests in them */
	int64_t failed, refused; /* parts of count; failed: see model_windows__is_failure() */
	int64_t length_ns;       /* summed */
	int64_t buckets[HISTOGRAM_BUCKETS];
	struct serving_reason *reasons; /* longest first, after serving__sort() */
	size_t reason_count;
};

struct serving {
	struct serving_row *rows; /* calls, then servers, then clients; the busiest first */
	size_t count;
};

/* Initialize struct serving with zeroes. */
void serving__release(struct serving *serving);

/* Adds the rows of slices after `after`, up to `to`, and sorts them. -ENOMEM, -EIO. */
int serving__read(sqlite3 *db, int64_t after, int64_t to, struct serving *serving);
/* Adds what another one has. -ENOMEM */
int serving__add(struct serving *to, const struct serving *from);

/*
 * The last slice after `after` whose sums are final, and the time up to its end since the end of
 * `after`: sums are written about once a second. *ret_to = 0: there is none yet.
 */
int serving__until(sqlite3 *db, int64_t after, int64_t *ret_to, int64_t *ret_ns);

/* The percentiles of its lengths; -1: too few. */
void serving__percentiles(const struct serving_row *row, int64_t ret[PERCENTILES]);
/* Appends "queued: busy with other requests 54 %", or "-" if nothing is known. */
void serving__say_reason(const struct serving_row *row, char *text, size_t size);
/* Appends "nginx (HTTP, 127.0.0.1:8080)", cleaned. */
void serving__say_service(const struct serving_row *row, char *text, size_t size);
