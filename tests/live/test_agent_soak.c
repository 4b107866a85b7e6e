/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent beside 1,000 forks a second and cgroups that come and go: its memory and its
 * descriptors do not grow. A minute lasts five seconds, so that several end in each half.
 * tests/bench/agent does the same for hours.
 */
#include "../harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/cgroup_limits.h"
#include "live.h"
#include "served.h"

#define WARM_S    8
#define HALF_S    12
#define MINUTE_S  5
#define MOST_MORE (UINT64_C(1536) << 10)
#define ANON      "\ngapless_agent_memory_bytes{of=\"anon\"} "
#define OPEN      "\ngapless_agent_lost_total{what=\"minutes_not_closed\"} "

static pid_t churn, cgroups;

static int end_storm(void **state)
{
	served__step_clock(0, 0);
	if (churn > 0)
		kill(churn, SIGTERM);
	if (cgroups > 0)
		kill(cgroups, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}

static pid_t start_churn(void)
{
	char path[PATH_MAX];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/churn", getenv("GAPLESS_WORKLOADS"));
	if (freopen("/dev/null", "w", stdout))
		execl(path, "churn", "forks", "1000000", "1000", NULL);
	_exit(127);
}

static volatile sig_atomic_t is_over;

static void on_end(int number)
{
	is_over = 1;
}

/* A process in a cgroup of its own, 20 times a second. */
static void visit(const char *root, int number)
{
	char folder[PATH_MAX + 64], path[PATH_MAX + 96];
	pid_t pid;

	snprintf(folder, sizeof(folder), "%s/gapless-soak-%d-%d", root, getpid(), number);
	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	mkdir(folder, 0755);
	pid = fork();
	if (!pid) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		prctl(PR_SET_NAME, folder + strlen(folder) - 12);
		_exit(fd < 0 || write(fd, "0", 1) != 1);
	}
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 100 && rmdir(folder); i++)
		usleep(1000);
	usleep(50000);
}

static pid_t start_cgroups(void)
{
	char root[PATH_MAX];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGTERM, on_end);
	if (cgroup_limits__mount(LIMITS_MEMORY, false, root))
		strcpy(root, "/sys/fs/cgroup");
	for (int i = 0; !is_over; i++)
		visit(root, i);
	_exit(0);
}

static unsigned int descriptors(pid_t pid)
{
	unsigned int count = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The most memory of the worker within some seconds. */
static uint64_t most_memory(unsigned int seconds)
{
	uint64_t until_ns = clock__now_ns() + seconds * UINT64_C(1000000000), most = 0;

	while (clock__now_ns() < until_ns) {
		uint64_t bytes = served__number(served__wait_for("/metrics", ANON), ANON);

		most = bytes > most ? bytes : most;
		served__sleep_ms(500);
	}
	return most;
}

static void memory_and_descriptors_stay_while_processes_and_cgroups_come_and_go(void **state)
{
	uint64_t first, second;
	pid_t agent, worker;
	unsigned int before;

	/* Nobody listens at this address: minutes stay in the spool. */
	served__configure("metrics.detail: service\nstore.url: http://127.0.0.1:9\n"
			  "identity.most: 256\n");
	served__step_clock(60 - MINUTE_S, MINUTE_S);
	agent = served__start();
	served__wait_for("/metrics", ANON);
	worker = served__worker(agent);
	churn = start_churn();
	cgroups = start_cgroups();
	most_memory(WARM_S);
	before = descriptors(worker);
	first = most_memory(HALF_S);
	second = most_memory(HALF_S);
	print_message("# at most %" PRIu64 " kB in the first half, %" PRIu64
		      " kB in the second; descriptors %u, then %u\n",
		      first >> 10, second >> 10, before, descriptors(worker));
	assert_true(second < first + MOST_MORE);
	assert_true(descriptors(worker) <= before + 2);
	/* The account of every minute closed, and it is the same worker. */
	assert_int_equal(served__number(served__wait_for("/metrics", OPEN), OPEN), 0);
	assert_int_equal(served__worker(agent), worker);
	served__stop(agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE_THEN(memory_and_descriptors_stay_while_processes_and_cgroups_come_and_go,
			  end_storm),
	};

	return cmocka_run_group_tests(tests, served__set_up, served__tear_down);
}
