/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes and cgroups that come and go: no time is lost, and what the agent keeps is bounded. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/collector.h"
#include "base/clock.h"
#include "base/map.h"
#include "core/cgroup_limits.h"
#include "identity/identity.h"
#include "live.h"

#define FORKS          3000
#define CGROUPS        1000
#define MOST_WORKLOADS 64
#define STEP_NS        UINT64_C(500000000)

static struct identity *names;
static struct map pids, cgroups; /* of the storm: what the fold asked for */
static char prefix[16];          /* of the names of the storm's processes */

static uint64_t workload_of(void *context, const struct folding_process *process)
{
	const struct identity_process wanted = { .cgroup_id = process->cgroup_id,
						 .pid = (int32_t)process->pid,
						 .is_kernel = process->is_kernel,
						 .name = process->name };
	struct workload *workload;

	if (!strncmp(process->name, prefix, strlen(prefix))) {
		assert_int_equal(map__put(&pids, process->pid, names), 0);
		assert_int_equal(map__put(&cgroups, process->cgroup_id, names), 0);
	}
	assert_int_equal(identity__find(names, &wanted, clock__now_ns(), &workload), 0);
	return workload->id;
}

static const char *service_of(void *context, uint64_t id)
{
	const struct workload *workload = identity__get(names, id);

	return workload ? workload->service : "";
}

static void note_cgroup(void *context, const struct ledger_cgroup_record *record)
{
	if (record->is_gone)
		identity__remove_cgroup(names, record->id, clock__now_ns());
	else
		assert_int_equal(
			identity__add_cgroup(names, record->id, record->path, clock__now_ns()), 0);
}

struct watching {
	struct features *features;
	struct collector *collector;
	uint64_t stepped_ns;
};

static struct watching watch(const char *names_begin)
{
	const struct identity_settings settings = { .most = MOST_WORKLOADS,
						    .most_cgroups = MOST_WORKLOADS };
	const struct collector_options options = {
		.fold = { workload_of, service_of, identity__fold_name, NULL },
		.limits = { .most_rows = 512, .most_objects = 2, .most_groups = 8 },
		.note_cgroup = note_cgroup,
	};
	struct watching watching = { .features = features__new() };
	uint64_t start_ns;

	snprintf(prefix, sizeof(prefix), "%s", names_begin);
	assert_int_equal(identity__new(&settings, &names), 0);
	assert_int_equal(collector__open(&options, watching.features, &watching.collector), 0);
	assert_int_equal(collector__start(watching.collector, &start_ns), 0);
	return watching;
}

/* As the agent does it. In every step, states add up to lifetimes. */
static void step(struct watching *watching)
{
	const struct bucket *bucket;

	assert_int_equal(identity__update(names, clock__now_ns()), 0);
	assert_int_equal(collector__step(watching->collector, false, &bucket), 0);
	assert_true(bucket__closes(bucket));
	watching->stepped_ns = clock__now_ns();
}

static void look(struct watching *watching)
{
	if (clock__now_ns() - watching->stepped_ns >= STEP_NS ||
	    collector__is_pressed(watching->collector))
		step(watching);
	else
		assert_int_equal(collector__poll(watching->collector, 0), 0);
}

/* Last records that are missing, each of which is counted. */
static uint64_t lost(const struct watching *watching)
{
	const struct ledger *ledger = collector__ledger(watching->collector);
	struct folding_quality quality = folding__quality(collector__folding(watching->collector));

	return ledger__lost(ledger, LOST_RING_FULL) + ledger__lost(ledger, LOST_NO_STORAGE) +
	       quality.vanished + quality.malformed;
}

static size_t threads(const struct watching *watching)
{
	return folding__threads(collector__folding(watching->collector));
}

static void end(struct watching *watching)
{
	collector__free(watching->collector);
	features__free(watching->features);
	identity__free(names);
	map__release(&pids);
	map__release(&cgroups);
}

static pid_t start_storm(void)
{
	char path[PATH_MAX], count[16];
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	snprintf(path, sizeof(path), "%s/churn", getenv("GAPLESS_WORKLOADS"));
	snprintf(count, sizeof(count), "%d", FORKS);
	if (!freopen("/dev/null", "w", stdout))
		_exit(126);
	execl(path, "churn", "forks", count, "1000", NULL);
	_exit(127);
}

static void a_fork_storm_is_booked_and_leaves_nothing_behind(void **state)
{
	struct watching watching = watch("churn");
	siginfo_t info = {};
	size_t before;
	pid_t storm;
	int status;

	step(&watching);
	before = threads(&watching);
	storm = start_storm();
	while (!waitid(P_PID, (id_t)storm, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid) {
		look(&watching);
		usleep(20000);
	}
	assert_int_equal(waitpid(storm, &status, 0), storm);
	assert_int_equal(status, 0);
	step(&watching);
	step(&watching);
	print_message("# %zu processes seen, %" PRIu64 " lost, threads %zu before, %zu after\n",
		      pids.count, lost(&watching), before, threads(&watching));
	assert_true(pids.count + lost(&watching) >= FORKS);
	assert_true(threads(&watching) < before + 200);
	end(&watching);
}

/* --- cgroups ---------------------------------------------------------------------------------- */

/* The hierarchy that the ledger's ids are from. */
static void find_root(char ret[PATH_MAX])
{
	if (cgroup_limits__mount(LIMITS_MEMORY, false, ret))
		strcpy(ret, "/sys/fs/cgroup");
}

static void live_in(const char *folder)
{
	char path[PATH_MAX + 96];
	pid_t pid = fork();
	int fd;

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, "brief-child");
		snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		_exit(fd < 0 || write(fd, "0", 1) != 1);
	}
	assert_int_equal(waitpid(pid, &fd, 0), pid);
	assert_int_equal(fd, 0);
}

static void remove_cgroup(const char *folder)
{
	for (int i = 0; rmdir(folder) && i < 1000; i++) {
		assert_int_equal(errno, EBUSY);
		usleep(1000);
	}
}

/* Makes a cgroup in which a process ends; returns its id. */
static uint64_t come_and_go(const char *root, int number)
{
	char folder[PATH_MAX + 64];
	struct stat about;

	snprintf(folder, sizeof(folder), "%s/gapless-brief-%d-%d", root, getpid(), number);
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(stat(folder, &about), 0);
	live_in(folder);
	remove_cgroup(folder);
	return about.st_ino;
}

static void every_process_has_the_id_of_its_cgroup_however_many_come_and_go(void **state)
{
	struct watching watching = watch("brief-child");
	uint64_t made[CGROUPS], found = 0;
	struct identity_quality quality;
	char root[PATH_MAX];

	find_root(root);
	for (int i = 0; i < CGROUPS; i++) {
		made[i] = come_and_go(root, i);
		look(&watching);
	}
	step(&watching);
	for (int i = 0; i < CGROUPS; i++)
		found += map__get(&cgroups, made[i]) != NULL;
	identity__quality(names, &quality);
	print_message("# %" PRIu64 " of %d ids, %" PRIu64 " lost; %" PRIu64 " workloads, %" PRIu64
		      " folded; %" PRIu64 " names of cgroups\n",
		      found, CGROUPS, lost(&watching), quality.workloads, quality.folded,
		      quality.cgroups.known);
	assert_true(found + lost(&watching) >= CGROUPS);
	assert_true(quality.workloads <= MOST_WORKLOADS + 1);
	assert_true(quality.cgroups.known <= MOST_WORKLOADS);
	end(&watching);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_fork_storm_is_booked_and_leaves_nothing_behind),
		HERE(every_process_has_the_id_of_its_cgroup_however_many_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
