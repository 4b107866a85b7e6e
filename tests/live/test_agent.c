/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent as users run it: a configuration, signals, and what it serves. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "served.h"

/* The sum of all samples whose line begins with `start`, in nanoseconds. */
static uint64_t sum_of(const char *page, const char *start)
{
	uint64_t ns = 0;

	for (const char *at = page; (at = strstr(at, start)); at++) {
		const char *value = strchr(at, ' ');
		unsigned long long seconds, rest;

		if (at != page && at[-1] != '\n')
			continue;
		assert_int_equal(sscanf(value, " %llu.%9llu", &seconds, &rest), 2);
		ns += seconds * 1000000000 + rest;
	}
	return ns;
}

static pid_t start_sleeper(const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			served__sleep_ms(50);
	}
	return pid;
}

static void a_service_has_its_time_by_state_on_the_page(void **state)
{
	pid_t sleeper = start_sleeper("agent-sleeper"), agent;
	char *page;
	uint64_t slept;

	served__configure("metrics.detail: service\n"
			  "identity.rule: process=agent-sleeper -> service=my-service\n");
	agent = served__start();
	served__wait_for("/metrics", "service=\"my-service\"");
	served__sleep_ms(2500);
	page = served__wait_for("/metrics", "service=\"my-service\"");
	slept = sum_of(page, "gapless_thread_seconds_total{service=\"my-service\",state=\"wait\","
			     "cause=\"sleep\"");
	assert_true(slept > UINT64_C(1500000000));
	/* Nothing proves that it sleeps by choice. */
	assert_null(strstr(page, "service=\"my-service\",state=\"wait\",cause=\"sleep\","
				 "kind=\"idle\""));
	assert_non_null(strstr(served__wait_for("/readyz", "200"), "ready"));
	served__stop(agent);
	kill(sleeper, SIGKILL);
	waitpid(sleeper, NULL, 0);
}

static void a_second_agent_refuses_and_a_recording_beside_it_works(void **state)
{
	struct output output;
	pid_t agent, second;
	int status;

	served__configure("");
	agent = served__start();
	served__wait_for("/healthz", "200");
	second = served__start();
	assert_int_equal(waitpid(second, &status, 0), second);
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_non_null(strstr(served__log(), "another agent"));
	output = live__gapless("record", "--no-stacks", "--level", "sched", "-o",
			       "/tmp/gapless-agent-beside.gapless", "--force", "--", "true");
	assert_int_equal(output.status, 0);
	live__release(&output);
	unlink("/tmp/gapless-agent-beside.gapless");
	served__stop(agent);
}

static void a_wrong_configuration_is_refused_at_the_start_and_ignored_later(void **state)
{
	pid_t agent;
	int status;

	served__configure("metrics.detale: service\n");
	agent = served__start();
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_int_equal(WEXITSTATUS(status), 2);
	assert_non_null(strstr(served__log(), "agent.conf:4: there is no key 'metrics.detale'"));
	served__configure("");
	agent = served__start();
	served__wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	served__configure("interval: never\n");
	kill(agent, SIGHUP);
	served__wait_for_log("continuing with the configuration as it was");
	served__wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	served__configure("metrics.detail: service\n");
	kill(agent, SIGHUP);
	served__wait_for("/metrics", "gapless_thread_seconds_total{service=\"(kernel)\"");
	served__stop(agent);
}

