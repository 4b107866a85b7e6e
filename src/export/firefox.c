/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Firefox Profiler's processed format, version 66: the first version in which all threads share
 * their tables and a stack's parent is an offset. Every later viewer upgrades it, so one fixed
 * version is enough.
 *
 * The weight of a sample is milliseconds, not 1, so that running, ready and waiting form one tree
 * whose sums are times. The category of a sample comes from its innermost frame. So the stack of a
 * sample that does not run ends in a frame of words (export/calltree.h). Each sampled wait is also
 * a marker, with its details. The viewer treats a sample as a moment, and a range contains the
 * moments inside it. So a wait becomes many samples spread over its time (export/spans.h). The
 * graph of CPU use comes from the accounts, which are exact; so does everything about a thread
 * without samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/exporter.h"
#include "export/firefox.h"
#include "export/spans.h"

#define FORMAT_VERSION 66
#define GECKO_VERSION  24 /* as other writers of version 66; readers ignore it */

int64_t firefox__text(struct firefox *firefox, const char *text)
{
	uint32_t index = 0;
	int err = strings__add(&firefox->strings, text, &index);

	if (err && !firefox->out.err)
		firefox->out.err = err;
	return index;
}

void firefox__number(struct firefox *firefox, const char *key, int64_t number)
{
	if (number == FIREFOX_NULL)
		json_out__null(&firefox->out, key);
	else
		json_out__number(&firefox->out, key, number);
}

/* Assigns a category and subcategory to each state. Subcategory 0 is "Other"; kinds are 1 to 3. */
static int sort_states(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;

	for (size_t i = 0; i < profile->state_count; i++) {
		const struct profile_state *state = &profile->states[i];
		uint32_t *category = &firefox->categories[i], *sub = &firefox->subcategories[i];

		if (SLOT_IS_WAIT(state->look)) {
			int err = strings__add(&firefox->causes, state->cause, category);

			if (err)
				return err;
			*category += FIREFOX_WAITS;
			*sub = states__words(state->look)->kind - KIND_DELAYING + 1;
		} else if (SLOT_IS_READY(state->look)) {
			*category = FIREFOX_READY;
			*sub = state->look - SLOT_RUN_END + 1;
		} else if (state->is_run) {
			*category = state->look == SLOT_RUN_KERNEL ? FIREFOX_KERNEL : FIREFOX_USER;
		}
	}
	return 0;
}

/* Assigns categories to the languages of runtimes that are there. */
static void sort_languages(struct firefox *firefox)
{
	const struct code *code = &firefox->profile->code;
	uint32_t next = FIREFOX_WAITS + (uint32_t)firefox->causes.names.count;

	for (uint32_t i = 0; i < code->function_count; i++) {
		enum code_language language = code__language(code, i);

		firefox->languages[language] |= code_language__has_runtime(language);
	}
	for (int i = 0; i < LANGUAGE_COUNT; i++)
		if (firefox->languages[i])
			firefox->languages[i] = next++;
}

