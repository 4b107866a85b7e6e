/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "identity/identity.h"
#include "kubernetes.h"

#define SECOND UINT64_C(1000000000)

/* An empty folder: all names come from records. */
static char root[64];

static int set_up(void **state)
{
	snprintf(root, sizeof(root), "/tmp/gapless-identity-XXXXXX");
	return !mkdtemp(root);
}

static int tear_down(void **state)
{
	return remove(root);
}

static struct identity *make(size_t most)
{
	const struct identity_settings settings = {
		.tenant = "t", .host = "h", .boot_id = "b", .cgroup_root = root, .most = most
	};
	struct identity *identity = NULL;

	assert_int_equal(identity__new(&settings, &identity), 0);
	return identity;
}

static struct workload *find(struct identity *identity, uint64_t cgroup, int32_t pid,
			     const char *name, uint64_t now)
{
	const struct identity_process process = { .cgroup_id = cgroup, .pid = pid, .name = name };
	struct workload *workload = NULL;

	assert_int_equal(identity__find(identity, &process, now, &workload), 0);
	assert_non_null(workload);
	assert_true(workload->id != 0);
	return workload;
}

static void add(struct identity *identity, uint64_t id, const char *path)
{
	assert_int_equal(identity__add_cgroup(identity, id, path, clock__now_ns()), 0);
}

static void a_unit_is_one_workload_and_a_session_one_for_each_program(void **state)
{
	struct identity *identity = make(0);
	uint64_t now = clock__now_ns();
	struct workload *unit, *bash, *vim;

	add(identity, 900001, "/system.slice/nginx.service");
	add(identity, 900002, "/user.slice/user-1000.slice/session-2.scope");
	unit = find(identity, 900001, 10, "nginx", now);
	assert_ptr_equal(find(identity, 900001, 11, "sh", now), unit);
	assert_string_equal(unit->service, "nginx");
	assert_string_equal(unit->unit, "nginx.service");
	assert_string_equal(unit->cgroup, "/system.slice/nginx.service");
	assert_string_equal(unit->pod, "");
	assert_int_equal(unit->changes, 1);
	assert_true(llabs((long long)unit->first_seen_s - (long long)time(NULL)) <= 2);
	bash = find(identity, 900002, 20, "bash", now);
	vim = find(identity, 900002, 21, "vim", now);
	assert_true(bash->id != vim->id);
	assert_string_equal(bash->service, "bash");
	assert_string_equal(vim->service, "vim");
	assert_ptr_equal(find(identity, 900002, 22, "bash", now), bash);
	identity__free(identity);
}

static void ids_depend_on_host_boot_and_cgroup_only(void **state)
{
	struct identity_settings settings = { .tenant = "t", .host = "h", .boot_id = "b" };
	uint64_t ids[4];

	settings.cgroup_root = root;
	for (int i = 0; i < 4; i++) {
		struct identity *identity = NULL;

		settings.host = i == 2 ? "other" : "h";
		settings.boot_id = i == 3 ? "later" : "b";
		assert_int_equal(identity__new(&settings, &identity), 0);
		assert_int_equal(identity__host_id(identity),
				 identity__hash_host("t", settings.host));
		add(identity, 900001, i ? "/system.slice/b.service" : "/system.slice/a.service");
		ids[i] = find(identity, 900001, 1, i ? "x" : "y", clock__now_ns())->id;
		identity__free(identity);
	}
	assert_true(ids[0] == ids[1]);
	assert_true(ids[0] != ids[2] && ids[0] != ids[3] && ids[2] != ids[3]);
	/* Where one text ends matters. */
	assert_true(identity__hash_host("ab", "c") != identity__hash_host("a", "bc"));
}

static void the_main_process_names_a_container_without_a_name(void **state)
{
	struct identity *identity = make(0);
	struct identity_process process = {
		.cgroup_id = 900001, .pid = 11, .name = "redis-server", .build_id = "ab12"
	};
	uint64_t now = clock__now_ns();
	struct workload *workload;

	add(identity, 900001, "/system.slice/docker-" WEB_ID ".scope");
	workload = find(identity, 900001, 10, "runc:[1:CHILD]", now);
	assert_string_equal(workload->service, "runc:[*:CHILD]");
	/* The engine's second process executes the program; its pid stays. */
	find(identity, 900001, 11, "runc:[2:INIT]", now);
	assert_int_equal(identity__find(identity, &process, now, &workload), 0);
	assert_string_equal(workload->service, "redis-server");
	assert_string_equal(workload->version, "ab12");
	assert_string_equal(workload->container_id, WEB_ID);
	/* What others do in it changes nothing. */
	find(identity, 900001, 12, "sh", now);
	find(identity, 900001, 5, "runc:[2:INIT]", now);
	assert_string_equal(workload->service, "redis-server");
	assert_string_equal(workload->version, "ab12");
	identity__free(identity);
}

