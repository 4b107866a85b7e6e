/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pusher over real sockets, to a receiver that follows a script. */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "otlp.h"
#include "otlp/metrics_load.h"
#include "otlp/pusher.h"

#define MOST_REQUEST (1 << 16)
#define SECOND_NS    UINT64_C(1000000000)
#define ANSWER(text) "HTTP/1.1 " text "\r\nContent-Length: 0\r\n\r\n"

static struct receiver {
	int fd;
	unsigned int port;
	pthread_t thread;
	atomic_bool is_over;
	/* NULL in between: no answer at all. The last one is given again and again. */
	const char *const *answers;
	size_t answer_count;
	atomic_uint requests;
	unsigned char request[MOST_REQUEST]; /* the last one */
	size_t head, size;
} receiver;

/* Reads the headers and as much of a body as they announce. */
static void read_request(int fd)
{
	size_t size = 0, wanted = SIZE_MAX;

	while (size < wanted && size + 1 < MOST_REQUEST) {
		ssize_t n = recv(fd, receiver.request + size, MOST_REQUEST - 1 - size, 0);
		const char *text = (const char *)receiver.request, *end, *length;

		if (n <= 0)
			break;
		size += (size_t)n;
		receiver.request[size] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (!end)
			continue;
		receiver.head = (size_t)(end + 4 - text);
		length = strstr(text, "Content-Length: ");
		wanted = receiver.head + (length ? strtoul(length + 16, NULL, 10) : 0);
	}
	receiver.size = size;
}

static void *serve(void *context)
{
	while (!receiver.is_over) {
		int fd = accept(receiver.fd, NULL, NULL);
		unsigned int at = receiver.requests;
		const char *answer;

		if (fd < 0)
			break;
		read_request(fd);
		if (at >= receiver.answer_count)
			at = (unsigned int)receiver.answer_count - 1;
		answer = receiver.answers[at];
		receiver.requests++;
		while (!answer && !receiver.is_over)
			usleep(10000);
		if (answer)
			send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

static void start_receiver(const char *const *answers, size_t count)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);

	memset(&receiver, 0, sizeof(receiver));
	receiver.answers = answers;
	receiver.answer_count = count;
	receiver.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(receiver.fd >= 0);
	assert_int_equal(bind(receiver.fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(receiver.fd, 8), 0);
	assert_int_equal(getsockname(receiver.fd, (struct sockaddr *)&at, &length), 0);
	receiver.port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&receiver.thread, NULL, serve, NULL), 0);
}

static void stop_receiver(void)
{
	receiver.is_over = true;
	shutdown(receiver.fd, SHUT_RDWR);
	pthread_join(receiver.thread, NULL);
	close(receiver.fd);
}

static struct pusher *pusher_to(const char *path, const char *token_file, unsigned int timeout_s)
{
	char url[128];
	const struct pusher_options options = {
		.http = { .url = url, .token_file = token_file, .timeout_s = timeout_s },
		.courier = { .path = METRICS_LOAD_PATH,
			     .type = METRICS_LOAD_TYPE,
			     .is_gzip = true,
			     .is_total = true,
			     .interval_ns = 1 }, /* every step is due */
	};
	struct pusher *pusher = NULL;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", receiver.port, path);
	assert_int_equal(pusher__new(&options, &pusher), 0);
	return pusher;
}

static void offer(struct pusher *pusher)
{
	static const struct encoding_attribute resource[] = { { "service.name", "gapless" } };
	const struct encoding_context context = { resource, 1, "1", 7, 8 };
	struct courier_load *load = NULL;
	struct exposition *exposition = NULL;
	struct pages *pages = NULL;

	assert_int_equal(exposition__new(&exposition), 0);
	exposition__family(exposition, &(struct exposition_family) { .name = "gapless_x",
								     .help = "",
								     .type = EXPOSITION_COUNTER });
	exposition__sample(exposition, NULL, 42, 0);
	assert_int_equal(pages__new(exposition, &pages), 0);
	assert_int_equal(metrics_load__new(pages, &context, &load), 0);
	pages__unref(pages);
	pusher__offer(pusher, load);
}

/* Waits until a result was counted. */
static struct courier_status wait_for(struct pusher *pusher, unsigned int result)
{
	struct courier_status status;

	for (int i = 0; i < 1000; i++) {
		pusher__status(pusher, &status);
		if (status.results[result])
			return status;
		usleep(10000);
	}
	fail_msg("no request ended with '%s'", courier__word(result));
	return status;
}

static void a_step_arrives_as_the_receiver_expects_it(void **state)
{
	static const char *const answers[] = { ANSWER("200 OK") };
	unsigned char plain[MOST_REQUEST];
	struct pusher *pusher;
	struct wire sum;
	const char *head = (const char *)receiver.request;

	start_receiver(answers, 1);
	pusher = pusher_to("/otlp/", NULL, 10);
	offer(pusher);
	wait_for(pusher, REPLY_OK);
	pusher__free(pusher);
	stop_receiver();
	assert_memory_equal(head, "POST /otlp/v1/metrics HTTP/1.1\r\n", 32);
	assert_non_null(strstr(head, "\r\nContent-Type: application/x-protobuf\r\n"));
	assert_non_null(strstr(head, "\r\nContent-Encoding: gzip\r\n"));
	assert_null(strstr(head, "Authorization"));
	sum = wire_child(
		otlp_metric(otlp_unpack(receiver.request + receiver.head,
					receiver.size - receiver.head, plain, sizeof(plain)),
			    "gapless.x"),
		7, 0);
	assert_int_equal(wire_number(wire_child(sum, 1, 0), 2), 7);
	assert_int_equal(wire_number(wire_child(sum, 1, 0), 3), 8);
	assert_int_equal(wire_number(wire_child(sum, 1, 0), 6), 42);
}

