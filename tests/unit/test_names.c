/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identities and names: who is the same, what is named, and what there is too much of. */
#include "ledger.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/mapped.h"

#define MOST_OBJECTS   65536
#define MOST_STRANGERS 16384

static struct fixture begin(void)
{
	struct fixture fixture = fixture_begin();

	assert_int_equal(names__new(fixture.recording, &fixture.names), 0);
	return fixture;
}

static int64_t process_of(struct fixture *fixture, uint64_t start_ns)
{
	const struct ledger_record record = {
		.pid = 999999, .tid = 999998, .process_start_ns = start_ns, .comm = "helper"
	};
	int64_t id = 0;

	assert_int_equal(names__process(fixture->names, &record, &id), 0);
	return id;
}

static void a_process_is_kept_for_a_whole_time_between_sweeps(void **state)
{
	struct fixture fixture = begin();
	int64_t id = process_of(&fixture, 5);

	names__thread_ended(fixture.names, 999999, id);
	names__sweep(fixture.names);
	assert_int_equal(process_of(&fixture, 5), id);
	names__sweep(fixture.names);
	names__sweep(fixture.names);
	assert_int_equal(process_of(&fixture, 5), id);
	names__thread_ended(fixture.names, 999999, id);
	names__thread_ended(fixture.names, 999999, id);
	names__sweep(fixture.names);
	names__sweep(fixture.names);
	assert_int_not_equal(process_of(&fixture, 5), id);
	finish(&fixture);
}

static void a_pid_with_another_start_is_another_process(void **state)
{
	struct fixture fixture = begin();
	int64_t id = process_of(&fixture, 5), other;

	names__thread_ended(fixture.names, 999999, id);
	other = process_of(&fixture, 6);
	assert_int_not_equal(other, id);
	/* A straggler of the first one is none of the second one's threads. */
	names__thread_ended(fixture.names, 999999, id);
	names__sweep(fixture.names);
	names__sweep(fixture.names);
	assert_int_equal(process_of(&fixture, 6), other);
	finish(&fixture);
}

static void a_process_has_the_name_of_its_first_thread(void **state)
{
	struct fixture fixture = begin();
	int64_t id = process_of(&fixture, 5);
	struct ledger_record leader = {
		.pid = 999999, .tid = 999999, .process_start_ns = 5, .comm = "leader"
	};

	assert_int_equal(ask(&fixture, "select count(*) from process where comm = 'helper'"), 1);
	assert_int_equal(names__process(fixture.names, &leader, &id), 0);
	assert_int_equal(ask(&fixture, "select count(*) from process where comm = 'leader'"), 1);
	process_of(&fixture, 5);
	assert_int_equal(ask(&fixture, "select count(*) from process where comm = 'leader'"), 1);
	strcpy(leader.comm, "renamed");
	assert_int_equal(names__renamed(fixture.names, &leader, id), 0);
	assert_int_equal(ask(&fixture, "select count(*) from process where comm = 'renamed'"), 1);
	assert_int_equal(ask(&fixture, "select count(*) from process"), 1);
	finish(&fixture);
}

static void a_file_is_named_if_its_inode_matches(void **state)
{
	struct fixture fixture = begin();
	int fd = open(fixture.path, O_RDONLY | O_CLOEXEC);
	struct ledger_object_record record = { .pid = (uint32_t)getpid(),
					       .fd = fd,
					       .kind = OBJECT_FILE };
	struct stat info;
	char sql[256];

	assert_int_equal(stat(fixture.path, &info), 0);
	record.object[0] = info.st_ino;
	assert_int_equal(names__describe(fixture.names, &record), 0);
	record.object[0]++;
	assert_int_equal(names__describe(fixture.names, &record), 0);
	close(fd);
	record.object[0]++;
	assert_int_equal(names__describe(fixture.names, &record), 0);
	snprintf(sql, sizeof(sql), "select count(*) from object where name = '%s'", fixture.path);
	assert_int_equal(ask(&fixture, sql), 1);
	assert_int_equal(ask(&fixture, "select count(*) from object where name like 'inode %'"), 2);
	finish(&fixture);
}

/* As the kernel has it: 12 bits major, 20 bits minor. */
static uint64_t kernel_device(dev_t dev)
{
	return (uint64_t)major(dev) << 20 | minor(dev);
}

