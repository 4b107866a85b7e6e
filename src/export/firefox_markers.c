/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markers of the Firefox Profiler's format (sampled waits, events of signals, and windows), and its
 * counters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/firefox.h"
#include "export/label.h"
#include "export/spans.h"

const struct profile_sample *firefox__sample(const struct firefox *firefox, size_t at)
{
	return &firefox->profile->samples[firefox->order[at]];
}

int64_t firefox__since_start(const struct firefox *firefox, int64_t time_ns)
{
	return time_ns - firefox->profile->start_ns;
}

bool firefox__has_thread(const struct firefox *firefox, uint32_t thread)
{
	return firefox->begins[thread] < firefox->begins[thread + 1] ||
	       firefox->event_begins[thread] < firefox->event_begins[thread + 1] ||
	       firefox->window_begins[thread] < firefox->window_begins[thread + 1];
}

/* A marker to write. */
struct marker {
	int64_t begin_ns, end_ns;
	uint32_t index;
	enum { MARKER_WAIT, MARKER_EVENT, MARKER_WINDOW } of;
};

static int by_begin(const void *a, const void *b)
{
	const struct marker *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Collects the markers of a thread, sorted by start. */
static int find_markers(struct firefox *firefox, uint32_t thread, struct marker **ret,
			size_t *ret_count)
{
	size_t first = firefox->begins[thread], end = firefox->begins[thread + 1];
	size_t event = firefox->event_begins[thread];
	size_t events_end = firefox->event_begins[thread + 1], count = 0;
	size_t window = firefox->window_begins[thread];
	size_t windows_end = firefox->window_begins[thread + 1];
	struct marker *markers = calloc(end - first + events_end - event + windows_end - window + 1,
					sizeof(*markers));

	if (!markers)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		const struct profile_sample *sample = firefox__sample(firefox, i);

		if (!sample->is_tick && sample->wait_ns > 0)
			markers[count++] =
				(struct marker) { spans__wait(sample, firefox->free_ns).begin_ns,
						  sample->time_ns, firefox->order[i], MARKER_WAIT };
	}
	for (; event < events_end; event++) {
		const struct profile_event *at =
			&firefox->profile->events[firefox->event_order[event]];

		markers[count++] = (struct marker) { at->time_ns - at->duration_ns, at->time_ns,
						     firefox->event_order[event], MARKER_EVENT };
	}
	for (; window < windows_end; window++) {
		const struct profile_window *at =
			&firefox->profile->windows[firefox->window_order[window]];

		markers[count++] = (struct marker) { at->begin_ns, at->end_ns,
						     firefox->window_order[window], MARKER_WINDOW };
	}
	qsort(markers, count, sizeof(*markers), by_begin);
	*ret = markers;
	*ret_count = count;
	return 0;
}

static void add_text(struct firefox *firefox, const char *key, const char *text)
{
	if (text)
		json_out__number(&firefox->out, key, firefox__text(firefox, text));
}

static void write_culprits(struct firefox *firefox, const struct profile_sample *sample)
{
	const struct profile_thread *threads = firefox->profile->threads;
	char name[LABEL_SIZE];

	if (sample->by != PROFILE_NONE)
		add_text(firefox, "by", label__thread(&threads[sample->by], name));
	if (sample->by != PROFILE_NONE || sample->evidence == PROFILE_TIMEOUT)
		add_text(firefox, "evidence", label__evidence(sample));
	if (sample->first != PROFILE_NONE)
		add_text(firefox, "first", label__thread(&threads[sample->first], name));
}

/* Writes the waker's stack as the marker's "cause", as the viewer calls it. */
static void write_waker(struct firefox *firefox, const struct profile_sample *sample, uint32_t node)
{
	struct json_out *out = &firefox->out;

	json_out__open(out, "cause", '{');
	if (sample->by != PROFILE_NONE && firefox->profile->threads[sample->by].tid > 0)
		json_out__number(out, "tid", firefox->profile->threads[sample->by].tid);
	json_out__decimal(out, "time", firefox__since_start(firefox, sample->time_ns),
			  FIREFOX_MS_DIGITS);
	json_out__number(out, "stack", node);
	json_out__close(out, '}');
}