static void a_reload_with_the_same_series_keeps_counters_and_says_if_the_budget_changed(
	void **state)
{
	static const char start[] = "\ngapless_agent_start_time_seconds ",
			  runs[] = "\ngapless_transitions_total{state=\"run\"} ",
			  served[] = "\ngapless_agent_scrapes_total{result=\"served\"} ";
	uint64_t began, count, scrapes;
	pid_t agent;
	char *page;

	served__configure("");
	agent = served__start();
	served__wait_for("/metrics", runs);
	served__sleep_ms(2500);
	page = served__wait_for("/metrics", runs);
	began = served__number(page, start);
	count = served__number(page, runs);
	scrapes = served__number(page, served);
	assert_true(began > 0 && count > 0 && scrapes > 0);
	served__configure("otlp.interval: 20s\n");
	kill(agent, SIGHUP);
	served__sleep_ms(1500);
	page = served__wait_for("/metrics", runs);
	assert_int_equal(served__number(page, start), began);
	assert_true(served__number(page, runs) > count);
	assert_true(served__number(page, served) >= scrapes);
	assert_null(strstr(served__log(), "from now on"));
	served__configure("budget.cpu_ppm: 20000\n");
	kill(agent, SIGHUP);
	served__wait_for_log("level 'ledger' from now on: level or budget were configured anew");
	page = served__wait_for("/metrics", runs);
	assert_int_equal(served__number(page, start), began);
	served__configure("metrics.detail: service\n");
	kill(agent, SIGHUP);
	page = served__wait_for("/metrics", "gapless_transitions_total{service=");
	assert_true(served__number(page, start) > began);
	served__stop(agent);
	assert_int_equal(served__count(served__log(), "from now on"), 2);
}

static void what_is_missing_is_on_the_page_and_what_was_repaired_is_not(void **state)
{
	static const char *const shown[] = {
		"unseen_ns",       "unnamed_wait_ns",   "waits_without_account_ns",
		"samples_lost_ns", "samples_unowned",   "stacks_cut",
		"stacks_folded",   "rows_folded",       "workloads_folded",
		"turns_unknown",   "not_in_histograms", "lost_ring_full",
	};
	char series[128], *page;
	pid_t agent;

	served__configure("");
	agent = served__start();
	page = served__wait_for("/metrics", "\ngapless_transitions_total{state=\"run\"} ");
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		snprintf(series, sizeof(series), "\ngapless_agent_lost_total{what=\"%s\"} ",
			 shown[i]);
		assert_non_null(strstr(page, series));
	}
	assert_null(strstr(page, "repaired_wakeups"));
	assert_null(strstr(page, "level_changes"));
	assert_null(strstr(page, "{what=\"_other\"}"));
	/* The agent did not run when the minute began. */
	assert_true(served__number(page, "\ngapless_agent_lost_total{what=\"unseen_ns\"} ") > 0);
	served__stop(agent);
}

static void assert_status(pid_t pid, const char *line)
{
	char path[64], text[8192];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = '\0';
	if (!strstr(text, line))
		fail_msg("no '%s' in %s", line, text);
}

static void a_worker_has_no_privileges_and_is_replaced_if_it_dies(void **state)
{
	pid_t agent, worker, next;

	served__configure("");
	agent = served__start();
	served__wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	worker = served__worker(agent);
	assert_status(worker, "CapEff:\t0000000000000000");
	assert_status(worker, "CapBnd:\t0000000000000000");
	assert_status(worker, "NoNewPrivs:\t1");
	assert_status(worker, "Seccomp:\t2");
	kill(worker, SIGKILL);
	served__wait_for_log("the worker was ended by signal 9");
	served__wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	next = served__worker(agent);
	assert_int_not_equal(next, worker);
	assert_status(next, "Seccomp:\t2");
	served__stop(agent);
}

/* Its calls are its own when it has lived for a while. */
static void make_calls(const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, name);
		served__sleep_ms(300);
		for (int i = 0; i < 5000; i++)
			syscall(SYS_getppid);
		for (int i = 0; i < 700; i++)
			close(-1);
		served__sleep_ms(300);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void at_level_full_the_syscalls_of_a_service_are_counted(void **state)
{
	pid_t agent;

	served__configure("level: full\nmetrics.detail: service\nmetrics.syscalls: true\n"
			  "identity.rule: process=agent-caller -> service=caller\n");
	agent = served__start();
	served__wait_for("/metrics", "gapless_syscalls_total{service=");
	make_calls("agent-caller");
	served__wait_for("/metrics",
			 "gapless_syscalls_total{service=\"caller\",syscall=\"getppid\"} 5000\n");
	served__wait_for(
		"/metrics",
		"gapless_syscall_errors_total{service=\"caller\",syscall=\"close\"} 700\n");
	/* Time in the kernel is told from that in user space. */
	served__wait_for("/metrics", "service=\"caller\",state=\"run\",cause=\"kernel\"");
	served__stop(agent);
}

