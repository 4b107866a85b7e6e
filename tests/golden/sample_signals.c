/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sample with all five signals, and numbers that say what is wrong: reads of which one in
 * twenty takes 30 ms, writes that queue, a file that is looked for and not there, connections
 * without a pool, a peer behind a bad line, a full accept queue, and a shell that starts programs.
 * Counts are divided evenly among the three slices.
 */
#include "sample.h"

#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "vocabulary/histogram.h"
#include "vocabulary/roles.h"

enum { SYSCALLS = 1, BLOCK, FILES, TCP, EXEC };
enum { LOG = 11, DATA, THEME, LISTENER, LINE, HTTP, DATABASE /* and up */ };
enum { HTTP_COUNT = 60, DATABASE_COUNT = 900 };

#define US 1000LL

static int64_t last_series, last_distribution;

/* `count` events, each with these values, in all slices. */
static void add_series(struct recording *recording, struct recording_series series, int64_t count,
		       const int64_t values[RECORDING_MEASURES])
{
	series.id = ++last_series;
	series.place = series.place ? series.place : "";
	series.operation = series.operation ? series.operation : "";
	assert_int_equal(recording__add_series(recording, &series), 0);
	for (int64_t i = 1; i <= 3; i++) {
		struct recording_sum sum = { .series = series.id,
					     .from = i,
					     .to = i,
					     .count = count / 3 + (i <= count % 3) };

		for (int j = 0; j < RECORDING_MEASURES; j++) {
			sum.sum[j] = sum.count * values[j];
			sum.max[j] = sum.count ? values[j] : 0;
		}
		if (sum.count)
			assert_int_equal(recording__add_sum(recording, &sum), 0);
	}
}

/* The histogram of one measure: pairs of a value and how many have it, up to a count of 0. */
static void add_histogram(struct recording *recording, int signal, int measure, const char *place,
			  const char *operation, const int64_t (*values)[2])
{
	const struct recording_distribution distribution = { ++last_distribution, signal, measure,
							     place, operation };

	assert_int_equal(recording__add_distribution(recording, &distribution), 0);
	for (; (*values)[1]; values++)
		for (int64_t i = 1; i <= 3; i++)
			assert_int_equal(recording__add_distributed(
						 recording, distribution.id,
						 (int)histogram_bucket((__u64)(*values)[0]), i, i,
						 (*values)[1] / 3 + (i <= (*values)[1] % 3)),
					 0);
}

static void add_signal(struct recording *recording, int id, const char *name, const char *events,
		       const char *const *measures)
{
	const struct recording_signal signal = { id, name, "about it", events,
						 roles__name(roles__find(NULL, name)) };

	assert_int_equal(recording__add_signal(recording, &signal), 0);
	for (int i = 0; measures[2 * i]; i++)
		assert_int_equal(recording__add_measure(recording, id, i, measures[2 * i],
							measures[2 * i + 1]),
				 0);
}

static void add_object(struct recording *recording, int64_t id, const char *kind, const char *name)
{
	const struct recording_object object = { id, kind, name };

	assert_int_equal(recording__put_object(recording, &object), 0);
}

static void add_event(struct recording *recording, struct recording_event event, int64_t offset_ns)
{
	event.time_ns = SAMPLE_START_NS + offset_ns;
	event.place = event.place ? event.place : "";
	event.operation = event.operation ? event.operation : "";
	event.fields = event.fields ? event.fields : "{}";
	assert_int_equal(recording__add_event(recording, &event), 0);
}