static void write_data(struct firefox *firefox, uint32_t index)
{
	const struct profile_sample *sample = &firefox->profile->samples[index];
	const struct profile_state *state = &firefox->profile->states[sample->state];
	struct json_out *out = &firefox->out;

	json_out__open(out, NULL, '{');
	json_out__text(out, "type", SLOT_IS_READY(state->look) ? "ready" : "wait");
	add_text(firefox, "why", state->cause);
	add_text(firefox, "kind", state->kind);
	add_text(firefox, "object", sample->object);
	write_culprits(firefox, sample);
	json_out__decimal(out, "length", sample->wait_ns, FIREFOX_MS_DIGITS);
	json_out__decimal(out, "weight", sample->weight_ns, FIREFOX_MS_DIGITS);
	json_out__number(out, "waits", sample->count);
	if (firefox->calls->wakers[index] != PROFILE_NONE)
		write_waker(firefox, sample, firefox->calls->wakers[index]);
	json_out__close(out, '}');
}

/* An event of an unknown thread is shown with the first thread, and says so. */
static void write_event(struct firefox *firefox, uint32_t index)
{
	const struct profile_event *event = &firefox->profile->events[index];
	struct json_out *out = &firefox->out;
	const char *error = event->error ? strerrorname_np(event->error) : NULL;

	json_out__open(out, NULL, '{');
	json_out__text(out, "type", "event");
	add_text(firefox, "object", event->object);
	add_text(firefox, "error", event->error && !error ? "unknown" : error);
	if (event->thread == PROFILE_NONE)
		add_text(firefox, "note", "by a thread that is not known");
	json_out__close(out, '}');
}

static void write_window(struct firefox *firefox, uint32_t index)
{
	const struct profile *profile = firefox->profile;
	const struct profile_window *window = &profile->windows[index];
	const struct profile_class *class = &profile->classes[window->class];
	struct json_out *out = &firefox->out;
	char parts[LABEL_SIZE];

	json_out__open(out, NULL, '{');
	json_out__text(out, "type", "window");
	add_text(firefox, "request", label__window(profile, window));
	add_text(firefox, "service", class->service);
	add_text(firefox, "latency", label__band(window));
	add_text(firefox, "status", *class->status ? class->status : NULL);
	json_out__decimal(out, "length", window->length_ns, FIREFOX_MS_DIGITS);
	add_text(firefox, "parts", label__parts(profile, window, parts));
	add_text(firefox, "ends", window->ends);
	json_out__number(out, "id", window->id);
	if (window->parent != PROFILE_NONE) {
		json_out__number(out, "parent", profile->windows[window->parent].id);
		add_text(firefox, "evidence", window->evidence);
	}
	json_out__close(out, '}');
}

static int64_t marker_name(struct firefox *firefox, const struct marker *marker)
{
	const struct profile *profile = firefox->profile;
	char name[LABEL_SIZE];

	if (marker->of == MARKER_EVENT)
		return firefox__text(firefox, profile->events[marker->index].name);
	if (marker->of == MARKER_WINDOW)
		return firefox__text(firefox,
				     label__kind_of(profile, &profile->windows[marker->index]));
	return firefox__text(
		firefox,
		label__state(&profile->states[profile->samples[marker->index].state], name));
}

static int64_t category_of(const struct firefox *firefox, const struct marker *marker)
{
	return marker->of != MARKER_WAIT
		       ? 0
		       : firefox->categories[firefox->profile->samples[marker->index].state];
}

int firefox__write_markers(struct firefox *firefox, uint32_t thread)
{
	cleanup(free_p) struct marker *markers = NULL;
	struct json_out *out = &firefox->out;
	size_t count = 0;
	int err = find_markers(firefox, thread, &markers, &count);

	if (err)
		return err;
	json_out__open(out, "markers", '{');
	json_out__number(out, "length", (int64_t)count);
	FIREFOX_COLUMN(firefox, "name", i, count, marker_name(firefox, &markers[i]));
	json_out__open(out, "startTime", '[');
	for (size_t i = 0; i < count; i++)
		json_out__decimal(out, NULL, firefox__since_start(firefox, markers[i].begin_ns),
				  FIREFOX_MS_DIGITS);
	json_out__close(out, ']');
	json_out__open(out, "endTime", '[');
	for (size_t i = 0; i < count; i++)
		json_out__decimal(out, NULL, firefox__since_start(firefox, markers[i].end_ns),
				  FIREFOX_MS_DIGITS);
	json_out__close(out, ']');
	/* 1: an interval, 0: a moment. */
	FIREFOX_COLUMN(firefox, "phase", i, count, markers[i].end_ns > markers[i].begin_ns);
	FIREFOX_COLUMN(firefox, "category", i, count, category_of(firefox, &markers[i]));
	json_out__open(out, "data", '[');
	for (size_t i = 0; i < count; i++)
		if (markers[i].of == MARKER_EVENT)
			write_event(firefox, markers[i].index);
		else if (markers[i].of == MARKER_WINDOW)
			write_window(firefox, markers[i].index);
		else
			write_data(firefox, markers[i].index);
	json_out__close(out, ']');
	json_out__close(out, '}');
	return 0;
}

