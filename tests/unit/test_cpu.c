/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "findings/cpus.h"
#include "findings/signal_words.h"
#include "model/hump.h"
#include "model/signals.h"
#include "signals/cpu/cpu.h"
#include "signals/cpu/cpu_totals.h"
#include "signals/registry.h"

static const struct signal *cpu(void)
{
	return registry__find("cpu", 3);
}

static struct cpu_record good_record(void)
{
	return (struct cpu_record) {
		.head = { .size = sizeof(struct cpu_record), .version = 1, .time_ns = 7 },
		.thread = 11,
		.ready_ns = 5000,
		.cpu = 2,
		.priority = 120,
		.operation = CPU_PREEMPTED,
	};
}

static void decode_gives_every_column(void **state)
{
	struct cpu_record record = good_record();
	struct event event = {};

	assert_int_equal(cpu()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.duration_ns, 5000);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.place, CPU_PLACE(2));
	assert_int_equal(event.object[0], 120);
	assert_int_equal(event.operation, CPU_PREEMPTED);
	assert_int_equal(event.values[0].number, 2);
	assert_int_equal(event.values[1].number, 120);
	assert_null(cpu()->columns[2].name);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct cpu_record record = good_record();

	refuses_wrong_heads(cpu(), &record, sizeof(record));
	record.operation = CPU_MIGRATION;
	refuses(cpu(), &record, sizeof(record));
	record = good_record();
	record.priority = -2;
	refuses(cpu(), &record, sizeof(record));
}

static void expect_priority(int64_t priority, const char *name)
{
	char text[64];

	cpu()->object((__u64[]) { (__u64)priority, CPU_PRIORITY_OBJECT }, text, sizeof(text));
	assert_string_equal(text, name);
}

static void priorities_and_cpus_have_the_words_that_users_know(void **state)
{
	char text[64];

	expect_priority(120, "nice 0");
	expect_priority(100, "nice -20");
	expect_priority(139, "nice 19");
	expect_priority(99, "real-time 0");
	expect_priority(0, "real-time 99");
	expect_priority(-1, "deadline");
	cpu()->place(CPU_PLACE(0), text, sizeof(text));
	assert_string_equal(text, "CPU 0");
	assert_string_equal(cpu()->operation(CPU_WOKEN), "wakeup");
	assert_string_equal(cpu()->operation(CPU_IDLE), "idle");
	assert_string_equal(cpu()->operation(CPU_CONFINED), "confined");
	assert_null(cpu()->operation(CPU_OPERATIONS));
}

static struct cpu_totals parse(const char *stat)
{
	FILE *file = fmemopen((char *)stat, strlen(stat), "r");
	struct cpu_totals totals = {};

	cpu_totals__parse_stat(file, 10000000, &totals);
	fclose(file);
	return totals;
}

static void totals_are_read_by_cpu(void **state)
{
	struct cpu_totals totals = parse("cpu  9 9 9 9 9 9 9 30 0 0\n"
					 "cpu0 1 2 3 4 5 6 7 10 0 0\n"
					 "cpu2 1 2 3 40 2 6 7 20 0 0\n"
					 "intr 12345 0 0\n");

	assert_int_equal(totals.count, 3);
	assert_int_equal(totals.steal_ns[0], 100000000);
	assert_int_equal(totals.steal_ns[1], 0);
	assert_int_equal(totals.steal_ns[2], 200000000);
	assert_int_equal(totals.idle_ns[0], 90000000);
	assert_int_equal(totals.idle_ns[2], 420000000);
}

static void lines_that_make_no_sense_are_skipped(void **state)
{
	struct cpu_totals totals = parse("cpu0 1 2 3\ncpu99999 1 2 3 4 5 6 7 8\ncpuX\n\n");

	assert_int_equal(totals.count, 0);
}

static void expect_tick(enum role role, int64_t low, int64_t high, int64_t tick_ns,
			const char *words)
{
	const struct signals_signal signal = { .role = role };
	const struct hump hump = { .low = low, .high = high };
	char text[128] = "";

	signal_words__say_tick(&signal, &hump, tick_ns, text, sizeof(text));
	assert_string_equal(text, words);
}

