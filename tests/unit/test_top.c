/* What top shows, without a terminal: bands, bars and rows. */
#include "../harness.h"

#include <stdio.h>

#include "tui/bands.h"
#include "tui/table.h"

#define SECOND 1000000000LL
#define MS     1000000LL

/* --- bars ------------------------------------------------------------------------------------ */

static const char *letters(const int64_t ns[BAND_COUNT], int64_t one_ns, int width)
{
	static char text[64];
	uint8_t cells[64];

	bands__compose(ns, one_ns, width, cells);
	for (int i = 0; i < width; i++)
		text[i] = cells[i] < BAND_COUNT ? bands__words((enum band)cells[i])->letter : ' ';
	text[width] = '\0';
	return text;
}

static void a_bar_of_one_thread_has_every_state_by_its_share(void **state)
{
	const int64_t ns[BAND_COUNT] = { [BAND_USER] = 400 * MS,
					 [BAND_READY] = 100 * MS,
					 [BAND_DISK] = 200 * MS,
					 [BAND_POLL] = 300 * MS };

	assert_string_equal(letters(ns, SECOND, 10), "UUUUrDD...");
	assert_string_equal(letters(ns, SECOND, 20), "UUUUUUUUrrDDDD......");
}

static void idle_threads_do_not_hide_the_one_that_works(void **state)
{
	const int64_t ns[BAND_COUNT] = { [BAND_ANY] = 500 * MS, [BAND_POLL] = 99500 * MS };

	assert_string_equal(letters(ns, SECOND, 10), "RRRRR.....");
}

static void more_than_one_busy_thread_fills_the_bar_by_shares(void **state)
{
	const int64_t ns[BAND_COUNT] = {
		[BAND_ANY] = 3 * SECOND, [BAND_LOCK] = SECOND, [BAND_SLEEP] = 10 * SECOND
	};

	assert_string_equal(letters(ns, SECOND, 8), "RRRRRRLL");
}

static void a_thread_that_lived_for_a_part_leaves_room(void **state)
{
	const int64_t ns[BAND_COUNT] = { [BAND_KERNEL] = 250 * MS, [BAND_UNDECIDED] = 250 * MS };

	assert_string_equal(letters(ns, SECOND, 8), "KKuu    ");
	assert_string_equal(letters((const int64_t[BAND_COUNT]) {}, SECOND, 4), "    ");
	assert_string_equal(letters((const int64_t[BAND_COUNT]) {}, 0, 4), "    ");
}

static void states_have_the_band_of_their_words(void **state)
{
	assert_int_equal(bands__of("run", "user", NULL), BAND_USER);
	assert_int_equal(bands__of("run", "any", NULL), BAND_ANY);
	assert_int_equal(bands__of("ready", "woken", NULL), BAND_READY);
	assert_int_equal(bands__of("ready", "preempted", NULL), BAND_READY);
	assert_int_equal(bands__of("wait", "lock", "delaying"), BAND_LOCK);
	assert_int_equal(bands__of("wait", "lock", "undecided"), BAND_UNDECIDED);
	assert_int_equal(bands__of("wait", "net", "delaying"), BAND_NET);
	assert_int_equal(bands__of("wait", "net", "idle"), BAND_ACCEPT);
	assert_int_equal(bands__of("wait", "kernel", "delaying"), BAND_KERNEL_LOCK);
	assert_int_equal(bands__of("wait", "other", "idle"), BAND_IDLE);
	assert_int_equal(bands__of("unseen", "start", NULL), BAND_UNSEEN);
	/* From a newer gapless. */
	assert_int_equal(bands__of("run", "irq", NULL), BAND_ANY);
	assert_int_equal(bands__of("wait", "gpu", "delaying"), BAND_OTHER);
	assert_int_equal(bands__of("wait", "gpu", "idle"), BAND_IDLE);
}

static void every_letter_that_is_not_idle_is_one_band_only(void **state)
{
	for (int i = 0; i < BAND_COUNT; i++)
		for (int j = 0; j < i; j++)
			if (bands__words((enum band)i)->group != BAND_GROUP_IDLE)
				assert_int_not_equal(bands__words((enum band)i)->letter,
						     bands__words((enum band)j)->letter);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void fill(struct table *table, bool by_thread)
{
	const struct table_thread threads[] = {
		{ 1, 10, 100, 100, "main", "Server", .ns = { [BAND_POLL] = SECOND } },
		{ 2, 10, 100, 102, "worker", "Server", .switches = 7,
		  .ns = { [BAND_ANY] = 300 * MS, [BAND_LOCK] = 700 * MS } },
		{ 3, 11, 200, 200, "burner", "burner", .switches = 2,
		  .ns = { [BAND_ANY] = 900 * MS, [BAND_READY] = 100 * MS } },
		{ 4, 12, 300, 300, "sh", "sh", .ns = { [BAND_CHILD] = SECOND } },
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
	assert_int_equal(table.rows[0].ns[BAND_LOCK], 700 * MS);
	assert_int_equal(table.rows[0].ns[BAND_POLL], SECOND);
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
	assert_string_equal(order(&table, SORT_DELAY, ""), "300 102 100 200");
	assert_string_equal(order(&table, SORT_BANDS + BAND_LOCK, ""), "102 100 200 300");
	assert_string_equal(order(&table, SORT_BANDS + BAND_POLL, ""), "100 102 200 300");
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
		cmocka_unit_test(states_have_the_band_of_their_words),
		cmocka_unit_test(every_letter_that_is_not_idle_is_one_band_only),
		cmocka_unit_test(processes_have_the_sums_of_their_threads),
		cmocka_unit_test(any_state_sorts),
		cmocka_unit_test(a_filter_is_a_part_of_a_name_or_the_begin_of_a_number),
		cmocka_unit_test(the_chosen_row_is_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
