/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent at level signals, against known numbers of connections and requests. The counts are
 * those of the whole machine, so others that connect at the same time spoil a trial; then another
 * one is made.
 */
#include "../harness.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "disks.h"
#include "ledger.h"
#include "served.h"

#define CONNECTIONS 23
#define BYTES       1000
#define MOST_TRIALS 6
#define CPU_SECONDS "\ngapless_agent_cpu_seconds_total "
#define LOOP_BYTES  (UINT64_C(64) << 20)

/* The machine of a test may be slow, and a step a second is more than the default. */
#define LEVEL_SIGNALS "level: signals\nbudget.cpu_ppm: 1000000\n"

static struct loop loop; /* so that a test that fails leaves none behind */

static int remove_loop(void **state)
{
	loop__free(&loop);
	loop = (struct loop) {};
	return 0;
}

struct counts {
	uint64_t connects, lifetimes, sent, received;
};

static struct counts counts_of(const char *page)
{
	return (struct counts) {
		served__number(page,
			       "\ngapless_signal_tcp_time_seconds_count{operation=\"connect\"} "),
		served__number(page, "\ngapless_signal_tcp_events_total{operation=\"lifetime\"} "),
		served__number(page, "\ngapless_signal_tcp_bytes_total{operation=\"send\"} "),
		served__number(page, "\ngapless_signal_tcp_bytes_total{operation=\"receive\"} "),
	};
}

static struct counts less(struct counts a, struct counts b)
{
	return (struct counts) { a.connects - b.connects, a.lifetimes - b.lifetimes,
				 a.sent - b.sent, a.received - b.received };
}

static int listen_at(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*ret);

	*ret = (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)ret, sizeof(*ret)), 0);
	assert_int_equal(listen(fd, CONNECTIONS), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &size), 0);
	return fd;
}

/* Each connection carries BYTES from the client to the server. */
static void connect_all(void)
{
	static char bytes[BYTES];
	struct sockaddr_in address;
	int listener = listen_at(&address);

	for (int i = 0; i < CONNECTIONS; i++) {
		int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), server;

		assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
		server = accept(listener, NULL, NULL);
		assert_true(server >= 0);
		assert_int_equal(write(client, bytes, BYTES), BYTES);
		assert_int_equal(recv(server, bytes, BYTES, MSG_WAITALL), BYTES);
		close(client);
		close(server);
	}
	close(listener);
}

/* When the agent last made a page: its CPU time grows with every step. */
static double step_of(const char *page)
{
	const char *at = page ? strstr(page, CPU_SECONDS) : NULL;

	return at ? strtod(at + strlen(CPU_SECONDS), NULL) : 0;
}

/* A page whose step began after this call: that of the next step may have begun before. */
static char *next_page(int steps)
{
	char *page = served__wait_for("/metrics", CPU_SECONDS);

	for (; steps; steps--) {
		double step = step_of(page);

		while (step_of(page = served__wait_for("/metrics", CPU_SECONDS)) <= step)
			served__sleep_ms(300); /* the server refuses more */
	}
	return page;
}

/* Connections that this network namespace has asked for. */
static uint64_t active_opens(void)
{
	FILE *file = fopen("/proc/net/snmp", "r");
	char line[512];
	uint64_t opens = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "Tcp: %*d %*d %*d %*d %" SCNu64, &opens);
	fclose(file);
	return opens;
}

/* Exact in one trial, unless others connected in each of them. */
static void expect_connections(void)
{
	struct counts before, added = {};
	int disturbed = 0;

	for (int i = 0; i < MOST_TRIALS; i++) {
		uint64_t opens = active_opens();

		before = counts_of(next_page(1));
		connect_all();
		added = less(counts_of(next_page(1)), before);
		/* Both ends of a connection are on this machine. */
		if (added.connects == CONNECTIONS && added.lifetimes == 2 * CONNECTIONS &&
		    added.sent == CONNECTIONS * BYTES && added.received == CONNECTIONS * BYTES)
			return;
		assert_true(added.connects >= CONNECTIONS);
		assert_true(added.sent >= CONNECTIONS * BYTES);
		disturbed += active_opens() - opens > CONNECTIONS;
	}
	if (disturbed < MOST_TRIALS)
		fail_msg("%" PRIu64 " connects, %" PRIu64 " lifetimes, %" PRIu64 " and %" PRIu64
			 " bytes",
			 added.connects, added.lifetimes, added.sent, added.received);
	print_message("# not exact: others connect all the time\n");
}

