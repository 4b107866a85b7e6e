/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample.h"

#include "../harness.h"

#include <string.h>

#include "recording/window_rows.h"
#include "vocabulary/histogram.h"

#define US 1000LL

enum { ORDERS = 1, OTHERS, REFUSED, QUERIES };

/* Windows with ids in their headers. */
#define TRACED     400
#define IDENTIFIED 401

/* When a kept window begins. */
static int64_t begin_of(int64_t id)
{
	return SAMPLE_START_NS + SECOND + id * 50 * MS;
}

static void keep(struct recording *recording, const struct sample_windows *windows, int64_t number,
		 int64_t length_ns)
{
	const int64_t id = windows->first_id + number;
	const int64_t off_ns = number % 2 ? windows->spread_ns : -windows->spread_ns;
	const struct recording_window window = {
		.id = id,
		.class = windows->class,
		.thread = SAMPLE_WORKER_1,
		.ready_ns = begin_of(id),
		.read_ns = begin_of(id) + windows->parts[0].ns + off_ns,
		.answer_ns = begin_of(id) + length_ns + off_ns,
		.end_ns = begin_of(id) + length_ns + off_ns,
		.n = windows->n / windows->count,
		.weight = (double)windows->count / (double)windows->kept,
		.has_details = true,
		.evidence = "",
		.worker = "",
		.text = "GET /orders/17",
		.ends = "127.0.0.1:8080 ↔ 127.0.0.1:41000",
		.segments = 1,
		.trace = id == TRACED ? "4bf92f3577b34da6a3ce929d0e0e4736" : NULL,
		.trace_span = id == TRACED ? "00f067aa0ba902b7" : NULL,
		.request_id = id == TRACED       ? "order-17"
			      : id == IDENTIFIED ? "7d444840-9dc0-11d1-b245-5ffdce74fad2"
						 : NULL,
	};

	assert_int_equal(window_rows__put(recording, &window), 0);
	for (int i = 0; i < SAMPLE_PARTS && windows->parts[i].part; i++) {
		const struct recording_window_part part = {
			.window = id,
			.part = windows->parts[i].part,
			.state = windows->parts[i].state,
			.ns = windows->parts[i].ns + (i ? 0 : off_ns),
		};

		assert_int_equal(window_rows__add_part(recording, &part), 0);
	}
}

void sample__windows(struct recording *recording, const struct sample_windows *windows)
{
	struct recording_window_band band = { .class = windows->class,
					      .from = windows->from,
					      .to = windows->to,
					      .count = windows->count,
					      .n = windows->n };
	int64_t length_ns = 0;

	for (int i = 0; i < SAMPLE_PARTS && windows->parts[i].part; i++)
		length_ns += strcmp(windows->parts[i].part, "overlap") ? windows->parts[i].ns
								       : -windows->parts[i].ns;
	band.bucket = (int)histogram_bucket((__u64)length_ns);
	assert_int_equal(window_rows__add_band(recording, &band), 0);
	for (int i = 0; i < SAMPLE_PARTS && windows->parts[i].part; i++) {
		const struct recording_window_time time = {
			.class = windows->class,
			.from = windows->from,
			.to = windows->to,
			.bucket = band.bucket,
			.part = windows->parts[i].part,
			.state = windows->parts[i].state,
			.ns = windows->parts[i].ns * windows->count,
		};

		assert_int_equal(window_rows__add_time(recording, &time), 0);
	}
	for (int64_t i = 0; i < windows->kept; i++)
		keep(recording, windows, i, length_ns);
}

static void add_classes(struct recording *recording)
{
	static const struct recording_window_class classes[] = {
		{ ORDERS, "server", "http", "127.0.0.1:8080", "GET /orders/*", "ok", 1 },
		{ OTHERS, "server", "http", "127.0.0.1:8080", "GET /", "ok", 1 },
		{ REFUSED, "server", "http", "127.0.0.1:8080", "GET /orders/*", "refused", 1 },
		{ QUERIES, "client", "postgresql", "10.0.0.2:5432", "SELECT", "ok", 1 },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		assert_int_equal(window_rows__put_class(recording, &classes[i]), 0);
}

static const struct sample_windows served[] = {
	{ OTHERS,
	  1,
	  3,
	  1000,
	  1000,
	  4,
	  100,
	  0,
	  { { "queued.busy", 0, 60 * US }, { "own", SAMPLE_RUN_USER, 40 * US } } },
	{ ORDERS,
	  1,
	  3,
	  850,
	  850,
	  4,
	  200,
	  0,
	  { { "queued.busy", 0, 120 * US },
	    { "own", SAMPLE_RUN_USER, 50 * US },
	    { "own", SAMPLE_RUN_KERNEL, 30 * US } } },
	{ REFUSED, 1, 3, 30, 30, 0, 0, 0, { { "own", SAMPLE_RUN_USER, 200 * US } } },
	{ ORDERS,
	  1,
	  3,
	  100,
	  100,
	  4,
	  300,
	  10 * US,
	  { { "queued.busy", 0, 900 * US },
	    { "own", SAMPLE_RUN_USER, 60 * US },
	    { "own", SAMPLE_READY_PREEMPTED, 40 * US } } },
	{ ORDERS,
	  1,
	  3,
	  20,
	  20,
	  10,
	  400,
	  500 * US,
	  { { "own", SAMPLE_LOCK, 15000 * US },
	    { "queued.busy", 0, 3000 * US },
	    { "downstream", 0, 2000 * US },
	    { "own", SAMPLE_RUN_USER, 80 * US },
	    { "overlap", 0, 80 * US } } },
};

static void add_query(struct recording *recording)
{
	const struct recording_window query = {
		.id = 500,
		.class = QUERIES,
		.thread = SAMPLE_WORKER_1,
		.ready_ns = begin_of(400) + 4 * MS,
		.end_ns = begin_of(400) + 6 * MS,
		.n = 1,
		.weight = 0,
		.parent = 400,
		.evidence = "segment",
		.worker = "",
		.text = "SELECT",
		.ends = "10.0.0.1:40002 ↔ 10.0.0.2:5432",
	};

	assert_int_equal(window_rows__put(recording, &query), 0);
	sample__windows(recording,
			&(struct sample_windows) { .class = QUERIES,
						   .from = 1,
						   .to = 3,
						   .count = 20,
						   .n = 20,
						   .parts = { { "downstream", 0, 1990 * US },
							      { "receiving", 0, 10 * US } } });
}

void sample__add_windows(struct recording *recording)
{
	add_classes(recording);
	for (size_t i = 0; i < sizeof(served) / sizeof(*served); i++)
		sample__windows(recording, &served[i]);
	add_query(recording);
	for (int64_t id = 400; id < 410; id++) {
		const struct recording_window_wait wait = {
			.window = id,
			.state = SAMPLE_LOCK,
			.object = 1,
			.by = SAMPLE_LOGGER,
			.evidence = "owner",
			.ns = 15 * MS,
			.count = 1,
		};

		assert_int_equal(window_rows__add_wait(recording, &wait), 0);
	}
	assert_int_equal(recording__put_quality(recording, "windows_remainder", 0, "", ""), 0);
}
