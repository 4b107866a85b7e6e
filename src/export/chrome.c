/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome's trace events: JSON that many viewers read, with less in it than they can show. Each
 * thread has a row with its sampled waits and their details, and with ticks as instants. How its
 * time is divided is a separate counter from the accounts: the share of each state in each slice
 * (export/spans.h). So no order is shown that is not known, and each wait appears once. Stacks are
 * in "stackFrames"; "sf" refers to them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_out.h"
#include "export/calltree.h"
#include "export/exporter.h"
#include "export/label.h"
#include "export/spans.h"

#define US_DIGITS      3                  /* from nanoseconds */
#define PERCENT_DIGITS 4                  /* from millionths */
#define MOST_RATE      (INT64_C(1) << 62) /* in thousandths */

struct chrome {
	struct json_out out;
	const struct profile *profile;
	struct calltree *calls;
	bool *used;       /* threads that have something to show */
	int64_t *free_ns; /* for spans__wait() */
};

static void begin_event(struct chrome *chrome, const char *phase, const char *name, uint32_t thread)
{
	struct json_out *out = &chrome->out;

	json_out__open(out, NULL, '{');
	json_out__text(out, "ph", phase);
	json_out__text(out, "name", name);
	json_out__number(out, "pid", profile__pid(chrome->profile, thread));
	json_out__number(out, "tid", chrome->profile->threads[thread].tid);
}

static void write_time(struct chrome *chrome, const char *key, int64_t time_ns)
{
	json_out__decimal(&chrome->out, key, time_ns - chrome->profile->start_ns, US_DIGITS);
}

static void write_name(struct chrome *chrome, const char *event, uint32_t thread, const char *name)
{
	begin_event(chrome, "M", event, thread);
	json_out__open(&chrome->out, "args", '{');
	json_out__text(&chrome->out, "name", name);
	json_out__close(&chrome->out, '}');
	json_out__close(&chrome->out, '}');
}

static void write_names(struct chrome *chrome)
{
	const struct profile *profile = chrome->profile;

	for (uint32_t i = 0; i < profile->thread_count; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		if (!chrome->used[i])
			continue;
		/*
		 * Writing this for each process would be enough; repeating it for each thread does
		 * no harm.
		 */
		write_name(chrome, "process_name", i,
			   thread->process == PROFILE_NONE
				   ? thread->comm
				   : profile->processes[thread->process].comm);
		write_name(chrome, "thread_name", i, thread->comm);
	}
}

/* Colour names that Chrome's own viewer knows. */
static const char *colour_of(const struct profile_state *state)
{
	return states__words(state->look)->chrome;
}

/* Writes a point of a thread's counter. `slice` NULL: the end of the counter. */
static void write_shares(struct chrome *chrome, uint32_t thread, int64_t time_ns, const bool *has,
			 const struct slice *slice)
{
	const struct profile *profile = chrome->profile;
	char name[LABEL_SIZE], text[LABEL_SIZE];

	snprintf(text, sizeof(text), "%% of time: %s",
		 label__thread(&profile->threads[thread], name));
	begin_event(chrome, "C", text, thread);
	write_time(chrome, "ts", time_ns);
	json_out__open(&chrome->out, "args", '{');
	for (uint32_t i = 0; i < profile->state_count; i++)
		if (has[i])
			json_out__decimal(&chrome->out, label__kind(&profile->states[i], name),
					  slice ? spans__share(profile, slice, i) : 0,
					  PERCENT_DIGITS);
	json_out__close(&chrome->out, '}');
	json_out__close(&chrome->out, '}');
}

/*
 * Finds all states that the thread is ever in, because every point of a counter must have all of
 * them.
 */
static size_t find_states(const struct profile *profile, size_t at, bool *has)
{
	uint32_t thread = profile->accounts[at].thread;

	memset(has, 0, profile->state_count);
	for (; at < profile->account_count && profile->accounts[at].thread == thread; at++)
		has[profile->accounts[at].state] |= profile->accounts[at].ns > 0;
	return at;
}

static int write_states(struct chrome *chrome)
{
	const struct profile *profile = chrome->profile;
	cleanup(free_p) bool *has = calloc(profile->state_count + 1, sizeof(*has));
	size_t at = 0, end = 0;
	struct slice slice;

	if (!has)
		return -ENOMEM;
	while (at < profile->account_count) {
		end = at == end ? find_states(profile, at, has) : end;
		spans__next_slice(profile, &at, &slice);
		write_shares(chrome, slice.thread, slice.begin_ns, has, &slice);
		if (at == end)
			write_shares(chrome, slice.thread, slice.end_ns, has, NULL);
	}
	return 0;
}

static const char *innermost(const struct chrome *chrome, uint32_t node)
{
	return chrome->calls->frames[chrome->calls->nodes[node].frame].name;
}

