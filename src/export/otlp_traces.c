/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept windows as spans of OpenTelemetry: messages ExportTraceServiceRequest of opentelemetry-proto
 * 1, one after another, which together are one such message.
 *
 * A trace is a window without a parent and all that was made for it. Its id is that in the header
 * of the request, so that it joins the trace that an application has made; or its x-request-id, if
 * that has as many digits. Else it is made from the recording and the window, so that two exports
 * of a recording give the same ids.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/proto.h"
#include "export/exporter.h"
#include "export/label.h"
#include "vocabulary/window_words.h"

/* Field numbers of trace.proto, resource.proto and common.proto. */
enum { REQUEST_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum {
	SPAN_TRACE = 1,
	SPAN_ID = 2,
	SPAN_PARENT = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_BEGIN = 7,
	SPAN_END = 8,
	SPAN_ATTRIBUTES = 9,
	SPAN_EVENTS = 11,
	SPAN_LINKS = 13,
	SPAN_STATUS = 15,
};
enum { KIND_OF_CALL = 1, KIND_OF_SERVER, KIND_OF_CLIENT };
enum { EVENT_TIME = 1, EVENT_NAME };
enum { LINK_TRACE = 1, LINK_SPAN };
enum { STATUS_MESSAGE = 2, STATUS_CODE };
enum { STATUS_ERROR = 2 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { ANY_TEXT = 1, ANY_NUMBER = 3 };

#define TRACE_BYTES  16
#define SPAN_BYTES   8
#define MOST_SPANS   500 /* of a message */
#define MOST_PARENTS 64  /* of a hostile recording, whose windows may be parents of each other */

struct traces {
	const struct profile *profile;
	FILE *file;
	uint64_t recording;
	struct proto request, resource_spans, scope_spans, span, part, value;
};

static void release(struct traces *traces)
{
	proto__release(&traces->request);
	proto__release(&traces->resource_spans);
	proto__release(&traces->scope_spans);
	proto__release(&traces->span);
	proto__release(&traces->part);
	proto__release(&traces->value);
}

/* --- ids -------------------------------------------------------------------------------------- */

static uint64_t recording_of(const struct profile *profile)
{
	uint64_t hash = map__mix_text(0, profile->target);

	hash = map__mix_text(hash, profile->kernel);
	return map__mix(hash, (uint64_t)(profile->start_unix_ns - profile->start_ns));
}

struct trace_id {
	unsigned char bytes[TRACE_BYTES];
};

struct span_id {
	unsigned char bytes[SPAN_BYTES];
};

/* An id of 0 is none. */
static void make_id(const struct traces *traces, uint64_t number, uint64_t which,
		    unsigned char ret[SPAN_BYTES])
{
	uint64_t hash = map__mix(map__mix(traces->recording, number), which);

	hash = hash ? hash : 1;
	for (size_t i = 0; i < SPAN_BYTES; i++)
		ret[i] = (unsigned char)(hash >> (56 - i * 8));
}

static struct span_id span_of(const struct traces *traces, int64_t window)
{
	struct span_id id = {};

	make_id(traces, (uint64_t)window, 0, id.bytes);
	return id;
}

/* Takes `size` bytes from hexadecimal digits, with hyphens between them. False: there are not. */
static bool take_digits(const char *text, unsigned char *ret, size_t size)
{
	size_t digits = 0, set = 0;

	if (!text)
		return false;
	memset(ret, 0, size);
	for (; *text; text++) {
		int digit = isdigit((unsigned char)*text) ? *text - '0' : tolower(*text) - 'a' + 10;

		if (*text == '-')
			continue;
		if (!isxdigit((unsigned char)*text) || digits >= size * 2)
			return false;
		ret[digits / 2] |= (unsigned char)(digit << (digits % 2 ? 0 : 4));
		set += digit != 0;
		digits++;
	}
	return digits == size * 2 && set;
}

/*
 * The trace of a window: what it or a window that it was made for had in its header; else it is
 * made from the one at the beginning of the chain, as far as that is known.
 */
static struct trace_id trace_of(const struct traces *traces, const struct profile_window *window)
{
	const struct profile *profile = traces->profile;
	struct trace_id id = {};
	uint64_t root;

