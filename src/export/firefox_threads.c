/* The threads of the Firefox Profiler's format: samples, CPU use, markers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/firefox.h"
#include "export/label.h"
#include "export/spans.h"

#define MS_DIGITS 6 /* of nanoseconds */

static int64_t since_start(const struct firefox *firefox, int64_t time_ns)
{
	return time_ns - firefox->profile->start_ns;
}

static const struct profile_sample *sample_at(const struct firefox *firefox, size_t at)
{
	return &firefox->profile->samples[firefox->order[at]];
}

/* A walk through one thread's accounts: how long it has run, up to a time that only grows. */
struct run_time {
	const struct profile *profile;
	size_t at, end;  /* of the accounts: those before `at` are over … */
	int64_t over_ns; /* … and were this long */
};

static int64_t run_until(struct run_time *run, int64_t time_ns)
{
	const struct profile_account *accounts = run->profile->accounts;
	int64_t ns;

	while (run->at < run->end && accounts[run->at].end_ns <= time_ns) {
		if (run->profile->states[accounts[run->at].state].is_run)
			run->over_ns += accounts[run->at].ns;
		run->at++;
	}
	ns = run->over_ns;
	/* Inside a slice nobody knows when it ran: evenly is the best guess. */
	for (size_t i = run->at; i < run->end && accounts[i].begin_ns < time_ns; i++) {
		const struct profile_account *account = &accounts[i];
		int64_t begin = account->begin_ns, end = account->end_ns;

		if (run->profile->states[account->state].is_run && end > begin)
			ns += (int64_t)((double)account->ns *
					((double)((time_ns < end ? time_ns : end) - begin) /
					 (double)(end - begin)));
	}
	return ns;
}

static void write_cpu(struct firefox *firefox, size_t first, size_t end, struct run_time run)
{
	int64_t before = 0;

	json_out__open(&firefox->out, "threadCPUDelta", '[');
	for (size_t i = first; i < end; i++) {
		int64_t now = run_until(&run, sample_at(firefox, i)->time_ns);

		/* Rounding must not make it negative. */
		json_out__number(&firefox->out, NULL, now > before ? now - before : 0);
		before = now > before ? now : before;
	}
	json_out__close(&firefox->out, ']');
}

static void write_samples(struct firefox *firefox, size_t first, size_t end, struct run_time run)
{
	struct json_out *out = &firefox->out;

	json_out__open(out, "samples", '{');
	json_out__number(out, "length", (int64_t)(end - first));
	json_out__text(out, "weightType", "tracing-ms");
	json_out__open(out, "stack", '[');
	for (size_t i = first; i < end; i++)
		json_out__number(out, NULL, firefox->calls->samples[firefox->order[i]]);
	json_out__close(out, ']');
	json_out__open(out, "time", '[');
	for (size_t i = first; i < end; i++)
		json_out__decimal(out, NULL, since_start(firefox, sample_at(firefox, i)->time_ns),
				  MS_DIGITS);
	json_out__close(out, ']');
	json_out__open(out, "weight", '[');
	for (size_t i = first; i < end; i++)
		json_out__decimal(out, NULL, sample_at(firefox, i)->weight_ns, MS_DIGITS);
	json_out__close(out, ']');
	if (run.at < run.end)
		write_cpu(firefox, first, end, run);
	json_out__close(out, '}');
}

enum span_column { SPAN_STACK, SPAN_TIME, SPAN_WEIGHT, SPAN_CPU };

static int64_t state_node(struct firefox *firefox, uint32_t state)
{
	uint32_t node = 0;
	int err = calls__state(firefox->calls, state, &node);

	if (err && !firefox->out.err)
		firefox->out.err = err;
	return node;
}

/* A column of the thread's spans; how many there are. */
static int64_t write_spans(struct firefox *firefox, const struct run_time *run, const char *key,
			   enum span_column column)
{
	const struct profile *profile = firefox->profile;
	struct spans spans = { .profile = profile, .at = run->at };
	struct json_out *out = &firefox->out;
	struct span span;
	int64_t count = 0;

