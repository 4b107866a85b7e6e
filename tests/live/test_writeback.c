/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writeback: what the kernel writes later is charged to the threads that changed it. */
#include "../harness.h"

#include <stdio.h>
#include <unistd.h>

#include "disks.h"
#include "ledger.h"

#define PAGE_BYTES 4096
#define MUCH       1500
#define LITTLE     500

static char recording[64], file[96];

static int record_once(void **state)
{
	json_t *log;

	snprintf(file, sizeof(file), "%s/dirty", disk_folder__new());
	trial__path(recording, sizeof(recording));
	trial__record_at(recording, ARGS("--signals", "writeback"), WORKLOAD("dirtier", file),
			 &log);
	json_decref(log);
	return 0;
}

static int release(void **state)
{
	unlink(file);
	trial__remove(recording);
	return disk_folder__free();
}

/* The bytes of an operation in the file, by thread. */
static int64_t bytes_of(const char *operation, const char *comm)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(sum), 0) from signal_sums where signal = 'writeback' and"
		 " operation = '%s' and measure = 'size' and comm = '%s' and"
		 " object like '%%/dirty'",
		 operation, comm);
	return trial__ask(recording, sql);
}

static void changed_pages_are_counted_by_thread_and_file(void **state)
{
	assert_int_equal(bytes_of("dirty", "much"), (int64_t)MUCH * PAGE_BYTES);
	assert_int_equal(bytes_of("dirty", "little"), (int64_t)LITTLE * PAGE_BYTES);
}

/* The kernel may write a part of it earlier, so shares are rounded more than once. */
static void written_pages_are_charged_to_those_that_changed_them(void **state)
{
	int64_t much = (int64_t)MUCH * PAGE_BYTES, little = (int64_t)LITTLE * PAGE_BYTES;

	assert_in_range(bytes_of("write", "much"), much - much / 20, much);
	assert_in_range(bytes_of("write", "little"), little - little / 20, little);
	assert_int_equal(trial__ask(recording, "select coalesce(sum(value), 0) from quality where"
					       " name in ('writeback_missing',"
					       " 'writeback_malformed', 'writeback_no_room')"),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_pages_are_counted_by_thread_and_file),
		cmocka_unit_test(written_pages_are_charged_to_those_that_changed_them),
	};

	return cmocka_run_group_tests(tests, record_once, release);
}
