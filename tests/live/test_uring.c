/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uring: known requests must be what is counted, and fio's own counts, under who submitted them. */
#include "../harness.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger.h"

#define BLOCK   4096
#define CHARGED 30
#define LARGE   (INT64_C(4) << 20)
#define TICK_NS (10 * MS) /* at most */

static json_t *log_lines;
static char recording[64], folder[64], file[96], second[96], output[96];

static int set_up(void **state)
{
	trial__path(recording, sizeof(recording));
	snprintf(folder, sizeof(folder), "/tmp/gapless-test-uring-%d", getpid());
	snprintf(file, sizeof(file), "%s/data", folder);
	snprintf(second, sizeof(second), "/dev/shm/gapless-test-uring-%d", getpid());
	snprintf(output, sizeof(output), "%s/fio.json", folder);
	return mkdir(folder, 0700);
}

static int tear_down(void **state)
{
	unlink(file);
	unlink(second);
	unlink(output);
	rmdir(folder);
	trial__remove(recording);
	json_decref(log_lines);
	return 0;
}

/* `what` of signal_sums of this measure, where `condition` holds. */
static int64_t ask(const char *what, const char *measure, const char *condition)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) from signal_sums where signal = 'uring' and"
		 " measure = '%s' and %s",
		 what, measure, condition);
	return trial__ask(recording, sql);
}

static int64_t count_where(const char *condition)
{
	return ask("count", "time", condition);
}

static void expect_nothing_lost(void)
{
	assert_int_equal(trial__ask(recording, "select coalesce(sum(value), 0) from quality"
					       " where name in ('uring_events_lost',"
					       " 'uring_sums_unnamed', 'uring_missing',"
					       " 'uring_not_in_histograms', 'uring_unpaired',"
					       " 'uring_malformed')"),
			 0);
}

/* Once for all tests, of all kinds of requests. */
static void need_requests(const char *kind)
{
	if (!log_lines)
		trial__record_at(recording, ARGS("--signals", "uring", "--slow", "1us"),
				 WORKLOAD("requests", file), &log_lines);
	log_phase(log_lines, kind, kind);
}

static void known_requests_are_counted(void **state)
{
	need_requests("transfers");
	expect_nothing_lost();
	assert_int_equal(count_where("comm = 'transfers' and operation = 'read'"), 30);
	assert_int_equal(ask("sum", "size", "comm = 'transfers' and operation = 'read'"),
			 30 * BLOCK);
	assert_int_equal(count_where("comm = 'transfers' and operation = 'write'"), 20);
	assert_int_equal(ask("sum", "size", "comm = 'transfers' and operation = 'write'"),
			 20 * BLOCK);
	assert_int_equal(count_where("comm = 'transfers' and object like '%/data%' and errno = 0"),
			 50);
	/* One at a time. */
	assert_int_equal(ask("sum", "in_flight", "comm = 'transfers'"), 50);
	assert_int_equal(count_where("comm = 'fails' and operation = 'read' and errno = 9"), 7);
	assert_int_equal(count_where("comm = 'fails' and errno = 22"), 5);
	assert_int_equal(count_where("comm = 'fails'"), 12);
}

static void every_completion_of_a_multishot_request_counts(void **state)
{
	json_t *phase;

	need_requests("repeats");
	assert_int_equal(count_where("comm = 'repeats' and operation = 'poll_add' and errno = 0"),
			 11);
	assert_int_equal(count_where("comm = 'repeats' and operation = 'poll_add' and errno = 125"),
			 1);
	assert_int_equal(count_where("comm = 'repeats' and operation = 'async_cancel'"), 1);
	/* Its times do not overlap. */
	phase = log_phase(log_lines, "repeats", "repeats");
	assert_true(ask("sum", "time", "comm = 'repeats' and operation = 'poll_add'") <=
		    number_at(phase, "end_ns") - number_at(phase, "begin_ns"));
}

static void completions_that_find_no_room_count(void **state)
{
	need_requests("overflows");
	assert_int_equal(count_where("comm = 'overflows' and operation = 'nop'"), 8 + 6);
	expect_nothing_lost();
}

static void workers_time_is_the_submitters(void **state)
{
	need_requests("worked");
	assert_int_equal(ask("sum", "async", "comm = 'worked' and operation = 'read'"), 9);
	assert_true(ask("count", "cpu", "comm = 'worked' and operation = 'worker'") >= 1);
	assert_int_equal(count_where("operation = 'worker' and comm like 'iou-%'"), 0);
}

