/* SPDX-License-Identifier: GPL-2.0-or-later */
/* block: requests of known number, size and order must be what is counted, under who made them. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disks.h"
#include "ledger.h"

#define LOOP_BYTES   (64 << 20)
#define LARGE        65536
#define LOOP_SECTORS (LOOP_BYTES / 512)
#define SLOW_SECTOR  (LOOP_SECTORS / 4 * 3)
#define HUMP_READS   400
#define HUMP_NS      "25000000" /* 30 ms, but for a tick of the kernel's timers */
#define MOST_TRIES   6
#define LIMITED_V1   "/sys/fs/cgroup/blkio/gapless-test-limit"
#define LIMITED_V2   "/sys/fs/cgroup/gapless-test-limit"

static struct loop loop; /* so that a test that fails leaves none behind */
static char zram[32];
static char recording[64];

static int set_up(void **state)
{
	loop = (struct loop) {};
	trial__path(recording, sizeof(recording));
	return 0;
}

static int tear_down(void **state)
{
	if (dm__exists())
		dm__free("gapless-test");
	loop__free(&loop);
	zram__free(zram);
	trial__remove(recording);
	return 0;
}

static int64_t query(const char *sql)
{
	return trial__ask(recording, sql);
}

/*
 * A completion that interrupts a hook on the same CPU is not seen, which is counted. It is rare,
 * but then no number is exact: again.
 */
static void record(const char *const *command)
{
	for (int tries = 0; tries < MOST_TRIES; tries++) {
		json_t *log;

		trial__remove(recording);
		trial__record_at(recording, ARGS("--signals", "block", "--slow", "1us"), command,
				 &log);
		json_decref(log);
		if (!query("select value from quality where name = 'block_unpaired'"))
			return;
	}
	fail_msg("ends were not seen %d times", MOST_TRIES);
}

/* `what` of signal_sums, of one thread's operation and measure on one device. */
static int64_t ask(const char *device, const char *comm, const char *operation, const char *measure,
		   const char *what)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(%s), 0) from signal_sums where signal = 'block' and place ="
		 " '%s' and comm = '%s' and operation = '%s' and measure = '%s'",
		 what, device_name(device), comm, operation, measure);
	return query(sql);
}

static void expect(const char *device, const char *comm, const char *operation, int64_t count,
		   int64_t bytes, int64_t sequential)
{
	assert_int_equal(ask(device, comm, operation, "size", "count"), count);
	assert_int_equal(ask(device, comm, operation, "size", "sum"), bytes);
	assert_int_equal(ask(device, comm, operation, "sequential", "sum"), sequential);
}

/* Nothing was lost, and the parts add up: in all sums, and in every single event. */
static void expect_closed(void)
{
	assert_int_equal(query("select count(*) from (select sum(case measure when 'total'"
			       " then sum when 'queue' then -sum when 'service' then -sum"
			       " else 0 end) as rest from signal_sums where signal = 'block'"
			       " group by place, tid, operation, errno) where rest <> 0"),
			 0);
	assert_true(query("select count(*) from events") > 0);
	assert_int_equal(query("select count(*) from events where duration_ns <>"
			       " fields ->> 'queue_ns' + (fields ->> 'service_ns')"),
			 0);
	assert_int_equal(query("select sum(value) from quality where name in"
			       " ('block_events_lost', 'block_sums_unnamed',"
			       " 'block_not_in_histograms', 'block_unpaired',"
			       " 'block_malformed')"),
			 0);
	/* Each is in the histogram of each measure once; sequential needs none. */
	assert_int_equal(query("select (select sum(count) from signal_histograms) -"
			       " (select sum(count) from signal_sums where measure <>"
			       " 'sequential')"),
			 0);
}

/* All requests of this class of size: how many, and how many bytes. */
static void expect_class(const char *device, const char *operation, const char *class,
			 int64_t count, int64_t bytes)
{
	char sql[512];

	for (int i = 0; i < 2; i++) {
		snprintf(sql, sizeof(sql),
			 "select coalesce(sum(%s), 0) from signal_sums where signal = 'block' and"
			 " place = '%s' and operation = '%s' and object = '%s' and measure ="
			 " 'size'",
			 i ? "sum" : "count", device_name(device), operation, class);
		assert_int_equal(query(sql), i ? bytes : count);
	}
}

