/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What top shows, without a terminal: bands, bars and rows. */
#include "../harness.h"

#include <stdio.h>

#include "tui/bands.h"
#include "tui/table.h"

#define SECOND 1000000000LL
#define MS     1000000LL

/* --- bars ------------------------------------------------------------------------------------ */

static const char *letters(const int64_t ns[SLOT_COUNT], int64_t one_ns, int width)
{
	static char text[64];
	uint8_t cells[64];

	bands__compose(ns, one_ns, width, cells);
	for (int i = 0; i < width; i++)
		text[i] = cells[i] ? states__words((enum ledger_slot)cells[i])->letter : ' ';
	text[width] = '\0';
	return text;
}

static void a_bar_of_one_thread_has_every_state_by_its_share(void **state)
{
	const int64_t ns[SLOT_COUNT] = { [SLOT_RUN_USER] = 400 * MS,
					 [SLOT_READY_WOKEN] = 100 * MS,
					 [SLOT_WAIT_DISK] = 200 * MS,
					 [SLOT_WAIT_POLL] = 300 * MS };

	assert_string_equal(letters(ns, SECOND, 10), "UUUUrDD...");
	assert_string_equal(letters(ns, SECOND, 20), "UUUUUUUUrrDDDD......");
}

static void idle_threads_do_not_hide_the_one_that_works(void **state)
{
	const int64_t ns[SLOT_COUNT] = { [SLOT_RUN_ANY] = 500 * MS, [SLOT_WAIT_POLL] = 99500 * MS };

	assert_string_equal(letters(ns, SECOND, 10), "RRRRR.....");
}

static void more_than_one_busy_thread_fills_the_bar_by_shares(void **state)
{
	const int64_t ns[SLOT_COUNT] = { [SLOT_RUN_ANY] = 3 * SECOND,
					 [SLOT_WAIT_LOCK_OWNED] = SECOND,
					 [SLOT_WAIT_SLEEP] = 10 * SECOND };

	assert_string_equal(letters(ns, SECOND, 8), "RRRRRRLL");
}

static void a_thread_that_lived_for_a_part_leaves_room(void **state)
{
	const int64_t ns[SLOT_COUNT] = {
		[SLOT_RUN_KERNEL] = 250 * MS, [SLOT_WAIT_LOCK] = 250 * MS
	};

	assert_string_equal(letters(ns, SECOND, 8), "KKuu    ");
	assert_string_equal(letters((const int64_t[SLOT_COUNT]) {}, SECOND, 4), "    ");
	assert_string_equal(letters((const int64_t[SLOT_COUNT]) {}, 0, 4), "    ");
}

static enum ledger_slot look(const char *state, const char *cause, const char *key)
{
	return states__look(state, cause, kinds__of(state, key));
}

static void states_have_the_look_of_their_words(void **state)
{
	assert_int_equal(look("run", "user", NULL), SLOT_RUN_USER);
	assert_int_equal(look("run", "any", NULL), SLOT_RUN_ANY);
	assert_int_equal(look("run", "irq", NULL), SLOT_RUN_IRQ);
	assert_int_equal(look("ready", "woken", NULL), SLOT_READY_WOKEN);
	assert_int_equal(look("ready", "preempted", NULL), SLOT_READY_PREEMPTED);
	assert_int_equal(look("wait", "lock", "delaying"), SLOT_WAIT_LOCK_OWNED);
	assert_int_equal(look("wait", "lock", "undecided"), SLOT_WAIT_LOCK);
	assert_int_equal(look("wait", "net", "delaying"), SLOT_WAIT_NET);
	assert_int_equal(look("wait", "net", "idle"), SLOT_WAIT_ACCEPT);
	assert_int_equal(look("wait", "kernel", "delaying"), SLOT_WAIT_KERNEL);
	assert_int_equal(look("wait", "other", "idle"), SLOT_WAIT_KTHREAD);
	assert_int_equal(look("unseen", "start", NULL), SLOT_UNSEEN);
	/* From a newer gapless. */
	assert_int_equal(look("run", "gpu", NULL), SLOT_RUN_ANY);
	assert_int_equal(look("wait", "gpu", "delaying"), SLOT_WAIT_OTHER);
	assert_int_equal(look("wait", "gpu", "idle"), SLOT_WAIT_KTHREAD);
}