/* Samples are sorted by time. The viewer needs those of a thread together. */
static void sort_samples(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	size_t *begins = firefox->begins, sum = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		begins[profile->samples[i].thread]++;
	for (size_t i = 0; i <= profile->thread_count; i++) {
		size_t count = begins[i];

		begins[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < profile->sample_count; i++)
		firefox->order[begins[profile->samples[i].thread]++] = (uint32_t)i;
	/* Each entry now holds the beginning of the next thread, so shift by one. */
	memmove(begins + 1, begins, profile->thread_count * sizeof(*begins));
	begins[0] = 0;
}

/* Events without a thread go to the first thread that is written. */
static void sort_events(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	size_t *begins = firefox->event_begins, sum = 0;
	uint32_t first = firefox->first_thread;

	for (size_t i = 0; first != PROFILE_NONE && i < profile->event_count; i++) {
		uint32_t thread = profile->events[i].thread;

		begins[(thread == PROFILE_NONE ? first : thread) + 1]++;
	}
	for (size_t i = 1; i <= profile->thread_count; i++)
		sum = begins[i] += sum;
	for (size_t i = 0; first != PROFILE_NONE && i < profile->event_count; i++) {
		uint32_t thread = profile->events[i].thread;
		size_t *begin = &begins[thread == PROFILE_NONE ? first : thread];

		firefox->event_order[(*begin)++] = (uint32_t)i;
	}
	/* Each entry now holds the beginning of the next thread, so shift by one. */
	memmove(begins + 1, begins, profile->thread_count * sizeof(*begins));
	begins[0] = 0;
}

/* The first thread that has anything to show. */
static uint32_t first_thread(const struct profile *profile)
{
	uint32_t first = PROFILE_NONE;

	for (size_t i = 0; i < profile->sample_count; i++)
		first = profile->samples[i].thread < first ? profile->samples[i].thread : first;
	for (size_t i = 0; i < profile->event_count; i++)
		first = profile->events[i].thread < first ? profile->events[i].thread : first;
	for (size_t i = 0; i < profile->window_count; i++)
		if (profile->windows[i].has_details && profile->windows[i].thread < first)
			first = profile->windows[i].thread;
	if (profile->account_count && profile->accounts[0].thread < first)
		first = profile->accounts[0].thread;
	return first;
}

/* A pid can be reused, so count earlier processes with the same pid. */
static int count_pids(struct firefox *firefox)
{
	cleanup(map__release) struct map pids = {};

	for (size_t i = 0; i < firefox->profile->process_count; i++) {
		uint32_t pid = (uint32_t)firefox->profile->processes[i].pid;
		uintptr_t before = (uintptr_t)map__get(&pids, pid);
		int err = map__put(&pids, pid, (void *)(before + 1));

		if (err)
			return err;
		firefox->processes[i].before = (uint32_t)before;
	}
	return 0;
}

static void sort_threads(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;

	for (size_t i = 0; i < profile->process_count; i++) {
		firefox->processes[i].first_ns = profile->end_ns;
		firefox->processes[i].last_ns = profile->start_ns;
	}
	for (size_t i = 0; i < profile->thread_count; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		struct firefox_process *process;

		if (thread->process == PROFILE_NONE)
			continue;
		process = &firefox->processes[thread->process];
		if (thread->first_ns < process->first_ns)
			process->first_ns = thread->first_ns;
		if (thread->last_ns > process->last_ns)
			process->last_ns = thread->last_ns;
	}
}

static void begin_category(struct json_out *out, const char *name, const char *colour)
{
	json_out__open(out, NULL, '{');
	json_out__text(out, "name", name);
	json_out__text(out, "color", colour);
	json_out__open(out, "subcategories", '[');
	json_out__text(out, NULL, "Other");
}

static void end_category(struct json_out *out)
{
	json_out__close(out, ']');
	json_out__close(out, '}');
}

static void write_category(struct json_out *out, const char *name, const char *colour)
{
	begin_category(out, name, colour);
	end_category(out);
}

/* A cause of two kinds has the colour of the first kind. */
static const char *colour_of(const struct profile *profile, const char *cause)
{
	for (size_t i = 0; i < profile->state_count; i++)
		if (SLOT_IS_WAIT(profile->states[i].look) &&
		    !strcmp(profile->states[i].cause, cause))
			return states__words(profile->states[i].look)->firefox;
	return "grey";
}

static void write_categories(struct firefox *firefox)
{
	struct json_out *out = &firefox->out;

	json_out__open(out, "categories", '[');
	write_category(out, "Other", "grey");
	write_category(out, "User", states__words(SLOT_RUN_USER)->firefox);
	write_category(out, "Kernel", states__words(SLOT_RUN_KERNEL)->firefox);
	write_category(out, "Generated code", "orange");
	begin_category(out, "Ready", states__words(SLOT_READY_WOKEN)->firefox);
	for (int slot = SLOT_RUN_END; slot < SLOT_READY_END; slot++)
		json_out__text(out, NULL, states__words(slot)->cause);
	end_category(out);
	for (size_t i = 0; i < firefox->causes.names.count; i++) {
		char name[TEXTS_MOST + 16];
		const char *cause = firefox->causes.names.texts[i];

		snprintf(name, sizeof(name), "Wait: %s", cause);
		begin_category(out, name, colour_of(firefox->profile, cause));
		for (int kind = KIND_DELAYING; kind <= KIND_IDLE; kind++)
			json_out__text(out, NULL, kinds__words(kind)->words);
		end_category(out);
	}
	for (int i = 0; i < LANGUAGE_COUNT; i++)
		if (firefox->languages[i])
			write_category(out, code_language__name(i),
				       code_language__look(i)->firefox);
	json_out__close(out, ']');
}

/* Ends with a field without a key. */
struct field {
	const char *key, *label, *format;
};

static void write_schema(struct json_out *out, const char *name, const char *label,
			 const char *in_chart, const struct field *fields)
{
	static const char *const displays[] = { "marker-chart", "marker-table",
						"timeline-overview" };

	json_out__open(out, NULL, '{');
	json_out__text(out, "name", name);
	json_out__text(out, "tooltipLabel", label);
	json_out__text(out, "tableLabel", label);
	json_out__text(out, "chartLabel", in_chart);
	json_out__open(out, "display", '[');
	for (size_t i = 0; i < sizeof(displays) / sizeof(*displays); i++)
		json_out__text(out, NULL, displays[i]);
	json_out__close(out, ']');
	json_out__open(out, "fields", '[');
	for (; fields->key; fields++) {
		json_out__open(out, NULL, '{');
		json_out__text(out, "key", fields->key);
		json_out__text(out, "label", fields->label);
		json_out__text(out, "format", fields->format);
		json_out__close(out, '}');
	}
	json_out__close(out, ']');
	json_out__close(out, '}');
}

static void write_schemas(struct firefox *firefox)
{
	static const struct field waits[] = {
		{ "why", "Cause", "unique-string" },
		{ "kind", "Kind", "unique-string" },
		{ "object", "Waits for", "unique-string" },
		{ "by", "By", "unique-string" },
		{ "evidence", "Which", "unique-string" },
		{ "first", "Held first by", "unique-string" },
		{ "length", "Length", "duration" },
		{ "weight", "Stands for", "duration" },
		{ "waits", "Waits", "integer" },
		{ "note", "Note", "unique-string" },
		{ "error", "Error", "unique-string" },
		{},
	};
	static const struct field windows[] = {
		{ "request", "Request", "unique-string" },
		{ "service", "Of", "unique-string" },
		{ "latency", "Among those of its service", "unique-string" },
		{ "status", "Ended", "unique-string" },
		{ "length", "Length", "duration" },
		{ "parts", "Parts", "unique-string" },
		{ "ends", "Connection", "unique-string" },
		{ "id", "Number", "integer" },
		{ "parent", "For", "integer" },
		{ "evidence", "Known by", "unique-string" },
		{},
	};
	struct json_out *out = &firefox->out;

	json_out__open(out, "markerSchema", '[');
	write_schema(out, "wait", "{marker.data.object} {marker.data.evidence} {marker.data.by}",
		     "{marker.data.object}", waits);
	write_schema(out, "ready", "{marker.data.why}", "{marker.data.object}", waits);
	write_schema(out, "event", "{marker.data.object} {marker.data.error}",
		     "{marker.data.object}", waits);
	if (firefox->profile->window_count)
		write_schema(out, "window", "{marker.data.request}: {marker.data.parts}",
			     "{marker.data.request}", windows);
	json_out__close(out, ']');
}

static void write_extra(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	const char *const rows[][2] = {
		{ "gapless", profile->version },
		{ "Kernel", profile->kernel },
		{ "Target", profile->target },
		{ "Command", profile->command },
	};
	struct json_out *out = &firefox->out;

	json_out__open(out, "extra", '[');
	json_out__open(out, NULL, '{');
	json_out__text(out, "label", "Recording");
	json_out__open(out, "entries", '[');
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!*rows[i][1])
			continue;
		json_out__open(out, NULL, '{');
		json_out__text(out, "label", rows[i][0]);
		json_out__text(out, "format", "string");
		json_out__text(out, "value", rows[i][1]);
		json_out__close(out, '}');
	}
	json_out__close(out, ']');
	json_out__close(out, '}');
	json_out__close(out, ']');
}

