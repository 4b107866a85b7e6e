/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the program asked for the locks of a signal of ROLE_LOCKS: the functions that called the
 * library or the kernel, from the stacks of sampled waits.
 */
#pragma once

#include "model/model.h"

/* All waits for one lock that were asked for in one function. */
struct lock_site {
	size_t lock;       /* index in signal->locks */
	uint32_t function; /* in hot.functions; 0: unknown */
	int64_t samples;
	int64_t ns; /* its part of the lock's waiting time, by the weights of the samples */
	int64_t error_ns;
	int64_t count;          /* waits that the samples stand for */
	struct bucket *buckets; /* of the length of its waits; their sum is `count` */
	size_t bucket_count;
	int64_t percentiles[PERCENTILES]; /* -1: too few samples */

	/* While it is made. */
	double weight_ns, variance;
	struct lock_site_value *values;
	size_t value_count;
};

struct lock_sites {
	struct lock_site *list; /* by lock, then most time first */
	size_t count;
};

/* -ENOMEM. Release with lock_sites__release() in any case. */
int lock_sites__find(const struct model *model, const struct signals_signal *signal,
		     struct lock_sites *ret);
void lock_sites__release(struct lock_sites *sites);

/* The sites of one lock. Returns NULL if no wait for it was sampled. */
const struct lock_site *lock_sites__of(const struct lock_sites *sites, size_t lock,
				       size_t *ret_count);
