/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user half of bpf/series.h: reads sums and histograms from a kernel half's maps. */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/series.h"

struct series;

struct series_takers {
	/* A negative result of either function stops series__take(), which then returns it. */
	int (*take_sum)(void *context, const struct series_key *key, const struct series_sum *sum);
	/* `added`: the increase of one bucket in the distribution of value number `value`. */
	int (*take_bucket)(void *context, const struct series_place *place, uint32_t value,
			   uint32_t bucket, uint32_t added);
	/* `count`: how many events of a thread were added. May be NULL. */
	int (*take_owned)(void *context, const struct series_owned *owned, uint64_t count);
	void *context;
};

/*
 * The sums of the signal `name` with this number; its events have `values` values. `object` is
 * loaded, stays the caller's and outlives *ret.
 */
int series__new(const struct bpf_object *object, const char *name, unsigned number, size_t values,
		struct series **ret);
void series__free(struct series *series);

/* The kernel half's switches and counters, memory-mapped. */
struct series_control *series__control(const struct series *series);

/*
 * Reading takes three steps, so that several series can share the second one. From series__switch()
 * on, programs add to the other map. When series__settle() returns, some milliseconds later, all
 * programs that started before the switch have ended. series__take() hands on all that was added
 * until then.
 */
struct series_barrier {
	int inner, outer; /* map descriptors; without them, series__settle() sleeps instead */
};

struct series_barrier series__barrier(void);
void series__barrier_close(struct series_barrier *barrier);

void series__switch(struct series *series);
void series__settle(const struct series_barrier *barrier);
int series__take(struct series *series, const struct series_takers *takers);

/*
 * The memory-mapped variables of a section, NULL if the object has none; *ret_size is their size.
 */
void *series__section(const struct bpf_object *object, const char *section, size_t *ret_size);