	json_out__open(out, key, '[');
	while (spans.at < run->end && spans__next(&spans, &span) && spans.at <= run->end) {
		bool is_run = profile->states[span.state].is_run;

		if (column == SPAN_STACK)
			json_out__number(out, NULL, state_node(firefox, span.state));
		else if (column == SPAN_TIME)
			json_out__decimal(out, NULL, since_start(firefox, span.begin_ns + span.ns),
					  MS_DIGITS);
		else if (column == SPAN_WEIGHT)
			json_out__decimal(out, NULL, span.ns, MS_DIGITS);
		else
			json_out__number(out, NULL, is_run ? span.ns : 0);
		count++;
	}
	json_out__close(out, ']');
	return count;
}

/* A thread without samples shows its accounts instead: each span is one, at its end. */
static void write_accounts(struct firefox *firefox, const struct run_time *run)
{
	struct json_out *out = &firefox->out;

	json_out__open(out, "samples", '{');
	json_out__text(out, "weightType", "tracing-ms");
	write_spans(firefox, run, "stack", SPAN_STACK);
	write_spans(firefox, run, "time", SPAN_TIME);
	write_spans(firefox, run, "weight", SPAN_WEIGHT);
	json_out__number(out, "length", write_spans(firefox, run, "threadCPUDelta", SPAN_CPU));
	json_out__close(out, '}');
}

/* A marker to be. */
struct marker {
	int64_t begin_ns;
	uint32_t sample;
};

/* In order of their starts: none starts before the one before it ended. */
static int find_markers(struct firefox *firefox, size_t first, size_t end, struct marker **ret,
			size_t *ret_count)
{
	struct marker *markers = calloc(end - first + 1, sizeof(*markers));
	size_t count = 0;

	if (!markers)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		const struct profile_sample *sample = sample_at(firefox, i);

		if (!sample->is_tick && sample->wait_ns > 0)
			markers[count++] =
				(struct marker) { spans__wait(sample, firefox->free_ns).begin_ns,
						  firefox->order[i] };
	}
	*ret = markers;
	*ret_count = count;
	return 0;
}

static void add_text(struct firefox *firefox, const char *key, const char *text)
{
	if (text)
		json_out__number(&firefox->out, key, firefox__text(firefox, text));
}

static void write_culprit(struct firefox *firefox, const struct profile_sample *sample,
			  const struct profile_state *state)
{
	char name[LABEL_SIZE];

	add_text(firefox, "by", label__thread(&firefox->profile->threads[sample->by], name));
	add_text(firefox, "evidence", label__evidence(state));
}

/* The waker's stack is the cause of the marker, in the viewer's sense. */
static void write_waker(struct firefox *firefox, const struct profile_sample *sample, uint32_t node)
{
	struct json_out *out = &firefox->out;

	json_out__open(out, "cause", '{');
	if (sample->by != PROFILE_NONE && firefox->profile->threads[sample->by].tid > 0)
		json_out__number(out, "tid", firefox->profile->threads[sample->by].tid);
	json_out__decimal(out, "time", since_start(firefox, sample->time_ns), MS_DIGITS);
	json_out__number(out, "stack", node);
	json_out__close(out, '}');
}

static void write_data(struct firefox *firefox, uint32_t index)
{
	const struct profile_sample *sample = &firefox->profile->samples[index];
	const struct profile_state *state = &firefox->profile->states[sample->state];
	struct json_out *out = &firefox->out;

	json_out__open(out, NULL, '{');
	json_out__text(out, "type", !strcmp(state->state, "ready") ? "ready" : "wait");
	add_text(firefox, "why", state->cause);
	add_text(firefox, "kind", state->kind);
	add_text(firefox, "object", sample->object);
	if (sample->by != PROFILE_NONE)
		write_culprit(firefox, sample, state);
	json_out__decimal(out, "length", sample->wait_ns, MS_DIGITS);
	json_out__decimal(out, "weight", sample->weight_ns, MS_DIGITS);
	json_out__number(out, "waits", sample->count);
	add_text(firefox, "note", sample->is_next ? "where it went on" : NULL);
	if (firefox->calls->wakers[index] != PROFILE_NONE)
		write_waker(firefox, sample, firefox->calls->wakers[index]);
	json_out__close(out, '}');
}

static int64_t marker_name(struct firefox *firefox, const struct marker *marker)
{
	uint32_t index = firefox->profile->samples[marker->sample].state;
	char name[LABEL_SIZE];

	return firefox__text(firefox, label__state(&firefox->profile->states[index], name));
}