static void write_args(struct chrome *chrome, size_t index)
{
	const struct profile_sample *sample = &chrome->profile->samples[index];
	const struct profile_state *state = &chrome->profile->states[sample->state];
	struct json_out *out = &chrome->out;
	char name[LABEL_SIZE];

	json_out__open(out, "args", '{');
	json_out__decimal(out, "weight_ms", sample->weight_ns, 6);
	if (!sample->is_tick) {
		json_out__decimal(out, "length_ms", sample->wait_ns, 6);
		json_out__number(out, "waits", sample->count);
	}
	if (state->kind)
		json_out__text(out, "kind", state->kind);
	if (sample->object)
		json_out__text(out, "object", sample->object);
	if (sample->first != PROFILE_NONE)
		json_out__text(out, LABEL_FIRST,
			       label__thread(&chrome->profile->threads[sample->first], name));
	if (sample->by != PROFILE_NONE)
		json_out__text(out, label__evidence(sample),
			       label__thread(&chrome->profile->threads[sample->by], name));
	if (sample->evidence == PROFILE_TIMEOUT)
		json_out__text(out, LABEL_ENDED, label__evidence(sample));
	if (chrome->calls->wakers[index] != PROFILE_NONE)
		json_out__text(out, "waker in", innermost(chrome, chrome->calls->wakers[index]));
	json_out__close(out, '}');
}

static void write_tick(struct chrome *chrome, size_t index)
{
	const struct profile_sample *sample = &chrome->profile->samples[index];

	begin_event(chrome, "i", innermost(chrome, chrome->calls->samples[index]), sample->thread);
	json_out__text(&chrome->out, "cat", "sample");
	write_time(chrome, "ts", sample->time_ns);
	json_out__text(&chrome->out, "s", "t");
}

static void write_wait(struct chrome *chrome, size_t index)
{
	const struct profile_sample *sample = &chrome->profile->samples[index];
	struct span span = spans__wait(sample, chrome->free_ns);
	char name[LABEL_SIZE];

	label__state(&chrome->profile->states[sample->state], name);
	begin_event(chrome, "X", name, sample->thread);
	json_out__text(&chrome->out, "cat", "wait");
	write_time(chrome, "ts", span.begin_ns);
	json_out__decimal(&chrome->out, "dur", span.ns, US_DIGITS);
	json_out__text(&chrome->out, "cname", colour_of(&chrome->profile->states[sample->state]));
}

static void write_samples(struct chrome *chrome)
{
	for (size_t i = 0; i < chrome->profile->sample_count; i++) {
		if (chrome->profile->samples[i].is_tick)
			write_tick(chrome, i);
		else
			write_wait(chrome, i);
		json_out__number(&chrome->out, "sf", chrome->calls->samples[i]);
		write_args(chrome, i);
		json_out__close(&chrome->out, '}');
	}
}

static void begin_async(struct chrome *chrome, const char *phase, size_t index, int64_t time_ns)
{
	const struct profile_event *event = &chrome->profile->events[index];
	struct json_out *out = &chrome->out;

	if (event->thread == PROFILE_NONE) {
		json_out__open(out, NULL, '{');
		json_out__text(out, "ph", phase);
		json_out__text(out, "name", event->name);
		json_out__number(out, "pid", 0);
		json_out__number(out, "tid", 0);
	} else {
		begin_event(chrome, phase, event->name, event->thread);
	}
	json_out__text(out, "cat", event->signal);
	json_out__number(out, "id", (int64_t)index);
	write_time(chrome, "ts", time_ns);
}

/*
 * Events of signals may overlap, so they cannot be in a thread's row. They are asynchronous events.
 */
static void write_events(struct chrome *chrome)
{
	struct json_out *out = &chrome->out;

	for (size_t i = 0; i < chrome->profile->event_count; i++) {
		const struct profile_event *event = &chrome->profile->events[i];

		begin_async(chrome, event->duration_ns ? "b" : "n", i,
			    event->time_ns - event->duration_ns);
		json_out__open(out, "args", '{');
		json_out__decimal(out, "duration_ms", event->duration_ns, 6);
		if (event->object)
			json_out__text(out, "object", event->object);
		if (event->error)
			json_out__number(out, "errno", event->error);
		json_out__close(out, '}');
		json_out__close(out, '}');
		if (!event->duration_ns)
			continue;
		begin_async(chrome, "e", i, event->time_ns);
		json_out__close(out, '}');
	}
}

static void begin_window(struct chrome *chrome, const char *phase,
			 const struct profile_window *window, int64_t time_ns)
{
	begin_event(chrome, phase, label__window(chrome->profile, window), window->thread);
	json_out__text(&chrome->out, "cat", "window");
	json_out__number(&chrome->out, "id", window->id);
	write_time(chrome, "ts", time_ns);
}

/* Windows of an event loop overlap too. */
static void write_window(struct chrome *chrome, const struct profile_window *window)
{
	const struct profile *profile = chrome->profile;
	const struct profile_class *class = &profile->classes[window->class];
	struct json_out *out = &chrome->out;
	char parts[LABEL_SIZE];

	begin_window(chrome, "b", window, window->begin_ns);
	json_out__open(out, "args", '{');
	json_out__text(out, "of", class->service);
	json_out__text(out, "latency", label__band(window));
	if (*class->status)
		json_out__text(out, "status", class->status);
	json_out__decimal(out, "length_ms", window->length_ns, 6);
	json_out__text(out, "parts", label__parts(profile, window, parts));
	if (window->ends)
		json_out__text(out, "connection", window->ends);
	if (window->parent != PROFILE_NONE)
		json_out__number(out, "parent", profile->windows[window->parent].id);
	json_out__close(out, '}');
	json_out__close(out, '}');
	begin_window(chrome, "e", window, window->end_ns);
	json_out__close(out, '}');
}