static void every_letter_that_is_not_idle_is_one_state_only(void **state)
{
	for (int i = SLOT_FIRST; i < SLOT_COUNT; i++)
		for (int j = 0; j < i; j++)
			if (states__words((enum ledger_slot)i)->kind != KIND_IDLE)
				assert_int_not_equal(states__words((enum ledger_slot)i)->letter,
						     states__words((enum ledger_slot)j)->letter);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void fill(struct table *table, bool by_thread)
{
	const struct table_thread threads[] = {
		{ 1, 10, 100, 100, "main", "Server", .ns = { [SLOT_WAIT_POLL] = SECOND } },
		{ 2, 10, 100, 102, "worker", "Server", .switches = 7,
		  .ns = { [SLOT_RUN_ANY] = 300 * MS, [SLOT_WAIT_LOCK_OWNED] = 700 * MS } },
		{ 3, 11, 200, 200, "burner", "burner", .switches = 2,
		  .ns = { [SLOT_RUN_ANY] = 900 * MS, [SLOT_READY_WOKEN] = 100 * MS } },
		{ 4, 12, 300, 300, "sh", "sh", .ns = { [SLOT_WAIT_CHILD] = SECOND } },
	};

	table__begin(table, by_thread, SECOND);
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		assert_int_equal(table__add(table, &threads[i]), 0);
}

/* The numbers of the rows that are shown, in order. */
static const char *order(struct table *table, enum sort sort, const char *filter)
{
	static char text[128];

	text[0] = '\0';
	assert_int_equal(table__arrange(table, sort, filter), 0);
	for (size_t i = 0; i < table->shown_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " " : "",
			 table->rows[table->shown[i]].tid);
	return text;
}

static void processes_have_the_sums_of_their_threads(void **state)
{
	struct table table = {};

	fill(&table, false);
	assert_int_equal(table.count, 3);
	assert_string_equal(order(&table, SORT_PID, ""), "100 200 300");
	assert_int_equal(table.rows[0].threads, 2);
	assert_int_equal(table.rows[0].switches, 7);
	assert_string_equal(table.rows[0].name, "Server");
	assert_int_equal(table.rows[0].ns[SLOT_WAIT_LOCK_OWNED], 700 * MS);
	assert_int_equal(table.rows[0].ns[SLOT_WAIT_POLL], SECOND);
	assert_int_equal(table.all.threads, 4);
	assert_int_equal(sort__value(&table.all, SORT_RUN), 1200 * MS);
	table__release(&table);
}

static void any_state_sorts(void **state)
{
	struct table table = {};

	fill(&table, true);
	assert_string_equal(order(&table, SORT_RUN, ""), "200 102 100 300");
	assert_string_equal(order(&table, SORT_READY, ""), "200 100 102 300");
	assert_string_equal(order(&table, SORT_HELD, ""), "300 102 100 200");
	assert_string_equal(order(&table, SORT_STATES + SLOT_WAIT_LOCK_OWNED, ""),
			    "102 100 200 300");
	assert_string_equal(order(&table, SORT_STATES + SLOT_WAIT_POLL, ""), "100 102 200 300");
	assert_string_equal(order(&table, SORT_SWITCHES, ""), "102 200 100 300");
	assert_string_equal(order(&table, SORT_NAME, ""), "200 100 300 102");
	/* Equal times: by number. The one that only waits is not at work. */
	assert_string_equal(order(&table, SORT_BUSY, ""), "102 200 100 300");
	table__release(&table);
}

static void a_filter_is_a_part_of_a_name_or_the_begin_of_a_number(void **state)
{
	struct table table = {};

	fill(&table, true);
	assert_string_equal(order(&table, SORT_PID, "WORK"), "102");
	assert_string_equal(order(&table, SORT_PID, "10"), "100 102");
	assert_string_equal(order(&table, SORT_PID, "er"), "102 200");
	assert_string_equal(order(&table, SORT_PID, "0"), "");
	assert_string_equal(order(&table, SORT_PID, "nobody"), "");
	table__release(&table);
}

static void the_chosen_row_is_found_again(void **state)
{
	struct table table = {};

	fill(&table, true);
	order(&table, SORT_RUN, "");
	assert_int_equal(table__find(&table, 2, 0), 1);
	assert_int_equal(table__find(&table, 77, 2), 2);
	assert_int_equal(table__find(&table, 77, 99), 3);
	order(&table, SORT_RUN, "nobody");
	assert_int_equal(table__find(&table, 2, 1), 0);
	table__release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bar_of_one_thread_has_every_state_by_its_share),
		cmocka_unit_test(idle_threads_do_not_hide_the_one_that_works),
		cmocka_unit_test(more_than_one_busy_thread_fills_the_bar_by_shares),
		cmocka_unit_test(a_thread_that_lived_for_a_part_leaves_room),
		cmocka_unit_test(states_have_the_look_of_their_words),
		cmocka_unit_test(every_letter_that_is_not_idle_is_one_state_only),
		cmocka_unit_test(processes_have_the_sums_of_their_threads),
		cmocka_unit_test(any_state_sorts),
		cmocka_unit_test(a_filter_is_a_part_of_a_name_or_the_begin_of_a_number),
		cmocka_unit_test(the_chosen_row_is_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
