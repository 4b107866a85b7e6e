/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent says about the cost of its hooks, with the kernel's timing and without it. */
#include "../harness.h"

#include <bpf/bpf.h>
#include <cap-ng.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "served.h"

#define PRICED        "measured between two threads"
#define PARTLY        "other hooks are not priced"
#define MOST_TRIES    5
#define MOST_PROGRAMS 256
#define BUDGET        "budget.cpu_ppm: 1000000\nbudget.memory: 1G\n"

static void drop_sys_admin(void)
{
	capng_get_caps_process();
	capng_update(CAPNG_DROP,
		     CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE | CAPNG_BOUNDING_SET,
		     CAP_SYS_ADMIN);
	if (capng_apply(CAPNG_SELECT_ALL))
		_exit(99);
}

/* --- a load: two processes that wake each other ----------------------------------------------- */

static pid_t play(int from, int to)
{
	pid_t pid = fork();
	char byte = 0;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	_exit(0);
}

static void start_players(pid_t ret[2])
{
	int there[2], back[2];
	cpu_set_t one, before;
	char byte = 0;

	assert_int_equal(pipe(there), 0);
	assert_int_equal(pipe(back), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	ret[0] = play(there[0], back[1]);
	ret[1] = play(back[0], there[1]);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(write(there[1], &byte, 1), 1);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

static void stop_players(const pid_t players[2])
{
	for (int i = 0; i < 2; i++) {
		kill(players[i], SIGKILL);
		waitpid(players[i], NULL, 0);
	}
}

/* --- prices ----------------------------------------------------------------------------------- */

struct figures {
	double hook_s, switches;
};

static double value_of(const char *page, const char *series)
{
	const char *at = strstr(page, series);

	assert_non_null(at);
	return strtod(at + strlen(series), NULL);
}

static struct figures figures_of(const char *page)
{
	return (struct figures) {
		.hook_s = value_of(page, "\ngapless_agent_hook_seconds_total "),
		.switches = value_of(page, "\ngapless_transitions_total{state=\"ready\"} "),
	};
}

/*
 * Nanoseconds of hooks per switch, while the agent runs for some seconds. 0: it says that it could
 * not measure them, on a busy machine.
 */
static double price(live_prepare_fn prepare, bool is_priced)
{
	struct figures first, last;
	pid_t agent;

	served__configure("");
	agent = served__start_as(prepare);
	served__wait_for("/metrics", "\ngapless_transitions_total{state=\"run\"} ");
	if (is_priced && strstr(served__log(), "could not be measured")) {
		served__stop(agent);
		return 0;
	}
	first = figures_of(served__wait_for("/metrics", "\ngapless_agent_hook_seconds_total "));
	served__sleep_ms(3500);
	last = figures_of(served__wait_for("/metrics", "\ngapless_agent_hook_seconds_total "));
	assert_true(!strstr(served__try_get("/metrics"), PARTLY) == !is_priced);
	served__stop(agent);
	assert_true(!strstr(served__log(), PRICED) == !is_priced);
	assert_true(last.switches > first.switches + 1000);
	assert_true(last.hook_s > first.hook_s);
	return (last.hook_s - first.hook_s) * 1e9 / (last.switches - first.switches);
}

static void without_the_kernels_timing_hooks_cost_about_the_same(void **state)
{
	pid_t players[2];
	double timed_ns, priced_ns;
	bool is_near = false;

	start_players(players);
	timed_ns = price(NULL, false);
	/* Another tracer that comes or goes during the start changes the price. */
	for (int i = 0; i < MOST_TRIES && !is_near; i++) {
		priced_ns = price(drop_sys_admin, true);
		print_message("# per switch: %.0f ns timed, %.0f ns without CAP_SYS_ADMIN\n",
			      timed_ns, priced_ns);
		is_near = priced_ns > timed_ns / 3 && priced_ns < timed_ns * 3;
	}
	stop_players(players);
	assert_true(is_near);
}

/* --- against the kernel's own figures --------------------------------------------------------- */

/* The id of the program that a descriptor of the agent stands for; 0: none. */
static uint32_t program_at(pid_t agent, const char *descriptor)
{
	char path[64], line[128];
	uint32_t id = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.10s", agent, descriptor);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "prog_id: %" SCNu32, &id) == 1)
			break;
	if (file)
		fclose(file);
	return id;
}

static bool is_iterator(const char *name)
{
	static const char *const names[] = { "on_seed", "on_snapshot", "on_asleep",
					     "tcp_on_descriptor", "tcp_on_socket" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], BPF_OBJ_NAME_LEN - 1))
			return true;
	return false;
}