/* Without a descriptor. Of a process that is gone, only the kernel half knows a name. */
static void a_mapped_file_is_named_by_the_mappings_of_its_process(void **state)
{
	struct fixture fixture = begin();
	int fd = open(fixture.path, O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct ledger_object_record record = {
		.pid = (uint32_t)getpid(), .fd = -1, .kind = OBJECT_FILE, .name = "short"
	};
	struct stat info;
	char sql[256];

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(fstat(fd, &info), 0);
	close(fd);
	record.object[0] = info.st_ino;
	record.object[1] = kernel_device(info.st_dev);
	assert_int_equal(names__describe(fixture.names, &record), 0);
	snprintf(sql, sizeof(sql), "select count(*) from object where name like '%s on %%'",
		 fixture.path);
	assert_int_equal(ask(&fixture, sql), 1);
	munmap(map, 4096);
	record.object[0]++;
	assert_int_equal(names__describe(fixture.names, &record), 0);
	assert_int_equal(ask(&fixture, "select count(*) from object where name like 'short on %'"),
			 1);
	finish(&fixture);
}

static void lines_of_other_files_and_of_no_file_are_no_match(void **state)
{
	static const char *const lines[] = {
		"7f00-7f10 r--s 00000000 fe:01 77 /a\n",
		"7f00-7f10 r--s 00000000 fe:00 78 /a\n",
		"7f00-7f10 rw-p 00000000 00:00 0 \n",
		"7f00-7f10 rw-p 00000000 fe:00 77",
		"7f00-7f10 rw-p 00000000 fe:00 77 [heap]\n",
		"",
	};
	char found[32] = "unchanged";

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(mapped__parse(lines[i], 77, 0xfeU << 20, found, sizeof(found)));
	assert_string_equal(found, "unchanged");
	assert_true(mapped__parse("7f00-7f10 r--s 00000000 fe:00 77    /a b (deleted)\n", 77,
				  0xfeU << 20, found, sizeof(found)));
	assert_string_equal(found, "/a b (deleted)");
}

static int64_t named(struct fixture *fixture, int fd, uint64_t device, const char *like)
{
	struct ledger_object_record record = { .pid = (uint32_t)getpid(),
					       .fd = fd,
					       .kind = OBJECT_FILE };
	struct stat info;
	char sql[256];

	assert_int_equal(fstat(fd, &info), 0);
	record.object[0] = info.st_ino;
	record.object[1] = device ? device : kernel_device(info.st_dev);
	assert_int_equal(names__describe(fixture->names, &record), 0);
	snprintf(sql, sizeof(sql), "select count(*) from object where name like '%s'", like);
	return ask(fixture, sql);
}

static void a_file_has_its_device_or_its_kind_of_file_system(void **state)
{
	const uint64_t nowhere = UINT64_C(4000) << 20;
	struct fixture fixture = begin();
	int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int node = open("/dev/null", O_RDONLY | O_CLOEXEC), pipes[2];

	assert_int_equal(named(&fixture, file, 0, "/proc/%/status on proc"), 1);
	assert_int_equal(named(&fixture, file, nowhere, "/proc/%/status"), 1);
	assert_int_equal(named(&fixture, node, 0, "/dev/null"), 1);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(named(&fixture, pipes[0], 0, "pipe:[%] on %"), 0);
	close(pipes[0]);
	close(pipes[1]);
	close(node);
	close(file);
	finish(&fixture);
}

static void put_kernel_lock(struct fixture *fixture, uint64_t address, uint64_t what)
{
	const struct ledger_key key = { .object = { address, what }, .object_kind = OBJECT_KERNEL };
	int64_t id;

	assert_int_equal(names__object(fixture->names, &key, &id), 0);
}

static void a_kernel_lock_has_the_name_of_what_it_protects_or_its_address(void **state)
{
	struct fixture fixture = begin();
	int fd = open(fixture.path, O_RDONLY | O_CLOEXEC);
	struct ledger_object_record record = { .pid = (uint32_t)getpid(),
					       .fd = fd,
					       .kind = OBJECT_KERNEL,
					       .object = { 0x1000, KERNEL_LOCK_INODE },
					       .name = "other" };
	struct stat info;
	char sql[256];

	put_kernel_lock(&fixture, 0x2000, KERNEL_LOCK_UNKNOWN);
	put_kernel_lock(&fixture, 0x3000, KERNEL_LOCK_MMAP | (uint64_t)getpid() << 32);
	put_kernel_lock(&fixture, 0x4000, KERNEL_LOCK_INODE);
	assert_int_equal(fstat(fd, &info), 0);
	record.inode = info.st_ino;
	assert_int_equal(names__describe(fixture.names, &record), 0);
	/* The descriptor is another file by now. */
	record.object[0] = 0x5000;
	record.inode++;
	assert_int_equal(names__describe(fixture.names, &record), 0);
	snprintf(sql, sizeof(sql),
		 "select count(*) from object where kind = 'kernel lock' and name in ('0x2000',"
		 " 'mmap_lock of test_names (pid %d)', 'i_rwsem 0x4000', 'i_rwsem of %s',"
		 " 'i_rwsem of other')",
		 getpid(), fixture.path);
	assert_int_equal(ask(&fixture, sql), 5);
	close(fd);
	finish(&fixture);
}

static struct ledger_object_record pipe_record(int fd)
{
	struct ledger_object_record record = { .pid = (uint32_t)getpid(),
					       .fd = fd,
					       .kind = OBJECT_PIPE };
	struct stat info;

	assert_int_equal(fstat(fd, &info), 0);
	record.object[0] = info.st_ino;
	return record;
}

static void is_named(struct fixture *fixture, const struct ledger_object_record *record,
		     const char *rest)
{
	char sql[256];

	assert_int_equal(names__describe(fixture->names, record), 0);
	snprintf(sql, sizeof(sql), "select count(*) from object where name = 'pipe:[%llu]%s'",
		 record->object[0], rest);
	assert_int_equal(ask(fixture, sql), 1);
}

/* A process that has these descriptors and no other, until its stdin ends. */
static pid_t start_holder(const int *ends, int kept, int *ret_stop)
{
	int stop[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(stop), 0);
	child = fork();
	if (!child) {
		close(stop[1]);
		close(ends[!kept]);
		prctl(PR_SET_NAME, "holder");
		_exit((int)read(stop[0], &byte, 1));
	}
	close(stop[0]);
	*ret_stop = stop[1];
	return child;
}

/* A child closes what it does not keep a moment after it was started. */
static void await_closed(pid_t child, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", child, fd);
	while (!access(path, F_OK))
		usleep(1000);
}

static void await_comm(pid_t child)
{
	char path[64], comm[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", child);
	while (strcmp(comm, "holder\n")) {
		FILE *file = fopen(path, "r");

		assert_non_null(fgets(comm, sizeof(comm), file));
		fclose(file);
	}
}

static void a_pipe_is_named_after_who_has_its_ends(void **state)
{
	struct fixture fixture = begin();
	struct ledger_object_record reads, writes;
	int ends[2], stop;
	char rest[64];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = start_holder(ends, 1, &stop);
	await_closed(child, ends[0]);
	await_comm(child);
	reads = pipe_record(ends[0]);
	writes = pipe_record(ends[1]);
	/* We could write too, but somebody else does. Nobody else reads. */
	snprintf(rest, sizeof(rest), " from holder %d to test_names %d", child, getpid());
	is_named(&fixture, &reads, rest);
	is_named(&fixture, &writes, rest);
	/* The descriptor is another file's by now. */
	writes.object[0]++;
	is_named(&fixture, &writes, "");
	close(stop);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(ends[0]);
	close(ends[1]);
	finish(&fixture);
}

static void of_many_at_an_end_two_are_named(void **state)
{
	struct fixture fixture = begin();
	struct ledger_object_record record;
	int ends[2], stops[4];
	pid_t children[4];

	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < 4; i++) {
		children[i] = start_holder(ends, 0, &stops[i]);
		await_closed(children[i], ends[1]);
		await_comm(children[i]);
	}
	record = pipe_record(ends[1]);
	assert_int_equal(names__describe(fixture.names, &record), 0);
	assert_int_equal(ask(&fixture, "select count(*) from object where name like 'pipe:[%] from "
				       "test_names % to holder %, holder % and 2 more'"),
			 1);
	for (int i = 0; i < 4; i++) {
		close(stops[i]);
		/* Later ones have the stops of earlier ones. */
		kill(children[i], SIGKILL);
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	}
	finish(&fixture);
}

static int64_t object_of(struct fixture *fixture, uint64_t number)
{
	const struct ledger_key key = { .object = { number }, .object_kind = OBJECT_FUTEX };
	int64_t id = 0;

	assert_int_equal(names__object(fixture->names, &key, &id), 0);
	return id;
}

static void too_many_objects_share_one_name(void **state)
{
	struct fixture fixture = begin();
	const struct ledger_object_record late = { .object = { 1 }, .kind = OBJECT_PIPE };
	int64_t first = object_of(&fixture, 0), other;

	for (uint64_t i = 1; i < MOST_OBJECTS; i++)
		object_of(&fixture, i);
	assert_int_equal(names__overflowed(fixture.names), 0);
	other = object_of(&fixture, MOST_OBJECTS);
	assert_int_equal(object_of(&fixture, MOST_OBJECTS + 1), other);
	assert_int_equal(object_of(&fixture, 0), first);
	assert_true(names__is_other(fixture.names, other));
	assert_false(names__is_other(fixture.names, first));
	assert_int_equal(names__describe(fixture.names, &late), 0);
	assert_int_equal(names__overflowed(fixture.names), 2);
	assert_int_equal(ask(&fixture, "select count(*) from object"), MOST_OBJECTS + 1);
	assert_int_equal(ask(&fixture, "select id from object where kind = 'other'"
				       " and name = 'other (too many to name)'"),
			 other);
	finish(&fixture);
}

static int64_t stranger_of(struct fixture *fixture, uint64_t tid)
{
	const struct ledger_key key = { .by = tid, .by_kind = BY_UNACCOUNTED };
	int64_t id = 0;

	assert_int_equal(names__culprit(fixture->names, &key, &id), 0);
	return id;
}

static void too_many_strangers_share_one_name(void **state)
{
	const uint64_t base = UINT64_C(1) << 30; /* no tid */
	struct fixture fixture = begin();
	int64_t first = stranger_of(&fixture, base), other;

	for (uint64_t i = 1; i < MOST_STRANGERS; i++)
		stranger_of(&fixture, base + i);
	other = stranger_of(&fixture, base + MOST_STRANGERS);
	assert_int_equal(stranger_of(&fixture, base + MOST_STRANGERS + 1), other);
	assert_int_equal(stranger_of(&fixture, base), first);
	assert_int_equal(names__overflowed(fixture.names), 2);
	assert_int_equal(ask(&fixture, "select count(*) from thread"), MOST_STRANGERS + 1);
	assert_int_equal(
		ask(&fixture, "select id from thread where comm = 'other (too many to name)'"),
		other);
	finish(&fixture);
}

static void what_nobody_asked_for_is_forgotten_and_is_named_again(void **state)
{
	struct fixture fixture = begin();
	int64_t object = object_of(&fixture, 1), stranger = stranger_of(&fixture, 999999);
	uint64_t then_ns;

	usleep(1000);
	then_ns = clock__now_ns();
	usleep(1000);
	object_of(&fixture, 2);
	assert_int_equal(names__forget(fixture.names, then_ns, -1), 0);
	assert_int_equal(ask(&fixture, "select count(*) from object"), 1);
	assert_int_equal(ask(&fixture, "select count(*) from thread"), 0);
	assert_int_not_equal(object_of(&fixture, 1), object);
	assert_int_equal(stranger_of(&fixture, 999999), stranger);
	assert_int_equal(ask(&fixture, "select count(*) from object"), 2);
	assert_int_equal(ask(&fixture, "select count(*) from thread"), 1);
	finish(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_kept_for_a_whole_time_between_sweeps),
		cmocka_unit_test(a_pid_with_another_start_is_another_process),
		cmocka_unit_test(a_process_has_the_name_of_its_first_thread),
		cmocka_unit_test(a_kernel_lock_has_the_name_of_what_it_protects_or_its_address),
		cmocka_unit_test(a_file_is_named_if_its_inode_matches),
		cmocka_unit_test(a_mapped_file_is_named_by_the_mappings_of_its_process),
		cmocka_unit_test(lines_of_other_files_and_of_no_file_are_no_match),
		cmocka_unit_test(a_file_has_its_device_or_its_kind_of_file_system),
		cmocka_unit_test(a_pipe_is_named_after_who_has_its_ends),
		cmocka_unit_test(of_many_at_an_end_two_are_named),
		cmocka_unit_test(too_many_objects_share_one_name),
		cmocka_unit_test(too_many_strangers_share_one_name),
		cmocka_unit_test(what_nobody_asked_for_is_forgotten_and_is_named_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