static void add_syscalls(struct recording *recording)
{
	static const char *const measures[] = { "time", "ns", "running", "ns", NULL };

	add_signal(recording, SYSCALLS, "syscalls", "calls", measures);
	add_series(recording,
		   (struct recording_series) { .signal = SYSCALLS,
					       .thread = SAMPLE_MAIN,
					       .operation = "newfstatat",
					       .error = ENOENT },
		   365760, (int64_t[6]) { 9 * US, 9 * US });
	add_series(recording,
		   (struct recording_series) {
			   .signal = SYSCALLS, .thread = SAMPLE_MAIN, .operation = "newfstatat" },
		   15240, (int64_t[6]) { 9 * US, 9 * US });
	add_series(recording,
		   (struct recording_series) { .signal = SYSCALLS,
					       .thread = SAMPLE_LOGGER,
					       .operation = "fsync",
					       .error = EIO },
		   3, (int64_t[6]) { 120 * MS, 1 * MS });
	add_event(recording,
		  (struct recording_event) {
			  .signal = SYSCALLS,
			  .duration_ns = 120 * MS,
			  .thread = SAMPLE_LOGGER,
			  .operation = "fsync",
			  .error = EIO,
			  .fields = "{\"args\":\"fsync(7 → /var/log/app.log) = -5\"}" },
		  12345 * MS);
}

static void add_block_histograms(struct recording *recording)
{
	/* Reads: 95 % at 0.2 ms and 5 % at 30 ms. */
	add_histogram(recording, BLOCK, 0, "vda", "read",
		      (const int64_t[][2]) { { 200 * US, 10640 }, { 30 * MS, 560 }, {} });
	add_histogram(recording, BLOCK, 1, "vda", "read",
		      (const int64_t[][2]) { { 10 * US, 11200 }, {} });
	add_histogram(recording, BLOCK, 2, "vda", "read",
		      (const int64_t[][2]) { { 190 * US, 10640 }, { 29990 * US, 560 }, {} });
	add_histogram(recording, BLOCK, 0, "vda", "write",
		      (const int64_t[][2]) { { 12 * MS, 1200 }, {} });
	add_histogram(recording, BLOCK, 1, "vda", "write",
		      (const int64_t[][2]) { { 11700 * US, 1200 }, {} });
	add_histogram(recording, BLOCK, 2, "vda", "write",
		      (const int64_t[][2]) { { 300 * US, 1200 }, {} });
	add_histogram(recording, BLOCK, 0, "vda", "flush",
		      (const int64_t[][2]) { { 5 * MS, 90 }, {} });
}

static void add_block(struct recording *recording)
{
	static const char *const measures[] = { "total",   "ns",       "queue",      "ns",
						"service", "ns",       "size",       "bytes",
						"depth",   "requests", "sequential", "requests",
						NULL };
	struct recording_series read = { .signal = BLOCK, .place = "vda", .operation = "read" };

	add_signal(recording, BLOCK, "block", "requests", measures);
	for (int64_t thread = SAMPLE_WORKER_1; thread <= SAMPLE_WORKER_2; thread++) {
		read.thread = thread;
		add_series(recording, read, 5320,
			   (int64_t[6]) { 200 * US, 10 * US, 190 * US, 4096, 2, 0 });
		/* As if of another object: a series of its own. */
		read.error = EIO;
		add_series(recording, read, 280,
			   (int64_t[6]) { 30 * MS, 10 * US, 29990 * US, 4096, 2, 1 });
		read.error = 0;
	}
	add_series(recording,
		   (struct recording_series) { .signal = BLOCK,
					       .thread = SAMPLE_LOGGER,
					       .place = "vda",
					       .operation = "write" },
		   1200, (int64_t[6]) { 12 * MS, 11700 * US, 300 * US, 65536, 32, 1 });
	add_series(recording,
		   (struct recording_series) { .signal = BLOCK,
					       .thread = SAMPLE_LOGGER,
					       .place = "vda",
					       .operation = "flush" },
		   90, (int64_t[6]) { 5 * MS, 0, 5 * MS, 0, 1, 0 });
	add_block_histograms(recording);
	for (int64_t i = 0; i < 12; i++)
		add_event(recording,
			  (struct recording_event) { .signal = BLOCK,
						     .duration_ns = 30 * MS + i * US,
						     .thread = SAMPLE_WORKER_1,
						     .place = "vda",
						     .operation = "read" },
			  (1000 + 2000 * i) * MS);
}

