/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make FEATURES|CROWDED|LARGE|RUNTIMES|REQUESTS FILE: recordings for the tests of the page.
 * FEATURES is the sample with stacks and signals, and names that are scripts; CROWDED has more in
 * one signal than there is room for; LARGE is what the page has to stand: 1,000 threads, 50,000
 * stacks, 10 minutes; RUNTIMES has functions of Python; REQUESTS has 2,000 requests.
 */
#include "../harness.h"

#include <stdio.h>

#include "../unit/mixed.h"
#include "sample.h"

#define HOSTILE "<script>alert(1)</script>"

/* The sample's three slices are the first 30 s. */
enum { LARGE_THREADS = 1000, LARGE_SECONDS = 600, LARGE_STACKS = 50000, LARGE_DEPTH = 24 };

static void make_features(const char *path)
{
	sqlite3 *db = NULL;

	sample__write_with_all(path);
	/* Nobody writes into a finished recording, so names are changed by the means that a
	 * stranger has. */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			db,
			"UPDATE process SET comm = '" HOSTILE "' WHERE id = 1;"
			"UPDATE thread SET comm = '" HOSTILE "' WHERE id = 1;"
			"UPDATE object SET name = '<img src=x onerror=alert(2)>' WHERE id = 1;"
			"UPDATE series SET place = '<img src=x>' WHERE place = 'overlay';"
			"UPDATE distribution SET place = '<img src=x>' WHERE place = 'overlay';"
			"UPDATE event SET fields = '{\"note\":\"" HOSTILE "\"}' WHERE signal = 2;",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
}

/* Numbers that look like chance and are the same every time. */
static unsigned draw(unsigned most)
{
	static unsigned long long state = 42;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % most;
}

static void add_large_code(struct recording *recording)
{
	int64_t stack = 0;
	char name[64];
	int err = recording__add_module(
		recording, &(struct recording_module) { 1, "file", "/usr/bin/large", NULL });

	for (int i = 1; i <= 5000; i++) {
		snprintf(name, sizeof(name), "namespace_%d::function_%d", i % 97, i);
		err |= recording__add_frame(recording, i, 1, 4096 + i * 16);
		err |= recording__add_function(
			recording,
			&(struct recording_function) { i, 1, name, name, NULL, 0, NULL });
		err |= recording__add_line(recording, &(struct recording_line) { i, 0, i, 0, 0 });
	}
	/* Every stack leaves another one half way. */
	for (int i = 0; i < LARGE_STACKS; i++) {
		int64_t parent = i ? (int64_t)draw((unsigned)i) * (LARGE_DEPTH / 4) + 1 : 0;

		for (int depth = 0; depth < LARGE_DEPTH / 4; depth++) {
			err |= recording__add_stack(recording, ++stack, parent, 1 + draw(5000));
			parent = stack;
		}
	}
	assert_int_equal(err, 0);
}

static void add_second(struct recording *recording, int second)
{
	int64_t begin = SAMPLE_START_NS + second * SECOND, slice = second - 26;
	int err = recording__add_slice(recording, slice, begin, begin + SECOND);

	for (int thread = 1; thread <= LARGE_THREADS; thread++) {
		int64_t run = draw(400) * MS, ready = draw(100) * MS, disk = draw(200) * MS;
		const struct recording_account accounts[] = {
			{ thread, slice, slice, SAMPLE_RUN_USER, run, 5 },
			{ thread, slice, slice, SAMPLE_READY_WOKEN, ready, 5 },
			{ thread, slice, slice, SAMPLE_DISK, disk, 5 },
			{ thread, slice, slice, SAMPLE_POLL, SECOND - run - ready - disk, 5 },
		};

		for (int i = 0; i < 4; i++)
			err |= recording__add_account(recording, &accounts[i]);
	}
	for (int i = 0; i < 2000; i++)
		err |= recording__add_sample(
			recording, &(struct recording_sample) {
					   .time_ns = begin + 1 + draw(1000) * MS,
					   .thread = 1 + draw(LARGE_THREADS),
					   .state = (int[]) { SAMPLE_RUN_USER, SAMPLE_DISK,
							      SAMPLE_POLL }[draw(3)],
					   .stack = 1 + draw(LARGE_STACKS * (LARGE_DEPTH / 4)),
					   .weight_ns = 100 * MS,
					   .period_ns = 100 * MS,
					   .count = 1 });
	for (int key = 1; key <= 300; key++)
		for (int bucket = 0; bucket < 12; bucket++)
			err |= recording__add_bucket(
				recording, &(struct recording_bucket) {
						   RECORDING_HISTOGRAM_SYSCALL, key, slice, slice,
						   80 + (int)draw(100) + bucket, 1 + draw(50) });
	assert_int_equal(err, 0);
	assert_int_equal(recording__commit(recording), 0);
}

static void make_large(const char *path)
{
	struct recording *recording = sample__begin(path);
	char name[32];
	int err = recording__set_number(recording, "end_ns",
					SAMPLE_START_NS + LARGE_SECONDS * SECOND);

	sample__process(recording, 1, "large");
	for (int i = 1; i <= LARGE_THREADS; i++) {
		snprintf(name, sizeof(name), "worker-%d", i);
		err |= recording__put_thread(
			recording, &(struct recording_thread) {
					   i, 1, 1000 + i, name, SAMPLE_START_NS,
					   SAMPLE_START_NS + LARGE_SECONDS * SECOND, 0, 0 });
		sample__account(recording, i, SAMPLE_POLL, 1, 3, 30 * SECOND, 1);
	}
	for (int key = 1; key <= 300; key++) {
		snprintf(name, sizeof(name), "call_%d", key);
		err |= recording__add_syscall(
			recording,
			&(struct recording_syscall) { key, name, 1, 3, 1000, 0, SECOND, MS, MS });
	}
	assert_int_equal(err, 0);
	add_large_code(recording);
	for (int second = 30; second < LARGE_SECONDS; second++)
		add_second(recording, second);
	sample__finish(recording);
}

/* main() and burn() of Python, a thread of the program without Python, and numpy. */
static void make_runtimes(const char *path)
{
	struct recording *recording = begin_python(path);

	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	add_samples(recording, SAMPLE_RUN_USER, 4, 60);
	add_samples(recording, SAMPLE_RUN_USER, 5, 20);
	add_samples(recording, SAMPLE_RUN_USER, 7, 10);
	add_samples(recording, SAMPLE_RUN_USER, 1, 10);
	sample__finish(recording);
}

/* Names of requests come from whoever sent them. */
static void make_requests(const char *path)
{
	sqlite3 *db = NULL;

	sample__write_with_requests(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			     "UPDATE window SET text = 'GET /" HOSTILE "' WHERE id = 405;"
			     "UPDATE window_class SET name = 'GET /<img src=x>' WHERE id = 2",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "LARGE"))
		make_large(argv[2]);
	else if (!strcmp(argv[1], "CROWDED"))
		sample__write_crowded(argv[2]);
	else if (!strcmp(argv[1], "RUNTIMES"))
		make_runtimes(argv[2]);
	else if (!strcmp(argv[1], "REQUESTS"))
		make_requests(argv[2]);
	else
		make_features(argv[2]);
	return 0;
}
