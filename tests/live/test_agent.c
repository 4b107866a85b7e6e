/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent as users run it: a configuration, signals, and what it serves. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live.h"

static char folder[] = "/tmp/gapless-agent-XXXXXX";
static char config_path[64], socket_path[64], log_path[64];

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec) { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void write_config(const char *more)
{
	FILE *file = fopen(config_path, "w");

	assert_non_null(file);
	fprintf(file, "state_directory: %s/state\nmetrics.listen: unix:%s\ninterval: 1s\n%s",
		folder, socket_path, more);
	assert_int_equal(fclose(file), 0);
}

static pid_t start_agent(void)
{
	pid_t pid = fork();

	if (!pid) {
		int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		dup2(log, STDERR_FILENO);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(live__program(), "gapless", "agent", "--config", config_path, NULL);
		_exit(127);
	}
	return pid;
}

static char *read_log(void)
{
	static char text[65536];
	FILE *file = fopen(log_path, "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[size] = '\0';
	if (file)
		fclose(file);
	return text;
}

/* The answer with its head; NULL: nobody listens. */
static char *try_get(const char *path)
{
	static char answer[1 << 20];
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char request[128];
	size_t size = 0;
	ssize_t got;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    write(fd, request, strlen(request)) < 0) {
		close(fd);
		return NULL;
	}
	while ((got = read(fd, answer + size, sizeof(answer) - 1 - size)) > 0)
		size += (size_t)got;
	answer[size] = '\0';
	close(fd);
	return answer;
}

/* Waits until an answer contains the words. */
static char *wait_for(const char *path, const char *words)
{
	for (int i = 0; i < 600; i++) {
		char *answer = try_get(path);

		if (answer && strstr(answer, words))
			return answer;
		sleep_ms(100);
	}
	print_error("%s", read_log());
	fail_msg("'%s' never had '%s'", path, words);
	return NULL;
}

static void wait_for_log(const char *words)
{
	for (int i = 0; i < 300 && !strstr(read_log(), words); i++)
		sleep_ms(100);
	assert_non_null(strstr(read_log(), words));
}

static void stop_agent(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		print_error("%s", read_log());
	assert_int_equal(status, 0);
}

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
			sleep_ms(50);
	}
	return pid;
}

static void a_service_has_its_time_by_state_on_the_page(void **state)
{
	pid_t sleeper = start_sleeper("agent-sleeper"), agent;
	char *page;
	uint64_t slept;

	write_config("metrics.detail: service\n"
		     "identity.rule: process=agent-sleeper -> service=my-service\n");
	agent = start_agent();
	wait_for("/metrics", "service=\"my-service\"");
	sleep_ms(2500);
	page = wait_for("/metrics", "service=\"my-service\"");
	slept = sum_of(page, "gapless_thread_seconds_total{service=\"my-service\",state=\"wait\","
			     "cause=\"sleep\"");
	assert_true(slept > UINT64_C(1500000000));
	/* Nothing proves that it sleeps by choice. */
	assert_null(strstr(page, "service=\"my-service\",state=\"wait\",cause=\"sleep\","
				 "kind=\"idle\""));
	assert_non_null(strstr(wait_for("/readyz", "200"), "ready"));
	stop_agent(agent);
	kill(sleeper, SIGKILL);
	waitpid(sleeper, NULL, 0);
}

static void a_second_agent_refuses_and_a_recording_beside_it_works(void **state)
{
	struct output output;
	pid_t agent, second;
	int status;

	write_config("");
	agent = start_agent();
	wait_for("/healthz", "200");
	second = start_agent();
	assert_int_equal(waitpid(second, &status, 0), second);
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_non_null(strstr(read_log(), "another agent"));
	output = live__gapless("record", "--no-stacks", "--level", "sched", "-o",
			       "/tmp/gapless-agent-beside.gapless", "--force", "--", "true");
	assert_int_equal(output.status, 0);
	live__release(&output);
	unlink("/tmp/gapless-agent-beside.gapless");
	stop_agent(agent);
}

static void a_wrong_configuration_is_refused_at_the_start_and_ignored_later(void **state)
{
	pid_t agent;
	int status;

	write_config("metrics.detale: service\n");
	agent = start_agent();
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_int_equal(WEXITSTATUS(status), 2);
	assert_non_null(strstr(read_log(), "agent.conf:4: there is no key 'metrics.detale'"));
	write_config("");
	agent = start_agent();
	wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	write_config("interval: never\n");
	kill(agent, SIGHUP);
	wait_for_log("continuing with the configuration as it was");
	wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	write_config("metrics.detail: service\n");
	kill(agent, SIGHUP);
	wait_for("/metrics", "gapless_thread_seconds_total{service=\"(kernel)\"");
	stop_agent(agent);
}

/* The process without privileges that serves. */
static pid_t worker_of(pid_t agent)
{
	char path[64];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", agent, agent);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
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

	write_config("");
	agent = start_agent();
	wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	worker = worker_of(agent);
	assert_status(worker, "CapEff:\t0000000000000000");
	assert_status(worker, "CapBnd:\t0000000000000000");
	assert_status(worker, "NoNewPrivs:\t1");
	assert_status(worker, "Seccomp:\t2");
	kill(worker, SIGKILL);
	wait_for_log("the worker was ended by signal 9");
	wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	next = worker_of(agent);
	assert_int_not_equal(next, worker);
	assert_status(next, "Seccomp:\t2");
	stop_agent(agent);
}

static void minutes_without_a_store_wait_in_the_spool(void **state)
{
	char path[64];
	struct stat info;
	pid_t agent;

	write_config("store.url: http://127.0.0.1:9\n");
	agent = start_agent();
	wait_for("/metrics", "gapless_thread_seconds_total{state=\"run\"");
	stop_agent(agent);
	snprintf(path, sizeof(path), "%s/state/spool", folder);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 077, 0);
	snprintf(path, sizeof(path), "ls %s/state/spool | grep -q ledger", folder);
	assert_int_equal(system(path), 0);
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(config_path, sizeof(config_path), "%s/agent.conf", folder);
	snprintf(socket_path, sizeof(socket_path), "%s/state/socket", folder);
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_has_its_time_by_state_on_the_page),
		cmocka_unit_test(a_second_agent_refuses_and_a_recording_beside_it_works),
		cmocka_unit_test(a_wrong_configuration_is_refused_at_the_start_and_ignored_later),
		cmocka_unit_test(a_worker_has_no_privileges_and_is_replaced_if_it_dies),
		cmocka_unit_test(minutes_without_a_store_wait_in_the_spool),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
