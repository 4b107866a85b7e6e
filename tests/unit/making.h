/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording made by hand, with stacks written as "main;loop;epoll_wait", and what is said of it.
 */
#pragma once

#include "reported.h"

#include <string.h>

#define MOST_NAMES 64

enum { SLEEP = 20, NET, OTHER, ACCEPT, THROTTLED };

/* Functions and stacks are made when a path first names them. */
struct making {
	struct recording *recording;
	char *functions[MOST_NAMES], *stacks[MOST_NAMES];
	int64_t function_count, stack_count;
	int64_t now_ns;
};

static inline struct making begin(void)
{
	static const struct recording_state states[] = {
		{ SLEEP, "wait", "sleep", "idle" },        { NET, "wait", "net", "delaying" },
		{ OTHER, "wait", "other", "delaying" },    { ACCEPT, "wait", "net", "idle" },
		{ THROTTLED, "ready", "throttled", NULL },
	};
	struct making making = { .recording = sample__begin(path), .now_ns = SAMPLE_START_NS };

	assert_int_equal(
		recording__add_module(making.recording,
				      &(struct recording_module) { 1, "file", "/opt/app", NULL }),
		0);
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		assert_int_equal(recording__add_state(making.recording, &states[i]), 0);
	sample__process(making.recording, 1, "app");
	return making;
}

static inline int64_t find(char **list, int64_t *count, const char *name, bool *ret_new)
{
	for (int64_t i = 0; i < *count; i++)
		if (!strcmp(list[i], name)) {
			*ret_new = false;
			return i + 1;
		}
	assert_true(*count < MOST_NAMES);
	list[(*count)++] = strdup(name);
	*ret_new = true;
	return *count;
}

/* The id of a function's frame. */
static inline int64_t frame_of(struct making *making, const char *name)
{
	bool is_new;
	int64_t id = find(making->functions, &making->function_count, name, &is_new);
	int err = 0;

	if (!is_new)
		return id;
	err |= recording__add_function(
		making->recording,
		&(struct recording_function) { id, 1, name, NULL, NULL, 0, NULL });
	err |= recording__add_frame(making->recording, id, 1, 16 * id);
	err |= recording__add_line(making->recording,
				   &(struct recording_line) { .frame = id, .function = id });
	assert_int_equal(err, 0);
	return id;
}

/* The id of a stack, "main;loop". */
static inline int64_t stack_of(struct making *making, const char *names)
{
	char *all = strdup(names), *last = strrchr(all, ';');
	bool is_new;
	int64_t id, parent = 0;

	if (last) {
		*last = '\0';
		parent = stack_of(making, all);
	}
	id = find(making->stacks, &making->stack_count, names, &is_new);
	if (is_new)
		assert_int_equal(recording__add_stack(making->recording, id, parent,
						      frame_of(making, last ? last + 1 : all)),
				 0);
	free(all);
	return id;
}

/* `count` waits of `like`, one after the other, which together take `ns`. */
static inline void add_waits(struct making *making, struct recording_sample like, const char *names,
			     int count, int64_t ns)
{
	like.stack = stack_of(making, names);
	like.wait_ns = like.weight_ns = ns / count;
	like.period_ns = 10 * MS;
	like.count = 1;
	if (!like.ended)
		like.ended = "event";
	if (!like.evidence)
		like.evidence = like.by ? "waker" : "none";
	for (int i = 0; i < count; i++) {
		making->now_ns += like.wait_ns;
		like.time_ns = making->now_ns;
		assert_int_equal(recording__add_sample(making->recording, &like), 0);
	}
	sample__account(making->recording, like.thread, like.state, 1, 3, ns, count);
}

/* Running time of a thread, with samples from the start of the recording on. */
static inline void run_in(struct making *making, int64_t thread, const char *names, int64_t run_ns)
{
	const struct recording_sample tick = { .thread = thread,
					       .state = SAMPLE_RUN_USER,
					       .stack = stack_of(making, names),
					       .weight_ns = 100 * MS,
					       .period_ns = 100 * MS,
					       .count = 1,
					       .flags = RECORDING_SAMPLE_TICK };

	sample__account(making->recording, thread, SAMPLE_RUN_USER, 1, 3, run_ns, 1);
	for (int64_t ns = 0; ns < run_ns; ns += 100 * MS) {
		struct recording_sample sample = tick;

		sample.time_ns = SAMPLE_START_NS + ns;
		assert_int_equal(recording__add_sample(making->recording, &sample), 0);
	}
}

/* A thread that ran `run_ns` in a function; its waits follow from the start of the recording on. */
static inline void add_thread(struct making *making, int64_t id, const char *comm, int64_t run_ns,
			      const char *names)
{
	sample__thread(making->recording, id, 1, comm, 0);
	run_in(making, id, names, run_ns);
	making->now_ns = SAMPLE_START_NS;
}

static inline void finish(struct making *making)
{
	sample__finish(making->recording);
	for (int64_t i = 0; i < making->function_count; i++)
		free(making->functions[i]);
	for (int64_t i = 0; i < making->stack_count; i++)
		free(making->stacks[i]);
}

static const struct report_options wide = { .width = 1000 };

static inline void expect(const char *words, bool there)
{
	char *text = print_as(&wide);

	if (!strstr(text, words) == there)
		fail_msg("%s '%s' in:\n%s", there ? "no" : "unexpected", words,
			 strstr(text, "in short"));
	free(text);
}
