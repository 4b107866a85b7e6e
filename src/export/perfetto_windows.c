/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept windows in Perfetto's format: slices on tracks below the thread that worked for them, with
 * an arrow (a "flow") from a window to each one that was made for it. Slices of a track must not
 * overlap, but the windows of an event loop do, so a thread has as many tracks as it needs.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "export/label.h"
#include "export/perfetto.h"
#include "export/perfetto_trace.h"
#include "export/spans.h"

#define LANES 64 /* tracks of a thread; the last one shows windows as moments */

/* A window that another one was made for, and that one. */
struct link {
	uint32_t parent, child;
};

struct links {
	struct link *list;
	size_t count;
};

static void links__release(struct links *links)
{
	free(links->list);
}

static int by_parent(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->child > y->child) - (x->child < y->child);
}

/* Whether a window is shown. */
static bool is_shown(const struct profile_window *window)
{
	return window->has_details && window->thread != PROFILE_NONE;
}

static int find_links(const struct profile *profile, struct links *ret)
{
	ret->list = calloc(profile->window_count + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (window->parent != PROFILE_NONE && is_shown(window) &&
		    is_shown(&profile->windows[window->parent]))
			ret->list[ret->count++] = (struct link) { window->parent, i };
	}
	qsort(ret->list, ret->count, sizeof(*ret->list), by_parent);
	return 0;
}

/* Each link is a flow of its own, so that several children do not look like a chain. */
static void write_flows(struct perfetto *perfetto, const struct links *links, uint32_t index)
{
	const struct profile_window *windows = perfetto->profile->windows;
	size_t low = 0, high = links->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (links->list[middle].parent < index)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < links->count && links->list[low].parent == index; low++)
		proto__fixed64(&perfetto->body, EVENT_FLOW,
			       (uint64_t)windows[links->list[low].child].id);
	if (windows[index].parent != PROFILE_NONE && is_shown(&windows[windows[index].parent]))
		proto__fixed64(&perfetto->body, EVENT_FLOW, (uint64_t)windows[index].id);
}

static void annotate_number(struct perfetto *perfetto, const char *name, int64_t value)
{
	proto__text(&perfetto->part, ANNOTATION_NAME, name);
	proto__number_always(&perfetto->part, ANNOTATION_NUMBER, (uint64_t)value);
	proto__message(&perfetto->body, EVENT_ANNOTATION, &perfetto->part);
}

static void annotate(struct perfetto *perfetto, const struct profile_window *window)
{
	const struct profile *profile = perfetto->profile;
	const struct profile_class *class = &profile->classes[window->class];

	perfetto__annotate(perfetto, "of", class->service);
	perfetto__annotate(perfetto, "latency", label__band(window));
	perfetto__annotate(perfetto, "status", *class->status ? class->status : NULL);
	perfetto__annotate(perfetto, "connection", window->ends);
	perfetto__annotate(perfetto, "parent known by", window->evidence);
	annotate_number(perfetto, "number", window->id);
	perfetto__annotate_ms(perfetto, "length_ms", window->length_ns);
	for (size_t i = 0; i < window->part_count; i++) {
		const struct profile_part *part = &profile->parts[window->first_part + i];

		perfetto__annotate_ms(perfetto, part->words,
				      part->is_overlap ? -part->ns : part->ns);
	}
}

static void begin_track(struct perfetto *perfetto, uint64_t track, uint32_t thread)
{
	proto__number(&perfetto->body, TRACK_UUID, track);
	proto__text(&perfetto->body, TRACK_NAME, "requests and calls");
	proto__number(&perfetto->body, TRACK_PARENT, perfetto__uuid(TRACK_OF_THREAD, thread));
	perfetto__send_track(perfetto);
}

/* `busy_ns`: where the last slice of each track of the thread ended; -1: it has none yet. */
static void write_window(struct perfetto *perfetto, const struct links *links, uint32_t index,
			 int64_t busy_ns[static LANES])
{
	const struct profile_window *window = &perfetto->profile->windows[index];
	uint32_t lane = 0;
	uint64_t track;
	bool is_moment;

	while (lane < LANES - 1 && busy_ns[lane] > window->begin_ns)
		lane++;
	track = PERFETTO_FIRST_WINDOW + (uint64_t)window->thread * LANES + lane;
	is_moment = lane == LANES - 1 || window->end_ns == window->begin_ns;
	if (busy_ns[lane] < 0)
		begin_track(perfetto, track, window->thread);
	busy_ns[lane] = window->end_ns;
	proto__number(&perfetto->body, EVENT_TYPE, is_moment ? TYPE_INSTANT : TYPE_BEGIN);
	proto__number(&perfetto->body, EVENT_TRACK, track);
	proto__text(&perfetto->body, EVENT_CATEGORY, "window");
	proto__text(&perfetto->body, EVENT_NAME, label__window(perfetto->profile, window));
	write_flows(perfetto, links, index);
	annotate(perfetto, window);
	perfetto__send_event(perfetto, window->begin_ns, 0);
	if (is_moment)
		return;
	proto__number(&perfetto->body, EVENT_TYPE, TYPE_END);
	proto__number(&perfetto->body, EVENT_TRACK, track);
	perfetto__send_event(perfetto, window->end_ns, 0);
}

int perfetto__write_windows(struct perfetto *perfetto)
{
	const struct profile *profile = perfetto->profile;
	cleanup(links__release) struct links links = {};
	cleanup(free_p) uint32_t *order = NULL;
	cleanup(free_p) size_t *begins = NULL;
	int err = spans__windows(profile, &order, &begins);

	if (!err)
		err = find_links(profile, &links);
	for (uint32_t thread = 0; thread < profile->thread_count && !err; thread++) {
		int64_t busy_ns[LANES];

		for (int i = 0; i < LANES; i++)
			busy_ns[i] = -1;
		for (size_t i = begins[thread]; i < begins[thread + 1]; i++)
			write_window(perfetto, &links, order[i], busy_ns);
	}
	return err;
}
