/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "served.h"

#include "../harness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "live.h"

#define SECOND_NS INT64_C(1000000000)

static char folder[] = "/tmp/gapless-agent-XXXXXX";
static char config_path[64], socket_path[64], log_path[64];

void served__sleep_ms(long ms)
{
	nanosleep(&(struct timespec) { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

void served__configure(const char *more)
{
	FILE *file = fopen(config_path, "w");

	assert_non_null(file);
	fprintf(file, "state_directory: %s/state\nmetrics.listen: unix:%s\ninterval: 1s\n%s",
		folder, socket_path, more);
	assert_int_equal(fclose(file), 0);
}

pid_t served__start(void)
{
	return served__start_as(NULL);
}

pid_t served__start_as(live_prepare_fn prepare)
{
	pid_t pid = fork();

	if (!pid) {
		int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		dup2(log, STDERR_FILENO);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		execl(live__program(), "gapless", "agent", "--config", config_path, NULL);
		_exit(127);
	}
	return pid;
}

void served__step_clock(int step_s, int every_s)
{
	int64_t zero_ns = (int64_t)clock__now_ns(), rest_ns;
	char text[128], path[PATH_MAX];

	unsetenv("LD_PRELOAD");
	if (!every_s)
		return;
	/* Now it is `every_s` before the next minute. */
	rest_ns = zero_ns + (int64_t)clock__wall_offset_ns() + every_s * SECOND_NS;
	snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, zero_ns,
		 60 * SECOND_NS - rest_ns % (60 * SECOND_NS), step_s * SECOND_NS,
		 every_s * SECOND_NS);
	snprintf(path, sizeof(path), "%s/../libstepping.so", getenv("GAPLESS_WORKLOADS"));
	setenv("TEST_CLOCK", text, 1);
	setenv("LD_PRELOAD", path, 1);
}

unsigned int served__count(const char *text, const char *words)
{
	unsigned int count = 0;

	for (; (text = strstr(text, words)); text++)
		count++;
	return count;
}

uint64_t served__number(const char *page, const char *series)
{
	const char *at = page ? strstr(page, series) : NULL;

	return at ? strtoull(at + strlen(series), NULL, 10) : 0;
}

char *served__log(void)
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
char *served__try_get(const char *path)
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
char *served__wait_for(const char *path, const char *words)
{
	for (int i = 0; i < 600; i++) {
		char *answer = served__try_get(path);

		if (answer && strstr(answer, words))
			return answer;
		served__sleep_ms(100);
	}
	print_error("%s", served__log());
	fail_msg("'%s' never had '%s'", path, words);
	return NULL;
}

void served__wait_for_log(const char *words)
{
	for (int i = 0; i < 300 && !strstr(served__log(), words); i++)
		served__sleep_ms(100);
	assert_non_null(strstr(served__log(), words));
}

void served__stop(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		print_error("%s", served__log());
	assert_int_equal(status, 0);
}

/* The process without privileges that serves. */
pid_t served__worker(pid_t agent)
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

const char *served__folder(void)
{
	return folder;
}

int served__set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(config_path, sizeof(config_path), "%s/agent.conf", folder);
	snprintf(socket_path, sizeof(socket_path), "%s/state/socket", folder);
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
	return 0;
}

int served__tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}
