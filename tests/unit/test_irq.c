/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"
#include "making.h"

#include <errno.h>

#include "signals/irq/irq.h"
#include "signals/registry.h"

enum { RUN_IRQ = 40 };

static const struct signal *irq(void)
{
	return registry__find("irq", 3);
}

static struct irq_record good_record(void)
{
	return (struct irq_record) {
		.head = { .size = sizeof(struct irq_record), .version = 1, .time_ns = 7 },
		.thread = 11,
		.total_ns = 5000,
		.own_ns = 4000,
		.place = IRQ_PLACE(IRQ_SOFT, 3),
		.cpu = 2,
		.tid = 77,
		.comm = "worker",
	};
}

static void decode_gives_every_column(void **state)
{
	struct irq_record record = good_record();
	struct event event = {};

	assert_int_equal(irq()->decode(&record, sizeof(record), &event), 0);
	assert_int_equal(event.duration_ns, 5000);
	assert_int_equal(event.thread, 11);
	assert_int_equal(event.object[0], 2);
	assert_int_equal(event.operation, IRQ_SOFT);
	assert_int_equal(event.values[0].number, 4000);
	assert_int_equal(event.values[1].number, 2);
	assert_int_equal(event.values[2].number, 77);
	assert_string_equal(event.values[3].text, "worker");
	assert_null(irq()->columns[4].name);
}

static void an_interrupt_of_an_idle_cpu_has_no_thread(void **state)
{
	struct irq_record record = good_record();
	struct event event = {};

	record.tid = 0;
	assert_int_equal(irq()->decode(&record, sizeof(record), &event), 0);
	assert_true(event.values[2].none);
	assert_true(event.values[3].none);
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct irq_record record = good_record();

	refuses_wrong_heads(irq(), &record, sizeof(record));
	record.place = IRQ_PLACE(IRQ_KINDS, 3);
	refuses(irq(), &record, sizeof(record));
	record.place = 3;
	refuses(irq(), &record, sizeof(record));
	record = good_record();
	memset(record.comm, 'x', sizeof(record.comm));
	refuses(irq(), &record, sizeof(record));
}

static void expect_place(uint32_t place, const char *name)
{
	char text[64];

	irq()->place(place, text, sizeof(text));
	assert_string_equal(text, name);
}

static void places_and_cpus_have_the_words_that_users_know(void **state)
{
	char text[64];

	expect_place(IRQ_PLACE(IRQ_SOFT, 0), "HI");
	expect_place(IRQ_PLACE(IRQ_SOFT, 3), "NET_RX");
	expect_place(IRQ_PLACE(IRQ_SOFT, 9), "RCU");
	expect_place(IRQ_PLACE(IRQ_SOFT, 10), "10");
	expect_place(IRQ_PLACE(IRQ_VECTOR, IRQ_WORK), "irq_work");
	expect_place(IRQ_PLACE(IRQ_VECTOR, IRQ_VECTORS), "5");
	/* There is no such interrupt, so it has no name. */
	expect_place(IRQ_PLACE(IRQ_HARD, 0xfffffe), "16777214");
	assert_string_equal(irq()->operation(IRQ_HARD), "interrupt");
	assert_string_equal(irq()->operation(IRQ_VECTOR), "vector");
	assert_null(irq()->operation(IRQ_KINDS));
	irq()->object((__u64[]) { 3, IRQ_CPU_OBJECT }, text, sizeof(text));
	assert_string_equal(text, "CPU 3");
}

/* A thread that ran for 20 s of 30, of which interrupts took `irq_ns`. */
static void make(int64_t irq_ns)
{
	struct making making = begin();

	assert_int_equal(
		recording__add_state(making.recording,
				     &(struct recording_state) { RUN_IRQ, "run", "irq", NULL }),
		0);
	add_thread(&making, 1, "calcd", 20000 * MS - irq_ns, "main;calculate");
	if (irq_ns)
		sample__account(making.recording, 1, RUN_IRQ, 1, 3, irq_ns, 1);
	finish(&making);
}

static void the_sentence_has_the_exact_share_of_interrupts(void **state)
{
	make(2400 * MS);
	expect("ran for", true);
	expect("interrupts and softirqs took 12 % of that (2.40 s)", true);
}

static void a_few_interrupts_are_not_worth_a_word(void **state)
{
	make(600 * MS);
	expect("ran for", true);
	expect("softirqs took", false);
}

static void without_the_signal_nothing_is_said_of_interrupts(void **state)
{
	make(0);
	expect("ran for", true);
	expect("interrupt", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_gives_every_column),
		cmocka_unit_test(an_interrupt_of_an_idle_cpu_has_no_thread),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(places_and_cpus_have_the_words_that_users_know),
		cmocka_unit_test_setup_teardown(the_sentence_has_the_exact_share_of_interrupts,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_few_interrupts_are_not_worth_a_word, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_the_signal_nothing_is_said_of_interrupts,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
