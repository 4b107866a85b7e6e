/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batches on disk: limits, restarts, damage, disks that cannot be written. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store.h"
#include "store/spool.h"

static char folder[64];

static int make_folder(void **state)
{
	store_make_folder(folder);
	return 0;
}

static int remove_folder(void **state)
{
	store_remove_folder(folder);
	return 0;
}

static struct spool *open_spool(uint64_t most_bytes)
{
	const struct spool_options options = { .folder = folder, .most_bytes = most_bytes };
	struct spool *spool = NULL;

	assert_int_equal(spool__open(&options, &spool), 0);
	return spool;
}

static int put(struct spool *spool, enum fact_table table, uint64_t minute, uint32_t part,
	       size_t length)
{
	struct batch_id id = store_id(table, STORE_MINUTE + minute * 60, part);
	size_t bytes;
	void *content = store_content(length, &bytes);

	return spool__put(spool, &id, content, bytes);
}

static struct spool_status status_of(const struct spool *spool)
{
	struct spool_status status;

	spool__status(spool, &status);
	return status;
}

/* The path of the file of a batch. */
static void path_of(enum fact_table table, uint64_t minute, uint64_t tried_s, char ret[static 300])
{
	struct batch_id id = store_id(table, STORE_MINUTE + minute * 60, 0);
	char name[BATCH_TEXT_BYTES];

	batch__file_name(&id, tried_s, name);
	snprintf(ret, 300, "%s/%s", folder, name);
}

static void a_batch_comes_back_as_it_was_put(void **state)
{
	struct spool *spool = open_spool(0);
	struct batch_id id = store_id(FACT_LEDGER, STORE_MINUTE, 0);
	cleanup(free_p) void *content = NULL, *copy = NULL;
	struct spool_entry *entry;
	size_t bytes, loaded;

	content = store_content(1000, &bytes);
	copy = malloc(bytes);
	memcpy(copy, content, bytes);
	assert_int_equal(spool__put(spool, &id, TAKE(content), bytes), 0);
	entry = spool__pick(spool, 0, 0);
	assert_non_null(entry);
	assert_int_equal(spool__load(spool, entry, &content, &loaded), 0);
	assert_int_equal(loaded, bytes);
	assert_memory_equal(content, copy, bytes);
	spool__remove(spool, &id);
	assert_null(spool__pick(spool, 0, 0));
	assert_int_equal(status_of(spool).bytes, 0);
	spool__free(spool);
}

static void a_second_agent_is_refused_until_the_first_has_ended(void **state)
{
	const struct spool_options options = { .folder = folder };
	struct spool *first = open_spool(0), *second = NULL;

	assert_int_equal(spool__open(&options, &second), -EBUSY);
	assert_null(second);
	spool__free(first);
	assert_int_equal(spool__open(&options, &second), 0);
	spool__free(second);
}

static void an_id_can_be_used_once(void **state)
{
	struct spool *spool = open_spool(0);

	assert_int_equal(put(spool, FACT_LEDGER, 0, 0, 10), 0);
	assert_int_equal(put(spool, FACT_LEDGER, 0, 0, 10), -EEXIST);
	assert_int_equal(status_of(spool).batches, 1);
	assert_int_equal(status_of(spool).dropped, 1);
	spool__free(spool);
}

static void the_oldest_goes_first_when_the_room_is_used_up(void **state)
{
	struct spool *spool = open_spool(50000);
	struct spool_status status;

	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(put(spool, FACT_LEDGER, i, 0, 5000), 0);
	status = status_of(spool);
	assert_in_range(status.bytes, 40000, 50000);
	assert_int_equal(status.dropped + status.batches, 20);
	assert_int_equal(status.oldest_s, STORE_MINUTE + status.dropped * 60);
	spool__free(spool);
	/* The files are gone as well. */
	spool = open_spool(50000);
	assert_int_equal(status_of(spool).batches, status.batches);
	spool__free(spool);
}

static void new_minutes_go_first_then_old_ones(void **state)
{
	struct spool *spool = open_spool(0);
	static const uint64_t order[] = { 5, 4, 0, 1, 2, 3 };

	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(put(spool, FACT_LEDGER, i, 0, 10), 0);
	for (size_t i = 0; i < 6; i++) {
		struct spool_entry *entry = spool__pick(spool, STORE_MINUTE + 4 * 60, 0);
		struct batch_id id;

		assert_non_null(entry);
		id = entry->id;
		assert_int_equal(id.minute_s, STORE_MINUTE + order[i] * 60);
		spool__remove(spool, &id);
	}
	spool__free(spool);
}