static void has_exact_requests(const char *device, const char *more, const char *still_more,
			       const char *last)
{
	char cache[32];
	bool flushes;

	queue_setting(device, "write_cache", cache, sizeof(cache));
	flushes = !strcmp(cache, "write back");
	record(WORKLOAD("blocks", device, "random=random:120", "sequential=sequential:50",
			"+one=random:60", "other=random:70", "writer=write:20", "flusher=flush:7",
			"durable=durable:10", more, still_more, last));
	expect(device, "random", "read", 120, INT64_C(120) * 4096, 0);
	expect(device, "sequential", "read", 50, INT64_C(50) * 4096, 49);
	assert_int_equal(ask(device, "sequential", "read", "depth", "sum"), 50);
	expect(device, "one", "read", 60, INT64_C(60) * 4096, 0);
	expect(device, "other", "read", 70, INT64_C(70) * 4096, 0);
	assert_in_range(ask(device, "other", "read", "depth", "max"), 1, 2);
	expect(device, "writer", "write", 20, INT64_C(20) * LARGE, 19);
	expect(device, "flusher", "flush", flushes ? 7 : 0, 0, 0);
	/* A write with a flush behind it, which the kernel sends itself; then one of the file's. */
	expect(device, "durable", "write", 10, INT64_C(10) * 4096, 9);
	expect(device, "durable", "flush", flushes ? 10 : 0, 0, 0);
	assert_int_equal(ask(device, "writer", "read", "size", "count"), 0);
	assert_int_equal(ask(device, "flusher", "write", "size", "count"), 0);
	expect_class(device, "read", "up to 4 KiB", 300, INT64_C(300) * 4096);
	expect_class(device, "write", "up to 4 KiB", 10, INT64_C(10) * 4096);
	expect_class(device, "write", "up to 64 KiB", 20, INT64_C(20) * LARGE);
	expect_closed();
}

/* Merged requests count once, with all their bytes; discards are requests of their own. */
static void requests_of_a_loop_device_are_exact_by_submitter_and_operation(void **state)
{
	loop = loop__new(LOOP_BYTES);
	set_queue(loop.device, "nomerges", "0");
	has_exact_requests(loop.device, "forward=forward:10", "backward=backward:10",
			   "trimmer=discard:5");
	expect(loop.device, "forward", "read", 10, INT64_C(80) * 4096, 0);
	expect(loop.device, "backward", "read", 10, INT64_C(80) * 4096, 0);
	expect(loop.device, "trimmer", "discard", 5, INT64_C(5) << 20, 4);
	expect_class(loop.device, "discard", "up to 1 MiB", 5, INT64_C(5) << 20);
	expect_class(loop.device, "read", "up to 64 KiB", 20, INT64_C(160) * 4096);
}

static int64_t of_fio(json_t *fio, const char *direction, const char *key)
{
	json_t *job = json_array_get(json_object_get(fio, "jobs"), 0);

	return number_at(json_object_get(job, direction), key);
}

/* The time of a class is part of what fio itself measured around its calls. */
static void expect_times(json_t *fio, const char *direction, const char *class)
{
	json_t *job = json_array_get(json_object_get(fio, "jobs"), 0);
	json_t *latency = json_object_get(json_object_get(job, direction), "lat_ns");
	double fio_ns = json_number_value(json_object_get(latency, "mean")) *
			(double)of_fio(fio, direction, "total_ios");
	char sql[512];
	int64_t ns;

	snprintf(sql, sizeof(sql),
		 "select sum(sum) from signal_sums where place = '%s' and operation = '%s' and"
		 " object = '%s' and measure = 'total'",
		 device_name(loop.device), direction, class);
	ns = query(sql);
	print_message("# %s: %" PRId64 " ns, fio has %.0f\n", class, ns, fio_ns);
	assert_true(ns > 0);
	assert_true((double)ns <= fio_ns);
}

/* fio reads 4 KiB at a time and writes 128 KiB. */
static void classes_of_size_have_what_fio_says(void **state)
{
	char name[128], file[64], output[96];
	json_t *fio;

	if (access("/usr/bin/fio", X_OK)) {
		print_message("# skip: fio is not installed\n");
		skip();
	}
	loop = loop__new(LOOP_BYTES);
	snprintf(output, sizeof(output), "%s.fio", recording);
	snprintf(name, sizeof(name), "--output=%s", output);
	snprintf(file, sizeof(file), "--filename=%s", loop.device);
	record(ARGS("/usr/bin/fio", "--name=job", "--thread", "--ioengine=psync", "--direct=1",
		    "--rw=randrw", "--bs=4k,128k", "--size=16m", "--number_ios=400",
		    "--norandommap", "--output-format=json", file, name));
	fio = json_load_file(output, 0, NULL);
	unlink(output);
	assert_non_null(fio);
	expect_class(loop.device, "read", "up to 4 KiB", of_fio(fio, "read", "total_ios"),
		     of_fio(fio, "read", "io_bytes"));
	expect_class(loop.device, "write", "up to 256 KiB", of_fio(fio, "write", "total_ios"),
		     of_fio(fio, "write", "io_bytes"));
	assert_true(of_fio(fio, "read", "total_ios") > 50);
	assert_true(of_fio(fio, "write", "total_ios") > 50);
	expect_times(fio, "read", "up to 4 KiB");
	expect_times(fio, "write", "up to 256 KiB");
	json_decref(fio);
	expect_closed();
}

