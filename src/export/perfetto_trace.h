/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the Perfetto format: a trace that is being written. */
#pragma once

#include "base/proto.h"
#include "export/calltree.h"

enum track { TRACK_OF_THREAD = 1, TRACK_OF_WAITS, TRACK_OF_PROCESS };

struct perfetto {
	const struct profile *profile;
	FILE *file;
	struct calltree *calls;
	bool *used;           /* threads that have something to show */
	bool *named;          /* processes that have been named */
	int64_t *shares;      /* by state of the current thread: last value; -1: no counter yet */
	bool *sent;           /* nodes whose stack has been sent */
	int64_t *free_ns;     /* for spans__wait() */
	struct strings files; /* source files of functions */
	struct proto trace, packet, body, part, leaf;
	bool begun;
};

/* Ids of tracks, above those of threads and processes. */
#define PERFETTO_FIRST_COUNTER (1ULL << 40)
#define PERFETTO_FIRST_LANE    (2ULL << 40) /* of events */
#define PERFETTO_FIRST_RATE    (3ULL << 40)
#define PERFETTO_FIRST_WINDOW  (4ULL << 40)

static inline uint64_t perfetto__uuid(enum track track, uint32_t index)
{
	return (uint64_t)index * 4 + track;
}

/* Send `body` as a track or as an event with `flags`. */
void perfetto__send_track(struct perfetto *perfetto);
void perfetto__send_event(struct perfetto *perfetto, int64_t time_ns, unsigned int flags);
/* Adds a line to an event. Does nothing if the text is NULL. */
void perfetto__annotate(struct perfetto *perfetto, const char *name, const char *text);
void perfetto__annotate_ms(struct perfetto *perfetto, const char *name, int64_t ns);

/* Write the shares of states, the counters per second, and the events of signals. */
void perfetto__write_states(struct perfetto *perfetto);
void perfetto__write_counters(struct perfetto *perfetto);
int perfetto__write_events(struct perfetto *perfetto);
/* Writes kept windows on tracks of their threads. */
int perfetto__write_windows(struct perfetto *perfetto);