static void add_files(struct recording *recording)
{
	static const char *const measures[] = { "time",  "ns",     "asked", "bytes", "returned",
						"bytes", "missed", "pages", NULL };
	struct recording_series read = {
		.signal = FILES, .object = DATA, .place = "ext4 on vda1", .operation = "read"
	};

	add_signal(recording, FILES, "files", "operations", measures);
	add_object(recording, LOG, "file", "/var/log/app.log");
	add_object(recording, DATA, "file", "/var/lib/app/data.db");
	add_object(recording, THEME, "file", "/etc/app/theme.conf");
	for (int64_t thread = SAMPLE_WORKER_1; thread <= SAMPLE_WORKER_2; thread++) {
		read.thread = thread;
		add_series(recording, read, 5600, (int64_t[6]) { 1700 * US, 8192, 4096, 1 });
	}
	add_series(recording,
		   (struct recording_series) { .signal = FILES,
					       .thread = SAMPLE_LOGGER,
					       .object = LOG,
					       .place = "ext4 on vda1",
					       .operation = "fsync" },
		   90, (int64_t[6]) { 200 * MS });
	add_series(recording,
		   (struct recording_series) { .signal = FILES,
					       .thread = SAMPLE_LOGGER,
					       .object = LOG,
					       .place = "ext4 on vda1",
					       .operation = "write" },
		   9000, (int64_t[6]) { 10 * US, 8192, 8192, 0 });
	add_series(recording,
		   (struct recording_series) { .signal = FILES,
					       .thread = SAMPLE_MAIN,
					       .object = THEME,
					       .place = "overlay",
					       .operation = "stat",
					       .error = ENOENT },
		   365760, (int64_t[6]) { 8 * US });
	add_histogram(recording, FILES, 0, "ext4 on vda1", "read",
		      (const int64_t[][2]) { { 1700 * US, 11200 }, {} });
	add_histogram(recording, FILES, 0, "ext4 on vda1", "fsync",
		      (const int64_t[][2]) { { 200 * MS, 90 }, {} });
	add_histogram(recording, FILES, 0, "ext4 on vda1", "write",
		      (const int64_t[][2]) { { 10 * US, 9000 }, {} });
	add_histogram(recording, FILES, 0, "overlay", "stat",
		      (const int64_t[][2]) { { 8 * US, 365760 }, {} });
	add_event(recording,
		  (struct recording_event) { .signal = FILES,
					     .duration_ns = 200 * MS,
					     .thread = SAMPLE_LOGGER,
					     .object = LOG,
					     .place = "ext4 on vda1",
					     .operation = "fsync" },
		  20 * SECOND);
}

static void add_tcp(struct recording *recording, int64_t thread, int64_t object,
		    const char *operation, int64_t count, const int64_t values[RECORDING_MEASURES])
{
	add_series(
		recording,
		(struct recording_series) {
			.signal = TCP, .thread = thread, .object = object, .operation = operation },
		count, values);
}

/* A connection that is opened, used and closed. */
static void add_connection(struct recording *recording, int64_t thread, int64_t object,
			   const char *opening, int64_t open_ns, int64_t life_ns)
{
	add_tcp(recording, thread, object, opening, 1, (int64_t[6]) { open_ns });
	add_tcp(recording, thread, object, "send", 2, (int64_t[6]) { 0, 500, 1, 0 });
	add_tcp(recording, thread, object, "receive", 2, (int64_t[6]) { 0, 1500, 2, 0 });
	add_tcp(recording, thread, object, "lifetime", 1, (int64_t[6]) { life_ns });
}

static void add_connections(struct recording *recording)
{
	char name[128];

	for (int64_t i = 0; i < HTTP_COUNT; i++) {
		snprintf(name, sizeof(name), "10.0.0.9:8080 ↔ 10.0.1.%lld:41000", (long long)i);
		add_object(recording, HTTP + 1000 + i, "socket", name);
		add_connection(recording, SAMPLE_MAIN, HTTP + 1000 + i, "accept", 40 * MS, SECOND);
	}
	for (int64_t i = 0; i < DATABASE_COUNT; i++) {
		snprintf(name, sizeof(name), "10.0.0.9:%lld ↔ 10.0.0.1:5432", (long long)i + 33000);
		add_object(recording, DATABASE + i, "socket", name);
		add_connection(recording, SAMPLE_WORKER_1 + i % 2, DATABASE + i, "connect",
			       500 * US, 3 * MS);
	}
}

