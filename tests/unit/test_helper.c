/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A helper that answers, and one that does not. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/memory.h"
#include "base/parcel.h"

#define SECOND_NS UINT64_C(1000000000)

/* As a process does that was taken over: the head of an answer, and then its bytes as it likes. */
static void send_slowly(bool spins)
{
	const struct parcel_head head = { .size = 40000 };

	(void)!write(3, &head, sizeof(head));
	for (;;) {
		for (int i = 0; spins && i < 20000; i++)
			getppid();
		if (!spins)
			usleep(20000);
		(void)!write(3, "x", 1);
	}
}

static int serve(void *context, const struct helper_parcel *question, struct helper_parcel *answer)
{
	const char *what = question->bytes;
	void *volatile memory;
	char text[64];
	int ends[2];

	close_p(&question->fd);
	if (!strcmp(what, "die"))
		abort();
	if (!strcmp(what, "spin"))
		for (;;)
			getppid();
	if (!strcmp(what, "stall") && !pipe(ends) && read(ends[0], text, 1))
		return -EIO;
	if (!strcmp(what, "trickle") || !strcmp(what, "spin and trickle"))
		send_slowly(*what == 's');
	if (!strcmp(what, "pid")) {
		answer->bytes = calloc(1, answer->size = 16);
		snprintf(answer->bytes, 16, "%d", getpid());
		return 0;
	}
	if (!strcmp(what, "sleep"))
		usleep(300000);
	if (!strcmp(what, "sleep longer"))
		usleep(1050000);
	if (!strcmp(what, "write")) {
		int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		int err = write(fd, "x", 1) == 1 ? 0 : -errno;

		close(fd);
		return err;
	}
	if (!strcmp(what, "memory")) {
		memory = malloc(64U << 20);
		free(memory);
		return memory ? 0 : -ENOMEM;
	}
	if (!strcmp(what, "open")) {
		answer->fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		return 0;
	}
	if (!strcmp(what, "fds")) {
		int count = 0;

		for (int fd = 0; fd < 256; fd++)
			count += fcntl(fd, F_GETFD) >= 0;
		snprintf(text, sizeof(text), "%d", count);
		what = text;
	}
	if (!strcmp(what, "long")) {
		answer->bytes = calloc(1, 100000);
		answer->size = 100000;
		return 0;
	}
	answer->bytes = strdup(what);
	answer->size = strlen(what) + 1;
	return 0;
}

static const struct helper_work work = { .name = "test-helper",
					 .memory_bytes = 32U << 20,
					 .serve = serve };
static struct helper_patience patience = { .stall_ns = SECOND_NS / 2,
					   .cpu_ns = SECOND_NS / 2,
					   .most_bytes = 50000 };

static int set_up(void **state)
{
	return helper__new(&work, (struct helper **)state);
}

static int tear_down(void **state)
{
	helper__free(*state);
	return 0;
}

static int ask(struct helper *helper, const char *what, struct helper_parcel *ret)
{
	const struct helper_parcel question = { .bytes = (void *)(uintptr_t)what,
						.size = strlen(what) + 1,
						.fd = -1 };

	*ret = (struct helper_parcel) { .fd = -1 };
	return helper__ask(helper, &question, &patience, ret);
}

static void assert_answers(struct helper *helper)
{
	struct helper_parcel answer;

	assert_int_equal(ask(helper, "hello", &answer), 0);
	assert_string_equal(answer.bytes, "hello");
	assert_int_equal(answer.fd, -1);
	helper__release(&answer);
}

static void questions_are_answered_by_one_process(void **state)
{
	struct helper_parcel answer;

	assert_true(helper__is_fresh(*state));
	for (int i = 0; i < 100; i++)
		assert_answers(*state);
	assert_false(helper__is_fresh(*state));
	assert_int_equal(ask(*state, "open", &answer), 0);
	assert_true(answer.fd >= 0);
	helper__release(&answer);
}

/* Standard input, output and error, and the socket. */
static void nothing_of_ours_stays_open_in_it(void **state)
{
	struct helper_parcel answer;

	assert_int_equal(ask(*state, "fds", &answer), 0);
	assert_string_equal(answer.bytes, "4");
	helper__release(&answer);
}

static void what_takes_too_much_memory_is_told(void **state)
{
	struct helper_parcel answer;
	int err = ask(*state, "memory", &answer);

	/* A sanitizer's malloc() ends the process instead. */
	assert_true(err == -ENOMEM || err == -EPIPE);
	assert_answers(*state);
}

