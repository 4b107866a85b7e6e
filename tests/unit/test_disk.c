/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the requests of threads say about their waits for a disk. */
#include "reported.h"

#include <string.h>

#include "model/disk.h"
#include "model/model.h"

#define US 1000LL

static struct model model;

static int load(void **state)
{
	set_up(state);
	sample__write_with_signals(path);
	return model__load(path, &(struct model_options) {}, &model);
}

static int release(void **state)
{
	model__release(&model);
	return tear_down(state);
}

static const struct model_group *group_of(int64_t thread)
{
	for (size_t i = 0; i < model.thread_count; i++)
		if (model.threads[i].id == thread)
			return model.threads[i].group;
	fail_msg("no thread %d", (int)thread);
	return NULL;
}

/* Percentiles are right to 6.3 %. */
static void assert_about(int64_t is, int64_t should)
{
	assert_in_range(is, should - should / 15, should + should / 15);
}

static void two_humps_have_their_middles(void **state)
{
	struct disk disk = {};

	assert_true(disk__of_group(&model, group_of(SAMPLE_WORKER_1), NULL, &disk));
	assert_string_equal(disk.device, "vda");
	assert_string_equal(disk.operation, "read");
	assert_int_equal(disk.requests, 2 * (5320 + 280));
	assert_int_equal(disk.total_ns, 2 * (5320 * 200 * US + 280 * 30 * MS));
	assert_int_equal(disk.queue_ns, 2 * (5320 + 280) * 10 * US);
	assert_int_equal(disk.service_ns, disk.total_ns - disk.queue_ns);
	assert_about(disk.p50_ns, 200 * US);
	assert_about(disk.service_p50_ns, 190 * US);
	assert_true(disk.has_humps);
	assert_about(disk.humps.low, 200 * US);
	assert_about(disk.humps.high, 30 * MS);
	assert_int_equal(disk.humps.high_count, 560);
}

static void time_in_the_queue_is_apart_from_the_device(void **state)
{
	struct disk disk = {};

	assert_true(disk__of_group(&model, group_of(SAMPLE_LOGGER), "vda", &disk));
	assert_string_equal(disk.operation, "write");
	assert_int_equal(disk.requests, 1200 + 90);
	assert_int_equal(disk.queue_ns, 1200 * 11700 * US);
	assert_int_equal(disk.service_ns, 1200 * 300 * US + 90 * 5 * MS);
	assert_about(disk.p90_ns, 12 * MS);
	assert_about(disk.service_p90_ns, 300 * US);
	assert_false(disk.has_humps);
}

static bool is_nobody(const struct model_thread *thread, const void *context)
{
	return false;
}

static void a_disk_is_known_even_if_others_made_its_requests(void **state)
{
	struct disk_question question = { .takes = is_nobody };
	struct disk disk = {};

	assert_false(disk__find(&model, &question, &disk));
	question.device = "vda1";
	assert_true(disk__find(&model, &question, &disk));
	assert_string_equal(disk.device, "vda");
	assert_int_equal(disk.requests, 0);
	assert_int_equal(disk.total_ns, 0);
	assert_string_equal(disk.operation, "read");
	question.takes = NULL;
	assert_true(disk__find(&model, &question, &disk));
	assert_int_equal(disk.requests, 11200 + 1200 + 90);
}

static void a_device_is_a_disk_or_a_partition_of_it(void **state)
{
	static const char *const others[] = { "vd", "vdb", "vda1x", "vdap1", "overlay", "" };
	struct disk disk;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(
			disk__find(&model, &(struct disk_question) { .device = others[i] }, &disk));
	assert_true(disk__find(&model, &(struct disk_question) { .device = "vda12" }, &disk));
}

static void the_device_is_in_the_name_of_a_file(void **state)
{
	char device[16];

	disk__device_of("/srv/a on b on vda1", device, sizeof(device));
	assert_string_equal(device, "vda1");
	disk__device_of("/srv/a", device, sizeof(device));
	assert_string_equal(device, "");
}

/* A writer whose 20 writes of 1 ms each were held back for the rest of the time. */
static void write_limited(void)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, SAMPLE_MAIN, 1, "app", 0);
	assert_int_equal(recording__add_signal(recording,
					       &(struct recording_signal) { 1, "block", "about",
									    "requests", "disks" }),
			 0);
	assert_int_equal(recording__add_measure(recording, 1, 0, "total", "ns"), 0);
	for (int i = 0; i < 2; i++) {
		const struct recording_series series = {
			.id = i + 1,
			.signal = 1,
			.thread = SAMPLE_MAIN,
			.place = "nvme0n1",
			.operation = i ? "limited write" : "flush",
		};

		assert_int_equal(recording__add_series(recording, &series), 0);
		assert_int_equal(
			recording__add_sum(recording,
					   &(struct recording_sum) { .series = i + 1,
								     .from = 1,
								     .to = 1,
								     .count = i ? 20 : 3,
								     .sum = { i ? 20 * MS : MS } }),
			0);
	}
	sample__finish(recording);
}

static void requests_that_a_limit_held_back_are_told_apart(void **state)
{
	struct disk disk;

	model__release(&model);
	sample__remove(path);
	path = sample__path();
	write_limited();
	assert_int_equal(model__load(path, &(struct model_options) {}, &model), 0);
	assert_true(disk__of_group(&model, group_of(SAMPLE_MAIN), "nvme0n1p2", &disk));
	assert_string_equal(disk.device, "nvme0n1");
	assert_string_equal(disk.operation, "limited write");
	assert_int_equal(disk.requests, 23);
	assert_int_equal(disk.limited, 20);
	assert_int_equal(disk.total_ns, 21 * MS);
	assert_int_equal(disk.queue_ns, 0);
	assert_false(disk__of_group(&model, group_of(SAMPLE_MAIN), "nvme0n12", &disk));
}

static void without_the_signal_nothing_is_known(void **state)
{
	struct disk disk;

	model__release(&model);
	sample__remove(path);
	path = sample__path();
	sample__write(path);
	assert_int_equal(model__load(path, &(struct model_options) {}, &model), 0);
	assert_false(disk__find(&model, &(struct disk_question) {}, &disk));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_humps_have_their_middles),
		cmocka_unit_test(time_in_the_queue_is_apart_from_the_device),
		cmocka_unit_test(a_disk_is_known_even_if_others_made_its_requests),
		cmocka_unit_test(a_device_is_a_disk_or_a_partition_of_it),
		cmocka_unit_test(the_device_is_in_the_name_of_a_file),
		cmocka_unit_test(requests_that_a_limit_held_back_are_told_apart),
		cmocka_unit_test(without_the_signal_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, load, release);
}
