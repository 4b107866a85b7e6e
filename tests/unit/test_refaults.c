/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cgroups with too little memory: what the kernel counts, and what is said of it. */
#include "making.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cgroup_limits.h"

#define WAITS 2000

/* --- memory.stat ------------------------------------------------------------------------------ */

static int read_stat(const char *text, struct cgroup_limits_refaults *ret)
{
	char folder[] = "/tmp/gapless-refaults-XXXXXX", file[64];
	FILE *to;
	int err;

	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/memory.stat", folder);
	to = fopen(file, "w");
	assert_non_null(to);
	fputs(text, to);
	fclose(to);
	err = cgroup_limits__refaults(folder, ret);
	unlink(file);
	rmdir(folder);
	return err;
}

static void refaults_of_both_versions_include_the_cgroups_below(void **state)
{
	struct cgroup_limits_refaults refaults = {};

	assert_int_equal(read_stat("anon 1\nworkingset_refault_anon 5\nworkingset_refault_file 7\n",
				   &refaults),
			 0);
	assert_int_equal(refaults.anonymous, 5);
	assert_int_equal(refaults.file, 7);
	assert_int_equal(read_stat("workingset_refault_anon 1\nworkingset_refault_file 2\n"
				   "total_workingset_refault_anon 30\n"
				   "total_workingset_refault_file 40\n",
				   &refaults),
			 0);
	assert_int_equal(refaults.anonymous, 30);
	assert_int_equal(refaults.file, 40);
}

static void a_file_without_refaults_leaves_the_output_alone(void **state)
{
	struct cgroup_limits_refaults refaults = { 8, 9 };

	assert_int_equal(read_stat("", &refaults), -ENOENT);
	assert_int_equal(read_stat("cache 5\nrss", &refaults), -ENOENT);
	assert_int_equal(read_stat("workingset_refault_file x\n", &refaults), -ENOENT);
	assert_int_equal(cgroup_limits__refaults("/nonexistent", &refaults), -ENOENT);
	assert_int_equal(refaults.file, 8);
	assert_int_equal(refaults.anonymous, 9);
}

/* --- sentences -------------------------------------------------------------------------------- */

/* A thread that waits for a disk WAITS times, in a cgroup where so many pages were read again. */
static void make(const char *limit, int64_t refaults)
{
	struct making making = begin();

	add_thread(&making, 1, "app", 10 * SECOND, "main;find");
	add_waits(&making, (struct recording_sample) { .thread = 1, .state = SAMPLE_DISK },
		  "main;find;pread64", WAITS, 20 * SECOND);
	if (limit)
		assert_int_equal(recording__put_cgroup_limit(making.recording,
							     &(struct recording_cgroup_limit) {
								     1, "/app", "memory", limit }),
				 0);
	for (int64_t slice = 1; slice <= 2; slice++)
		assert_int_equal(recording__add_refaults(
					 making.recording,
					 &(struct recording_refaults) { "/app", slice, slice,
									refaults / 2, 100000 }),
				 0);
	finish(&making);
}

static void a_disk_that_reads_again_what_was_evicted_is_the_limit_of_memory(void **state)
{
	make("64 MiB", 2 * WAITS);
	expect("in its cgroup /app, whose memory limit is 64 MiB, 4,000 pages were read again after "
	       "they had been evicted (refaults)",
	       true);
}

static void fewer_pages_than_waits_do_not_explain_them(void **state)
{
	make("64 MiB", WAITS / 2 - 2);
	expect("refaults", false);
	expect("/app", false);
}

static void without_a_limit_nothing_is_said_of_it(void **state)
{
	make(NULL, 2 * WAITS);
	expect("refaults", false);
}

/* --- OOM kills -------------------------------------------------------------------------------- */

