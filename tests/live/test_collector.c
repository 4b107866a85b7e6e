/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collecting half of the agent, against workloads with known answers. */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/collector.h"
#include "base/clock.h"
#include "base/map.h"
#include "core/cgroup_limits.h"
#include "identity/identity.h"
#include "vocabulary/states.h"

#include "collected.h"
#include "live.h"

#define MS UINT64_C(1000000)

static void sleep_twice(void)
{
	collected__sleep_ms(300);
	collected__sleep_ms(300);
}

static void a_life_is_booked_to_the_nanosecond_over_several_steps(void **state)
{
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-child" };
	uint64_t before_ns = clock__now_ns(), life_ns;
	pid_t pid = collected__child("fold-child", sleep_twice);

	for (int i = 0; i < 4; i++) {
		collected__sleep_ms(120);
		collected__step(collector, &sums, i == 2);
	}
	collected__await(pid);
	life_ns = clock__now_ns() - before_ns;
	collected__step(collector, &sums, false);
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	assert_int_equal(sums.count[SLOT_WAIT_SLEEP], 2);
	/* The timers may run for a while before the thread leaves its CPU. */
	assert_in_range(sums.ns[SLOT_WAIT_SLEEP], 540 * MS, life_ns);
	assert_in_range(sums.thread_ns, 600 * MS, life_ns);
	/* No proof of anything, so it is not called idle. */
	assert_int_equal(sums.kind_ns[KIND_IDLE], 0);
	assert_true(sums.kind_ns[KIND_UNDECIDED] >= sums.ns[SLOT_WAIT_SLEEP]);
	assert_int_equal(sums.unexplained_ns, 0);
	collector__free(collector);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *context)
{
	prctl(PR_SET_NAME, "fold-holder-7");
	pthread_mutex_lock(&mutex);
	collected__sleep_ms(500);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void wait_for_mutex(void)
{
	pthread_t holder;

	pthread_create(&holder, NULL, hold, NULL);
	collected__sleep_ms(100);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(holder, NULL);
}

static void a_wait_for_a_lock_names_the_group_of_its_owner(void **state)
{
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-waiter",
				  .by = "fold-holder-*",
				  .evidence = EVIDENCE_OWNER };
	pid_t pid = collected__child("fold-waiter", wait_for_mutex);

	collected__sleep_ms(250);
	collected__step(collector, &sums, false); /* in the middle of the wait */
	collected__await(pid);
	collected__step(collector, &sums, false);
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	assert_in_range(sums.culprit_ns, 300 * MS, 5000 * MS);
	assert_int_equal(sums.culprit_ns, sums.ns[SLOT_WAIT_LOCK_OWNED]);
	assert_int_equal(sums.count[SLOT_WAIT_LOCK_OWNED], 1);
	collector__free(collector);
}

static char cgroup_path[PATH_MAX + 64];

static void make_cgroup(void)
{
	char mount[PATH_MAX];

	if (cgroup_limits__mount(LIMITS_MEMORY, false, mount))
		assert_int_equal(cgroup_limits__mount(LIMITS_MEMORY, true, mount), 0);
	snprintf(cgroup_path, sizeof(cgroup_path), "%s/gapless-test-%d", mount, getpid());
	assert_int_equal(mkdir(cgroup_path, 0755), 0);
}

/* Its own main thread moves itself, then starts a process that lives for about a millisecond. */
static void fork_in_cgroup(void)
{
	char path[sizeof(cgroup_path) + 16];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup_path);
	file = fopen(path, "w");
	if (!file || fprintf(file, "%d\n", getpid()) < 0 || fclose(file))
		_exit(1);
	if (!fork()) {
		prctl(PR_SET_NAME, "fold-brief");
		collected__sleep_ms(1);
		_exit(0);
	}
	wait(NULL);
}

