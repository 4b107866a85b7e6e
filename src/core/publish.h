/*
 * From a signal's sums and events to rows of a recording: small ids for series and distributions,
 * words for operations, places and objects.
 */
#pragma once

#include <stdint.h>

#include "core/series.h"
#include "core/signal.h"
#include "recording/recording.h"

struct publish;

/* `number` is the signal's id in the recording, where this describes it. */
int publish__new(const struct signal *signal, int number, struct recording *recording,
		 struct publish **ret);
void publish__free(struct publish *publish);

/*
 * Series are as if never seen, and events count from 0: for a reader that deletes their rows.
 * Objects go that no row written since `before_ns` has (0: none go). `half`: the signal's kernel
 * half.
 */
int publish__forget(struct publish *publish, uint64_t before_ns, struct bpf_object *half);

/* Rows that follow are about the slices `from` … `to`. */
void publish__slices(struct publish *publish, int64_t from, int64_t to);

/* For series__take(); the context is the publish. */
int publish__sum(void *context, const struct series_key *key, const struct series_sum *sum);
int publish__bucket(void *context, const struct series_place *place, uint32_t value,
		    uint32_t bucket, uint32_t added);
int publish__event(struct publish *publish, const struct event *event);

struct publish_quality {
	uint64_t unnamed;     /* sums whose object is 'other': there are too many */
	uint64_t events_over; /* events beyond the most that a recording keeps of a signal */
};
struct publish_quality publish__quality(const struct publish *publish);