static void has_exact_requests_if_there(const char *device)
{
	if (access(device, F_OK)) {
		print_message("# skip: there is no %s\n", device);
		skip();
	}
	has_exact_requests(device, NULL, NULL, NULL);
}

/* Only in the VMs: here the disk is everybody's, and is written to. */
static void requests_of_a_virtual_disk_are_exact(void **state)
{
	has_exact_requests_if_there(is_emulated() ? "/dev/vda" : "disk of our own to write to");
}

static void requests_of_null_blk_are_exact(void **state)
{
	has_exact_requests_if_there("/dev/nullb0");
}

static void requests_of_a_device_without_requests_are_exact(void **state)
{
	if (!zram__new("64M", zram, sizeof(zram))) {
		print_message("# skip: this kernel has no zram\n");
		skip();
	}
	has_exact_requests(zram, NULL, NULL, NULL);
	assert_int_equal(ask(zram, "random", "read", "queue", "sum"), 0);
}

static void large_writes_are_split_into_requests_of_the_same_thread(void **state)
{
	loop = loop__new(LOOP_BYTES);
	set_queue(loop.device, "max_sectors_kb", "16");
	record(WORKLOAD("blocks", loop.device, "writer=write:20"));
	expect(loop.device, "writer", "write", 80, INT64_C(20) * LARGE, 79);
	expect_closed();
}

/* Whether a loop device fails where its file has ended. Until 6.1 it gave zeroes. */
static bool reads_behind_the_end(const char *device)
{
	void *buffer = aligned_alloc(4096, LARGE);
	int fd = open(device, O_RDONLY | O_DIRECT | O_CLOEXEC);
	ssize_t done = pread(fd, buffer, LARGE, LOOP_BYTES - LARGE);

	assert_true(fd >= 0);
	close(fd);
	free(buffer);
	return done > 0;
}

/*
 * The file ends in the middle of the device's last 64 KiB. Half of the read is complete, the rest
 * is tried again, and fails.
 */
static void a_request_that_is_tried_again_and_fails_counts_once_as_failed(void **state)
{
	loop = loop__new(LOOP_BYTES);
	loop__cut(&loop, LOOP_BYTES - LARGE / 2);
	if (reads_behind_the_end(loop.device)) {
		print_message("# skip: a loop device of this kernel does not fail\n");
		skip();
	}
	record(WORKLOAD("blocks", loop.device, "unlucky=broken:1"));
	expect(loop.device, "unlucky", "read", 1, LARGE, 0);
	assert_int_equal(query("select errno from signal_sums where"
			       " comm = 'unlucky' and measure = 'size'"),
			 5);
	assert_int_equal(query("select fields ->> 'requeues' from events where"
			       " comm = 'unlucky'"),
			 1);
	assert_int_equal(query("select errno from events where comm = 'unlucky'"), 5);
	expect_closed();
}

/*
 * Three quarters of the device answer at once, the rest after 30 ms: every 20th read. The last 64
 * KiB fail.
 */
static void make_device(char *ret, size_t size)
{
	const uint64_t bad = LOOP_SECTORS - LARGE / 512, slow = bad - SLOW_SECTOR;
	char linear[64], delay[64];
	const struct dm_line lines[] = { { 0, SLOW_SECTOR, "linear", linear },
					 { SLOW_SECTOR, slow, "delay", delay },
					 { bad, LARGE / 512, "error", "" } };

	if (!dm__exists()) {
		print_message("# skip: this kernel has no device mapper\n");
		skip();
	}
	loop = loop__new(LOOP_BYTES);
	snprintf(linear, sizeof(linear), "%s 0", loop.device);
	snprintf(delay, sizeof(delay), "%s %d 30", loop.device, SLOW_SECTOR);
	dm__new("gapless-test", lines, 3, ret, size);
}

/* Every 20th is an event with its place, and is slow; a VM that was not run has its ticks late. */
static void expect_hump(const char *device)
{
	const int64_t slow = HUMP_READS / 20, least = is_emulated() ? slow * 3 / 4 : slow;
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select count(*) from events where place = '%s' and comm = 'reader' and"
		 " fields ->> 'sector' >= %d",
		 device_name(device), SLOW_SECTOR);
	assert_int_equal(query(sql), slow);
	strcat(sql, " and duration_ns >= " HUMP_NS);
	assert_in_range(query(sql), least, slow);
	snprintf(
		sql, sizeof(sql),
		"select sum(count) from signal_histograms where place = '%s' and operation = 'read'"
		" and measure = 'total' and end > " HUMP_NS,
		device_name(device));
	/* On a busy machine others can take as long. */
	assert_in_range(query(sql), least, slow * 2);
}

