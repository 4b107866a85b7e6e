/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of the report on what options asked for, and on counters of CPUs. */
#include "reported.h"

#include "recording/recording.h"

static const struct report_options wide = { .width = 1000 };

/* One process, "app", with a thread that runs. */
static struct recording *begin(const char *name, const char *role, const char *const *measures)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	assert_int_equal(
		recording__add_signal(recording,
				      &(struct recording_signal) { 1, name, "", "things", role }),
		0);
	for (int i = 0; measures[2 * i]; i++)
		recording__add_measure(recording, 1, i, measures[2 * i], measures[2 * i + 1]);
	return recording;
}

static void add(struct recording *recording, struct recording_series series,
		struct recording_sum sum)
{
	series.signal = 1;
	series.thread = 1;
	series.place = series.place ? series.place : "";
	sum.series = series.id;
	sum.from = sum.to = 1;
	assert_int_equal(recording__add_series(recording, &series), 0);
	assert_int_equal(recording__add_sum(recording, &sum), 0);
}

static void write_events(void)
{
	static const char *const measures[] = { "time", "ns", "value", "number", NULL };
	struct recording *recording = begin("events", "requested", measures);

	recording__put_object(recording, &(struct recording_object) { 5, "key", "state=1" });
	recording__put_object(recording, &(struct recording_object) { 6, "key", "state=2" });
	add(recording,
	    (struct recording_series) { .id = 1, .operation = "sched:a by state", .object = 5 },
	    (struct recording_sum) { .count = 10 });
	add(recording,
	    (struct recording_series) { .id = 2, .operation = "sched:a by state", .object = 6 },
	    (struct recording_sum) { .count = 1234 });
	add(recording,
	    (struct recording_series) { .id = 3, .operation = "sched:a -> sched:b by thread" },
	    (struct recording_sum) { .count = 4, .sum = { 8000000 }, .max = { 3000000 } });
	sample__finish(recording);
}

static void assert_row(const char *text, const char *const *words)
{
	const char *line = strstr(text, words[0]), *begin = line;
	char copy[256];

	assert_non_null(line);
	while (begin > text && begin[-1] != '\n')
		begin--;
	snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(begin, "\n"), begin);
	for (int i = 1; words[i]; i++)
		if (!strstr(copy, words[i]))
			fail_msg("no '%s' in: %s", words[i], copy);
}

#define ROW(text, ...) assert_row(text, (const char *const[]) { __VA_ARGS__, NULL })

static void what_was_asked_for_is_in_the_short_report(void **state)
{
	char *text;

	write_events();
	text = print_as(&wide);
	ROW(text, "sched:a by state", "1,244", "app");
	ROW(text, "state=2", "1,234");
	ROW(text, "state=1", "10");
	ROW(text, "sched:a -> sched:b by thread", "4", "3.00 ms", "8.00 ms");
	/* The most frequent key comes first. */
	assert_true(strstr(text, "state=2") < strstr(text, "state=1"));
	free(text);
}

static void it_is_in_the_full_report_once(void **state)
{
	char *text, *first;

	write_events();
	text = print(&wide);
	first = strstr(text, "sched:a by state");
	assert_non_null(first);
	assert_null(strstr(first + 1, "sched:a by state"));
	free(text);
}

static void write_counters(int64_t cycles)
{
	static const char *const measures[] = {
		"cycles",      "cycles", "instructions", "instructions", "page_faults",
		"page faults", NULL
	};
	struct recording *recording = begin("counters", "counters", measures);

	add(recording, (struct recording_series) { .id = 1, .operation = "user" },
	    (struct recording_sum) { .count = 10, .sum = { 3 * cycles, 6 * cycles, 7 } });
	add(recording, (struct recording_series) { .id = 2, .operation = "kernel" },
	    (struct recording_sum) { .count = 10, .sum = { cycles, cycles / 2, 3 } });
	sample__finish(recording);
}

static void instructions_per_cycle_are_given_by_mode(void **state)
{
	write_counters(1000);
	text_has(&wide, "instructions per cycle: 1.62 (kernel 0.50, user 2.00)");
}

/* A machine without a PMU counts 0 cycles, which is no ratio. */
static void without_cycles_there_is_no_ratio(void **state)
{
	write_counters(0);
	text_has(&wide, "not known: no cycles were counted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_asked_for_is_in_the_short_report, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(it_is_in_the_full_report_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(instructions_per_cycle_are_given_by_mode, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_cycles_there_is_no_ratio, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