static void parts_of_a_minute_stay_in_order(void **state)
{
	struct spool *spool = open_spool(0);

	for (uint32_t part = 0; part < 3; part++) {
		assert_int_equal(put(spool, FACT_LEDGER, 0, part, 10), 0);
		assert_int_equal(put(spool, FACT_QUALITY, 0, part, 10), 0);
	}
	/* The first part waits, so the others of its table wait with it. */
	spool__pick(spool, 0, 0)->not_before_ns = 100;
	for (uint32_t part = 0; part < 3; part++) {
		struct spool_entry *entry = spool__pick(spool, 0, 50);
		struct batch_id id;

		assert_non_null(entry);
		id = entry->id;
		assert_int_equal(id.table, FACT_QUALITY);
		assert_int_equal(id.part, part);
		spool__remove(spool, &id);
	}
	assert_null(spool__pick(spool, 0, 50));
	assert_int_equal(spool__earliest_ns(spool), 100);
	assert_int_equal(spool__pick(spool, 0, 100)->id.part, 0);
	spool__free(spool);
}

static void a_restart_finds_the_files_and_knows_which_were_sent(void **state)
{
	struct spool *spool = open_spool(0);
	struct spool_entry *entry;

	assert_int_equal(put(spool, FACT_LEDGER, 0, 0, 10), 0);
	assert_int_equal(put(spool, FACT_LEDGER, 1, 0, 10), 0);
	spool__mark_tried(spool, spool__pick(spool, UINT64_MAX, 0), 1795000500);
	spool__free(spool);
	spool = open_spool(0);
	assert_int_equal(status_of(spool).batches, 2);
	entry = spool__pick(spool, UINT64_MAX, 0);
	assert_int_equal(entry->tried_s, 1795000500);
	assert_true(entry->is_unknown);
	assert_false(spool__pick(spool, 0, 0)->is_unknown);
	spool__free(spool);
}

static void files_of_a_read_only_folder_may_have_been_sent(void **state)
{
	struct spool *spool = open_spool(0);
	char path[300];

	assert_int_equal(put(spool, FACT_LEDGER, 0, 0, 10), 0);
	spool__free(spool);
	/* Nobody can write a file of this name, as on a read-only disk. */
	snprintf(path, sizeof(path), "%s/lock", folder);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	spool = open_spool(0);
	assert_int_equal(status_of(spool).batches, 1);
	assert_int_equal(status_of(spool).error, -EISDIR);
	assert_true(spool__pick(spool, 0, 0)->is_unknown);
	spool__free(spool);
}

/* Ends without a chance to tidy up, at a random time. */
static void write_until_killed(void)
{
	struct spool *spool = open_spool(0);

	for (uint64_t i = 0;; i++)
		put(spool, FACT_LEDGER, i % 3000, 0, 20000);
}

static void whatever_a_kill_leaves_is_whole(void **state)
{
	uint64_t found = 0;

	for (int round = 0; round < 20; round++) {
		pid_t child = fork();
		struct spool *spool;
		struct spool_entry *entry;

		if (!child)
			write_until_killed();
		usleep(1000 + (useconds_t)(random() % 20000));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		spool = open_spool(0);
		while ((entry = spool__pick(spool, 0, 0))) {
			cleanup(free_p) void *content = NULL;
			struct batch_id id = entry->id;
			size_t bytes;

			assert_int_equal(spool__load(spool, entry, &content, &bytes), 0);
			spool__remove(spool, &id);
			found++;
		}
		/* At most the one that was being written. */
		assert_in_range(status_of(spool).corrupt, 0, 1);
		spool__free(spool);
	}
	assert_true(found > 20);
}

static void damage(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);

	assert_int_equal(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, at), 8);
	close(fd);
}

static void damaged_files_are_set_aside_and_others_left_alone(void **state)
{
	struct spool *spool = open_spool(0);
	cleanup(free_p) void *content = NULL;
	char path[300], aside[80];
	size_t bytes;

	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(put(spool, FACT_LEDGER, i, 0, 1000), 0);
	spool__free(spool);
	path_of(FACT_LEDGER, 0, 0, path);
	assert_int_equal(truncate(path, 0), 0);
	path_of(FACT_LEDGER, 1, 0, path);
	assert_int_equal(truncate(path, 500), 0);
	path_of(FACT_LEDGER, 2, 0, path);
	damage(path, 600);
	snprintf(path, sizeof(path), "%s/README", folder);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof(path), "%s/new.tmp", folder);
	close(open(path, O_CREAT | O_WRONLY, 0600));

	spool = open_spool(0);
	assert_int_equal(status_of(spool).foreign, 1);
	assert_int_equal(status_of(spool).corrupt, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			spool__load(spool, spool__pick(spool, UINT64_MAX, 0), &content, &bytes),
			-EBADMSG);
	assert_int_equal(spool__load(spool, spool__pick(spool, UINT64_MAX, 0), &content, &bytes),
			 0);
	assert_int_equal(status_of(spool).corrupt, 4);
	assert_int_equal(status_of(spool).batches, 1);
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	assert_int_equal(access(aside, F_OK), 0);
	snprintf(path, sizeof(path), "%s/README", folder);
	assert_int_equal(access(path, F_OK), 0);
	spool__free(spool);
}

