/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worker's questions to a supervisor that is late, or does not answer at all. */
#include "../harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/code_client.h"
#include "agent/code_wire.h"
#include "base/clock.h"
#include "bpf/stack.h"

#define SECOND_NS UINT64_C(1000000000)

static const char *volatile part;

static struct code_client *make(int *ret_fd)
{
	struct code_client *client;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(code_client__new(pair[1], &client), 0);
	*ret_fd = pair[0];
	return client;
}

static bool next_question(int fd, struct code_question *ret)
{
	return recv(fd, ret, sizeof(*ret), MSG_DONTWAIT) == sizeof(*ret);
}

static void reply(int fd, const struct code_question *question, struct code_answer answer)
{
	answer.sequence = question->sequence;
	answer.wish = (uint8_t)question->wish;
	assert_int_equal(send(fd, &answer, sizeof(answer), 0), sizeof(answer));
}

static const struct code_module *find(struct code_client *client, uint32_t id)
{
	uint64_t offset;

	return code_client__find(client, FRAME_MAKE(id, 16), &offset);
}

static void files_that_nobody_names_cost_little_time_and_are_counted(void **state)
{
	uint64_t began_ns = clock__now_ns();
	struct code_question question;
	struct code_client *client;
	uint64_t offset;
	int fd, questions = 0;

	client = make(&fd);
	for (uint32_t i = 1; i <= 1000; i++)
		assert_string_equal(find(client, i)->path, "[unanswered]");
	assert_string_equal(code_client__find(client, UINT64_MAX - 5, &offset)->path, "[kernel]");
	assert_int_equal(offset, 0);
	assert_int_equal(code_client__unanswered(client), 1001);
	assert_int_equal(code_client__anonymous(client), 0);
	/* A single wait; the limit is wide, because the machine may be busy. */
	assert_true(clock__now_ns() - began_ns < 10 * SECOND_NS);
	while (next_question(fd, &question))
		questions++;
	assert_int_equal(questions, 1);
	code_client__free(client);
	close(fd);
}

static void an_answer_that_comes_late_is_used(void **state)
{
	struct code_answer answer = { .path = "/libc", .build_id = "bb", .size = 10 };
	struct code_question question;
	struct code_client *client;
	int fd;

	client = make(&fd);
	assert_true(find(client, 7)->is_late);
	assert_true(find(client, 8)->is_late);
	assert_true(next_question(fd, &question));
	assert_int_equal(question.number, 7);
	reply(fd, &question, answer);
	assert_string_equal(find(client, 7)->path, "/libc");
	assert_false(next_question(fd, &question));
	/* The other one was not asked for yet. */
	assert_true(find(client, 8)->is_late);
	assert_true(next_question(fd, &question));
	assert_int_equal(question.number, 8);
	reply(fd, &question, (struct code_answer) { .err = -ENOENT });
	code_client__step(client);
	assert_true(find(client, 8)->is_late);
	code_client__free(client);
	close(fd);
}

static void sampling_ends_as_it_was_asked_for_last(void **state)
{
	struct code_question questions[3];
	struct code_client *client;
	int fd;

	client = make(&fd);
	code_client__sample(client, true);
	code_client__sample(client, true); /* the same question is not sent again */
	assert_false(code_client__is_on(client));
	assert_int_equal(code_client__problem(client), 0); /* not late yet */
	code_client__sample(client, false);
	assert_true(next_question(fd, &questions[0]));
	assert_true(next_question(fd, &questions[1]));
	assert_false(next_question(fd, &questions[2]));
	assert_int_equal(questions[0].wish, CODE_SAMPLE);
	assert_int_equal(questions[0].number, 1);
	assert_int_equal(questions[1].wish, CODE_SAMPLE);
	assert_int_equal(questions[1].number, 0);
	/* The time between the two is known, although nobody waited for the answers. */
	reply(fd, &questions[0], (struct code_answer) { .size = 1, .base = 100 });
	code_client__step(client);
	assert_true(code_client__is_on(client));
	assert_int_equal(code_client__on_ns(client, 120), 20);
	reply(fd, &questions[1], (struct code_answer) { .size = 0, .base = 150 });
	code_client__step(client);
	assert_false(code_client__is_on(client));
	assert_int_equal(code_client__on_ns(client, 200), 50);
	assert_int_equal(code_client__problem(client), 0);
	code_client__free(client);
	close(fd);
}

