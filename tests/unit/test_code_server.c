/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions of a hostile worker, and the texts that the kernel describes its code with. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/code_server.h"
#include "agent/kernel_code.h"

static void ask(int fd, struct code_server *server, uint32_t wish, uint64_t number,
		struct code_answer *ret)
{
	const struct code_question question = { wish, 5, number };

	assert_int_equal(send(fd, &question, sizeof(question), 0), sizeof(question));
	assert_int_equal(code_server__serve(server), 0);
	assert_int_equal(recv(fd, ret, sizeof(*ret), MSG_DONTWAIT), sizeof(*ret));
	assert_int_equal(ret->sequence, 5);
}

static void questions_that_make_no_sense_get_an_error_or_nothing(void **state)
{
	struct code_server *server;
	struct code_answer answer;
	char bytes[100] = {};
	int fd;

	/* Without a ledger: none of these questions may need it. */
	assert_int_equal(code_server__new(NULL, &server), 0);
	assert_int_equal(code_server__fd(server), -1);
	assert_int_equal(code_server__connect(server, &fd), 0);
	ask(fd, server, 0, 0, &answer);
	assert_int_equal(answer.err, -EINVAL);
	ask(fd, server, UINT32_MAX, UINT64_MAX, &answer);
	assert_int_equal(answer.err, -EINVAL);
	ask(fd, server, CODE_SAMPLE, 2, &answer);
	assert_int_equal(answer.err, -EINVAL);
	ask(fd, server, CODE_MODULE, 1, &answer); /* there is no mapper */
	assert_int_equal(answer.err, -ENOENT);
	ask(fd, server, CODE_KERNEL, 1, &answer);
	assert_int_equal(answer.err, -ENOENT);
	assert_int_equal(answer.path[0], '\0');
	ask(fd, server, CODE_COST, 1, &answer);
	assert_int_equal(answer.err, 0);
	assert_true(answer.size > 0);
	/* Notes, and messages of other sizes, get no answer. */
	for (uint64_t i = 0; i < 3; i++) {
		const struct code_question note = { i ? i == 1 ? CODE_LEAVE : CODE_REST : CODE_USED,
						    1, UINT64_MAX };

		assert_int_equal(send(fd, &note, sizeof(note), 0), sizeof(note));
	}
	assert_int_equal(send(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(send(fd, bytes, 1, 0), 1);
	assert_int_equal(code_server__serve(server), 0);
	assert_int_equal(recv(fd, &answer, sizeof(answer), MSG_DONTWAIT), -1);
	close(fd);
	assert_int_equal(code_server__serve(server), -EPIPE);
	assert_int_equal(code_server__fd(server), -1);
	code_server__free(server);
}

static void a_worker_that_reads_no_answers_does_not_stop_the_server(void **state)
{
	const struct code_question question = { .wish = CODE_KERNEL, .number = 1 };
	struct code_server *server;
	int fd;

	assert_int_equal(code_server__new(NULL, &server), 0);
	assert_int_equal(code_server__connect(server, &fd), 0);
	for (int i = 0; i < 2000; i++) {
		(void)!send(fd, &question, sizeof(question), MSG_DONTWAIT);
		assert_int_equal(code_server__serve(server), 0);
	}
	close(fd);
	code_server__free(server);
}

static int parse_symbols(const char *text, struct kernel_code_part *ret)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	int err = kernel_code__parse_symbols(file, ret);

	fclose(file);
	return err;
}

static void the_text_of_the_kernel_is_found_unless_it_is_hidden(void **state)
{
	struct kernel_code_part part = {};

	assert_int_equal(parse_symbols("ffffffff81000000 T _stext\nrubbish\n"
				       "ffffffff80fff000 T _text\nffffffff82000000 T _etext\n",
				       &part),
			 0);
	assert_int_equal(part.begin, UINT64_C(0xffffffff80fff000));
	assert_int_equal(part.end, UINT64_C(0xffffffff82000000));
	assert_string_equal(part.name, "vmlinux");
	part.begin = 7;
	assert_int_equal(parse_symbols("0 T _stext\n0 T _text\n0 T _etext\n", &part), -ENOENT);
	assert_int_equal(parse_symbols("5 T _stext\n4 T _etext\n", &part), -ENOENT);
	assert_int_equal(parse_symbols("\n", &part), -ENOENT);
	assert_int_equal(part.begin, 7);
}

static void the_name_of_the_kernel_says_from_where_offsets_count(void **state)
{
	struct kernel_code_part part = {};

	assert_int_equal(
		parse_symbols("ffff800080010000 T _stext\nffff800081000000 T _etext\n", &part), 0);
	assert_int_equal(part.begin, UINT64_C(0xffff800080010000));
	assert_string_equal(part.name, "vmlinux (from _stext)");
}

static void a_build_id_is_found_among_notes_and_never_beyond_them(void **state)
{
	/* A note of another kind, then that of the build-id. */
	const unsigned char notes[] = { 4, 0, 0, 0, 3, 0, 0,   0,   9,   0, 0,    0,   'X',
					0, 0, 0, 1, 2, 3, 0,   4,   0,   0, 0,    2,   0,
					0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0x01 };
	char build_id[CODE_BUILD_ID_BYTES] = "unchanged";

	for (size_t size = 0; size < sizeof(notes); size++)
		assert_int_equal(kernel_code__parse_notes(notes, size, build_id), -ENOENT);
	assert_string_equal(build_id, "unchanged");
	assert_int_equal(kernel_code__parse_notes(notes, sizeof(notes), build_id), 0);
	assert_string_equal(build_id, "ab01");
}

static void a_line_of_modules_has_a_name_and_a_range(void **state)
{
	struct kernel_code_part part = {};

	assert_int_equal(
		kernel_code__parse_module("ext4 1052672 2 - Live 0xffffffffc0400000 (E)\n", &part),
		0);
	assert_string_equal(part.name, "ext4.ko");
	assert_int_equal(part.begin, UINT64_C(0xffffffffc0400000));
	assert_int_equal(part.end - part.begin, 1052672);
	assert_int_equal(kernel_code__parse_module("ext4 1 2 - Live 0x0\n", &part), -ENOENT);
	assert_int_equal(kernel_code__parse_module("ext4 0 2 - Live 0x5\n", &part), -ENOENT);
	assert_int_equal(kernel_code__parse_module("\n", &part), -ENOENT);
	assert_string_equal(part.name, "ext4.ko");
}

static void modules_whose_sizes_overlap_end_where_the_next_begins(void **state)
{
	struct kernel_code_part parts[] = { { .begin = 300, .end = 900, .name = "b.ko" },
					    { .begin = 100, .end = 350, .name = "a.ko" },
					    { .begin = 1000, .end = 1100, .name = "c.ko" } };

	kernel_code__separate(parts, 3);
	assert_string_equal(parts[0].name, "a.ko");
	assert_int_equal(parts[0].end, 300);
	assert_string_equal(parts[1].name, "b.ko");
	assert_int_equal(parts[1].end, 900);
	assert_int_equal(parts[2].begin, 1000);
	assert_int_equal(parts[2].end, 1100);
	kernel_code__separate(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_that_make_no_sense_get_an_error_or_nothing),
		cmocka_unit_test(a_worker_that_reads_no_answers_does_not_stop_the_server),
		cmocka_unit_test(the_text_of_the_kernel_is_found_unless_it_is_hidden),
		cmocka_unit_test(the_name_of_the_kernel_says_from_where_offsets_count),
		cmocka_unit_test(a_build_id_is_found_among_notes_and_never_beyond_them),
		cmocka_unit_test(modules_whose_sizes_overlap_end_where_the_next_begins),
		cmocka_unit_test(a_line_of_modules_has_a_name_and_a_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
