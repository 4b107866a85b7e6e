/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The budget of stacks on its way from a store to the decision for a minute. */
#include "../harness.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/sampling.h"
#include "base/clock.h"

#define HOUR_NS UINT64_C(3600000000000)
#define ROWS                                                                                       \
	"service\tprobability\tbegins\tends\thosts\n"                                              \
	"other\t1\t0\t0\t0\nmy-program\t0.75\t0\t0\t0\n"

static char root[] = "/tmp/test_sampling_XXXXXX";

/* A store that says the same to everybody. */
static struct store {
	int fd;
	unsigned int port;
	pthread_t thread;
	const char *body;
	char asked[8192]; /* complete when `requests` is counted */
	atomic_uint requests;
} store;

static void *serve(void *context)
{
	char answer[1024];
	int fd;

	while ((fd = accept(store.fd, NULL, NULL)) >= 0) {
		ssize_t size = 0, got;

		do {
			got = recv(fd, store.asked + size, sizeof(store.asked) - 1 - (size_t)size,
				   0);
			size += got > 0 ? got : 0;
			store.asked[size] = '\0';
		} while (got > 0 && !strstr(store.asked, "TabSeparatedWithNames"));
		snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
			 strlen(store.body), store.body);
		send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		close(fd);
		store.requests++;
	}
	return NULL;
}

static void start_store(const char *body)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);

	store.body = body;
	store.requests = 0;
	store.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (store.fd < 0)
		abort();
	assert_int_equal(bind(store.fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(store.fd, 8), 0);
	assert_int_equal(getsockname(store.fd, (struct sockaddr *)&at, &length), 0);
	store.port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&store.thread, NULL, serve, NULL), 0);
}

static void stop_store(void)
{
	shutdown(store.fd, SHUT_RDWR);
	pthread_join(store.thread, NULL);
	close(store.fd);
}

static struct config configure(const char *level)
{
	struct config_error error;
	struct config config;
	char text[256];

	snprintf(text, sizeof(text),
		 "level: %s\ntenant: t\nstacks.probability: 0.5\nstore.url: http://127.0.0.1:%u\n",
		 level, store.port);
	assert_int_equal(config__parse(text, strlen(text), &config, &error), 0);
	return config;
}

/* A host with one program. */
static struct identity *make_identity(void)
{
	const struct identity_settings settings = {
		.tenant = "t", .host = "h", .boot_id = "b", .cgroup_root = root
	};
	const struct identity_process process = { .pid = 7, .name = "my-program" };
	struct identity *identity = NULL;
	struct workload *workload;

	assert_int_equal(identity__new(&settings, &identity), 0);
	assert_int_equal(identity__find(identity, &process, clock__now_ns(), &workload), 0);
	assert_string_equal(workload->service, "my-program");
	return identity;
}

static double begin(struct sampling *sampling, const struct identity *identity, uint64_t later_ns)
{
	uint64_t minute_s = clock__read_ns(CLOCK_REALTIME) / 1000000000 / 60 * 60;

	return sampling__begin(sampling, identity, minute_s, clock__now_ns() + later_ns)
		.probability;
}

static void the_row_of_a_service_that_is_here_counts_for_an_hour(void **state)
{
	struct identity *identity = make_identity();
	struct sampling *sampling = NULL;
	struct config config;

	start_store(ROWS);
	config = configure("stacks");
	assert_int_equal(sampling__new(&config, 1, 0, &sampling), 0);
	assert_true(begin(sampling, identity, 0) == 0.5);
	for (int i = 0; i < 1000 && begin(sampling, identity, 0) != 0.75; i++)
		usleep(10000);
	assert_true(begin(sampling, identity, 0) == 0.75);
	assert_non_null(strstr(store.asked, "tenant IN ('t') AND service IN ('my-program')"));
	/* Within five minutes, it is asked once. */
	assert_int_equal(store.requests, 1);
	assert_true(begin(sampling, identity, HOUR_NS) == 0.5);
	sampling__free(sampling);
	stop_store();
	identity__free(identity);
	config__release(&config);
}

static void an_answer_that_is_not_valid_leaves_the_configured_probability(void **state)
{
	struct identity *identity = make_identity();
	struct sampling *sampling = NULL;
	struct config config;

	start_store("service\tprobability\tbegins\tends\thosts\nmy-program\t7\t0\t0\t0\n");
	config = configure("stacks");
	assert_int_equal(sampling__new(&config, 1, 0, &sampling), 0);
	begin(sampling, identity, 0);
	for (int i = 0; i < 1000 && !store.requests; i++)
		usleep(10000);
	for (int i = 0; i < 20; i++) {
		assert_true(begin(sampling, identity, 0) == 0.5);
		usleep(10000);
	}
	sampling__free(sampling);
	stop_store();
	identity__free(identity);
	config__release(&config);
}

static void below_level_stacks_nothing_is_chosen_and_nobody_is_asked(void **state)
{
	struct identity *identity = make_identity();
	struct sampling *sampling = NULL;
	struct sampling_minute minute;
	struct config config;

	store.port = 9;
	config = configure("signals");
	assert_int_equal(sampling__new(&config, 1, 0, &sampling), 0);
	assert_null(sampling);
	minute = sampling__begin(sampling, identity, 60, 0);
	assert_false(minute.is_chosen);
	assert_true(minute.probability == 0);
	identity__free(identity);
	config__release(&config);
}

static int set_up(void **state)
{
	return !mkdtemp(root);
}

static int tear_down(void **state)
{
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_row_of_a_service_that_is_here_counts_for_an_hour),
		cmocka_unit_test(an_answer_that_is_not_valid_leaves_the_configured_probability),
		cmocka_unit_test(below_level_stacks_nothing_is_chosen_and_nobody_is_asked),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