/* Others rarely try to connect where nobody listens. */
static void expect_refusals(void)
{
	static const char series[] = "\ngapless_signal_tcp_errors_total{operation=\"connect\"} ";
	uint64_t before = served__number(next_page(1), series);
	struct sockaddr_in address;

	close(listen_at(&address));
	for (int i = 0; i < CONNECTIONS; i++) {
		int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), -1);
		close(client);
	}
	assert_int_equal(served__number(next_page(2), series) - before, CONNECTIONS);
}

static void connections_and_their_bytes_are_exact_also_after_the_worker_died(void **state)
{
	pid_t agent;

	served__configure(LEVEL_SIGNALS);
	agent = served__start();
	served__wait_for("/metrics", "level=\"signals\"");
	expect_connections();
	expect_refusals();
	kill(served__worker(agent), SIGKILL);
	served__wait_for_log("the worker was ended by signal 9");
	served__wait_for("/metrics", "level=\"signals\"");
	expect_connections();
	expect_refusals();
	served__stop(agent);
	assert_null(strstr(served__log(), "cannot be read"));
}

static void run(const char *const *command)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execv(command[0], (char *const *)command);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static uint64_t requests(const char *page, const char *what, const char *operation)
{
	char series[160];

	snprintf(series, sizeof(series),
		 "\ngapless_signal_block_%s{operation=\"%s\",place=\"%s\"} ", what, operation,
		 device_name(loop.device));
	return served__number(page, series);
}

static void requests_to_a_disk_are_exact(void **state)
{
	pid_t agent;
	char *page;
	uint64_t reads, bytes;

	loop = loop__new(LOOP_BYTES);
	served__configure(LEVEL_SIGNALS);
	agent = served__start();
	page = next_page(2);
	reads = requests(page, "requests_total", "read");
	bytes = requests(page, "size_bytes_total", "read");
	run(WORKLOAD("blocks", loop.device, "reader=random:120", "writer=write:20"));
	page = next_page(2);
	assert_int_equal(requests(page, "requests_total", "read") - reads, 120);
	assert_int_equal(requests(page, "size_bytes_total", "read") - bytes, 120 * 4096);
	assert_int_equal(requests(page, "requests_total", "write"), 20);
	assert_int_equal(requests(page, "total_seconds_count", "write"), 20);
	assert_int_equal(requests(page, "size_bytes_total", "write"), 20 * 65536);
	served__stop(agent);
}

static void a_minute_of_signals_is_spooled_for_the_store(void **state)
{
	char command[128];
	pid_t agent;

	served__configure(LEVEL_SIGNALS "store.url: http://127.0.0.1:9\n");
	agent = served__start();
	served__wait_for("/metrics", "level=\"signals\"");
	connect_all();
	next_page(2);
	served__stop(agent);
	snprintf(command, sizeof(command), "ls %s/state/spool | grep -q histograms",
		 served__folder());
	assert_int_equal(system(command), 0);
}

static void there_are_no_signals_at_level_ledger_and_a_reload_can_stop_them(void **state)
{
	pid_t agent;
	struct counts counts;

	served__configure("");
	agent = served__start();
	assert_null(strstr(served__wait_for("/metrics", "gapless_agent_governor_level 0"),
			   "gapless_signal_"));
	served__stop(agent);
	served__configure(LEVEL_SIGNALS);
	agent = served__start();
	served__wait_for("/metrics", "gapless_agent_governor_level 1");
	served__configure("");
	kill(agent, SIGHUP);
	served__wait_for("/metrics", "gapless_agent_governor_level 0");
	counts = counts_of(next_page(2));
	connect_all();
	assert_int_equal(counts_of(next_page(2)).connects, counts.connects);
	served__stop(agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_and_their_bytes_are_exact_also_after_the_worker_died),
		{ "requests_to_a_disk_are_exact", live__here(requests_to_a_disk_are_exact), NULL,
		  remove_loop, NULL },
		HERE(a_minute_of_signals_is_spooled_for_the_store),
		HERE(there_are_no_signals_at_level_ledger_and_a_reload_can_stop_them),
	};

	return cmocka_run_group_tests(tests, served__set_up, served__tear_down);
}