static void a_hump_of_ready_time_at_the_tick_is_called_so(void **state)
{
	const char *words = "; the kernel's tick is 4.00 ms";

	expect_tick(ROLE_CPUS, 20000, 3900000, 4000000, words);
	expect_tick(ROLE_CPUS, 4100000, 30000000, 4000000, words);
	expect_tick(ROLE_CPUS, 20000, 8000000, 4000000, "");
	expect_tick(ROLE_CPUS, 20000, 3900000, 0, "");
	expect_tick(ROLE_DISKS, 20000, 3900000, 4000000, "");
}

#define MS 1000000

static void expect_words(void (*say)(const struct by_cpu *by_cpu, char *text, size_t size),
			 struct by_cpu_line first, struct by_cpu_line second, const char *words)
{
	struct by_cpu_line lines[] = { first, second };
	const struct by_cpu by_cpu = { .lines = lines, .line_count = 2 };
	char text[512] = "";

	lines[0].name = "CPU 0";
	lines[1].name = "CPU 1";
	say(&by_cpu, text, sizeof(text));
	assert_string_equal(text, words);
}

static void ready_time_beside_an_idle_cpu_is_said_if_it_is_a_part_of_weight(void **state)
{
	expect_words(cpus__say_spare,
		     (struct by_cpu_line) { .ready_ns = 800 * MS, .spare_ns = 300 * MS },
		     (struct by_cpu_line) { .ready_ns = 200 * MS },
		     "threads were ready for 1.00 s; for 300 ms of that (30 %), their CPU was busy"
		     " and another one, which they may use, was idle");
	expect_words(cpus__say_spare,
		     (struct by_cpu_line) { .ready_ns = 800 * MS, .spare_ns = 50 * MS },
		     (struct by_cpu_line) { .ready_ns = 200 * MS }, "");
	expect_words(cpus__say_spare,
		     (struct by_cpu_line) { .ready_ns = 800 * MS, .pinned_ns = 800 * MS },
		     (struct by_cpu_line) { .confined_ns = 200 * MS, .ready_ns = 200 * MS }, "");
	expect_words(cpus__say_spare, (struct by_cpu_line) {}, (struct by_cpu_line) {}, "");
}

static void say_imbalance_of_a_second(const struct by_cpu *by_cpu, char *text, size_t size)
{
	cpus__say_imbalance(by_cpu, 1000 * MS, text, size);
}

static void say_imbalance_of_a_moment(const struct by_cpu *by_cpu, char *text, size_t size)
{
	cpus__say_imbalance(by_cpu, 100 * MS, text, size);
}

static void a_busy_cpu_beside_an_idle_one_is_said_if_threads_were_ready_there(void **state)
{
	const struct by_cpu_line busy = { .ready_ns = 1000 * MS, .idle_ns = 10 * MS };
	const struct by_cpu_line pinned = { .ready_ns = 1000 * MS, .pinned_ns = 1000 * MS };
	const struct by_cpu_line idle = { .idle_ns = 970 * MS };

	expect_words(say_imbalance_of_a_second, busy, idle,
		     "CPU 1 was idle for 97 % of the time, CPU 0 for 1.0 %; threads were ready for"
		     " 1.00 s on CPU 0");
	expect_words(say_imbalance_of_a_second, idle, pinned,
		     "CPU 0 was idle for 97 % of the time, CPU 1 for 0 %; threads were ready for"
		     " 1.00 s on CPU 1, 100 % of that in threads that may use no other CPU");
	expect_words(say_imbalance_of_a_second, busy, busy, "");
	expect_words(say_imbalance_of_a_second, idle, idle, "");
	expect_words(say_imbalance_of_a_second, (struct by_cpu_line) { .ready_ns = 50 * MS }, idle,
		     "");
	expect_words(say_imbalance_of_a_moment, busy, idle, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(priorities_and_cpus_have_the_words_that_users_know),
		cmocka_unit_test(totals_are_read_by_cpu),
		cmocka_unit_test(lines_that_make_no_sense_are_skipped),
		cmocka_unit_test(a_hump_of_ready_time_at_the_tick_is_called_so),
		cmocka_unit_test(ready_time_beside_an_idle_cpu_is_said_if_it_is_a_part_of_weight),
		cmocka_unit_test(a_busy_cpu_beside_an_idle_one_is_said_if_threads_were_ready_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