	for (int most = MOST_PARENTS;; window = &profile->windows[window->parent]) {
		if (take_digits(window->trace, id.bytes, TRACE_BYTES) ||
		    take_digits(window->request_id, id.bytes, TRACE_BYTES))
			return id;
		if (window->parent == PROFILE_NONE || !--most)
			break;
	}
	root = (uint64_t)(window->parent_id ? window->parent_id : window->id);
	make_id(traces, root, 1, id.bytes);
	make_id(traces, root, 2, id.bytes + SPAN_BYTES);
	return id;
}

static void add_link(struct traces *traces, const struct trace_id *trace,
		     const struct span_id *span)
{
	proto__bytes(&traces->part, LINK_TRACE, trace->bytes, TRACE_BYTES);
	proto__bytes(&traces->part, LINK_SPAN, span->bytes, SPAN_BYTES);
	proto__message(&traces->span, SPAN_LINKS, &traces->part);
}

/* --- attributes ------------------------------------------------------------------------------- */

static void put_attribute(struct traces *traces, struct proto *to, unsigned int field,
			  const char *key)
{
	proto__text(&traces->part, ATTRIBUTE_KEY, key);
	proto__message(&traces->part, ATTRIBUTE_VALUE, &traces->value);
	proto__message(to, field, &traces->part);
}

/* Adds a text to a span; nothing if it is NULL or "". */
static void add_text(struct traces *traces, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	proto__text(&traces->value, ANY_TEXT, text);
	put_attribute(traces, &traces->span, SPAN_ATTRIBUTES, key);
}

static void add_number(struct traces *traces, const char *key, int64_t number)
{
	proto__number_always(&traces->value, ANY_NUMBER, (uint64_t)number);
	put_attribute(traces, &traces->span, SPAN_ATTRIBUTES, key);
}

static void add_parts(struct traces *traces, const struct profile_window *window)
{
	for (size_t i = 0; i < window->part_count; i++) {
		const struct profile_part *part = &traces->profile->parts[window->first_part + i];
		char key[LABEL_SIZE + 32];

		snprintf(key, sizeof(key), "gapless.part.%s_ns", part->key);
		add_number(traces, key, part->ns);
	}
}

/* Databases have another attribute than other protocols. */
static void add_protocol(struct traces *traces, const char *protocol)
{
	static const char *const databases[] = { "postgresql", "redis", "mysql" };
	bool is_database = false;

	for (size_t i = 0; i < sizeof(databases) / sizeof(*databases); i++)
		is_database |= !strcmp(protocol, databases[i]);
	add_text(traces, is_database ? "db.system.name" : "network.protocol.name", protocol);
}

static void add_attributes(struct traces *traces, const struct profile_window *window)
{
	const struct profile *profile = traces->profile;
	const struct profile_class *class = &profile->classes[window->class];
	const struct profile_thread *thread =
		window->thread == PROFILE_NONE ? NULL : &profile->threads[window->thread];

	add_number(traces, "gapless.window", window->id);
	add_text(traces, "gapless.service", class->service);
	add_text(traces, "gapless.latency", label__band(window));
	add_text(traces, "gapless.text", window->text);
	add_text(traces, "gapless.status", class->status);
	add_text(traces, "gapless.connection", window->ends);
	add_text(traces, "http.request.header.x-request-id", window->request_id);
	add_text(traces, "gapless.parent.evidence", window->parent_id ? window->evidence : NULL);
	add_protocol(traces, class->protocol);
	if (window->n > 1)
		add_number(traces, "gapless.requests", window->n);
	if (window->left > 0)
		add_number(traces, "gapless.bytes_unsent", window->left);
	if (thread && thread->tid > 0)
		add_number(traces, "thread.id", thread->tid);
	add_text(traces, "thread.name", thread ? thread->comm : NULL);
	add_parts(traces, window);
}

/* --- spans ------------------------------------------------------------------------------------ */

static uint64_t unix_ns(const struct profile *profile, int64_t time_ns)
{
	return (uint64_t)profile->start_unix_ns + (uint64_t)(time_ns - profile->start_ns);
}

static void add_event(struct traces *traces, const char *name, int64_t time_ns)
{
	if (!time_ns)
		return;
	proto__fixed64(&traces->part, EVENT_TIME, unix_ns(traces->profile, time_ns));
	proto__text(&traces->part, EVENT_NAME, name);
	proto__message(&traces->span, SPAN_EVENTS, &traces->part);
}

/* A refused request is no error of the server. */
static void add_status(struct traces *traces, const struct profile_class *class)
{
	int status = window_words__find_status(class->status);
	bool is_server = !strcmp(class->kind, window_words__kind(WORDS_KIND_SERVER)->key);

	if (status < 0 || status == WORDS_STATUS_OK ||
	    (status == WORDS_STATUS_REFUSED && is_server))
		return;
	proto__text(&traces->part, STATUS_MESSAGE,
		    window_words__status((enum window_words_status)status)->words);
	proto__number(&traces->part, STATUS_CODE, STATUS_ERROR);
	proto__message(&traces->span, SPAN_STATUS, &traces->part);
}

static uint64_t kind_of(const struct profile_class *class)
{
	static const uint64_t kinds[WORDS_KINDS] = { [WORDS_KIND_CALL] = KIND_OF_CALL,
						     [WORDS_KIND_SERVER] = KIND_OF_SERVER,
						     [WORDS_KIND_CLIENT] = KIND_OF_CLIENT };
	int kind = window_words__find_kind(class->kind);

	return kind < 0 ? 0 : kinds[kind];
}

static bool is_span(const struct profile_window *window)
{
	return window->has_details;
}

/*
 * The window that it was made for, if that is a span of the same trace; else what its header says.
 * A parent that is not a span would look like a span that was lost.
 */
static void put_parent(struct traces *traces, const struct profile_window *window,
		       const struct trace_id *trace)
{
	const struct profile_window *parent =
		window->parent == PROFILE_NONE ? NULL : &traces->profile->windows[window->parent];
	struct trace_id other;
	struct span_id span;

	if (parent && is_span(parent)) {
		span = span_of(traces, parent->id);
		other = trace_of(traces, parent);
		if (!memcmp(&other, trace, sizeof(other))) {
			proto__bytes(&traces->span, SPAN_PARENT, span.bytes, SPAN_BYTES);
			return;
		}
		add_link(traces, &other, &span);
	}
	if (take_digits(window->trace_span, span.bytes, SPAN_BYTES) && window->trace)
		proto__bytes(&traces->span, SPAN_PARENT, span.bytes, SPAN_BYTES);
}

static void write_span(struct traces *traces, const struct profile_window *window)
{
	const struct profile *profile = traces->profile;
	const struct profile_class *class = &profile->classes[window->class];
	const struct trace_id trace = trace_of(traces, window);
	const struct span_id id = span_of(traces, window->id);
	struct proto *span = &traces->span;

	proto__bytes(span, SPAN_TRACE, trace.bytes, TRACE_BYTES);
	proto__bytes(span, SPAN_ID, id.bytes, SPAN_BYTES);
	put_parent(traces, window, &trace);
	/* Names of spans are few: the text of a request is an attribute. */
	proto__text(span, SPAN_NAME, *class->name ? class->name : label__window(profile, window));
	proto__number(span, SPAN_KIND, kind_of(class));
	proto__fixed64(span, SPAN_BEGIN, unix_ns(profile, window->start_ns));
	proto__fixed64(span, SPAN_END, unix_ns(profile, window->start_ns + window->length_ns));
	add_attributes(traces, window);
	if (kind_of(class) == KIND_OF_SERVER) {
		add_event(traces, "first byte read", window->read_ns);
		add_event(traces, "first byte answered", window->answer_ns);
	}
	add_status(traces, class);
	proto__message(&traces->scope_spans, SCOPE_SPANS_SPANS, span);
}

/* --- resources -------------------------------------------------------------------------------- */

static void add_resource_number(struct traces *traces, const char *key, int64_t number)
{
	proto__number_always(&traces->value, ANY_NUMBER, (uint64_t)number);
	put_attribute(traces, &traces->span, RESOURCE_ATTRIBUTES, key);
}

static void add_resource_text(struct traces *traces, const char *key, const char *text)
{
	proto__text(&traces->value, ANY_TEXT, text);
	put_attribute(traces, &traces->span, RESOURCE_ATTRIBUTES, key);
}

/* The spans that were collected, as spans of a process. */
static void send(struct traces *traces, uint32_t process)
{
	const struct profile *profile = traces->profile;
	const struct profile_process *of =
		process == PROFILE_NONE ? NULL : &profile->processes[process];

	add_resource_text(traces, "service.name", of ? of->comm : "unknown_service");
	if (of)
		add_resource_number(traces, "process.pid", of->pid);
	proto__message(&traces->resource_spans, RESOURCE_SPANS_RESOURCE, &traces->span);
	proto__text(&traces->part, SCOPE_NAME, "gapless");
	proto__text(&traces->part, SCOPE_VERSION, profile->version);
	proto__message(&traces->scope_spans, SCOPE_SPANS_SCOPE, &traces->part);
	proto__message(&traces->resource_spans, RESOURCE_SPANS_SCOPE_SPANS, &traces->scope_spans);
	proto__message(&traces->request, REQUEST_RESOURCE_SPANS, &traces->resource_spans);
	fwrite(traces->request.bytes, 1, traces->request.size, traces->file);
	proto__clear(&traces->request);
}

static uint32_t process_of(const struct profile *profile, const struct profile_window *window)
{
	return window->thread == PROFILE_NONE ? PROFILE_NONE
					      : profile->threads[window->thread].process;
}

static int by_process(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const uint32_t *x = a, *y = b;
	uint32_t first = process_of(profile, &profile->windows[*x]);
	uint32_t second = process_of(profile, &profile->windows[*y]);

	if (first != second)
		return first < second ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static void write_spans(struct traces *traces, const uint32_t *order, size_t count)
{
	const struct profile *profile = traces->profile;

	for (size_t i = 0, first = 0; i < count; i++) {
		uint32_t process = process_of(profile, &profile->windows[order[i]]);

		write_span(traces, &profile->windows[order[i]]);
		if (i + 1 < count && i + 1 - first < MOST_SPANS &&
		    process_of(profile, &profile->windows[order[i + 1]]) == process)
			continue;
		send(traces, process);
		first = i + 1;
	}
}

static int write_traces(const struct profile *profile, FILE *file)
{
	cleanup(release) struct traces traces = { .profile = profile,
						  .file = file,
						  .recording = recording_of(profile) };
	cleanup(free_p) uint32_t *order = calloc(profile->window_count + 1, sizeof(*order));
	size_t count = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < profile->window_count; i++)
		if (is_span(&profile->windows[i]))
			order[count++] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), by_process, (void *)profile);
	write_spans(&traces, order, count);
	if (proto__failed(&traces.request) || proto__failed(&traces.span))
		return -ENOMEM;
	return ferror(file) ? -EIO : 0;
}

const struct exporter export_otlp_traces = {
	.name = "otlp-traces",
	.about = "spans for OpenTelemetry: the requests and calls that were kept, with their parts",
	.suffix = ".otlp-traces.pb",
	.binary = true,
	.accounts = true,
	.windows = true,
	.write = write_traces,
};
