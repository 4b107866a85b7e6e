/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of Perfetto's format that comes from accounts and signals: counters, and events beside
 * the waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/label.h"
#include "export/perfetto.h"
#include "export/perfetto_trace.h"
#include "export/spans.h"

#define LANES 8 /* tracks for a thread's events */

void perfetto__annotate(struct perfetto *perfetto, const char *name, const char *text)
{
	if (!text)
		return;
	proto__text(&perfetto->part, ANNOTATION_NAME, name);
	proto__text(&perfetto->part, ANNOTATION_TEXT, text);
	proto__message(&perfetto->body, EVENT_ANNOTATION, &perfetto->part);
}

void perfetto__annotate_ms(struct perfetto *perfetto, const char *name, int64_t ns)
{
	proto__text(&perfetto->part, ANNOTATION_NAME, name);
	proto__double(&perfetto->part, ANNOTATION_REAL, (double)ns / 1e6);
	proto__message(&perfetto->body, EVENT_ANNOTATION, &perfetto->part);
}

static void write_value(struct perfetto *perfetto, uint64_t counter, int64_t time_ns, double value)
{
	proto__number(&perfetto->body, EVENT_TYPE, TYPE_COUNTER);
	proto__number(&perfetto->body, EVENT_TRACK, counter);
	proto__double(&perfetto->body, EVENT_REAL_VALUE, value);
	perfetto__send_event(perfetto, time_ns, 0);
}

static void write_counter(struct perfetto *perfetto, uint64_t counter, uint64_t parent,
			  const char *name, const char *unit)
{
	proto__number(&perfetto->body, TRACK_UUID, counter);
	proto__text(&perfetto->body, TRACK_NAME, name);
	proto__number(&perfetto->body, TRACK_PARENT, parent);
	proto__text(&perfetto->part, COUNTER_UNIT_NAME, unit);
	proto__message(&perfetto->body, TRACK_COUNTER, &perfetto->part);
	perfetto__send_track(perfetto);
}

/*
 * Writes the shares of a thread's states from `time_ns` on, in percent, for the states that
 * changed.
 */
static void write_shares(struct perfetto *perfetto, uint32_t thread, int64_t time_ns,
			 const struct slice *slice)
{
	const struct profile *profile = perfetto->profile;

	for (uint32_t i = 0; i < profile->state_count; i++) {
		uint64_t counter =
			PERFETTO_FIRST_COUNTER + (uint64_t)thread * profile->state_count + i;
		int64_t share = slice ? spans__share(profile, slice, i) : 0;
		char name[LABEL_SIZE];

		if (share == perfetto->shares[i] || (!share && perfetto->shares[i] < 0))
			continue;
		if (perfetto->shares[i] < 0)
			write_counter(perfetto, counter, perfetto__uuid(TRACK_OF_THREAD, thread),
				      label__kind(&profile->states[i], name), "% of time");
		perfetto->shares[i] = share;
		write_value(perfetto, counter, time_ns, (double)share / 1e4);
	}
}

void perfetto__write_states(struct perfetto *perfetto)
{
	const struct profile *profile = perfetto->profile;
	uint32_t thread = PROFILE_NONE;
	struct slice slice;
	size_t at = 0;

	while (spans__next_slice(profile, &at, &slice)) {
		for (uint32_t i = 0; slice.thread != thread && i < profile->state_count; i++)
			perfetto->shares[i] = -1;
		thread = slice.thread;
		write_shares(perfetto, thread, slice.begin_ns, &slice);
		if (at == profile->account_count || profile->accounts[at].thread != thread)
			write_shares(perfetto, thread, slice.end_ns, NULL);
	}
}

/* --- signals -------------------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b, void *context)
{
	const struct profile_event *events = context;
	const struct profile_event *x = &events[*(const uint32_t *)a];
	const struct profile_event *y = &events[*(const uint32_t *)b];
	int64_t first = x->time_ns - x->duration_ns, second = y->time_ns - y->duration_ns;

	if (first != second)
		return first < second ? -1 : 1;
	return (x > y) - (x < y);
}

/* The last lane takes events that fit nowhere else. It shows an event as the moment of its end. */
static uint32_t choose_lane(int64_t *busy_ns, const struct profile_event *event)
{
	uint32_t lane = 0;

	while (lane < LANES - 1 && busy_ns[lane] > event->time_ns - event->duration_ns)
		lane++;
	return lane;
}