static void write_meta(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	struct json_out *out = &firefox->out;

	json_out__open(out, "meta", '{');
	json_out__number(out, "version", GECKO_VERSION);
	json_out__number(out, "preprocessedProfileVersion", FORMAT_VERSION);
	json_out__text(out, "product", "gapless");
	json_out__decimal(out, "interval", profile->period_ns ? profile->period_ns : 1000000, 6);
	json_out__decimal(out, "startTime", profile->start_unix_ns, 6);
	json_out__number(out, "processType", 0);
	json_out__number(out, "stackwalk", 1);
	json_out__bool(out, "symbolicated", true);
	/* Only then can the viewer show the functions of JavaScript alone. */
	json_out__bool(out, "usesOnlyOneStackType", !firefox->languages[LANGUAGE_JAVASCRIPT]);
	json_out__bool(out, "sourceCodeIsNotOnSearchfox", true);
	json_out__text(out, "platform", "Linux");
	json_out__text(out, "oscpu", "Linux x86_64");
	json_out__open(out, "sampleUnits", '{');
	json_out__text(out, "time", "ms");
	json_out__text(out, "eventDelay", "ms");
	json_out__text(out, "threadCPUDelta", "ns");
	json_out__close(out, '}');
	write_categories(firefox);
	write_schemas(firefox);
	write_extra(firefox);
	json_out__close(out, '}');
}

