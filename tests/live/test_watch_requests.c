/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch requests, and the view of services of top: a server that answers a known number of them. */
#include "../harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ledger.h"

#define REQUESTS 150
#define FAILED   30 /* of these */
#define WORK_NS  2000000
#define MOST     16

struct server {
	pid_t pid;
	int port;
};

static void serve(int listener)
{
	static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	static const char bad[] = "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno";
	struct timespec work = { .tv_nsec = WORK_NS };
	char request[256];
	int fd = accept(listener, NULL, NULL);

	for (;;) {
		ssize_t got = read(fd, request, sizeof(request) - 1);
		const char *answer;

		if (got <= 0)
			_exit(0);
		request[got] = '\0';
		nanosleep(&work, NULL);
		answer = strstr(request, "/bad") ? bad : good;
		if (write(fd, answer, strlen(answer)) < 0)
			_exit(1);
	}
}

static struct server start_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct server server;

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	server.port = ntohs(address.sin_port);
	server.pid = fork();
	if (!server.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listener);
	}
	close(listener);
	return server;
}

static void end_server(const struct server *server)
{
	kill(server->pid, SIGKILL);
	assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
}

/* Returns the connection, which stays open. */
static int ask(const struct server *server)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)server->port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[256];

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	for (int i = 0; i < REQUESTS; i++) {
		const char *request = i < FAILED ? "GET /bad HTTP/1.1\r\nHost: x\r\n\r\n"
						 : "GET /good HTTP/1.1\r\nHost: x\r\n\r\n";

		assert_int_equal(write(fd, request, strlen(request)), strlen(request));
		assert_true(read(fd, answer, sizeof(answer)) > 0);
	}
	return fd;
}

struct watched {
	pid_t pid;
	FILE *out;
};

static struct watched start_watch(const struct server *server, const char *const *args)
{
	const char *argv[MOST] = { "gapless", "watch", "requests", "-p" };
	char pid[16], line[256] = "";
	struct watched watched;
	int out[2], err[2];
	FILE *words;

	snprintf(pid, sizeof(pid), "%d", server->pid);
	argv[4] = pid;
	for (size_t i = 0; args[i]; i++)
		argv[i + 5] = args[i];
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(err), 0);
	watched.pid = fork();
	if (!watched.pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		execv(live__program(), (char *const *)argv);
		_exit(126);
	}
	close(out[1]);
	close(err[1]);
	words = fdopen(err[0], "r");
	assert_non_null(fgets(line, sizeof(line), words));
	if (!strstr(line, "watching 'requests'"))
		fail_msg("unexpected: %s", line);
	watched.out = fdopen(out[0], "r");
	return watched;
}

static void end_watch(struct watched *watched)
{
	int status;

	assert_int_equal(waitpid(watched->pid, &status, 0), watched->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fclose(watched->out);
}

static json_t *next_line(FILE *out)
{
	char *line = NULL;
	size_t size = 0;
	json_t *json = NULL;

	if (getline(&line, &size, out) > 0) {
		json = json_loads(line, 0, NULL);
		if (!json)
			fail_msg("not JSON: %s", line);
	}
	free(line);
	return json;
}

static int64_t reason_ns(json_t *service, const char *state, const char *cause)
{
	json_t *reason;
	size_t i;

	json_array_foreach (json_object_get(service, "reasons"), i, reason) {
		const char *of = json_string_value(json_object_get(reason, "state"));
		const char *by = json_string_value(json_object_get(reason, "cause"));

		if (of && by && !strcmp(of, state) && !strcmp(by, cause))
			return number_at(reason, "ns");
	}
	return 0;
}

static void check_service(json_t *service, const struct server *server)
{
	char name[64];

	snprintf(name, sizeof(name), "127.0.0.1:%d", server->port);
	assert_string_equal(text_at(service, "service"), name);
	assert_string_equal(text_at(service, "kind"), "server");
	assert_string_equal(text_at(service, "protocol"), "http");
	assert_int_equal(number_at(json_object_get(service, "process"), "pid"), server->pid);
	assert_int_equal(number_at(service, "count"), REQUESTS);
	assert_int_equal(number_at(service, "failed"), FAILED);
	assert_true(number_at(service, "length_ns") >= (int64_t)REQUESTS * WORK_NS);
	/* It slept for all of them. */
	assert_true(reason_ns(service, "wait", "timer") + reason_ns(service, "wait", "sleep") >=
		    (int64_t)REQUESTS * WORK_NS * 95 / 100);
}

static void an_interrupt_loses_no_request(void **state)
{
	struct server server = start_server();
	struct watched watched =
		start_watch(&server, (const char *const[]) { "--json", "60", NULL });
	int fd = ask(&server);
	json_t *page;

	kill(watched.pid, SIGINT);
	page = next_line(watched.out);
	assert_string_equal(text_at(page, "type"), "summary");
	assert_int_equal(number_at(page, "count"), REQUESTS);
	assert_int_equal(json_array_size(json_object_get(page, "services")), 1);
	check_service(json_array_get(json_object_get(page, "services"), 0), &server);
	json_decref(page);
	assert_null(next_line(watched.out));
	end_watch(&watched);
	close(fd);
	end_server(&server);
}

static void intervals_add_up_to_the_summary(void **state)
{
	struct server server = start_server();
	struct watched watched =
		start_watch(&server, (const char *const[]) { "--json", "300ms", "8", NULL });
	int fd = ask(&server);
	int64_t count = 0, end_ns = 0;
	json_t *page;

	for (int i = 0; i < 8; i++) {
		page = next_line(watched.out);
		assert_string_equal(text_at(page, "type"), "interval");
		if (end_ns)
			assert_int_equal(number_at(page, "begin_ns"), end_ns);
		end_ns = number_at(page, "end_ns");
		count += number_at(page, "count");
		json_decref(page);
	}
	page = next_line(watched.out);
	assert_string_equal(text_at(page, "type"), "summary");
	/* The last one may end only with the recording: nothing shows before that it was the last.
	 */
	assert_true(count >= REQUESTS - 1 && count <= REQUESTS);
	check_service(json_array_get(json_object_get(page, "services"), 0), &server);
	json_decref(page);
	end_watch(&watched);
	close(fd);
	end_server(&server);
}

static void text_has_a_line_for_each_service(void **state)
{
	struct server server = start_server();
	struct watched watched = start_watch(&server, (const char *const[]) { "60", NULL });
	int fd = ask(&server);
	char *text = NULL;
	size_t size = 0;

	kill(watched.pid, SIGINT);
	assert_true(getdelim(&text, &size, '\0', watched.out) > 0);
	if (!strstr(text, ": 150 requests\n") || !strstr(text, "SERVICE") ||
	    !strstr(text, " 20.0 %") || !strstr(text, "from begin to end"))
		fail_msg("%s", text);
	free(text);
	end_watch(&watched);
	close(fd);
	end_server(&server);
}

static void options_of_signals_are_refused(void **state)
{
	struct output output = live__gapless("watch", "requests", "--by", "thread");

	assert_int_equal(output.status, 2);
	assert_non_null(strstr(output.err, "'requests' takes an interval"));
	live__release(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interrupt_loses_no_request),
		cmocka_unit_test(intervals_add_up_to_the_summary),
		cmocka_unit_test(text_has_a_line_for_each_service),
		cmocka_unit_test(options_of_signals_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