/* By file and submitter: each thread has its own counts of its own file. */
static void requests_are_counted_by_file_and_submitter(void **state)
{
	need_requests("charged");
	assert_int_equal(count_where("comm = 'charged' and object = '/dev/zero'"), CHARGED);
	assert_int_equal(ask("sum", "size", "comm = 'charged' and object = '/dev/zero'"),
			 CHARGED * LARGE);
	assert_int_equal(count_where("comm = 'charged' and object <> '/dev/zero'"), 0);
	assert_int_equal(count_where("comm = 'worked' and object like '%/data%'"), 9);
	assert_int_equal(count_where("comm <> 'charged' and object = '/dev/zero'"), 0);
}

/* The time of the submitter's workers is the scheduler's own, but for the last tick and the end. */
static void workers_time_is_the_schedulers(void **state)
{
	int64_t charged = 0, logged = 0;
	json_t *line;
	size_t i;

	need_requests("charged");
	json_array_foreach (log_lines, i, line)
		if (json_object_get(line, "workers_ns"))
			logged = number_at(line, "workers_ns");
	charged = ask("sum", "cpu", "comm = 'charged' and operation = 'worker'");
	print_message("# workers: %" PRId64 " ns, the scheduler says %" PRId64 "\n", charged,
		      logged);
	assert_true(logged > 0);
	assert_in_range(charged, logged > TICK_NS ? logged - TICK_NS : 0, logged + 10 * TICK_NS);
}

/* --- fio ------------------------------------------------------------------------------------ */

static int64_t of_fio(json_t *fio, const char *direction, const char *key)
{
	json_t *job = json_array_get(json_object_get(fio, "jobs"), 0);

	return number_at(json_object_get(job, direction), key);
}

/* Records it and compares with what it says itself. */
static void record_fio(const char *poll)
{
	char name[128], first[256];
	json_t *log, *fio;

	trial__remove(recording);
	snprintf(name, sizeof(name), "--output=%s", output);
	snprintf(first, sizeof(first), "--filename=%s:%s", file, second);
	trial__record_at(recording, ARGS("--signals", "uring"),
			 ARGS("/usr/bin/fio", "--name=job", "--thread", "--ioengine=io_uring",
			      "--rw=randrw", "--bs=4k", "--iodepth=8", "--size=8m", "--minimal",
			      "--output-format=json", poll, first, name),
			 &log);
	json_decref(log);
	fio = json_load_file(output, 0, NULL);
	assert_non_null(fio);
	expect_nothing_lost();
	assert_int_equal(count_where("operation = 'read' and comm = 'fio'"),
			 of_fio(fio, "read", "total_ios"));
	assert_int_equal(ask("sum", "size", "operation = 'read' and comm = 'fio'"),
			 of_fio(fio, "read", "io_bytes"));
	assert_int_equal(count_where("operation = 'write' and comm = 'fio'"),
			 of_fio(fio, "write", "total_ios"));
	assert_int_equal(ask("sum", "size", "operation = 'write' and comm = 'fio'"),
			 of_fio(fio, "write", "io_bytes"));
	assert_true(of_fio(fio, "read", "total_ios") > 500);
	assert_true(count_where("place = 'tmpfs' and object like '/dev/shm/gapless-test-uring-%'") >
		    0);
	assert_true(count_where("object like '%/data'") > 0);
	json_decref(fio);
}

static void need_fio(void)
{
	if (access("/usr/bin/fio", X_OK)) {
		print_message("# skip: fio is not installed\n");
		skip();
	}
}

static void fio_counts_the_same(void **state)
{
	need_fio();
	record_fio("--sqthread_poll=0");
}

static void what_the_kernel_submits_is_the_submitters(void **state)
{
	need_fio();
	record_fio("--sqthread_poll=1");
	assert_true(ask("sum", "cpu", "operation = 'poller' and comm = 'fio'") > 0);
	assert_int_equal(count_where("comm like 'iou-%'"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_requests_are_counted),
		cmocka_unit_test(every_completion_of_a_multishot_request_counts),
		cmocka_unit_test(completions_that_find_no_room_count),
		cmocka_unit_test(workers_time_is_the_submitters),
		cmocka_unit_test(requests_are_counted_by_file_and_submitter),
		cmocka_unit_test(workers_time_is_the_schedulers),
		cmocka_unit_test(fio_counts_the_same),
		cmocka_unit_test(what_the_kernel_submits_is_the_submitters),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