static void sampling_that_failed_is_asked_for_again(void **state)
{
	struct code_question question;
	struct code_client *client;
	int fd;

	client = make(&fd);
	code_client__sample(client, true);
	assert_true(next_question(fd, &question));
	reply(fd, &question, (struct code_answer) { .err = -EBUSY });
	code_client__step(client);
	assert_int_equal(code_client__problem(client), -EBUSY);
	assert_false(next_question(fd, &question));
	code_client__sample(client, true);
	assert_true(next_question(fd, &question));
	reply(fd, &question, (struct code_answer) { .size = 1, .base = 5 });
	code_client__step(client);
	assert_int_equal(code_client__problem(client), 0);
	assert_true(code_client__is_on(client));
	code_client__free(client);
	close(fd);
}

static void a_full_socket_blocks_nobody_and_the_last_wish_comes_after_it(void **state)
{
	struct code_module module = { .id = 3 };
	struct code_question question;
	struct code_client *client;
	bool has_rest = false, has_off = false;
	int fd;

	client = make(&fd);
	for (uint64_t i = 1; i < 100000; i++)
		code_client__use(client, &module, i * SECOND_NS);
	code_client__sample(client, true);
	code_client__sample(client, false);
	code_client__rest(client);
	while (next_question(fd, &question))
		assert_int_equal(question.wish, CODE_USED);
	code_client__step(client);
	while (next_question(fd, &question)) {
		has_off |= question.wish == CODE_SAMPLE && !question.number;
		has_rest |= question.wish == CODE_REST && has_off;
	}
	assert_true(has_rest);
	code_client__free(client);
	close(fd);
}

/* Answers every question with the same part of the kernel. */
static void *say_part(void *context)
{
	int fd = *(int *)context;
	struct code_question question;

	while (recv(fd, &question, sizeof(question), 0) == sizeof(question)) {
		struct code_answer answer = { .base = UINT64_MAX - 999, .size = 500 };

		snprintf(answer.path, sizeof(answer.path), "%s", part);
		answer.err = *part ? 0 : -ENOENT;
		reply(fd, &question, answer);
	}
	return NULL;
}

/* The supervisor may be late, on a busy machine. */
static struct code_module *find_part(struct code_client *client)
{
	struct code_module *module;
	uint64_t offset;

	do {
		module = code_client__find(client, UINT64_MAX - 700, &offset);
	} while (module->is_late);
	return module;
}

static void a_module_of_the_kernel_that_is_unloaded_is_not_used_any_more(void **state)
{
	struct code_module *module, *next;
	struct code_client *client;
	pthread_t thread;
	int fd;

	client = make(&fd);
	part = "old.ko";
	assert_int_equal(pthread_create(&thread, NULL, say_part, &fd), 0);
	module = find_part(client);
	assert_string_equal(module->path, "old.ko");
	part = "new.ko";
	assert_ptr_equal(find_part(client), module); /* it was asked for just now */
	for (next = module; next == module;) {
		module->checked_ns = 0;
		next = find_part(client);
	}
	assert_string_equal(next->path, "new.ko");
	assert_true(module->is_gone);
	assert_int_equal(code_client__gone(client), 1);
	assert_ptr_equal(find_part(client), next);
	part = "";
	for (module = next; next == module;) {
		module->checked_ns = 0;
		next = find_part(client);
	}
	assert_string_equal(next->path, "[kernel]");
	code_client__forget(client, UINT64_MAX);
	shutdown(fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	code_client__free(client);
	close(fd);
}

static void a_supervisor_that_is_gone_is_not_waited_for(void **state)
{
	uint64_t cpu_ns = 7, bytes = 7;
	struct code_client *client;
	int fd;

	client = make(&fd);
	close(fd);
	code_client__sample(client, true);
	assert_true(find(client, 7)->is_late);
	assert_true(code_client__cost(client, &cpu_ns, &bytes) < 0);
	assert_int_equal(cpu_ns + bytes, 14);
	code_client__rest(client);
	code_client__step(client);
	code_client__free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_nobody_names_cost_little_time_and_are_counted),
		cmocka_unit_test(an_answer_that_comes_late_is_used),
		cmocka_unit_test(sampling_ends_as_it_was_asked_for_last),
		cmocka_unit_test(sampling_that_failed_is_asked_for_again),
		cmocka_unit_test(a_full_socket_blocks_nobody_and_the_last_wish_comes_after_it),
		cmocka_unit_test(a_module_of_the_kernel_that_is_unloaded_is_not_used_any_more),
		cmocka_unit_test(a_supervisor_that_is_gone_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
