#include "../harness.h"

#include <errno.h>

#include "signals/exec/exec.h"
#include "signals/signal.h"

static const struct signal *exec_of_the_list(void)
{
	return signal__find("exec", 4);
}

static struct exec_record good_record(void)
{
	return (struct exec_record) {
		.head = { .size = sizeof(struct exec_record), .version = 1, .time_ns = 7 },
		.pid = 42,
		.parent_pid = 41,
		.parent_comm = "bash",
		.file = "/bin/true",
	};
}

static void decode_gives_every_column(void **state)
{
	struct exec_record record = good_record();
	struct event event = {};

	assert_int_equal(exec_of_the_list()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.values[0].number, 42);
	assert_int_equal(event.values[1].number, 41);
	assert_string_equal(event.values[2].text, "bash");
	assert_string_equal(event.values[3].text, "/bin/true");
}

static void refuses(const struct exec_record *record, size_t size)
{
	struct event event = { .time_ns = 99 };

	assert_int_equal(exec_of_the_list()->decode(record, size, &event), -EBADMSG);
	assert_int_equal(event.time_ns, 99);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct exec_record record = good_record();

	refuses(&record, sizeof(record) - 1);
	record.head.version = 2;
	refuses(&record, sizeof(record));
	record = good_record();
	record.head.size--;
	refuses(&record, sizeof(record));
	record = good_record();
	memset(record.file, 'x', sizeof(record.file));
	refuses(&record, sizeof(record));
	record = good_record();
	memset(record.parent_comm, 'x', sizeof(record.parent_comm));
	refuses(&record, sizeof(record));
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
		assert_in_range(columns, 1, SIGNAL_COLUMNS);
		assert_ptr_equal(signal__find(signals[i]->name, strlen(signals[i]->name)),
				 signals[i]);
	}
	assert_null(signal__find("exe", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(every_signal_describes_itself_within_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