static void a_process_of_a_millisecond_has_its_cgroup(void **state)
{
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-brief" };
	struct folding_process brief = { .name = "fold-brief" };
	struct stat info;
	int status;
	pid_t pid;

	make_cgroup();
	assert_int_equal(stat(cgroup_path, &info), 0);
	pid = collected__child("fold-parent", fork_in_cgroup);
	status = collected__await(pid);
	assert_int_equal(status, 0);
	assert_int_equal(rmdir(cgroup_path), 0);
	collected__step(collector, &sums, false);
	brief.cgroup_id = info.st_ino;
	assert_true(sums.thread_ns > MS);
	assert_true(sums.workload == collected__workload(NULL, &brief));
	assert_true(collected__cgroup()->id == info.st_ino);
	assert_true(collected__cgroup()->is_gone);
	assert_non_null(strstr(collected__cgroup()->path, "/gapless-test-"));
	collector__free(collector);
}

static void stay_on_first_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void spin(void)
{
	uint64_t end_ns = clock__now_ns() + 600 * MS;

	stay_on_first_cpu();
	while (clock__now_ns() < end_ns)
		;
}

static void ready_time_names_who_had_the_cpu(void **state)
{
	struct collector *collector = collected__open(true);
	struct collected sums = { .group = "fold-slow",
				  .by = "fold-hog",
				  .evidence = EVIDENCE_OCCUPANT };
	pid_t hog = collected__child("fold-hog", spin), slow = collected__child("fold-slow", spin);

	collected__await(hog);
	collected__await(slow);
	collected__step(collector, &sums, false);
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	assert_true(sums.ns[SLOT_READY_PREEMPTED] > 100 * MS);
	assert_in_range(sums.culprit_ns, 50 * MS,
			sums.ns[SLOT_READY_PREEMPTED] + sums.ns[SLOT_READY_WOKEN]);
	collector__free(collector);
}

static uint16_t port;

/* Answers its first client after 300 ms. */
static void *answer_late(void *context)
{
	int listener = *(int *)context, client = accept(listener, NULL, NULL);
	char byte;

	prctl(PR_SET_NAME, "fold-server");
	if (read(client, &byte, 1) == 1)
		collected__sleep_ms(300);
	(void)!write(client, "x", 1);
	close(client);
	return NULL;
}

static void ask(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) || write(fd, "x", 1) != 1 ||
	    read(fd, &byte, 1) != 1)
		_exit(1);
}

static void a_wait_for_an_answer_names_the_port_and_is_held_up(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	struct features *features = features__new();
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-client" };
	int listener = socket(AF_INET, SOCK_STREAM, 0), status;
	char expected[32];
	pthread_t server;
	pid_t pid;

	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&server, NULL, answer_late, &listener), 0);
	pid = collected__child("fold-client", ask);
	status = collected__await(pid);
	assert_int_equal(status, 0);
	pthread_join(server, NULL);
	close(listener);
	collected__step(collector, &sums, false);
	/* Which side serves is known by these hooks, which Linux has since 6.3. */
	if (features__has_event(features, "sock_send_length")) {
		snprintf(expected, sizeof(expected), "tcp :%u", port);
		assert_string_equal(sums.object, expected);
		assert_true(sums.ns[SLOT_WAIT_NET] > 250 * MS);
		assert_true(sums.kind_ns[KIND_DELAYING] > 250 * MS);
	}
	features__free(features);
	collector__free(collector);
}

/* Not connected, as resolvers do it. */
static void ask_by_datagram(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char byte;

	if (sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)) != 1 ||
	    recv(fd, &byte, 1, 0) != 1)
		_exit(1);
}

static void *answer_datagram_late(void *context)
{
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	int fd = *(int *)context;
	char byte;

	if (recvfrom(fd, &byte, 1, 0, (struct sockaddr *)&from, &size) != 1)
		return NULL;
	collected__sleep_ms(300);
	(void)!sendto(fd, "x", 1, 0, (struct sockaddr *)&from, size);
	return NULL;
}

