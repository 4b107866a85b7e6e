/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One active signal: its kernel half is loaded and attached, its sums and events are read. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/publish.h"
#include "core/signal.h"
#include "recording/recording.h"

struct session;

struct session_options {
	struct recording *recording;
	int number;                /* the signal's id in the recording */
	struct bpf_object *object; /* the kernel half, loaded */
	bool every_thread; /* also count events of no thread, or of threads unknown to the ledger */
	uint64_t slow_ns;  /* what takes at least this long becomes an event */
	/*
	 * The id of a stack in the recording, from its hash; 0: none. May be NULL: events have no
	 * stacks then.
	 */
	int (*find_stack)(void *context, uint64_t hash, uint64_t time_ns, int64_t *ret);
	void *stack_context;
	/*
	 * Takes what a fiber did (see struct signal), with the words of its reason; "": none. May
	 * be NULL.
	 */
	int (*take_fiber)(void *context, const struct signal_fiber_of *fiber, const char *reason,
			  const struct series_sum *sum);
	void *fiber_context;
	struct publish_finder finder;
};

/*
 * For a part that is loaded; it outlives *ret, which the caller owns. Logs the reason of a failure,
 * because only this function knows the context, and returns -errno.
 */
int session__open(struct part *part, const struct session_options *options, struct session **ret);
void session__free(struct session *session);

/* Attaches the hooks. Logs failures. */
int session__start(struct session *session);
/* Starts or stops counting; the hooks stay attached. */
void session__enable(struct session *session, bool on);
bool session__is_enabled(const struct session *session);
/* About what the events of the last session__write() have cost. */
uint64_t session__cost_ns(const struct session *session);
/* Detaches the hooks. The counts must still be written. */
void session__stop(struct session *session);

/* Updates sums that are not updated by events. Logs the first failure. */
void session__refresh(struct session *session, bool is_last);

/* Handles the records that have arrived. Returns their number or -errno. */
int session__poll(struct session *session);

/* See core/series.h. session__write() writes the sums up to the switch for the slices from … to. */
void session__switch(struct session *session);
int session__write(struct session *session, int64_t from, int64_t to);
/* Writes the losses as rows of the recording. */
int session__write_quality(const struct session *session);

/* See core/publish.h. */
int session__forget(struct session *session, uint64_t before_ns);

/* Call this once a second: adjusts the threshold for slow events to limit their rate. */
void session__hold_rate(struct session *session);

const struct signal *session__signal(const struct session *session);
/* Appends the program that was chosen for each hook. */
void session__add_hooks(const struct session *session, json_t *list);
