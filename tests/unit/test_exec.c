/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <signal.h>

#include "signals/exec/exec.h"
#include "signals/registry.h"

/* The columns, in their order. */
enum { PID, COMM, STATUS, PARENT_COMM, PARENT_PID, KILLED_BY, FORKED, FILE_GIVEN, ARGS };

static const struct signal *exec_of_the_list(void)
{
	return registry__find("exec", 4);
}

static struct exec_started a_start(void)
{
	return (struct exec_started) {
		.head = { .size = sizeof(struct exec_started),
			  .kind = EXEC_STARTED,
			  .version = 2,
			  .time_ns = 7 },
		.process = { .thread = 9,
			     .pid = 42,
			     .parent_pid = 41,
			     .comm = "true",
			     .parent_comm = "bash" },
		.file = "/bin/true",
		.args = "true\0-x",
		.args_bytes = 8,
		.args_kept = 8,
	};
}

static struct exec_ended an_end(void)
{
	return (struct exec_ended) {
		.head = { .size = sizeof(struct exec_ended), .kind = EXEC_ENDED, .version = 2 },
		.process = { .thread = 9,
			     .pid = 42,
			     .parent_pid = 41,
			     .comm = "true",
			     .parent_comm = "bash" },
		.lifetime_ns = 1234,
		.code = 3 << 8,
	};
}

static struct event decoded(const void *record, size_t size)
{
	struct event event = {};

	assert_int_equal(exec_of_the_list()->decode(record, size, &event), 0);
	return event;
}

static void a_start_has_file_and_arguments_and_no_status(void **state)
{
	struct exec_started record = a_start();
	struct event event = {};

	assert_int_equal(exec_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.thread, 9);
	assert_int_equal(event.duration_ns, 0);
	assert_string_equal(exec_of_the_list()->operation(event.operation), "exec");
	assert_int_equal(event.values[PID].number, 42);
	assert_int_equal(event.values[PARENT_PID].number, 41);
	assert_string_equal(event.values[PARENT_COMM].text, "bash");
	assert_string_equal(event.values[COMM].text, "true");
	assert_true(event.values[STATUS].none && event.values[KILLED_BY].none &&
		    event.values[FORKED].none);
	assert_string_equal(event.values[FILE_GIVEN].text, "/bin/true");
	assert_string_equal(event.values[ARGS].text, "true -x");
}

static void an_end_has_lifetime_and_status(void **state)
{
	struct exec_ended record = an_end();
	struct event event = decoded(&record, sizeof(record));

	assert_string_equal(exec_of_the_list()->operation(event.operation), "exit");
	assert_int_equal(event.duration_ns, 1234);
	assert_false(event.values[STATUS].none);
	assert_int_equal(event.values[STATUS].number, 3);
	assert_true(event.values[KILLED_BY].none);
	assert_false(event.values[FORKED].none);
	assert_int_equal(event.values[FORKED].number, 0);
	assert_true(event.values[FILE_GIVEN].none && event.values[ARGS].none);
	record.forked = 1;
	assert_int_equal(decoded(&record, sizeof(record)).values[FORKED].number, 1);
}