static void a_symbolic_link_is_not_followed(void **state)
{
	struct spool *spool;
	char path[300];

	path_of(FACT_LEDGER, 0, 0, path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	spool = open_spool(0);
	assert_int_equal(status_of(spool).batches, 0);
	assert_int_equal(status_of(spool).foreign, 1);
	spool__free(spool);
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* A limit on the size of files stands for a full disk: write() fails in the middle. */
static void a_full_disk_leaves_ten_minutes_in_memory(void **state)
{
	struct spool *spool = open_spool(0);
	struct spool_status status;

	limits__outlive();
	set_file_limit(100);
	for (uint64_t i = 0; i < 15; i++)
		assert_int_equal(put(spool, FACT_LEDGER, i, 0, 1000), 0);
	status = status_of(spool);
	assert_int_equal(status.error, -EFBIG);
	assert_int_equal(status.memory_batches, 10);
	assert_int_equal(status.dropped, 5);
	assert_int_equal(status.oldest_s, STORE_MINUTE + 5 * 60);
	/* There is room again: the next write takes the others along. */
	set_file_limit(RLIM_INFINITY);
	assert_int_equal(put(spool, FACT_LEDGER, 15, 0, 1000), 0);
	status = status_of(spool);
	assert_int_equal(status.error, 0);
	assert_int_equal(status.memory_batches, 0);
	assert_int_equal(status.batches, 11);
	spool__free(spool);
	spool = open_spool(0);
	assert_int_equal(status_of(spool).batches, 11);
	spool__free(spool);
	limits__restore();
}

static void what_is_in_memory_is_written_at_the_end_if_there_is_room(void **state)
{
	struct spool *spool = open_spool(0);

	limits__outlive();
	set_file_limit(100);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(put(spool, FACT_LEDGER, i, 0, 1000), 0);
	assert_int_equal(status_of(spool).memory_batches, 3);
	set_file_limit(RLIM_INFINITY);
	spool__free(spool);
	spool = open_spool(0);
	assert_int_equal(status_of(spool).batches, 3);
	spool__free(spool);
	limits__restore();
}

static void a_folder_that_cannot_be_made_leaves_memory(void **state)
{
	const struct spool_options options = { .folder = "/proc/nothing/spool" };
	struct spool *spool = NULL;
	cleanup(free_p) void *content = NULL;
	size_t bytes;

	assert_int_equal(spool__open(&options, &spool), 0);
	for (uint64_t i = 0; i < 12; i++)
		assert_int_equal(put(spool, FACT_LEDGER, i, 0, 10), 0);
	assert_int_equal(status_of(spool).memory_batches, 10);
	assert_int_equal(status_of(spool).dropped, 2);
	assert_int_not_equal(status_of(spool).error, 0);
	assert_int_equal(spool__load(spool, spool__pick(spool, 0, 0), &content, &bytes), 0);
	spool__free(spool);
}

static void memory_is_bounded_in_bytes_too(void **state)
{
	const struct spool_options options = { .folder = "/proc/nothing/spool",
					       .most_memory_bytes = 5000 };
	struct spool *spool = NULL;

	assert_int_equal(spool__open(&options, &spool), 0);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(put(spool, FACT_LEDGER, i, 0, 1000), 0);
	assert_in_range(status_of(spool).bytes, 2000, 5000);
	assert_in_range(status_of(spool).memory_batches, 2, 4);
	spool__free(spool);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(a_batch_comes_back_as_it_was_put),
		TEST(a_second_agent_is_refused_until_the_first_has_ended),
		TEST(an_id_can_be_used_once),
		TEST(the_oldest_goes_first_when_the_room_is_used_up),
		TEST(new_minutes_go_first_then_old_ones),
		TEST(parts_of_a_minute_stay_in_order),
		TEST(a_restart_finds_the_files_and_knows_which_were_sent),
		TEST(files_of_a_read_only_folder_may_have_been_sent),
		TEST(whatever_a_kill_leaves_is_whole),
		TEST(damaged_files_are_set_aside_and_others_left_alone),
		TEST(a_symbolic_link_is_not_followed),
		TEST(a_full_disk_leaves_ten_minutes_in_memory),
		TEST(what_is_in_memory_is_written_at_the_end_if_there_is_room),
		TEST(a_folder_that_cannot_be_made_leaves_memory),
		TEST(memory_is_bounded_in_bytes_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
