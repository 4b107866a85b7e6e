/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plain folders stand for cgroups: an id is an inode in both. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "identity/cgroup_names.h"

#define SECOND UINT64_C(1000000000)
#define BEGIN  (1000 * SECOND)

static char root[64];

static uint64_t make(const char *path)
{
	char full[256];
	struct stat info;

	snprintf(full, sizeof(full), "%s%s", root, path);
	if (*path)
		assert_int_equal(mkdir(full, 0755), 0);
	assert_int_equal(stat(full, &info), 0);
	return info.st_ino;
}

static void expect(struct cgroup_names *names, uint64_t id, uint64_t now, const char *path)
{
	struct cgroup_name name = {};

	assert_int_equal(cgroup_names__find(names, id, now, &name), 0);
	assert_string_equal(name.path, path);
}

static int set_up(void **state)
{
	snprintf(root, sizeof(root), "/tmp/gapless-names-XXXXXX");
	return !mkdtemp(root);
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void a_walk_finds_all_and_records_add_more(void **state)
{
	const struct cgroup_names_quality *quality;
	struct cgroup_names *names = NULL;
	struct cgroup_name name;
	uint64_t slice = make("/system.slice"), unit = make("/system.slice/ssh.service");

	assert_int_equal(cgroup_names__new(root, 0, &names), 0);
	quality = cgroup_names__quality(names);
	assert_int_equal(cgroup_names__walk(names, BEGIN), 0);
	assert_int_equal(quality->known, 3);
	expect(names, make(""), BEGIN, "/");
	expect(names, slice, BEGIN, "/system.slice");
	assert_int_equal(cgroup_names__find(names, unit, BEGIN, &name), 0);
	assert_string_equal(name.path, "/system.slice/ssh.service");
	assert_int_equal(name.kind, CGROUP_PATH_UNIT);
	assert_int_equal(cgroup_names__add(names, 77777777, "/a.service", BEGIN), 0);
	expect(names, 77777777, BEGIN, "/a.service");
	assert_int_equal(quality->walks, 1);
	cgroup_names__free(names);
}

static void a_removed_cgroup_keeps_its_name_for_ten_minutes(void **state)
{
	struct cgroup_names *names = NULL;
	struct cgroup_name name;

	assert_int_equal(cgroup_names__new(root, 0, &names), 0);
	assert_int_equal(cgroup_names__add(names, 77777777, "/a", BEGIN), 0);
	cgroup_names__remove(names, 77777777, BEGIN);
	cgroup_names__remove(names, 1234567, BEGIN);
	cgroup_names__forget(names, BEGIN + 599 * SECOND);
	expect(names, 77777777, BEGIN + 599 * SECOND, "/a");
	cgroup_names__forget(names, BEGIN + 600 * SECOND);
	assert_int_equal(cgroup_names__find(names, 77777777, BEGIN + 600 * SECOND, &name), -ENOENT);
	cgroup_names__free(names);
}

static void an_unknown_id_costs_one_walk_a_minute(void **state)
{
	const struct cgroup_names_quality *quality;
	struct cgroup_name name = { .path = "untouched" };
	struct cgroup_names *names = NULL;
	uint64_t late;

	assert_int_equal(cgroup_names__new(root, 0, &names), 0);
	quality = cgroup_names__quality(names);
	assert_int_equal(cgroup_names__find(names, 77777777, BEGIN, &name), -ENOENT);
	for (int i = 0; i < 59; i++)
		assert_int_equal(cgroup_names__find(names, 77777777, BEGIN + i * SECOND, &name),
				 -ENOENT);
	assert_int_equal(quality->walks, 1);
	assert_int_equal(quality->not_found, 1);
	/* Another one must wait for the next walk. */
	late = make("/late.service");
	assert_int_equal(cgroup_names__find(names, late, BEGIN + 9 * SECOND, &name), -EAGAIN);
	assert_string_equal(name.path, "untouched");
	expect(names, late, BEGIN + 10 * SECOND, "/late.service");
	assert_int_equal(quality->walks, 2);
	assert_int_equal(cgroup_names__find(names, 77777777, BEGIN + 60 * SECOND, &name), -ENOENT);
	assert_int_equal(quality->walks, 3);
	cgroup_names__free(names);
}

static void the_table_is_bounded_and_the_oldest_goes(void **state)
{
	const struct cgroup_names_quality *quality;
	struct cgroup_names *names = NULL;
	struct cgroup_name name;
	char path[32];

	assert_int_equal(cgroup_names__new(root, 100, &names), 0);
	quality = cgroup_names__quality(names);
	for (uint64_t i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "/batch/%d", (int)i);
		assert_int_equal(cgroup_names__add(names, 1000000000 + i, path, BEGIN + i), 0);
		assert_true(quality->known <= 100);
	}
	assert_int_equal(quality->evicted, 9900);
	expect(names, 1000009999, BEGIN, "/batch/9999");
	/* Nothing in the hierarchy, so the evicted one is unknown. */
	assert_int_equal(cgroup_names__find(names, 1000000000, BEGIN, &name), -ENOENT);
	cgroup_names__free(names);
}

static void a_full_table_still_finds_what_is_asked_for(void **state)
{
	const struct cgroup_names_quality *quality;
	struct cgroup_names *names = NULL;
	uint64_t ids[20];
	char path[32];

	make("/many");
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "/many/c%d", i);
		ids[i] = make(path);
	}
	assert_int_equal(cgroup_names__new(root, 8, &names), 0);
	quality = cgroup_names__quality(names);
	assert_int_equal(cgroup_names__walk(names, BEGIN), 0);
	assert_int_equal(quality->known, 8);
	assert_true(quality->not_kept > 0);
	for (uint64_t i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "/many/c%d", (int)i);
		expect(names, ids[i], BEGIN + (i + 1) * 10 * SECOND, path);
	}
	assert_int_equal(quality->known, 8);
	cgroup_names__free(names);
}

static void a_root_that_is_not_there_is_an_error(void **state)
{
	struct cgroup_names *names = NULL;

	assert_int_equal(cgroup_names__new("/nonexistent/cgroup", 0, &names), 0);
	assert_int_equal(cgroup_names__walk(names, BEGIN), -ENOENT);
	cgroup_names__free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_walk_finds_all_and_records_add_more, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_removed_cgroup_keeps_its_name_for_ten_minutes,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_unknown_id_costs_one_walk_a_minute, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_table_is_bounded_and_the_oldest_goes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_full_table_still_finds_what_is_asked_for, set_up,
						tear_down),
		cmocka_unit_test(a_root_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
