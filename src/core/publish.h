/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a signal's sums and events as rows of a recording: assigns small ids to series and
 * distributions, and words to operations, places and objects.
 */
#pragma once

#include <stdint.h>

#include "core/series.h"
#include "core/signal.h"
#include "recording/recording.h"

struct publish;

/*
 * Finds the row of an object of the ledger's waits. `kind`: enum ledger_object; of a futex,
 * numbers[1] is the kernel's tgid of the process. Without a function, such objects have no row.
 */
struct publish_finder {
	int (*find)(void *context, uint32_t kind, const __u64 numbers[2], int64_t *ret_id);
	void *context;
};

/* `number` is the signal's id in the recording. Writes the signal's description there. */
int publish__new(const struct signal *signal, int number, struct recording *recording,
		 struct publish **ret);
void publish__free(struct publish *publish);
/* For a signal with `ledger_object`. The context outlives `publish`. */
void publish__set_finder(struct publish *publish, const struct publish_finder *finder);

/*
 * For a reader that deletes rows. Forgets all series and counts events from 0 again. From now on,
 * distributions by thread are not written, because they have no slices. Also forgets
 * objects that no row written since `before_ns` refers to (0: keeps all objects). `half`: the
 * signal's kernel half.
 */
int publish__forget(struct publish *publish, uint64_t before_ns, struct bpf_object *half);

/* All following rows are about the slices `from` … `to`. */
void publish__slices(struct publish *publish, int64_t from, int64_t to);

/* Callbacks for series__take(); the context is the struct publish. */
int publish__sum(void *context, const struct series_key *key, const struct series_sum *sum);
int publish__bucket(void *context, const struct series_place *place, uint32_t value,
		    uint32_t bucket, uint32_t added);
int publish__owned(void *context, const struct series_owned *owned, uint64_t count);
/* `stack`: the id of its stack in the recording; 0: none. */
int publish__event(struct publish *publish, const struct event *event, int64_t stack);

struct publish_quality {
	uint64_t unnamed;     /* sums whose object became 'other' because of the limits */
	uint64_t events_over; /* events beyond the limit per signal and recording */
};
struct publish_quality publish__quality(const struct publish *publish);
