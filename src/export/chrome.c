/*
 * Chrome's trace events: JSON that many viewers read, with less in it than they can show. Each
 * thread has two rows: its states, from the accounts (export/spans.h), and the waits that were
 * drawn, with what is known of them. Ticks are instants in the first row. Stacks are in
 * "stackFrames", where "sf" points to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/calls.h"
#include "export/exporter.h"
#include "export/json_out.h"
#include "export/label.h"
#include "export/spans.h"

#define US_DIGITS 3 /* of nanoseconds */
/* A row is a thread to the viewer. Above all that Linux gives out, and the number stays readable.
 */
#define WAITS_ROW 10000000

struct chrome {
	struct json_out out;
	const struct profile *profile;
	struct calls *calls;
	bool *used;       /* threads that have something to show */
	int64_t *free_ns; /* of spans__wait() */
};

static int pid_of(const struct profile *profile, uint32_t thread)
{
	uint32_t process = profile->threads[thread].process;

	return process == PROFILE_NONE ? profile->threads[thread].tid
				       : profile->processes[process].pid;
}

static void begin_event(struct chrome *chrome, const char *phase, const char *name, uint32_t thread,
			int row)
{
	struct json_out *out = &chrome->out;

	json_out__open(out, NULL, '{');
	json_out__text(out, "ph", phase);
	json_out__text(out, "name", name);
	json_out__number(out, "pid", pid_of(chrome->profile, thread));
	json_out__number(out, "tid", (int64_t)chrome->profile->threads[thread].tid + row);
}

static void write_time(struct chrome *chrome, const char *key, int64_t time_ns)
{
	json_out__decimal(&chrome->out, key, time_ns - chrome->profile->start_ns, US_DIGITS);
}

static void write_name(struct chrome *chrome, const char *event, uint32_t thread, int row,
		       const char *name)
{
	begin_event(chrome, "M", event, thread, row);
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
		char waits[LABEL_SIZE];

		if (!chrome->used[i])
			continue;
		/* Once for each process would do, and once for each thread does no harm. */
		write_name(chrome, "process_name", i, 0,
			   thread->process == PROFILE_NONE
				   ? thread->comm
				   : profile->processes[thread->process].comm);
		write_name(chrome, "thread_name", i, 0, thread->comm);
		snprintf(waits, sizeof(waits), "drawn waits of %s", thread->comm);
		write_name(chrome, "thread_name", i, WAITS_ROW, waits);
	}
}

/* Names of colours that Chrome's own viewer knows. */
static const char *colour_of(const struct profile_state *state)
{
	if (state->is_run)
		return "thread_state_running";
	if (!strcmp(state->state, "ready"))
		return "thread_state_runnable";
	if (!strcmp(state->cause, "disk") || !strcmp(state->cause, "fault"))
		return "thread_state_iowait";
	return "thread_state_sleeping";
}

static void write_states(struct chrome *chrome)
{
	struct spans spans = { .profile = chrome->profile };
	struct json_out *out = &chrome->out;
	struct span span;

	while (spans__next(&spans, &span)) {
		const struct profile_state *state = &chrome->profile->states[span.state];
		char name[LABEL_SIZE];

		begin_event(chrome, "X", label__state(state, name), span.thread, 0);
		json_out__text(out, "cat", "state");
		write_time(chrome, "ts", span.begin_ns);
		json_out__decimal(out, "dur", span.ns, US_DIGITS);
		json_out__text(out, "cname", colour_of(state));
		json_out__close(out, '}');
	}
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
	if (sample->by != PROFILE_NONE)
		json_out__text(out, label__evidence(state),
			       label__thread(&chrome->profile->threads[sample->by], name));
	if (chrome->calls->wakers[index] != PROFILE_NONE)
		json_out__text(out, "waker in", innermost(chrome, chrome->calls->wakers[index]));
	json_out__close(out, '}');
}

static void write_tick(struct chrome *chrome, size_t index)
{
	const struct profile_sample *sample = &chrome->profile->samples[index];

	begin_event(chrome, "i", innermost(chrome, chrome->calls->samples[index]), sample->thread,
		    0);
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
	begin_event(chrome, "X", name, sample->thread, WAITS_ROW);
	json_out__text(&chrome->out, "cat", "wait");
	write_time(chrome, "ts", span.begin_ns);
	json_out__decimal(&chrome->out, "dur", span.ns, US_DIGITS);
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

static const char *module_of(const struct profile *profile, const struct calls_frame *frame)
{
	if (frame->frame == PROFILE_NONE)
		return "gapless";
	return profile->modules[profile->frames[frame->frame].module].path;
}

static void write_stacks(struct chrome *chrome)
{
	const struct calls *calls = chrome->calls;
	struct json_out *out = &chrome->out;

	json_out__open(out, "stackFrames", '{');
	for (size_t i = 0; i < calls->node_count; i++) {
		const struct calls_frame *frame = &calls->frames[calls->nodes[i].frame];
		char key[24];

		snprintf(key, sizeof(key), "%zu", i);
		json_out__open(out, key, '{');
		json_out__text(out, "name", frame->name);
		json_out__text(out, "category", module_of(chrome->profile, frame));
		if (calls->nodes[i].parent != PROFILE_NONE)
			json_out__number(out, "parent", calls->nodes[i].parent);
		json_out__close(out, '}');
	}
	json_out__close(out, '}');
}

static void release(struct chrome *chrome)
{
	calls__free(chrome->calls);
	free(chrome->used);
	free(chrome->free_ns);
}

static int write_chrome(const struct profile *profile, FILE *file)
{
	cleanup(release) struct chrome chrome = { .out.file = file, .profile = profile };
	struct json_out *out = &chrome.out;
	int err = calls__new(profile, &chrome.calls);

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
	json_out__text(out, "states", "exact sums of each slice; their order in it is not known");
	json_out__close(out, '}');
	json_out__open(out, "traceEvents", '[');
	write_names(&chrome);
	write_states(&chrome);
	write_samples(&chrome);
	json_out__close(out, ']');
	write_stacks(&chrome);
	json_out__close(out, '}');
	return json_out__end(out);
}

const struct exporter export_chrome = {
	.name = "chrome",
	.about = "Chrome's trace events, which many viewers read: states and waits of every thread",
	.suffix = ".trace.json",
	.accounts = true,
	.write = write_chrome,
};
