/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of waits keep apart what is different and together what is the same. */
#include "../harness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

static char path[64], folder[] = "/tmp/objects-XXXXXX";
static json_t *report, *log_lines;

static int record_once(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--level", "full"), WORKLOAD("objects", folder), &log_lines);
	report = trial__report(path);
	return 0;
}

static int release(void **state)
{
	json_decref(report);
	json_decref(log_lines);
	trial__remove(path);
	return rmdir(folder);
}

__attribute__((format(printf, 1, 2))) static int64_t waits_where(const char *format, ...)
{
	char sql[512] = "SELECT coalesce(sum(count), 0) AS count FROM waits WHERE ";
	size_t used = strlen(sql);
	va_list args;

	va_start(args, format);
	vsnprintf(sql + used, sizeof(sql) - used, format, args);
	va_end(args);
	return trial__query(path, sql);
}

static void descriptors_of_each_kind_are_their_own(void **state)
{
	static const char *const pairs[][2] = { { "event-a", "eventfd" },
						{ "event-b", "eventfd" },
						{ "timer", "timerfd" },
						{ "signal", "signalfd" },
						{ "watch", "inotify" } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		int64_t named = waits_where("waiter_comm = '%s' AND object_kind = 'descriptor'"
					    " AND object LIKE '%s %% of %%(pid %%)'",
					    pairs[i][0], pairs[i][1]);

		print_message("# %s: %" PRId64 " waits for its %s\n", pairs[i][0], named,
			      pairs[i][1]);
		assert_in_range(named, 5, 10);
		assert_int_equal(waits_where("waiter_comm = '%s' AND object_kind = 'descriptor'"
					     " AND object NOT LIKE '%s %%'",
					     pairs[i][0], pairs[i][1]),
				 0);
	}
	assert_int_equal(trial__query(path, "SELECT count(DISTINCT object) AS count FROM waits"
					    " WHERE object LIKE 'eventfd %'"),
			 2);
}

/* The port of the client differs; the service is one. */
static void check_service(const char *comm, const char *word)
{
	char expected[64];
	size_t i, found = 0;
	json_t *wait;

	snprintf(expected, sizeof(expected), "sockets %s 127.0.0.1:%" PRId64, word,
		 number_at(json_array_get(log_lines, 0), "port"));
	json_array_foreach (json_object_get(report, "waits"), i, wait) {
		json_t *object = json_object_get(wait, "object");

		if (strcmp(text_at(json_object_get(wait, "waiter"), "comm"), comm) ||
		    strcmp(text_at(object, "kind"), "socket") ||
		    strstr(text_at(object, "name"), "0.0.0.0:0"))
			continue;
		assert_string_equal(text_at(object, "name"), expected);
		found += (size_t)number_at(wait, "count");
	}
	assert_true(found >= 4);
}

static void connections_to_one_service_are_one_object(void **state)
{
	check_service("client", "to");
	check_service("server", "at");
	assert_true(trial__query(path,
				 "SELECT count(DISTINCT object) AS count FROM waits"
				 " WHERE waiter_comm = 'client' AND object_kind = 'socket'") >= 4);
}

static void a_file_with_the_inode_of_another_is_another(void **state)
{
	if (!number_at(json_array_get(log_lines, 1), "reused")) {
		assert_true(is_emulated());
		print_message("# skip: the VM's file system has a new inode for each file\n");
		skip();
	}
	assert_true(waits_where("waiter_comm = '%s' AND object LIKE '%%/%s%%'", "locker",
				"first") >= 1);
	assert_int_equal(
		waits_where("waiter_comm = '%s' AND object LIKE '%%/%s%%'", "locker", "second"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_of_each_kind_are_their_own),
		cmocka_unit_test(connections_to_one_service_are_one_object),
		cmocka_unit_test(a_file_with_the_inode_of_another_is_another),
	};

	return cmocka_run_group_tests(tests, record_once, release);
}