static void write_windows(struct chrome *chrome)
{
	for (size_t i = 0; i < chrome->profile->window_count; i++) {
		const struct profile_window *window = &chrome->profile->windows[i];

		if (window->has_details && window->thread != PROFILE_NONE)
			write_window(chrome, window);
	}
}

static void write_value(struct chrome *chrome, const struct profile_counter *counter,
			int64_t time_ns, double value)
{
	struct json_out *out = &chrome->out;
	double scaled = value * 1000 + 0.5;
	char name[LABEL_SIZE];

	snprintf(name, sizeof(name), "%s, %s a second", counter->name, counter->unit);
	json_out__open(out, NULL, '{');
	json_out__text(out, "ph", "C");
	json_out__text(out, "name", name);
	json_out__number(out, "pid", 0);
	write_time(chrome, "ts", time_ns);
	json_out__open(out, "args", '{');
	/* In a hostile recording, a sum over a short slice can overflow. */
	json_out__decimal(out, counter->unit, scaled < MOST_RATE ? (int64_t)scaled : MOST_RATE, 3);
	json_out__close(out, '}');
	json_out__close(out, '}');
}

static void write_counters(struct chrome *chrome)
{
	const struct profile *profile = chrome->profile;

	for (size_t i = 0; i < profile->counter_count; i++) {
		const struct profile_counter *counter = &profile->counters[i];

		for (size_t j = 0; j < counter->point_count; j++) {
			const struct profile_point *point =
				&profile->points[counter->first_point + j];

			write_value(chrome, counter, point->begin_ns, spans__rate(point));
			if (spans__ends(profile, counter, j))
				write_value(chrome, counter, point->end_ns, 0);
		}
	}
}

/* "/lib/libc.so.6"; "Python: /srv/web.py:12" of a function of a runtime. */
static const char *category_of(const struct profile *profile, const struct calltree_frame *frame,
			       char ret[LABEL_SIZE])
{
	const struct code_function *function;
	enum code_language language;

	if (frame->frame == PROFILE_NONE)
		return "gapless";
	function = &profile->code.functions[frame->function];
	language = code__language(&profile->code, frame->function);
	if (!code_language__has_runtime(language) || !function->file)
		return profile->code.modules[function->module].path;
	snprintf(ret, LABEL_SIZE, "%s: %s:%u", code_language__name(language), function->file,
		 profile->code.lines[frame->line].line);
	return ret;
}

static void write_stacks(struct chrome *chrome)
{
	const struct calltree *calls = chrome->calls;
	struct json_out *out = &chrome->out;

	json_out__open(out, "stackFrames", '{');
	for (size_t i = 0; i < calls->node_count; i++) {
		const struct calltree_frame *frame = &calls->frames[calls->nodes[i].frame];
		char key[24], category[LABEL_SIZE];

		snprintf(key, sizeof(key), "%zu", i);
		json_out__open(out, key, '{');
		json_out__text(out, "name", frame->name);
		json_out__text(out, "category", category_of(chrome->profile, frame, category));
		if (calls->nodes[i].parent != PROFILE_NONE)
			json_out__number(out, "parent", calls->nodes[i].parent);
		json_out__close(out, '}');
	}
	json_out__close(out, '}');
}

static void release(struct chrome *chrome)
{
	calltree__free(chrome->calls);
	free(chrome->used);
	free(chrome->free_ns);
}

static int write_chrome(const struct profile *profile, FILE *file)
{
	cleanup(release) struct chrome chrome = { .out.file = file, .profile = profile };
	struct json_out *out = &chrome.out;
	int err = calltree__new(profile, &chrome.calls);

	if (!err)
		err = spans__used(profile, &chrome.used);
	if (err)
		return err;
	chrome.free_ns = spans__free_ns(profile);
	if (!chrome.free_ns)
		return -ENOMEM;
	json_out__open(out, NULL, '{');
	json_out__text(out, "displayTimeUnit", "ns");
	json_out__open(out, "otherData", '{');
	json_out__text(out, "product", "gapless");
	json_out__text(out, "states", "% of each slice, exact; their order in it is not known");
	json_out__close(out, '}');
	json_out__open(out, "traceEvents", '[');
	write_names(&chrome);
	err = write_states(&chrome);
	write_samples(&chrome);
	write_events(&chrome);
	write_windows(&chrome);
	write_counters(&chrome);
	json_out__close(out, ']');
	write_stacks(&chrome);
	json_out__close(out, '}');
	return err ? err : json_out__end(out);
}

const struct exporter export_chrome = {
	.name = "chrome",
	.about = "Chrome's trace events, which many viewers read: waits and shares of every thread",
	.suffix = ".trace.json",
	.accounts = true,
	.write = write_chrome,
};