static void kernel_threads_are_one_workload(void **state)
{
	struct identity *identity = make(0);
	struct identity_process process = { .cgroup_id = 900001, .is_kernel = true };
	struct workload *a = NULL, *b = NULL;

	add(identity, 900001, "/");
	process.name = "kworker/0:1";
	assert_int_equal(identity__find(identity, &process, SECOND, &a), 0);
	process.name = "ksoftirqd/1";
	assert_int_equal(identity__find(identity, &process, SECOND, &b), 0);
	assert_ptr_equal(a, b);
	assert_string_equal(a->service, IDENTITY_KERNEL);
	identity__free(identity);
}

static void a_cgroup_without_a_path_goes_by_its_process(void **state)
{
	struct identity *identity = make(0);
	struct identity_quality quality;
	uint64_t now = clock__now_ns();
	struct workload *workload = find(identity, 900001, 10, "python3", now);

	assert_string_equal(workload->service, "python3");
	assert_string_equal(workload->cgroup, "");
	identity__quality(identity, &quality);
	assert_int_equal(quality.without_path, 1);
	/* The record comes late. */
	add(identity, 900001, "/batch/1");
	assert_ptr_equal(find(identity, 900001, 10, "python3", now), workload);
	assert_string_equal(workload->cgroup, "/batch/1");
	identity__free(identity);
}

static void a_full_table_folds_and_evicts_what_is_not_used(void **state)
{
	struct identity *identity = make(100);
	uint64_t now = clock__now_ns(), used;
	struct identity_quality quality;
	struct workload *workload;
	size_t at = 0, count = 0;
	char name[32];

	add(identity, 900001, "/");
	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "p%c%c", 'a' + i / 26, 'a' + i % 26);
		workload = find(identity, 900001, i + 1, name, now + (uint64_t)i);
		assert_string_equal(workload->service, i < 100 ? name : IDENTITY_OTHER);
	}
	assert_non_null(identity__get(identity, workload->id));
	used = find(identity, 900001, 1, "paa", now + 200 * SECOND)->id;
	/* Within two minutes, nothing is evicted. */
	assert_int_equal(identity__update(identity, now + 60 * SECOND), 0);
	while (identity__next(identity, &at))
		count++;
	assert_int_equal(count, 101);
	assert_int_equal(identity__update(identity, now + 200 * SECOND), 0);
	identity__quality(identity, &quality);
	assert_int_equal(quality.workloads, 75);
	assert_int_equal(quality.evicted, 25);
	assert_int_equal(quality.folded, 50);
	assert_non_null(identity__get(identity, used));
	workload = find(identity, 900001, 1, "pzz", now + 200 * SECOND);
	assert_string_equal(workload->service, "pzz");
	identity__free(identity);
}

static void ten_thousand_cgroups_an_hour_stay_within_the_limits(void **state)
{
	struct identity *identity = make(0);
	uint64_t now = clock__now_ns();
	struct identity_quality quality;
	char path[64];

	for (uint64_t i = 0; i < 10000; i++, now += SECOND * 36 / 100) {
		snprintf(path, sizeof(path), "/system.slice/job-%d.service", (int)i);
		assert_int_equal(identity__add_cgroup(identity, 900000 + i, path, now), 0);
		find(identity, 900000 + i, 10, "job", now);
		identity__remove_cgroup(identity, 900000 + i, now);
		if (i % 28 == 0)
			assert_int_equal(identity__update(identity, now), 0);
	}
	identity__quality(identity, &quality);
	assert_true(quality.workloads <= IDENTITY_MOST);
	assert_true(quality.cgroups.known <= CGROUP_NAMES_MOST);
	assert_int_equal(quality.created, 10000);
	assert_int_equal(quality.folded, 0);
	assert_int_equal(quality.without_path, 0);
	identity__free(identity);
}

static void a_machine_without_cgroups_is_an_error(void **state)
{
	const struct identity_settings settings = { .cgroup_root = "/nonexistent" };
	struct identity *identity = NULL;

	assert_int_equal(identity__new(&settings, &identity), -ENOENT);
	assert_null(identity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_is_one_workload_and_a_session_one_for_each_program),
		cmocka_unit_test(ids_depend_on_host_boot_and_cgroup_only),
		cmocka_unit_test(the_main_process_names_a_container_without_a_name),
		cmocka_unit_test(kernel_threads_are_one_workload),
		cmocka_unit_test(a_cgroup_without_a_path_goes_by_its_process),
		cmocka_unit_test(a_full_table_folds_and_evicts_what_is_not_used),
		cmocka_unit_test(ten_thousand_cgroups_an_hour_stay_within_the_limits),
		cmocka_unit_test(a_machine_without_cgroups_is_an_error),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