/* --- counters ------------------------------------------------------------------------------- */

/*
 * Writes a column of a counter's samples: the times, or what was counted in the interval that ends
 * there. If an interval does not directly follow the one before, its beginning gets a sample of 0.
 */
static int64_t write_points(struct firefox *firefox, const struct profile_counter *counter,
			    const char *key, bool times)
{
	const struct profile_point *point = &firefox->profile->points[counter->first_point];
	struct json_out *out = &firefox->out;
	int64_t last_ns = INT64_MIN, count = 0;

	json_out__open(out, key, '[');
	for (size_t i = 0; i < counter->point_count; i++, point++) {
		if (point->begin_ns != last_ns) {
			if (times)
				json_out__decimal(out, NULL,
						  firefox__since_start(firefox, point->begin_ns),
						  FIREFOX_MS_DIGITS);
			else
				json_out__number(out, NULL, 0);
			count++;
		}
		if (times)
			json_out__decimal(out, NULL, firefox__since_start(firefox, point->end_ns),
					  FIREFOX_MS_DIGITS);
		else
			json_out__number(out, NULL, point->sum);
		last_ns = point->end_ns;
		count++;
	}
	json_out__close(out, ']');
	return count;
}

static void write_row(struct json_out *out, const char *source, const char *unit, const char *label)
{
	json_out__open(out, NULL, '{');
	json_out__text(out, "type", "value");
	json_out__text(out, "source", source);
	json_out__open(out, "format", '{');
	json_out__text(out, "unit", unit);
	json_out__close(out, '}');
	json_out__text(out, "label", label);
	json_out__close(out, '}');
}

static void write_display(struct json_out *out, const struct profile_counter *counter)
{
	bool bytes = !strcmp(counter->unit, "bytes");
	char label[LABEL_SIZE];

	json_out__open(out, "display", '{');
	json_out__text(out, "graphType", "line-rate");
	json_out__text(out, "unit", bytes ? "bytes" : "");
	json_out__text(out, "color", bytes ? "blue" : "grey");
	json_out__null(out, "markerSchemaLocation");
	json_out__number(out, "sortWeight", bytes ? 10 : 50);
	json_out__text(out, "label", counter->name);
	snprintf(label, sizeof(label), "%s a second", counter->unit);
	json_out__open(out, "tooltipRows", '[');
	write_row(out, "rate", bytes ? "bytes-per-second" : "number", label);
	snprintf(label, sizeof(label), "%s so far", counter->unit);
	write_row(out, "accumulated", bytes ? "bytes" : "number", label);
	json_out__close(out, ']');
	json_out__close(out, '}');
}

void firefox__write_counters(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	struct json_out *out = &firefox->out;
	char pid[48];

	if (!profile->counter_count || firefox->first_thread == PROFILE_NONE)
		return;
	firefox__pid(firefox, firefox->first_thread, pid, sizeof(pid));
	json_out__open(out, "counters", '[');
	for (size_t i = 0; i < profile->counter_count; i++) {
		const struct profile_counter *counter = &profile->counters[i];

		json_out__open(out, NULL, '{');
		json_out__text(out, "name", counter->name);
		json_out__text(out, "category",
			       strcmp(counter->unit, "bytes") ? "gapless" : "Bandwidth");
		json_out__text(out, "description", counter->unit);
		json_out__text(out, "pid", pid);
		json_out__number(out, "mainThreadIndex", 0);
		write_display(out, counter);
		json_out__open(out, "samples", '{');
		write_points(firefox, counter, "time", true);
		json_out__number(out, "length", write_points(firefox, counter, "count", false));
		json_out__close(out, '}');
		json_out__close(out, '}');
	}
	json_out__close(out, ']');
}