static void device_mapper_is_seen_by_its_bios_with_errors_and_a_second_hump(void **state)
{
	const int64_t fast = HUMP_READS * 19 / 20;
	char device[32];

	make_device(device, sizeof(device));
	record(WORKLOAD("blocks", device, "reader=humps:400", "sequential=sequential:30",
			"writer=write:20", "flusher=flush:7", "unlucky=broken:3"));
	expect(device, "reader", "read", HUMP_READS, INT64_C(4096) * HUMP_READS, 0);
	expect_hump(device);
	/* The thread itself passes on what is not delayed. */
	expect(loop.device, "reader", "read", fast, fast * 4096, 0);
	for (int i = 0; i < 2; i++) {
		expect(i ? loop.device : device, "sequential", "read", 30, INT64_C(30) * 4096, 29);
		expect(i ? loop.device : device, "writer", "write", 20, INT64_C(20) * LARGE, 19);
	}
	expect(device, "flusher", "flush", 7, 0, 0);
	expect(device, "unlucky", "read", 3, INT64_C(3) * LARGE, 0);
	expect(loop.device, "unlucky", "read", 0, 0, 0);
	assert_int_equal(query("select errno from signal_sums where comm = 'unlucky'"), 5);
	assert_int_equal(ask(device, "reader", "read", "queue", "sum"), 0);
	expect_closed();
}

/* Version 1 of cgroups or 2, whichever has the limits of disks here. */
static bool is_v1(void)
{
	return !access("/sys/fs/cgroup/blkio/cgroup.procs", F_OK);
}

static void write_to(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_msg("'%s' to '%s': %s", text, file, strerror(errno));
	close(fd);
}

/* A cgroup that may write 1 MiB a second to the device. */
static void make_limit(const char *device)
{
	struct stat info;
	char text[64];

	assert_int_equal(stat(device, &info), 0);
	if (!is_v1())
		write_to("/sys/fs/cgroup/cgroup.subtree_control", "+io");
	assert_int_equal(mkdir(is_v1() ? LIMITED_V1 : LIMITED_V2, 0755), 0);
	snprintf(text, sizeof(text), is_v1() ? "%u:%u 1048576" : "%u:%u wbps=1048576",
		 major(info.st_rdev), minor(info.st_rdev));
	write_to(is_v1() ? LIMITED_V1 "/blkio.throttle.write_bps_device" : LIMITED_V2 "/io.max",
		 text);
}

static int remove_limit(void **state)
{
	/* A process that has ended leaves its cgroup a little later. */
	for (int i = 0; i < 50 && rmdir(is_v1() ? LIMITED_V1 : LIMITED_V2) && errno == EBUSY; i++)
		usleep(20000);
	return tear_down(state);
}

/* The kernel submits them from a worker, but they belong to the thread that wrote. */
static void requests_that_a_limit_holds_back_belong_to_their_thread(void **state)
{
	char command[256];
	json_t *log = NULL;

	loop = loop__new(LOOP_BYTES);
	make_limit(loop.device);
	snprintf(command, sizeof(command),
		 "echo $$ >%s/cgroup.procs && exec dd if=/dev/zero of=%s bs=65536 count=32"
		 " oflag=direct 2>/dev/null",
		 is_v1() ? LIMITED_V1 : LIMITED_V2, loop.device);
	trial__record_at(recording, ARGS("--signals", "block"),
			 (const char *const[]) { "sh", "-c", command, NULL }, &log);
	json_decref(log);
	print_message("# %" PRId64 " of 32 writes were held back\n",
		      query("select sum(count) from signal_sums where operation = 'limited write'"
			    " and measure = 'size' and comm = 'dd'"));
	assert_true(query("select sum(count) from signal_sums where operation = 'limited write'"
			  " and measure = 'size' and comm = 'dd'") >= 16);
	assert_int_equal(query("select sum(sum) from signal_sums where operation like '%write'"
			       " and measure = 'size' and comm = 'dd'"),
			 32 * 65536);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(requests_of_a_loop_device_are_exact_by_submitter_and_operation),
		TEST(classes_of_size_have_what_fio_says),
		TEST(requests_of_a_virtual_disk_are_exact),
		TEST(requests_of_null_blk_are_exact),
		TEST(requests_of_a_device_without_requests_are_exact),
		TEST(large_writes_are_split_into_requests_of_the_same_thread),
		TEST(a_request_that_is_tried_again_and_fails_counts_once_as_failed),
		cmocka_unit_test_setup_teardown(
			requests_that_a_limit_holds_back_belong_to_their_thread, set_up,
			remove_limit),
		TEST(device_mapper_is_seen_by_its_bios_with_errors_and_a_second_hump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
