/* The user half of bpf/series.h: takes sums and histograms out of a kernel half's maps. */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/series.h"

struct series;

struct series_takers {
	/* A negative result ends the reading and becomes its result. */
	int (*take_sum)(void *context, const struct series_key *key, const struct series_sum *sum);
	/* What was added to one bucket of the distribution of the value number `value`. */
	int (*take_bucket)(void *context, const struct series_place *place, uint32_t value,
			   uint32_t bucket, uint32_t added);
	void *context;
};

/* `object` is loaded, stays the caller's and outlives it; its events have `values` values. */
int series__new(const struct bpf_object *object, size_t values, struct series **ret);
void series__free(struct series *series);

/* The kernel half's switches and counters, mapped. */
struct series_control *series__control(const struct series *series);

/*
 * In three steps, so that several series share the second one: from series__switch() on, sums go
 * into the other map; when series__settle() returns, some milliseconds later, no program is at work
 * that began before; series__take() hands on all that was added until then.
 */
struct series_barrier {
	int inner, outer; /* maps; without them, series__settle() sleeps for long enough */
};

struct series_barrier series__barrier(void);
void series__barrier_close(struct series_barrier *barrier);

void series__switch(struct series *series);
void series__settle(const struct series_barrier *barrier);
int series__take(struct series *series, const struct series_takers *takers);

/* The mapped variables of a section, NULL if the object has none; *ret_size is their size. */
void *series__section(const struct bpf_object *object, const char *section, size_t *ret_size);