static void add_network(struct recording *recording)
{
	static const char *const measures[] = { "time",     "ns",  "bytes", "bytes", "segments",
						"segments", "rtt", "ns",    NULL };

	add_signal(recording, TCP, "tcp", "events", measures);
	add_connections(recording);
	add_object(recording, LINE, "socket", "10.0.0.9:40001 ↔ 192.0.2.7:443");
	add_tcp(recording, SAMPLE_LOGGER, LINE, "send", 6000, (int64_t[6]) { 0, 14000, 10, 0 });
	add_tcp(recording, SAMPLE_LOGGER, LINE, "retransmit", 1240,
		(int64_t[6]) { 0, 1400, 1, 80 * MS });
	add_object(recording, LISTENER, "socket", "10.0.0.9:8080");
	add_tcp(recording, SAMPLE_MAIN, LISTENER, "overflow", 120, (int64_t[6]) {});
	add_histogram(recording, TCP, 0, "", "accept",
		      (const int64_t[][2]) { { 40 * MS, HTTP_COUNT }, {} });
	add_histogram(recording, TCP, 0, "", "connect",
		      (const int64_t[][2]) { { 500 * US, DATABASE_COUNT }, {} });
	add_histogram(
		recording, TCP, 0, "", "lifetime",
		(const int64_t[][2]) { { 3 * MS, DATABASE_COUNT }, { SECOND, HTTP_COUNT }, {} });
	add_event(recording,
		  (struct recording_event) { .signal = TCP,
					     .duration_ns = 40 * MS,
					     .thread = SAMPLE_MAIN,
					     .object = HTTP + 1000,
					     .operation = "accept" },
		  7 * SECOND);
}

/* A process that starts a program, and its end. */
static void add_program(struct recording *recording, int64_t pid, bool fails, int64_t offset_ns)
{
	struct recording_event event = { .signal = EXEC, .operation = "exec" };
	char fields[256];

	event.fields = fields;
	snprintf(fields, sizeof(fields),
		 "{\"pid\":%lld,\"parent_pid\":1000,\"parent_comm\":\"sh\",\"status\":null,"
		 "\"killed_by\":null,\"forked\":null,\"file\":\"%s\",\"args\":\"\"}",
		 (long long)pid, fails ? "/bin/false" : "/bin/true");
	add_event(recording, event, offset_ns);
	event.operation = "exit";
	event.duration_ns = 2 * MS;
	snprintf(fields, sizeof(fields),
		 "{\"pid\":%lld,\"parent_pid\":1000,\"parent_comm\":\"sh\",\"status\":%d,"
		 "\"killed_by\":null,\"forked\":0,\"file\":null,\"args\":null}",
		 (long long)pid, fails);
	add_event(recording, event, offset_ns + 2 * MS);
}

static void add_programs(struct recording *recording)
{
	static const char *const measures[] = { "lifetime", "ns", NULL };

	add_signal(recording, EXEC, "exec", "processes", measures);
	add_series(recording, (struct recording_series) { .signal = EXEC, .thread = SAMPLE_MAIN },
		   450, (int64_t[6]) { 2 * MS });
	add_histogram(recording, EXEC, 0, "", "", (const int64_t[][2]) { { 2 * MS, 450 }, {} });
	for (int64_t i = 0; i < 450; i++)
		add_program(recording, 5000 + i, i % 9 == 8, i * 60 * MS);
}

void sample__add_signals(struct recording *recording)
{
	last_series = last_distribution = 0;
	add_syscalls(recording);
	add_block(recording);
	add_files(recording);
	add_network(recording);
	add_programs(recording);
	assert_int_equal(
		recording__put_quality(recording, "tcp_unpaired", 4, "they are in no sum", ""), 0);
}