static void a_token_is_read_again_for_every_request(void **state)
{
	static const char *const answers[] = { ANSWER("401 Unauthorized"), ANSWER("200 OK") };
	char path[] = "/tmp/gapless-otlp-XXXXXX";
	const char *head = (const char *)receiver.request;
	int fd = mkstemp(path);
	struct pusher *pusher;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old\n", 4), 4);
	start_receiver(answers, 2);
	pusher = pusher_to("", path, 10);
	offer(pusher);
	wait_for(pusher, REPLY_DENIED);
	assert_non_null(strstr(head, "\r\nAuthorization: Bearer old\r\n"));
	assert_int_equal(pwrite(fd, "new", 3, 0), 3);
	offer(pusher);
	wait_for(pusher, REPLY_OK);
	assert_non_null(strstr(head, "\r\nAuthorization: Bearer new\r\n"));
	assert_int_equal(unlink(path), 0);
	offer(pusher);
	wait_for(pusher, COURIER_UNSENT);
	pusher__free(pusher);
	stop_receiver();
	close(fd);
}

static void a_busy_receiver_gets_the_step_a_little_later(void **state)
{
	static const char *const answers[] = { ANSWER("429 Too Many Requests\r\nRetry-After: 1"),
					       ANSWER("200 OK") };
	uint64_t start = clock__now_ns();
	struct pusher *pusher;

	start_receiver(answers, 2);
	pusher = pusher_to("", NULL, 10);
	offer(pusher);
	wait_for(pusher, REPLY_BUSY);
	/* The interval of this test is short, so the next step takes the place of the retry. */
	offer(pusher);
	wait_for(pusher, REPLY_OK);
	assert_true(clock__now_ns() - start >= SECOND_NS);
	pusher__free(pusher);
	stop_receiver();
}

static void garbage_is_not_taken_for_success(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\n\r\n<html>",
		"\x16\x03\x01 garbage\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
	};
	struct pusher *pusher;

	start_receiver(answers, 3);
	pusher = pusher_to("", NULL, 10);
	offer(pusher);
	wait_for(pusher, REPLY_STRANGE);
	offer(pusher);
	assert_int_equal(wait_for(pusher, REPLY_LOST).results[REPLY_OK], 0);
	pusher__free(pusher);
	stop_receiver();
}

static void nobody_waits_for_a_silent_receiver(void **state)
{
	static const char *const answers[] = { NULL };
	uint64_t start;
	struct pusher *pusher;

	start_receiver(answers, 1);
	pusher = pusher_to("", NULL, 1);
	offer(pusher);
	while (!receiver.requests)
		usleep(1000);
	start = clock__now_ns();
	for (int i = 0; i < 1000; i++)
		offer(pusher);
	assert_true(clock__now_ns() - start < SECOND_NS / 2);
	wait_for(pusher, REPLY_LOST);
	start = clock__now_ns();
	pusher__free(pusher);
	assert_true(clock__now_ns() - start < SECOND_NS / 2);
	stop_receiver();
}

static void a_receiver_that_is_not_there_is_named(void **state)
{
	struct courier_status status;
	struct pusher *pusher;

	memset(&receiver, 0, sizeof(receiver));
	receiver.port = 1;
	pusher = pusher_to("", NULL, 10);
	offer(pusher);
	status = wait_for(pusher, REPLY_UNREACHED);
	assert_string_equal(status.problem, "the receiver does not answer: Connection refused");
	pusher__free(pusher);
}

static void a_token_does_not_leave_the_machine_in_clear(void **state)
{
	static const struct {
		const char *url, *token;
		int err;
	} cases[] = {
		{ "http://collector:4318", "/token", -EPERM },
		{ "http://127.0.0.1.example.com:4318", "/token", -EPERM },
		{ "http://localhost.example.com", "/token", -EPERM },
		{ "http://127.0.0.1:4318", "/token", 0 },
		{ "http://[::1]:4318/otlp", "/token", 0 },
		{ "http://localhost", "/token", 0 },
		{ "https://collector:4318", "/token", 0 },
		{ "http://collector:4318", NULL, 0 },
		{ "ftp://collector", NULL, -EINVAL },
		{ "https://user@collector", NULL, -EINVAL },
		{ "collector:4318", NULL, -EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct pusher_options options = { .http = { .url = cases[i].url,
								  .token_file = cases[i].token },
							.courier = { .interval_ns = SECOND_NS } };
		struct pusher *pusher = NULL;

		assert_int_equal(pusher__new(&options, &pusher), cases[i].err);
		pusher__free(pusher);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_arrives_as_the_receiver_expects_it),
		cmocka_unit_test(a_token_is_read_again_for_every_request),
		cmocka_unit_test(a_busy_receiver_gets_the_step_a_little_later),
		cmocka_unit_test(garbage_is_not_taken_for_success),
		cmocka_unit_test(nobody_waits_for_a_silent_receiver),
		cmocka_unit_test(a_receiver_that_is_not_there_is_named),
		cmocka_unit_test(a_token_does_not_leave_the_machine_in_clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