/* The signal `memory` with one operation of the thread, twice. */
static void make_operation(const char *operation)
{
	struct making making = begin();
	const struct recording_signal signal = {
		.id = 1, .name = "memory", .events = "events", .role = "memory"
	};
	const struct recording_series series = {
		.id = 1, .signal = 1, .thread = 1, .place = "/app", .operation = operation
	};
	int err = 0;

	add_thread(&making, 1, "app", 10 * SECOND, "main;find");
	err |= recording__add_signal(making.recording, &signal);
	err |= recording__add_measure(making.recording, 1, 0, "time", "ns");
	err |= recording__add_series(making.recording, &series);
	err |= recording__add_sum(
		making.recording,
		&(struct recording_sum) { .series = 1, .from = 1, .to = 1, .count = 2 });
	assert_int_equal(err, 0);
	finish(&making);
}

static void an_oom_kill_has_a_sentence_with_its_cgroup(void **state)
{
	make_operation("oom kill");
	expect("The kernel killed 2 processes for lack of memory, when memory was needed by", true);
	expect("in the cgroup /app.", true);
}

static void reclaim_killed_nobody(void **state)
{
	make_operation("cgroup reclaim");
	expect("The kernel killed", false);
}

/* --- growth ----------------------------------------------------------------------------------- */

/* A thread asked for 30 MB and gave `back` bytes of that back; it touched 20 and 10 MB. */
static void make_growth(int64_t back)
{
	struct making making = begin();
	const struct recording_signal signal = {
		.id = 1, .name = "memory", .events = "events", .role = "memory"
	};
	static const char *const operations[] = { "brk", "munmap" };
	static const char *const stacks[] = { "main;serve;leak", "main;serve;cache" };
	int err = 0;

	add_thread(&making, 1, "app", 10 * SECOND, "main;serve");
	err |= recording__add_signal(making.recording, &signal);
	err |= recording__add_measure(making.recording, 1, 0, "time", "ns");
	err |= recording__add_measure(making.recording, 1, 1, "size", "bytes");
	for (int i = 0; i < 2; i++) {
		err |= recording__add_series(making.recording, &(struct recording_series) {
								       .id = i + 1,
								       .signal = 1,
								       .thread = 1,
								       .place = "",
								       .operation = operations[i],
							       });
		err |= recording__add_sum(
			making.recording,
			&(struct recording_sum) { .series = i + 1,
						  .from = 1,
						  .to = 1,
						  .count = 1,
						  .sum = { 0, i ? back : 30000000 } });
		err |= recording__add_signal_sample(making.recording,
						    &(struct recording_signal_sample) {
							    .time_ns = SAMPLE_START_NS + SECOND,
							    .signal = "memory",
							    .thread = 1,
							    .operation = "heap write",
							    .stack = stack_of(&making, stacks[i]),
							    .count = 1,
							    .bytes = i ? 10000000 : 20000000,
						    });
	}
	assert_int_equal(err, 0);
	finish(&making);
}

static void a_program_that_grows_is_named_with_the_code_that_touches_the_memory(void **state)
{
	make_growth(1000000);
	expect("app asked for 29.0 MB of memory more than it gave back, and touched about 30.0 MB of "
	       "new memory, 67 % of that in leak.",
	       true);
}

static void what_is_given_back_is_no_growth(void **state)
{
	make_growth(29500000);
	expect("more than it gave back", false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refaults_of_both_versions_include_the_cgroups_below),
		cmocka_unit_test(a_file_without_refaults_leaves_the_output_alone),
		TEST(a_disk_that_reads_again_what_was_evicted_is_the_limit_of_memory),
		TEST(fewer_pages_than_waits_do_not_explain_them),
		TEST(without_a_limit_nothing_is_said_of_it),
		TEST(an_oom_kill_has_a_sentence_with_its_cgroup),
		TEST(reclaim_killed_nobody),
		TEST(a_program_that_grows_is_named_with_the_code_that_touches_the_memory),
		TEST(what_is_given_back_is_no_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
