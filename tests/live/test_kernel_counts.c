/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What signals count of the whole machine, held against what the kernel counts itself. */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ledger.h"

#define CONNECTS 50
#define REQUESTS 100
#define BLOCK    4096

/* Each is accepted and closed before the next begins. */
static void connect_to_self(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	for (int i = 0; i < CONNECTS; i++) {
		int to = socket(AF_INET, SOCK_STREAM, 0), from;

		assert_int_equal(connect(to, (struct sockaddr *)&address, sizeof(address)), 0);
		from = accept(listener, NULL, NULL);
		assert_true(from >= 0);
		assert_int_equal(write(to, "x", 1), 1);
		close(from);
		close(to);
	}
	close(listener);
}

/* Whether the disk could be reached past the page cache. */
static bool read_disk(void)
{
	char path[] = "/tmp/kernel-counts-XXXXXX";
	int own = is_emulated() ? -1 : mkstemp(path);
	int fd = open(is_emulated() ? "/dev/vda" : path, O_RDWR | O_DIRECT);
	void *bytes = aligned_alloc(BLOCK, BLOCK);
	int done = 0;

	assert_non_null(bytes);
	memset(bytes, 0, BLOCK);
	for (int i = 0; i < REQUESTS && fd >= 0; i++)
		done += is_emulated() ? pread(fd, bytes, BLOCK, (off_t)i * BLOCK) == BLOCK
				      : pwrite(fd, bytes, BLOCK, (off_t)i * BLOCK) == BLOCK;
	free(bytes);
	if (fd >= 0)
		close(fd);
	if (own >= 0) {
		close(own);
		unlink(path);
	}
	return done == REQUESTS;
}

static void check(json_t *report, const char *name, int64_t least)
{
	json_t *one = json_object_get(json_object_get(report, "kernel_counts"), name);

	assert_non_null(one);
	print_message("# %s: %lld counted, %lld by the kernel, %lld explained\n", name,
		      (long long)number_at(one, "counted"), (long long)number_at(one, "kernel"),
		      (long long)number_at(one, "explained"));
	assert_true(number_at(one, "kernel") >= least);
	assert_true(number_at(one, "counted") >= least);
	assert_true(number_at(one, "counted") + number_at(one, "explained") >=
		    number_at(one, "kernel"));
}

static void signals_count_what_the_kernel_counts(void **state)
{
	struct trial trial = trial__start(
		ARGS("-a", "--signals", "block,tcp", "--no-stacks", "--level", "full"));
	bool has_disk;
	json_t *report;

	connect_to_self();
	has_disk = read_disk();
	report = trial__end(&trial);
	check(report, "tcp_connects", CONNECTS);
	check(report, "tcp_retransmits", 0);
	check(report, "block_requests", has_disk ? REQUESTS : 0);
	assert_int_equal(quality(report, "block_uncounted"), 0);
	assert_int_equal(quality(report, "tcp_uncounted"), 0);
	json_decref(report);
}

static void part_of_the_machine_is_not_held_against_all_of_it(void **state)
{
	json_t *log, *report = trial__record(ARGS("--signals", "block,tcp", "--no-stacks"),
					     ARGS("/bin/true"), &log);

	assert_true(json_is_null(json_object_get(report, "kernel_counts")));
	json_decref(report);
	json_decref(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_count_what_the_kernel_counts),
		HERE(part_of_the_machine_is_not_held_against_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