static int write_markers(struct firefox *firefox, size_t first, size_t end)
{
	const struct profile_sample *samples = firefox->profile->samples;
	cleanup(free_p) struct marker *markers = NULL;
	struct json_out *out = &firefox->out;
	size_t count = 0;
	int err = find_markers(firefox, first, end, &markers, &count);

	if (err)
		return err;
	json_out__open(out, "markers", '{');
	json_out__number(out, "length", (int64_t)count);
	FIREFOX_COLUMN(firefox, "name", i, count, marker_name(firefox, &markers[i]));
	json_out__open(out, "startTime", '[');
	for (size_t i = 0; i < count; i++)
		json_out__decimal(out, NULL, since_start(firefox, markers[i].begin_ns), MS_DIGITS);
	json_out__close(out, ']');
	json_out__open(out, "endTime", '[');
	for (size_t i = 0; i < count; i++)
		json_out__decimal(out, NULL,
				  since_start(firefox, samples[markers[i].sample].time_ns),
				  MS_DIGITS);
	json_out__close(out, ']');
	FIREFOX_COLUMN(firefox, "phase", i, count, 1); /* an interval */
	FIREFOX_COLUMN(firefox, "category", i, count,
		       firefox->categories[samples[markers[i].sample].state]);
	json_out__open(out, "data", '[');
	for (size_t i = 0; i < count; i++)
		write_data(firefox, markers[i].sample);
	json_out__close(out, ']');
	json_out__close(out, '}');
	return 0;
}

static void write_life(struct firefox *firefox, int64_t first_ns, int64_t last_ns,
		       const char *begin, const char *end)
{
	json_out__decimal(&firefox->out, begin, since_start(firefox, first_ns), MS_DIGITS);
	if (last_ns < firefox->profile->end_ns)
		json_out__decimal(&firefox->out, end, since_start(firefox, last_ns), MS_DIGITS);
	else
		json_out__null(&firefox->out, end);
}

/* The second process of a pid is "1000.1". */
static void write_process(struct firefox *firefox, const struct profile_thread *thread)
{
	const struct profile_process *process =
		thread->process == PROFILE_NONE ? NULL
						: &firefox->profile->processes[thread->process];
	struct firefox_process more = { thread->first_ns, thread->last_ns, 0 };
	char text[48];

	if (process)
		more = firefox->processes[thread->process];
	snprintf(text, sizeof(text), more.before ? "%d.%u" : "%d",
		 process ? process->pid : thread->tid, more.before);
	json_out__text(&firefox->out, "pid", text);
	json_out__text(&firefox->out, "processName", process ? process->comm : thread->comm);
	json_out__bool(&firefox->out, "isMainThread", !process || process->pid == thread->tid);
	write_life(firefox, more.first_ns, more.last_ns, "processStartupTime",
		   "processShutdownTime");
}

static int write_thread(struct firefox *firefox, size_t index, struct run_time run)
{
	const struct profile_thread *thread = &firefox->profile->threads[index];
	size_t first = firefox->begins[index], end = firefox->begins[index + 1];
	struct json_out *out = &firefox->out;
	int err;

	json_out__open(out, NULL, '{');
	json_out__text(out, "name", thread->comm);
	json_out__text(out, "processType", "default");
	json_out__number(out, "tid", thread->tid);
	write_life(firefox, thread->first_ns, thread->last_ns, "registerTime", "unregisterTime");
	write_process(firefox, thread);
	json_out__open(out, "pausedRanges", '[');
	json_out__close(out, ']');
	if (first < end)
		write_samples(firefox, first, end, run);
	else
		write_accounts(firefox, &run);
	err = write_markers(firefox, first, end);
	json_out__close(out, '}');
	return err;
}

int firefox__write_threads(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	struct run_time run = { .profile = profile };
	int err = 0;

	json_out__open(&firefox->out, "threads", '[');
	for (size_t i = 0; !err && i < profile->thread_count; i++) {
		run.at = run.end;
		while (run.end < profile->account_count && profile->accounts[run.end].thread == i)
			run.end++;
		if (run.at < run.end || firefox->begins[i] < firefox->begins[i + 1])
			err = write_thread(firefox, i, run);
	}
	json_out__close(&firefox->out, ']');
	return err;
}