static void one_that_fails_is_given_up_and_the_next_answers(void **state)
{
	static const struct {
		const char *what;
		int err;
		bool stalled;
	} cases[] = {
		{ "die", -EPIPE, false },
		{ "spin", -ETIMEDOUT, false },
		{ "stall", -ETIMEDOUT, true },
		{ "trickle", -ETIMEDOUT, true },
		{ "spin and trickle", -ETIMEDOUT, false },
		{ "long", -EFBIG, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct helper_parcel answer;

		assert_int_equal(ask(*state, cases[i].what, &answer), cases[i].err);
		if (cases[i].err == -ETIMEDOUT)
			assert_int_equal(helper__stalled(*state), cases[i].stalled);
		assert_answers(*state);
	}
	/* "spin" took half a second. */
	assert_true(helper__cpu_ns(*state) > SECOND_NS / 4);
	assert_true(helper__all_cpu_ns() >= helper__cpu_ns(*state));
}

/* A question of this length does not fit into the socket. */
static void one_that_stops_reading_is_given_up_too(void **state)
{
	const struct helper_parcel question = { .bytes = calloc(1, 900000),
						.size = 900000,
						.fd = -1 };
	struct helper_parcel answer = { .fd = -1 };
	int pid;

	assert_int_equal(ask(*state, "pid", &answer), 0);
	pid = atoi(answer.bytes);
	helper__release(&answer);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(helper__ask(*state, &question, &patience, &answer), -ETIMEDOUT);
	assert_true(helper__stalled(*state));
	assert_answers(*state);
	assert_int_equal(helper__ask(*state, &question, &patience, &answer), 0);
	helper__release(&answer);
	free(question.bytes);
}

static void a_helper_writes_to_no_file(void **state)
{
	struct helper_parcel answer;

	assert_int_equal(ask(*state, "write", &answer), -EFBIG);
}

/* 300 ms without any CPU time are fewer than it may take, but not when it stalled before. */
static void patience_is_for_all_questions_together_unless_in_full(void **state)
{
	struct helper_parcel answer;
	uint64_t began_ns;

	assert_int_equal(ask(*state, "sleep", &answer), 0);
	helper__release(&answer);
	assert_int_equal(ask(*state, "stall", &answer), -ETIMEDOUT);
	began_ns = clock__now_ns();
	assert_int_equal(ask(*state, "stall", &answer), -ETIMEDOUT);
	assert_true(clock__now_ns() - began_ns < SECOND_NS / 2);
	assert_int_equal(ask(*state, "sleep", &answer), -ETIMEDOUT);
	assert_true(helper__stalled(*state));

	patience.in_full = true;
	assert_int_equal(ask(*state, "sleep", &answer), 0);
	helper__release(&answer);
	patience.in_full = false;
}

/* As Ctrl-Z and "fg" do, with the helper too. */
static void time_in_which_nobody_runs_is_no_stall(void **state)
{
	struct helper_parcel answer;
	pid_t pid = fork();
	int status;

	if (!pid) {
		setpgid(0, 0);
		_exit(-ask(*state, "sleep longer", &answer));
	}
	usleep(100000);
	assert_int_equal(kill(-pid, SIGSTOP), 0);
	usleep(900000);
	assert_int_equal(kill(-pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int over_after_3(void *context)
{
	return ++*(int *)context >= 3 ? -ECANCELED : 1;
}

static void whoever_asked_can_end_it(void **state)
{
	struct helper_patience before = patience;
	struct helper_parcel answer;
	int looks = 0;

	patience.look = over_after_3;
	patience.context = &looks;
	assert_int_equal(ask(*state, "stall", &answer), -ECANCELED);
	assert_int_equal(looks, 3);
	patience = before;
	assert_answers(*state);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	if (!file) {
		fail();
		return;
	}
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
	return remove(path);
}

static void the_tightest_cgroup_counts(void **state)
{
	char folder[] = "/tmp/test_helper_XXXXXX", self[64];

	assert_non_null(mkdtemp(folder));
	snprintf(self, sizeof(self), "%s/self", folder);
	make_folder(folder, "memory");
	make_folder(folder, "memory/a");
	make_folder(folder, "memory/a/b");
	make_folder(folder, "a");
	make_folder(folder, "a/b");
	write_file(folder, "self", "5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n");
	write_file(folder, "memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	write_file(folder, "memory/a/memory.limit_in_bytes", "536870912\n");
	assert_int_equal(memory__cgroup_limit(self, folder), 536870912);
	write_file(folder, "self", "0::/a/b\n");
	write_file(folder, "a/b/memory.max", "max\n");
	write_file(folder, "a/memory.max", "1000000\n");
	assert_int_equal(memory__cgroup_limit(self, folder), 1000000);
	write_file(folder, "self", "0::/\n");
	assert_true(memory__cgroup_limit(self, folder) == UINT64_MAX);
	assert_true(memory__limit() > 0);
	assert_int_equal(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(questions_are_answered_by_one_process, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(nothing_of_ours_stays_open_in_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_takes_too_much_memory_is_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_that_fails_is_given_up_and_the_next_answers,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_stops_reading_is_given_up_too, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_helper_writes_to_no_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			patience_is_for_all_questions_together_unless_in_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(time_in_which_nobody_runs_is_no_stall, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(whoever_asked_can_end_it, set_up, tear_down),
		cmocka_unit_test(the_tightest_cgroup_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