static void check_signal(uint32_t code, const char *name)
{
	struct exec_ended record = an_end();
	struct event event = {};

	record.code = code;
	assert_int_equal(exec_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_true(event.values[STATUS].none);
	assert_false(event.values[KILLED_BY].none);
	assert_string_equal(event.values[KILLED_BY].text, name);
}

static void a_signal_is_named_and_is_no_status(void **state)
{
	check_signal(SIGKILL, "SIGKILL");
	check_signal(SIGSEGV | 0x80, "SIGSEGV"); /* with a core */
	check_signal(40, "SIG40");
}

/* `size` bytes of arguments, of which the process has `all`. */
static void check_args(const char *args, size_t size, uint32_t all, const char *expected)
{
	struct exec_started record = a_start();
	struct event event = {};

	memcpy(record.args, args, size);
	record.args_kept = (uint32_t)size;
	record.args_bytes = all;
	assert_int_equal(exec_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_false(event.values[ARGS].none);
	assert_string_equal(event.values[ARGS].text, expected);
}

#define CHECK_ARGS(args, expected) check_args(args, sizeof(args), sizeof(args), expected)

static void arguments_can_be_told_apart(void **state)
{
	CHECK_ARGS("echo", "echo");
	CHECK_ARGS("echo\0a b\0c", "echo 'a b' c");
	CHECK_ARGS("echo\0\0", "echo '' ''");
	CHECK_ARGS("sh\0-c\0kill $$", "sh -c 'kill $$'");
	CHECK_ARGS("echo\0it's", "echo 'it'\\''s'");
	CHECK_ARGS("echo\0gr\303\274n", "echo gr\303\274n");
	check_args("", 0, 0, "");
}

static void cut_arguments_are_marked(void **state)
{
	check_args("cat\0/etc/pas", 12, 300, "cat /etc/pas…");
}

static void arguments_that_need_more_room_than_there_is_are_marked(void **state)
{
	char quotes[EXEC_ARGS_BYTES];
	struct exec_started record = a_start();
	struct event event = {};

	memset(quotes, '\'', sizeof(quotes));
	memcpy(record.args, quotes, sizeof(quotes));
	record.args_kept = record.args_bytes = sizeof(quotes);
	assert_int_equal(exec_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_in_range(strlen(event.scratch), SIGNAL_SCRATCH - 8, SIGNAL_SCRATCH - 1);
	assert_non_null(strstr(event.scratch, "…"));
}

static void arguments_that_could_not_be_read_are_none(void **state)
{
	struct exec_started record = a_start();

	record.args_kept = 0;
	assert_true(decoded(&record, sizeof(record)).values[ARGS].none);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct exec_started record = a_start();
	struct exec_ended end = an_end();

	refuses(exec_of_the_list(), &record, sizeof(record) - 1);
	refuses(exec_of_the_list(), &record, sizeof(struct wire_head));
	record.head.version = 1;
	refuses(exec_of_the_list(), &record, sizeof(record));
	record = a_start();
	record.head.kind = 2;
	refuses(exec_of_the_list(), &record, sizeof(record));
	record = a_start();
	record.head.size--;
	refuses(exec_of_the_list(), &record, sizeof(record));
	record = a_start();
	memset(record.file, 'x', sizeof(record.file));
	refuses(exec_of_the_list(), &record, sizeof(record));
	record = a_start();
	memset(record.process.parent_comm, 'x', sizeof(record.process.parent_comm));
	refuses(exec_of_the_list(), &record, sizeof(record));
	record = a_start();
	record.args_kept = record.args_bytes = sizeof(record.args) + 1;
	refuses(exec_of_the_list(), &record, sizeof(record));
	record = a_start();
	record.args_bytes = record.args_kept - 1;
	refuses(exec_of_the_list(), &record, sizeof(record));
	refuses(exec_of_the_list(), &end, sizeof(end) - 1);
	end.head.size--;
	refuses(exec_of_the_list(), &end, sizeof(end));
	end = an_end();
	memset(end.process.comm, 'x', sizeof(end.process.comm));
	refuses(exec_of_the_list(), &end, sizeof(end));
}

static void every_signal_describes_itself_within_the_limits(void **state)
{
	for (size_t i = 0; signals[i]; i++) {
		size_t hooks = 0, columns = 0;

		while (signals[i]->hooks[hooks].event)
			hooks++;
		while (signals[i]->columns[columns].name)
			columns++;
		assert_in_range(hooks, 1, SIGNAL_HOOKS);
		assert_in_range(columns, 0, SIGNAL_COLUMNS); /* none: it has no events */
		assert_ptr_equal(registry__find(signals[i]->name, strlen(signals[i]->name)),
				 signals[i]);
	}
	assert_null(registry__find("exe", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_has_file_and_arguments_and_no_status),
		cmocka_unit_test(an_end_has_lifetime_and_status),
		cmocka_unit_test(a_signal_is_named_and_is_no_status),
		cmocka_unit_test(arguments_can_be_told_apart),
		cmocka_unit_test(cut_arguments_are_marked),
		cmocka_unit_test(arguments_that_need_more_room_than_there_is_are_marked),
		cmocka_unit_test(arguments_that_could_not_be_read_are_none),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(every_signal_describes_itself_within_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
