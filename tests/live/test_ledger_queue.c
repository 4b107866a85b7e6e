/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ready threads: who had their CPU meanwhile, and when a CPU quota held them back. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cgroups.h"
#include "ledger.h"

#define SECONDS "2"

/* A cgroup with the controller "cpu", of whichever version has it here. */
struct quota {
	char path[PATH_MAX];
	bool v2;
};

static void put(const char *folder, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail_msg("'%s' to '%s': %s", text, path, strerror(errno));
	close(fd);
}

/* The mount point of the version 1 controller "cpu"; false: there is none. */
static bool find_v1(char *ret, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *entry;
	bool found = false;

	while (mounts && !found && (entry = getmntent(mounts))) {
		found = !strcmp(entry->mnt_type, "cgroup") && hasmntopt(entry, "cpu");
		snprintf(ret, size, "%s", entry->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

static struct quota quota__new(const char *quota_us)
{
	struct quota quota = {};
	char root[PATH_MAX], text[64];

	quota.v2 = !find_v1(root, sizeof(root));
	if (quota.v2) {
		if (cgroups__mount(root)) {
			print_message("# skip: no cgroups are mounted\n");
			skip();
		}
		put(root, "cgroup.subtree_control", "+cpu");
	}
	snprintf(quota.path, sizeof(quota.path), "%.4000s/gapless-%d", root, getpid());
	assert_int_equal(mkdir(quota.path, 0755), 0);
	if (quota.v2) {
		snprintf(text, sizeof(text), "%s 100000", quota_us);
		put(quota.path, "cpu.max", text);
	} else {
		put(quota.path, "cpu.cfs_period_us", "100000");
		put(quota.path, "cpu.cfs_quota_us", quota_us);
	}
	return quota;
}

static void quota__remove(struct quota *quota)
{
	/* An ended process leaves its cgroup a moment later. */
	for (int i = 0; rmdir(quota->path) && errno == EBUSY && i < 1000; i++)
		usleep(10000);
}

static int64_t quota__throttled_ns(const struct quota *quota)
{
	char path[PATH_MAX + 64], word[64];
	int64_t value, ns = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu.stat", quota->path);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fscanf(file, "%63s %" SCNd64, word, &value) == 2)
		if (!strcmp(word, quota->v2 ? "throttled_usec" : "throttled_time"))
			ns = value * (quota->v2 ? 1000 : 1);
	fclose(file);
	assert_true(ns >= 0);
	return ns;
}

/* The time in which the threads of the recording were ready, without the time of a quota. */
#define READY_NS                                                                                   \
	"SELECT coalesce(sum(ns), 0) AS n FROM account a JOIN state s ON s.id = a.state"           \
	" WHERE s.state = 'ready' AND s.cause != 'throttled'"
#define THROTTLED_NS                                                                               \
	"SELECT coalesce(sum(ns), 0) AS n FROM account a JOIN state s ON s.id = a.state"           \
	" WHERE s.state = 'ready' AND s.cause = 'throttled'"
#define OCCUPIED_NS "SELECT coalesce(sum(ns), 0) AS n FROM occupant"

/* Every moment in which a thread was ready belongs to somebody, but for a few at the start. */
static void assert_occupied(const char *path)
{
	int64_t ready_ns = trial__query(path, READY_NS);
	int64_t occupied_ns = trial__query(path, OCCUPIED_NS);

	print_message("# ready for %" PRId64 " ns, occupied for %" PRId64 " ns\n", ready_ns,
		      occupied_ns);
	assert_true(occupied_ns <= ready_ns);
	assert_true(occupied_ns * 100 >= ready_ns * 95);
	assert_int_equal(trial__query(path, "SELECT count(*) FROM occupant o"
					    " LEFT JOIN thread t ON t.id = o.by"
					    " WHERE o.by != 0 AND t.comm IS NULL"),
			 0);
}

/* `spin SECONDS THREADS`, all on CPU 0 */
static void record_spinners(const char *path, const char *seconds, const char *threads)
{
	json_t *log;

	trial__record_at(path, ARGS("--no-stacks"), WORKLOAD("spinners", seconds, threads), &log);
	json_decref(log);
}

static void the_neighbour_is_named(void **state)
{
	struct workload neighbour = workload__start(WORKLOAD("spinners", "60", "1", "neighbour"));
	char path[64];

	workload__await_ready(&neighbour);
	trial__path(path, sizeof(path));
	record_spinners(path, SECONDS, "1");
	workload__kill(&neighbour);
	assert_true(trial__query(path, READY_NS) > 500 * MS);
	assert_occupied(path);
	/* The neighbour is stronger than the thread, and so had the CPU for longer. */
	assert_true(
		trial__query(path, "SELECT coalesce(sum(o.ns), 0) AS n FROM occupant o"
				   " JOIN thread t ON t.id = o.by"
				   " JOIN process p ON p.id = t.process"
				   " WHERE t.comm = 'neighbour' AND t.flags & 8 AND p.pid > 0") >
		trial__query(path, "SELECT coalesce(sum(ns), 0) AS n FROM account a JOIN state s"
				   " ON s.id = a.state WHERE s.state = 'run'"));
	assert_int_equal(trial__query(path, THROTTLED_NS), 0);
	trial__remove(path);
}

#define BY_NEIGHBOUR_NS                                                                            \
	"SELECT coalesce(sum(o.ns), 0) AS n FROM occupant o JOIN thread w ON w.id = o.thread"      \
	" JOIN thread t ON t.id = o.by WHERE w.comm = 'spinner' AND t.comm = 'neighbour'"

/* A recording of the thread alone says the same as one of the whole machine. */
static void the_target_alone_shows_who_had_its_cpu(void **state)
{
	struct workload neighbour = workload__start(WORKLOAD("spinners", "60", "1", "neighbour"));
	struct trial all;
	int64_t alone_ns, all_ns;
	char path[64];

	workload__await_ready(&neighbour);
	trial__path(path, sizeof(path));
	all = trial__start(ARGS("-a", "--no-stacks", "--signals", "none"));
	record_spinners(path, SECONDS, "1");
	assert_int_equal(trial__stop(&all, SIGINT), 0);
	workload__kill(&neighbour);
	alone_ns = trial__query(path, BY_NEIGHBOUR_NS);
	all_ns = trial__query(all.path, BY_NEIGHBOUR_NS);
	print_message("# alone %" PRId64 " ns, with all threads %" PRId64 " ns\n", alone_ns,
		      all_ns);
	assert_true(all_ns > 500 * MS);
	assert_in_range(alone_ns, all_ns / 100 * 95, all_ns / 100 * 105);
	trial__remove(path);
	trial__remove(all.path);
}

static void siblings_take_turns(void **state)
{
	char path[64];
	int64_t siblings_ns;

	trial__path(path, sizeof(path));
	record_spinners(path, SECONDS, "4");
	assert_occupied(path);
	siblings_ns = trial__query(path, "SELECT coalesce(sum(o.ns), 0) AS n FROM occupant o"
					 " JOIN thread t ON t.id = o.by WHERE t.flags & 8 = 0");
	assert_true(siblings_ns > 0);
	/* While one of the four runs, the other three are queued. */
	assert_true(siblings_ns >= trial__query(path,
						"SELECT 2 * sum(ns) AS n FROM account a JOIN state"
						" s ON s.id = a.state"
						" WHERE s.state = 'run'"));
	assert_int_equal(trial__query(path, "SELECT count(*) FROM occupant WHERE by = thread"), 0);
	trial__remove(path);
}

static void check_quota(const char *threads, int times)
{
	struct quota quota = quota__new("5000");
	int64_t throttled_ns, ns;
	json_t *log;
	char path[64];

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--no-stacks"),
			 WORKLOAD("spinners", SECONDS, threads, "spinner", quota.path), &log);
	json_decref(log);
	throttled_ns = quota__throttled_ns(&quota);
	quota__remove(&quota);
	ns = trial__query(path, THROTTLED_NS);
	print_message("# %s threads: throttled for %" PRId64 " ns, the cgroup for %" PRId64 " ns\n",
		      threads, ns, throttled_ns);
	assert_true(throttled_ns > 0 && ns > 0);
	assert_true(trial__query(path, OCCUPIED_NS) <= trial__query(path, READY_NS));
	assert_int_equal(trial__query(path, "SELECT count(*) FROM cgroup_limit WHERE kind = 'cpu'"
					    " AND value = '5 ms per 100 ms'"
					    " AND cgroup LIKE '/%gapless-%' AND throttled_ns > 0"),
			 1);
	/* A thread alone is throttled whenever its cgroup is; of several, each in its turn. */
	if (!times)
		assert_true(llabs(ns - throttled_ns) * 20 <= throttled_ns);
	else
		assert_true(ns > throttled_ns && ns * 20 <= throttled_ns * times * 21);
	trial__remove(path);
}

static void a_quota_throttles_one_thread(void **state)
{
	check_quota("1", 0);
}

static void a_quota_throttles_threads_that_share_a_cpu(void **state)
{
	check_quota("3", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_neighbour_is_named),
		cmocka_unit_test(the_target_alone_shows_who_had_its_cpu),
		cmocka_unit_test(siblings_take_turns),
		cmocka_unit_test(a_quota_throttles_one_thread),
		cmocka_unit_test(a_quota_throttles_threads_that_share_a_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
