/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server on the loopback plays the kubelet: well, slow, refusing, too talkative, or broken. */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "identity/identity.h"
#include "identity/kubelet.h"
#include "identity/pods.h"
#include "kubernetes.h"

#define SECOND      UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

enum mood { WELL, SLOW, HUGE_ANSWER, REFUSING, GARBAGE, CUT, REDIRECTING, CLOSING };

static struct {
	int listener;
	char url[64];
	pthread_t thread;
	_Atomic enum mood mood;
	atomic_bool is_over;
	atomic_int requests;
	char request[4096]; /* the last one */
	const char *_Atomic body;
} server;

static void send_text(int fd, const char *text)
{
	size_t size = strlen(text);

	while (size) {
		ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		text += sent;
		size -= (size_t)sent;
	}
}

static void send_answer(int fd, size_t size, const char *body)
{
	char head[128];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		 size);
	send_text(fd, head);
	send_text(fd, body);
}

static void send_huge(int fd)
{
	char *block = malloc(1 << 20);

	memset(block, ' ', 1 << 20);
	block[(1 << 20) - 1] = '\0';
	send_text(fd, "HTTP/1.1 200 OK\r\n\r\n{\"items\":[");
	for (int i = 0; i < 40; i++)
		send_text(fd, block);
	free(block);
}

static void serve(int fd)
{
	ssize_t got = recv(fd, server.request, sizeof(server.request) - 1, 0);

	server.request[got > 0 ? got : 0] = '\0';
	server.requests++;
	switch (server.mood) {
	case WELL:
		send_answer(fd, strlen(server.body), server.body);
		break;
	case SLOW:
		send_text(fd, "HTTP/1.1 200 OK\r\n\r\n{\"items\":[");
		for (int i = 0; i < 100 && !server.is_over && server.mood == SLOW; i++)
			usleep(50000);
		break;
	case HUGE_ANSWER:
		send_huge(fd);
		break;
	case REFUSING:
		send_text(fd,
			  "HTTP/1.1 401 Unauthorized\r\nContent-Length: 12\r\n\r\nUnauthorized");
		break;
	case GARBAGE:
		send_answer(fd, 9, "<html>\xff\xfe}");
		break;
	case CUT:
		send_answer(fd, strlen(KUBELET_PODS), "{\"items\":[{\"metadata\":");
		break;
	case REDIRECTING:
		send_text(fd, "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: "
			      "0\r\n\r\n");
		break;
	case CLOSING:
		break;
	}
}

static void *run(void *context)
{
	while (!server.is_over) {
		struct pollfd wait = { .fd = server.listener, .events = POLLIN };
		int fd;

		if (poll(&wait, 1, 50) <= 0)
			continue;
		fd = accept(server.listener, NULL, NULL);
		if (fd < 0)
			continue;
		serve(fd);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
	return NULL;
}

static int set_up(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(server.listener, (struct sockaddr *)&address, size) ||
	    listen(server.listener, 8) ||
	    getsockname(server.listener, (struct sockaddr *)&address, &size))
		return -1;
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%d/pods",
		 ntohs(address.sin_port));
	server.body = KUBELET_PODS;
	return pthread_create(&server.thread, NULL, run, NULL);
}

static int tear_down(void **state)
{
	server.is_over = true;
	pthread_join(server.thread, NULL);
	return close(server.listener);
}

static struct kubelet_settings settings_of(enum mood mood)
{
	static const char *const labels[] = { "tier", NULL };

	server.mood = mood;
	return (struct kubelet_settings) { .url = server.url,
					   .every_ns = 50 * MILLISECOND,
					   .timeout_ns = (mood == SLOW ? 1 : 20) * SECOND,
					   .labels = labels };
}

static struct pods *await(struct kubelet *kubelet)
{
	struct pods *pods = NULL;

	for (int i = 0; !pods && i < 500; i++) {
		usleep(10000);
		pods = kubelet__take(kubelet);
	}
	return pods;
}

static void expect_failure(enum mood mood, const char *words, struct kubelet_quality *ret)
{
	struct kubelet_settings settings = settings_of(mood);
	char error[KUBELET_ERROR_BYTES] = "";
	struct kubelet *kubelet = NULL;

	assert_int_equal(kubelet__new(&settings, &kubelet), 0);
	kubelet__ask(kubelet);
	*ret = (struct kubelet_quality) {};
	for (int i = 0; !ret->failures && i < 3000; i++) {
		usleep(10000);
		kubelet__quality(kubelet, ret, error);
	}
	print_message("# %s\n", error);
	assert_int_equal(ret->failures, 1);
	assert_non_null(strstr(error, words));
	assert_null(kubelet__take(kubelet));
	kubelet__free(kubelet);
}