static void a_worker_goes_on_after_steps_that_failed(void **state)
{
	struct rlimit old, none;
	pid_t agent, worker;
	char *page = NULL;

	served__configure("");
	agent = served__start();
	served__wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	worker = served__worker(agent);
	/* Running an iterator needs a descriptor. The server polls less than 8. */
	assert_int_equal(prlimit(worker, RLIMIT_NOFILE, NULL, &old), 0);
	none = old;
	none.rlim_cur = 8;
	assert_int_equal(prlimit(worker, RLIMIT_NOFILE, &none, NULL), 0);
	served__wait_for_log("the accounts cannot be read now");
	assert_int_equal(prlimit(worker, RLIMIT_NOFILE, &old, NULL), 0);
	for (int i = 0; i < 100; i++) {
		page = served__wait_for("/metrics", "what=\"steps_failed\"");
		if (!strstr(page, "what=\"steps_failed\"} 0\n"))
			break;
		served__sleep_ms(100);
	}
	assert_null(strstr(page, "what=\"steps_failed\"} 0\n"));
	assert_int_equal(served__worker(agent), worker);
	served__stop(agent);
}

static void a_service_manager_at_an_abstract_address_hears_that_the_agent_is_ready(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval most = { .tv_sec = 20 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char path[64], text[64] = "";
	socklen_t size;
	pid_t agent;

	snprintf(path, sizeof(path), "@gapless-test-%d", getpid());
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	memcpy(address.sun_path + 1, path + 1, strlen(path) - 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	setenv("NOTIFY_SOCKET", path, 1);
	served__configure("");
	agent = served__start();
	unsetenv("NOTIFY_SOCKET");
	while (recv(fd, text, sizeof(text) - 1, 0) > 0 && strcmp(text, "READY=1"))
		;
	assert_string_equal(text, "READY=1");
	served__stop(agent);
	assert_true(recv(fd, text, sizeof(text) - 1, 0) > 0);
	close(fd);
}

static void minutes_without_a_store_wait_in_the_spool(void **state)
{
	char path[64];
	struct stat info;
	pid_t agent;

	served__configure("store.url: http://127.0.0.1:9\n");
	agent = served__start();
	served__wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	served__stop(agent);
	snprintf(path, sizeof(path), "%s/state/spool", served__folder());
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 077, 0);
	snprintf(path, sizeof(path), "ls %s/state/spool | grep -q ledger", served__folder());
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_service_has_its_time_by_state_on_the_page),
		HERE(a_second_agent_refuses_and_a_recording_beside_it_works),
		HERE(a_wrong_configuration_is_refused_at_the_start_and_ignored_later),
		HERE(a_reload_with_the_same_series_keeps_counters_and_says_if_the_budget_changed),
		HERE(what_is_missing_is_on_the_page_and_what_was_repaired_is_not),
		cmocka_unit_test(a_worker_has_no_privileges_and_is_replaced_if_it_dies),
		HERE(at_level_full_the_syscalls_of_a_service_are_counted),
		HERE(a_worker_goes_on_after_steps_that_failed),
		cmocka_unit_test(
			a_service_manager_at_an_abstract_address_hears_that_the_agent_is_ready),
		HERE(minutes_without_a_store_wait_in_the_spool),
	};

	return cmocka_run_group_tests(tests, served__set_up, served__tear_down);
}
