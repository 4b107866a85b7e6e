/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time outside of syscalls: what of it is the program's own, and what is the kernel's or ours. */
#include "../harness.h"

#include <inttypes.h>
#include <string.h>

#include "ledger.h"

static int64_t outside_ns(json_t *report, const char *comm)
{
	return sum_ns(report, comm, "run", "user");
}

/*
 * A loop takes about as long with syscalls in it as without: they and our hooks are the kernel's
 * time. What other tracers add after the start is not known, so one of three tries is enough.
 */
static bool is_own_time_only(void)
{
	json_t *log,
		*report = trial__record(ARGS("--no-stacks"),
					WORKLOAD("user_time", "straight", "pieces", "calls"), &log);
	int64_t whole_ns = outside_ns(report, "straight");
	int64_t pieces_ns = outside_ns(report, "pieces");
	int64_t calls_ns = outside_ns(report, "calls");
	int64_t calls_run_ns = sum_ns(report, "calls", "run", NULL);

	assert_int_equal(number_at(syscall_named(report, "getppid"), "count"), 400000);
	assert_closes(report);
	json_decref(report);
	json_decref(log);
	print_message("# in one piece %" PRId64 " ns, in pieces %" PRId64 " ns; of %" PRId64
		      " ns of calls, %" PRId64 " ns outside of them\n",
		      whole_ns, pieces_ns, calls_run_ns, calls_ns);
	return is_emulated() || (pieces_ns > whole_ns / 2 && pieces_ns < 3 * whole_ns &&
				 calls_ns < calls_run_ns / 2);
}

static void hooks_are_not_the_programs_time(void **state)
{
	assert_true(is_own_time_only() || is_own_time_only() || is_own_time_only());
}

static json_t *part_named(json_t *report, const char *name)
{
	json_t *parts = json_object_get(json_object_get(report, "outside_syscalls"), "parts"),
	       *part;
	size_t i;

	json_array_foreach (parts, i, part)
		if (!strcmp(json_string_value(json_object_get(part, "part")), name))
			return part;
	fail_msg("there is no part '%s'", name);
	return NULL;
}

/* At least this many percent of the time outside syscalls, within what the samples promise. */
static void assert_mostly(json_t *report, const char *part, int percent)
{
	int64_t ns = number_at(json_object_get(report, "outside_syscalls"), "ns");
	json_t *is = part_named(report, part);

	print_message("# %s: %" PRId64 " of %" PRId64 " ns, ±%" PRId64 "\n", part,
		      number_at(is, "ns"), ns, number_at(is, "error_ns"));
	assert_true(number_at(is, "samples") > 0);
	assert_true((number_at(is, "ns") + number_at(is, "error_ns")) * 100 >= ns * percent);
}

/* The parts are estimates, but together they are the exact sum. */
static json_t *record_phase(const char *phase, json_t **ret_log)
{
	json_t *report = trial__record(ARGS("-F", "999"), WORKLOAD("user_time", phase), ret_log);
	int64_t whole_ns = number_at(json_object_get(report, "outside_syscalls"), "ns");
	int64_t ns = number_at(part_named(report, "own"), "ns") +
		     number_at(part_named(report, "page_faults"), "ns") +
		     number_at(part_named(report, "other_kernel"), "ns");

	assert_int_equal(whole_ns, sum_ns(report, NULL, "run", "user"));
	assert_true(ns <= whole_ns && ns > whole_ns - 10);
	assert_closes(report);
	return report;
}

static void a_spinning_thread_runs_its_own_code(void **state)
{
	json_t *log, *report = record_phase("spin", &log);

	assert_mostly(report, "own", 90);
	json_decref(report);
	json_decref(log);
}

/* The number of faults is the kernel's own, to the unit: each page once, and what a process needs.
 */
static void touching_memory_is_page_faults(void **state)
{
	char path[64];
	json_t *log, *report, *touch;

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("-F", "999"), WORKLOAD("user_time", "touch"), &log);
	report = trial__report(path);
	touch = log_phase(log, "touch", "touch");
	assert_mostly(report, "page_faults", 60);
	assert_int_equal(trial__query(path, "SELECT minor FROM faults WHERE comm = 'touch'"),
			 number_at(touch, "minor"));
	assert_int_equal(trial__query(path, "SELECT major FROM faults WHERE comm = 'touch'"),
			 number_at(touch, "major"));
	assert_true(number_at(touch, "minor") >= number_at(touch, "pages"));
	assert_int_equal(trial__query(path, "SELECT sum(minor) FROM faults"),
			 number_at(json_object_get(report, "outside_syscalls"), "minor_faults"));
	trial__remove(path);
	json_decref(report);
	json_decref(log);
}

static void clearing_up_after_a_call_is_the_kernels(void **state)
{
	json_t *log, *report = record_phase("unmap", &log);

	assert_mostly(report, "other_kernel", 50);
	json_decref(report);
	json_decref(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hooks_are_not_the_programs_time),
		HERE(a_spinning_thread_runs_its_own_code),
		cmocka_unit_test(touching_memory_is_page_faults),
		HERE(clearing_up_after_a_call_is_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