static void pods_are_asked_for_when_somebody_needs_them(void **state)
{
	struct kubelet_settings settings = settings_of(WELL);
	char error[KUBELET_ERROR_BYTES];
	struct kubelet *kubelet = NULL;
	struct kubelet_quality quality;
	struct pods *pods;

	assert_int_equal(kubelet__new(&settings, &kubelet), 0);
	usleep(100000);
	kubelet__quality(kubelet, &quality, error);
	assert_int_equal(quality.requests, 0);
	kubelet__ask(kubelet);
	pods = await(kubelet);
	assert_non_null(pods);
	assert_int_equal(pods__count(pods), 3);
	assert_null(kubelet__take(kubelet));
	assert_non_null(strstr(server.request, "GET /pods HTTP/1.1"));
	assert_null(strstr(server.request, "Authorization"));
	pods__free(pods);
	kubelet__free(kubelet);
}

static void many_questions_make_few_requests(void **state)
{
	struct kubelet_settings settings = settings_of(WELL);
	char error[KUBELET_ERROR_BYTES];
	struct kubelet *kubelet = NULL;
	struct kubelet_quality quality;

	settings.every_ns = 200 * MILLISECOND;
	assert_int_equal(kubelet__new(&settings, &kubelet), 0);
	for (int i = 0; i < 100; i++) {
		kubelet__ask(kubelet);
		usleep(5000);
	}
	kubelet__quality(kubelet, &quality, error);
	/* 0.5 s and more on a busy machine. */
	assert_true(quality.requests >= 2 && quality.requests < 50);
	kubelet__free(kubelet);
}

static void write_token(const char *path, const char *token)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "%s\n", token);
	assert_int_equal(fclose(file), 0);
}

static void the_token_is_read_again_each_time(void **state)
{
	struct kubelet_settings settings = settings_of(WELL);
	char path[] = "/tmp/gapless-token-XXXXXX", error[KUBELET_ERROR_BYTES] = "";
	struct kubelet *kubelet = NULL;
	struct kubelet_quality quality = {};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	settings.token_file = path;
	write_token(path, "first");
	assert_int_equal(kubelet__new(&settings, &kubelet), 0);
	kubelet__ask(kubelet);
	pods__free(await(kubelet));
	assert_non_null(strstr(server.request, "Authorization: Bearer first\r\n"));
	write_token(path, "second\r\nX-Evil: 1");
	kubelet__ask(kubelet);
	pods__free(await(kubelet));
	assert_non_null(strstr(server.request, "Authorization: Bearer second\r\n"));
	assert_null(strstr(server.request, "Evil"));
	remove(path);
	kubelet__ask(kubelet);
	for (int i = 0; !quality.failures && i < 500; i++) {
		usleep(10000);
		kubelet__quality(kubelet, &quality, error);
	}
	assert_non_null(strstr(error, "cannot read '/tmp/gapless-token-"));
	kubelet__free(kubelet);
}

static void a_token_never_leaves_the_machine_in_plain_text(void **state)
{
	struct kubelet_settings settings = { .url = "http://10.0.0.1:10255/pods",
					     .token_file = "/tmp/token" };
	struct kubelet *kubelet = NULL;

	assert_int_equal(kubelet__new(&settings, &kubelet), -EPERM);
	settings.url = "http://127.0.0.1.evil.example:80/pods";
	assert_int_equal(kubelet__new(&settings, &kubelet), -EPERM);
	settings.url = "file:///etc/passwd";
	assert_int_equal(kubelet__new(&settings, &kubelet), -EINVAL);
	settings.url = NULL;
	assert_int_equal(kubelet__new(&settings, &kubelet), -EINVAL);
	assert_null(kubelet);
}

static void each_failure_is_counted_and_said(void **state)
{
	struct kubelet_quality quality;

	expect_failure(REFUSING, "401", &quality);
	assert_int_equal(quality.refused, 1);
	expect_failure(GARBAGE, "not a list of pods", &quality);
	assert_int_equal(quality.malformed, 1);
	expect_failure(HUGE_ANSWER, "too large", &quality);
	assert_int_equal(quality.too_large, 1);
	expect_failure(SLOW, "timed out", &quality);
	expect_failure(CUT, "", &quality);
	expect_failure(REDIRECTING, "not a list of pods", &quality);
	expect_failure(CLOSING, "", &quality);
}

static void a_slow_kubelet_holds_up_nobody(void **state)
{
	struct kubelet_settings settings = settings_of(SLOW);
	struct kubelet *kubelet = NULL;
	uint64_t begin;

	settings.timeout_ns = 60 * SECOND;
	assert_int_equal(kubelet__new(&settings, &kubelet), 0);
	kubelet__ask(kubelet);
	usleep(200000);
	begin = clock__now_ns();
	kubelet__ask(kubelet);
	assert_null(kubelet__take(kubelet));
	assert_true(clock__now_ns() - begin < SECOND / 4);
	kubelet__free(kubelet);
	assert_true(clock__now_ns() - begin < 5 * SECOND);
}