static uint64_t run_ns(uint32_t id)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return 0;
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	close(fd);
	return is_iterator(info.name) ? 0 : info.run_time_ns;
}

/* The seconds of all hooks of the agent, as the kernel has timed them. */
static double kernel_s(pid_t agent)
{
	uint32_t ids[MOST_PROGRAMS] = {}, id;
	size_t count = 0, known;
	uint64_t ns = 0;
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", agent);
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		id = program_at(agent, entry->d_name);
		for (known = 0; known < count && ids[known] != id; known++)
			;
		if (!id || known < count)
			continue;
		assert_true(count < MOST_PROGRAMS);
		ids[count++] = id;
		ns += run_ns(id);
	}
	closedir(folder);
	return (double)ns / 1e9;
}

/* Just after a step. */
static struct figures next_figures(void)
{
	const char *series = "\ngapless_agent_hook_seconds_total ";
	struct figures first = figures_of(served__wait_for("/metrics", series)), next = first;

	for (int i = 0; i < 300 && next.switches == first.switches; i++) {
		served__sleep_ms(20);
		next = figures_of(served__wait_for("/metrics", series));
	}
	return next;
}

/* Nanoseconds of hooks per switch. *ret_ratio: those of the agent, divided by the kernel's. */
static double compare(const char *configuration, double *ret_ratio)
{
	struct figures first, last;
	double first_s, last_s;
	pid_t agent;
	int fd;

	served__configure(configuration);
	agent = served__start();
	served__wait_for("/metrics", "\ngapless_agent_hook_seconds_total ");
	fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	assert_true(fd >= 0);
	/* What was timed before this level, or before stacks were taken, counts less and less. */
	served__sleep_ms(3000);
	first = next_figures();
	first_s = kernel_s(agent);
	served__sleep_ms(5000);
	last = next_figures();
	last_s = kernel_s(agent);
	close(fd);
	served__stop(agent);
	assert_true(last_s > first_s);
	*ret_ratio = (last.hook_s - first.hook_s) / (last_s - first_s);
	return (last.hook_s - first.hook_s) * 1e9 / (last.switches - first.switches);
}

static void at_each_level_hooks_cost_about_what_the_kernel_says(void **state)
{
	static const struct {
		const char *name, *configuration;
	} levels[] = {
		{ "ledger", BUDGET "level: ledger\n" },
		{ "signals", BUDGET "level: signals\n" },
		{ "stacks", BUDGET "level: stacks\nstacks.probability: 1\n" },
		{ "full", BUDGET "level: full\nstacks.probability: 1\n" },
	};
	double ns[4], ratio;
	pid_t players[2];

	start_players(players);
	for (size_t i = 0; i < 4; i++) {
		ns[i] = compare(levels[i].configuration, &ratio);
		print_message("# level %s: %.0f ns per switch, %.2f of the kernel's figure\n",
			      levels[i].name, ns[i], ratio);
		assert_true(ratio > 0.5 && ratio < 2);
	}
	stop_players(players);
	assert_true(ns[2] > ns[0]);
	assert_true(ns[3] > ns[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_each_level_hooks_cost_about_what_the_kernel_says),
		cmocka_unit_test(without_the_kernels_timing_hooks_cost_about_the_same),
	};

	return cmocka_run_group_tests(tests, served__set_up, served__tear_down);
}