static void a_datagram_socket_that_is_not_connected_names_the_server(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	struct features *features = features__new();
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-client" };
	int socket_fd = socket(AF_INET, SOCK_DGRAM, 0), status;
	char expected[32];
	pthread_t server;
	pid_t pid;

	assert_int_equal(bind(socket_fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(socket_fd, (struct sockaddr *)&address, &size), 0);
	port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&server, NULL, answer_datagram_late, &socket_fd), 0);
	pid = collected__child("fold-client", ask_by_datagram);
	status = collected__await(pid);
	assert_int_equal(status, 0);
	pthread_join(server, NULL);
	close(socket_fd);
	collected__step(collector, &sums, false);
	/* Where it sent to is known by this hook, which Linux has since 6.3. */
	if (features__has_event(features, "sock_send_length")) {
		snprintf(expected, sizeof(expected), "udp :%u", port);
		assert_string_equal(sums.object, expected);
		assert_true(sums.ns[SLOT_WAIT_NET] > 250 * MS);
	}
	features__free(features);
	collector__free(collector);
}

static void every_step_closes_on_all_threads_of_the_machine(void **state)
{
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-fork*" };
	struct folding_quality quality;

	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 40; j++) {
			pid_t pid = fork();

			if (!pid) {
				prctl(PR_SET_NAME, j % 2 ? "fold-fork1" : "fold-fork2");
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		collected__step(collector, &sums, i == 3);
	}
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	quality = folding__quality(collector__folding(collector));
	assert_int_equal(quality.malformed, 0);
	assert_int_equal(quality.vanished, 0);
	assert_int_equal(quality.waits_without_account_ns, 0);
	assert_int_equal(sums.unexplained_ns, 0);
	collector__free(collector);
}

static long *slept; /* shared with the child: how often it had to wait */

/* Wakes up every millisecond. In an emulated machine, a timer may expire before the thread waits.
 */
static void wake_often(void)
{
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < 600; i++)
		collected__sleep_ms(1);
	getrusage(RUSAGE_THREAD, &after);
	*slept = after.ru_nvcsw - before.ru_nvcsw;
}

static void waits_that_end_all_the_time_keep_their_names(void **state)
{
	struct collector *collector = collected__open(false);
	struct collected sums = { .group = "fold-often" };
	uint64_t unnamed_ns;
	pid_t pid;

	slept = mmap(NULL, sizeof(*slept), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_ptr_not_equal(slept, MAP_FAILED);
	pid = collected__child("fold-often", wake_often);
	for (int i = 0; i < 5; i++) {
		collected__sleep_ms(100);
		collected__step(collector, &sums, false);
	}
	unnamed_ns = folding__quality(collector__folding(collector)).unnamed_wait_ns;
	collected__await(pid);
	collected__step(collector, &sums, false);
	print_message("# waited %ld times\n", *slept);
	assert_true(is_emulated() || *slept == 600);
	assert_int_equal(sums.count[SLOT_WAIT_SLEEP], *slept);
	munmap(slept, sizeof(*slept));
	assert_int_equal(collected__total(&sums), sums.thread_ns);
	/* Only waits that end between the reading of the sums and the snapshot have none. */
	print_message("without a sum: %" PRIu64 " ns\n", unnamed_ns);
	assert_true(is_emulated() || unnamed_ns < 500 * MS);
	collector__free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_life_is_booked_to_the_nanosecond_over_several_steps),
		cmocka_unit_test(a_wait_for_a_lock_names_the_group_of_its_owner),
		cmocka_unit_test(a_process_of_a_millisecond_has_its_cgroup),
		cmocka_unit_test(ready_time_names_who_had_the_cpu),
		cmocka_unit_test(a_wait_for_an_answer_names_the_port_and_is_held_up),
		cmocka_unit_test(a_datagram_socket_that_is_not_connected_names_the_server),
		cmocka_unit_test(every_step_closes_on_all_threads_of_the_machine),
		cmocka_unit_test(waits_that_end_all_the_time_keep_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