static void a_url_can_have_variables(void **state)
{
	char url[KUBELET_URL_BYTES], name[2000];

	assert_int_equal(setenv("TEST_NODE", "10.0.0.7", 1), 0);
	assert_int_equal(setenv("TEST_NODE_6", "fd00::7", 1), 0);
	assert_int_equal(kubelet__expand("https://${TEST_NODE}:10250/pods", url), 0);
	assert_string_equal(url, "https://10.0.0.7:10250/pods");
	assert_int_equal(kubelet__expand("https://${TEST_NODE_6}:443/?a=${TEST_NODE}&b", url), 0);
	assert_string_equal(url, "https://[fd00::7]:443/?a=10.0.0.7&b");
	assert_int_equal(kubelet__expand("https://$TEST_NODE/{}", url), 0);
	assert_string_equal(url, "https://$TEST_NODE/{}");
	assert_int_equal(kubelet__expand("https://${TEST_ABSENT}/", url), -ENOENT);
	assert_int_equal(kubelet__expand("https://${TEST_NODE", url), -ENOENT);
	assert_int_equal(kubelet__expand("https://${}", url), -ENOENT);
	assert_string_equal(url, "https://$TEST_NODE/{}");
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(kubelet__expand(name, url), -ENAMETOOLONG);
}

/* --- workloads ------------------------------------------------------------------------------ */

#define WEB_PATH                                                                                   \
	"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" WEB_UID_                 \
	".slice/cri-containerd-" WEB_ID ".scope"
#define SANDBOX_PATH                                                                               \
	"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" WEB_UID_                 \
	".slice/cri-containerd-" SANDBOX_ID ".scope"

static struct workload *find(struct identity *identity, uint64_t cgroup, const char *name)
{
	const struct identity_process process = { .cgroup_id = cgroup, .pid = 1, .name = name };
	struct workload *workload = NULL;

	assert_int_equal(identity__find(identity, &process, clock__now_ns(), &workload), 0);
	return workload;
}

/* Updates until the workload has changed often enough. */
static void update_until(struct identity *identity, const struct workload *workload,
			 uint32_t changes)
{
	for (int i = 0; workload->changes < changes && i < 500; i++) {
		usleep(10000);
		assert_int_equal(identity__update(identity, clock__now_ns()), 0);
	}
	assert_int_equal(workload->changes, changes);
}

static void names_are_corrected_when_the_kubelet_answers(void **state)
{
	struct kubelet_settings kubelet = settings_of(REFUSING);
	struct identity_settings settings = { .host = "h", .boot_id = "b", .kubelet = &kubelet };
	char root[] = "/tmp/gapless-kubelet-XXXXXX";
	struct identity *identity = NULL;
	struct identity_quality quality;
	struct workload *web, *sandbox;
	uint64_t id;

	assert_non_null(mkdtemp(root));
	settings.cgroup_root = root;
	assert_int_equal(identity__new(&settings, &identity), 0);
	identity__add_cgroup(identity, 900001, WEB_PATH, clock__now_ns());
	identity__add_cgroup(identity, 900002, SANDBOX_PATH, clock__now_ns());
	web = find(identity, 900001, "nginx");
	sandbox = find(identity, 900002, "pause");
	id = web->id;
	/* As long as there is no answer, the container's id is the name. */
	assert_string_equal(web->service, "4f2a01234567");
	usleep(200000);
	assert_int_equal(identity__update(identity, clock__now_ns()), 0);
	assert_string_equal(web->service, "4f2a01234567");
	identity__quality(identity, &quality);
	assert_int_equal(quality.without_names, 2);
	assert_true(quality.kubelet.refused >= 1);
	assert_non_null(strstr(quality.kubelet_error, "401"));
	server.mood = WELL;
	update_until(identity, web, 2);
	assert_int_equal(web->id, id);
	assert_string_equal(web->service, "web");
	assert_string_equal(web->version, "1.27.2");
	assert_string_equal(web->namespace_name, "shop");
	assert_string_equal(web->pod, "web-7d4b9c6f8d-x2x5k");
	assert_string_equal(web->container, "nginx");
	assert_string_equal(web->container_id, WEB_ID);
	assert_string_equal(web->image, "nginx:1.27.2");
	/* A sandbox is not in the list, but its pod is. */
	assert_string_equal(sandbox->service, "web");
	assert_string_equal(sandbox->container, "");
	/* The pod is gone; its names stay. */
	server.body = KUBELET_LIST("");
	identity__quality(identity, &quality);
	assert_int_equal(quality.corrected, 2);
	assert_int_equal(quality.without_names, 1);
	assert_string_equal(quality.kubelet_error, "");
	identity__free(identity);
	remove(root);
	server.body = KUBELET_PODS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_are_asked_for_when_somebody_needs_them),
		cmocka_unit_test(many_questions_make_few_requests),
		cmocka_unit_test(the_token_is_read_again_each_time),
		cmocka_unit_test(a_token_never_leaves_the_machine_in_plain_text),
		cmocka_unit_test(each_failure_is_counted_and_said),
		cmocka_unit_test(a_slow_kubelet_holds_up_nobody),
		cmocka_unit_test(a_url_can_have_variables),
		cmocka_unit_test(names_are_corrected_when_the_kubelet_answers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