static void write_event(struct perfetto *perfetto, const struct profile_event *event,
			int64_t *busy_ns)
{
	uint32_t thread = event->thread == PROFILE_NONE ? (uint32_t)perfetto->profile->thread_count
							: event->thread;
	uint32_t lane = choose_lane(&busy_ns[(size_t)thread * LANES], event);
	uint64_t track = PERFETTO_FIRST_LANE + (uint64_t)thread * LANES + lane;
	int64_t *busy = &busy_ns[(size_t)thread * LANES + lane];
	bool moment = lane == LANES - 1 || !event->duration_ns;

	if (*busy < 0) {
		proto__number(&perfetto->body, TRACK_UUID, track);
		proto__text(&perfetto->body, TRACK_NAME, "events of signals");
		if (event->thread != PROFILE_NONE)
			proto__number(&perfetto->body, TRACK_PARENT,
				      perfetto__uuid(TRACK_OF_THREAD, thread));
		perfetto__send_track(perfetto);
	}
	*busy = event->time_ns;
	proto__number(&perfetto->body, EVENT_TYPE, moment ? TYPE_INSTANT : TYPE_BEGIN);
	proto__number(&perfetto->body, EVENT_TRACK, track);
	proto__text(&perfetto->body, EVENT_CATEGORY, event->signal);
	proto__text(&perfetto->body, EVENT_NAME, event->name);
	perfetto__annotate(perfetto, "object", event->object);
	perfetto__annotate(perfetto, "error", event->error ? strerrorname_np(event->error) : NULL);
	perfetto__annotate_ms(perfetto, "duration_ms", event->duration_ns);
	perfetto__send_event(perfetto,
			     moment ? event->time_ns : event->time_ns - event->duration_ns, 0);
	if (moment)
		return;
	proto__number(&perfetto->body, EVENT_TYPE, TYPE_END);
	proto__number(&perfetto->body, EVENT_TRACK, track);
	perfetto__send_event(perfetto, event->time_ns, 0);
}

/*
 * Slices of a track must not overlap, but events of a thread may, so each thread has several
 * tracks.
 */
int perfetto__write_events(struct perfetto *perfetto)
{
	const struct profile *profile = perfetto->profile;
	size_t lanes = (profile->thread_count + 1) * LANES;
	cleanup(free_p) int64_t *busy_ns = calloc(lanes, sizeof(*busy_ns));
	cleanup(free_p) uint32_t *order = calloc(profile->event_count + 1, sizeof(*order));

	if (!busy_ns || !order)
		return -ENOMEM;
	memset(busy_ns, 0xff, lanes * sizeof(*busy_ns));
	for (size_t i = 0; i < profile->event_count; i++)
		order[i] = (uint32_t)i;
	if (profile->event_count)
		qsort_r(order, profile->event_count, sizeof(*order), by_begin, profile->events);
	for (size_t i = 0; i < profile->event_count; i++)
		write_event(perfetto, &profile->events[order[i]], busy_ns);
	return 0;
}

void perfetto__write_counters(struct perfetto *perfetto)
{
	const struct profile *profile = perfetto->profile;

	for (size_t i = 0; i < profile->counter_count; i++) {
		const struct profile_counter *counter = &profile->counters[i];
		char unit[LABEL_SIZE];

		snprintf(unit, sizeof(unit), "%s a second", counter->unit);
		write_counter(perfetto, PERFETTO_FIRST_RATE + i, 0, counter->name, unit);
		for (size_t j = 0; j < counter->point_count; j++) {
			const struct profile_point *point =
				&profile->points[counter->first_point + j];

			write_value(perfetto, PERFETTO_FIRST_RATE + i, point->begin_ns,
				    spans__rate(point));
			if (spans__ends(profile, counter, j))
				write_value(perfetto, PERFETTO_FIRST_RATE + i, point->end_ns, 0);
		}
	}
}