static void release(struct firefox *firefox)
{
	calltree__free(firefox->calls);
	strings__release(&firefox->strings);
	strings__release(&firefox->causes);
	free(firefox->categories);
	free(firefox->subcategories);
	free(firefox->order);
	free(firefox->free_ns);
	free(firefox->processes);
	free(firefox->begins);
	free(firefox->event_order);
	free(firefox->event_begins);
	free(firefox->window_order);
	free(firefox->window_begins);
}

static int prepare(struct firefox *firefox, const struct profile *profile)
{
	int err = calltree__new(profile, &firefox->calls);

	if (!err)
		err = spans__windows(profile, &firefox->window_order, &firefox->window_begins);
	firefox->categories = calloc(profile->state_count + 1, sizeof(*firefox->categories));
	firefox->subcategories = calloc(profile->state_count + 1, sizeof(*firefox->subcategories));
	firefox->order = calloc(profile->sample_count + 1, sizeof(*firefox->order));
	firefox->free_ns = spans__free_ns(profile);
	firefox->processes = calloc(profile->process_count + 1, sizeof(*firefox->processes));
	firefox->begins = calloc(profile->thread_count + 2, sizeof(*firefox->begins));
	firefox->event_order = calloc(profile->event_count + 1, sizeof(*firefox->event_order));
	firefox->event_begins = calloc(profile->thread_count + 2, sizeof(*firefox->event_begins));
	firefox->first_thread = first_thread(profile);
	if (err)
		return err;
	if (!firefox->event_order || !firefox->event_begins || !firefox->categories ||
	    !firefox->subcategories || !firefox->order || !firefox->free_ns ||
	    !firefox->processes || !firefox->begins)
		return -ENOMEM;
	firefox->step_ns = pieces__step(profile);
	sort_samples(firefox);
	sort_events(firefox);
	sort_threads(firefox);
	err = count_pids(firefox);
	if (!err)
		err = sort_states(firefox);
	sort_languages(firefox);
	return err;
}

static int write_firefox(const struct profile *profile, FILE *file)
{
	cleanup(release) struct firefox firefox = { .out.file = file, .profile = profile };
	struct json_out *out = &firefox.out;
	int err = prepare(&firefox, profile);

	if (err)
		return err;
	json_out__open(out, NULL, '{');
	write_meta(&firefox);
	err = firefox__write_libs(&firefox);
	if (!err)
		err = firefox__write_threads(&firefox);
	firefox__write_counters(&firefox);
	json_out__open(out, "pages", '[');
	json_out__close(out, ']');
	if (!err)
		err = firefox__write_shared(&firefox);
	json_out__close(out, '}');
	return err ? err : json_out__end(out);
}

const struct exporter export_firefox = {
	.name = "firefox",
	.about = "the Firefox Profiler: a timeline, every thread, markers for waits",
	.suffix = ".firefox.json",
	.accounts = true,
	.write = write_firefox,
};
