/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "served.h"

#include "../harness.h"

#include <fcntl.h>
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

#include "live.h"

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
