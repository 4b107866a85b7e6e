/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of /proc and the ranges made of them. */
#include "../harness.h"

#include <errno.h>

#include "stacks/maps.h"
#include "stacks/ranges.h"

#define PAGE 4096UL

static void a_line_is_read_with_its_path(void **state)
{
	struct maps_line line;

	assert_int_equal(maps__parse("7f0a2c000000-7f0a2c021000 r-xp 0000e000 103:0a 1835011    "
				     "          /usr/lib/a b (deleted)",
				     &line),
			 0);
	assert_int_equal(line.begin, 0x7f0a2c000000);
	assert_int_equal(line.end, 0x7f0a2c021000);
	assert_int_equal(line.offset, 0xe000);
	assert_int_equal(line.device, MAPS_DEVICE(0x103, 0xa));
	assert_int_equal(line.inode, 1835011);
	assert_true(line.executable);
	assert_string_equal(line.path, "/usr/lib/a b (deleted)");
}

static void a_line_without_a_path_is_read_with_and_without_a_blank_at_its_end(void **state)
{
	struct maps_line line;

	assert_int_equal(maps__parse("1000-2000 rw-p 00000000 00:00 0 ", &line), 0);
	assert_string_equal(line.path, "");
	assert_false(line.executable);
	assert_int_equal(maps__parse("1000-2000 rw-p 00000000 00:00 0", &line), 0);
	assert_string_equal(line.path, "");
	assert_int_equal(line.inode, 0);
}

static void lines_that_are_none_are_refused_and_the_output_is_left_alone(void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-",
		"-2000 r-xp 0 0:0 0",
		"2000-1000 r-xp 0 0:0 0",
		"1000-1000 r-xp 0 0:0 0",
		"1000-10000000000000000 r-xp 0 0:0 0",
		"0x1000-2000 r-xp 0 0:0 0",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp ",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 0",
		"1000-2000 r-xp 0 0:0",
		"1000-2000 r-xp 0 0:0 ",
		"1000-2000 r-xp 0 0:0 x",
		"1000-2000 r-xp 0 100000000:0 1",
		"1000-2000 r-xp 0 0:0 99999999999999999999",
		"1000-2000 r-xpp 0 0:0 0",
	};
	struct maps_line line = { .inode = 77 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (maps__parse(lines[i], &line) != -EBADMSG)
			fail_msg("taken: '%s'", lines[i]);
		assert_int_equal(line.inode, 77);
	}
}

static void the_start_of_a_process_is_read_whatever_its_name(void **state)
{
	struct maps_stat stat;

	assert_int_equal(maps__parse_stat("42 (a) b 1 (c)) S 1 42 42 0 -1 4194560 6 7 8 9 10 11 12 "
					  "13 20 0 3 0 1234567 100 200 1844",
					  &stat),
			 0);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.flags, 4194560);
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.start_ticks, 1234567);
}

static void a_stat_that_is_cut_short_is_refused(void **state)
{
	static const char whole[] =
		"42 (x) S 1 42 42 0 -1 4194560 6 7 8 9 10 11 12 13 20 0 3 0 123 ";
	char text[sizeof(whole)];
	struct maps_stat stat = { .threads = 77 };

	for (size_t length = 0; length < sizeof(whole) - 1; length++) {
		memcpy(text, whole, length);
		text[length] = '\0';
		assert_int_equal(maps__parse_stat(text, &stat), -EBADMSG);
	}
	assert_int_equal(stat.threads, 77);
	assert_int_equal(maps__parse_stat(whole, &stat), 0);
}

/* --- ranges ----------------------------------------------------------------------------------- */

static void put(struct ranges *ranges, uint64_t begin, uint64_t end, uint64_t address,
		uint32_t module)
{
	struct range range = { begin * PAGE, end * PAGE, address * PAGE, module };

	assert_int_equal(ranges__put(ranges, &range), 0);
}

static void expect(const struct ranges *ranges, size_t at, uint64_t begin, uint64_t end,
		   uint64_t address, uint32_t module)
{
	assert_true(at < ranges->count);
	assert_int_equal(ranges->list[at].begin, begin * PAGE);
	assert_int_equal(ranges->list[at].end, end * PAGE);
	assert_int_equal(ranges->list[at].address, address * PAGE);
	assert_int_equal(ranges->list[at].module, module);
}

static void a_range_inside_another_splits_it(void **state)
{
	struct ranges ranges = { 0 };

	put(&ranges, 10, 20, 100, 1);
	put(&ranges, 13, 15, 0, 2);
	assert_int_equal(ranges.count, 3);
	expect(&ranges, 0, 10, 13, 100, 1);
	expect(&ranges, 1, 13, 15, 0, 2);
	expect(&ranges, 2, 15, 20, 105, 1);
	ranges__release(&ranges);
}

static void a_range_over_several_cuts_the_outer_ones_and_removes_the_inner_ones(void **state)
{
	struct ranges ranges = { 0 };

	put(&ranges, 10, 20, 0, 1);
	put(&ranges, 20, 30, 0, 2);
	put(&ranges, 40, 50, 0, 3);
	put(&ranges, 15, 45, 0, 4);
	assert_int_equal(ranges.count, 3);
	expect(&ranges, 0, 10, 15, 0, 1);
	expect(&ranges, 1, 15, 45, 0, 4);
	expect(&ranges, 2, 45, 50, 5, 3);
	ranges__release(&ranges);
}

static void a_range_without_a_module_only_cuts(void **state)
{
	struct ranges ranges = { 0 };

	put(&ranges, 10, 20, 0, 1);
	put(&ranges, 12, 14, 0, 0);
	assert_int_equal(ranges.count, 2);
	expect(&ranges, 0, 10, 12, 0, 1);
	expect(&ranges, 1, 14, 20, 4, 1);
	put(&ranges, 0, 100, 0, 0);
	assert_int_equal(ranges.count, 0);
	ranges__release(&ranges);
}

static void neighbours_that_go_on_become_one_and_others_do_not(void **state)
{
	struct ranges ranges = { 0 };

	put(&ranges, 10, 12, 0, 1);
	put(&ranges, 14, 16, 4, 1);
	put(&ranges, 12, 14, 2, 1); /* closes the gap */
	assert_int_equal(ranges.count, 1);
	expect(&ranges, 0, 10, 16, 0, 1);
	put(&ranges, 16, 18, 7, 1); /* another place in the file */
	put(&ranges, 18, 20, 9, 2); /* another file */
	assert_int_equal(ranges.count, 3);
	put(&ranges, 11, 12, 1, 1); /* again what is there */
	assert_int_equal(ranges.count, 3);
	expect(&ranges, 0, 10, 16, 0, 1);
	ranges__release(&ranges);
}

static void an_address_is_found_in_its_range_alone(void **state)
{
	struct ranges ranges = { 0 };

	assert_null(ranges__find(&ranges, 0));
	put(&ranges, 10, 12, 0, 1);
	put(&ranges, 20, 22, 0, 2);
	assert_null(ranges__find(&ranges, 10 * PAGE - 1));
	assert_int_equal(ranges__find(&ranges, 10 * PAGE)->module, 1);
	assert_int_equal(ranges__find(&ranges, 12 * PAGE - 1)->module, 1);
	assert_null(ranges__find(&ranges, 12 * PAGE));
	assert_int_equal(ranges__find(&ranges, 21 * PAGE)->module, 2);
	assert_null(ranges__find(&ranges, UINT64_MAX));
	ranges__release(&ranges);
}

static void addresses_that_the_tables_cannot_hold_are_refused(void **state)
{
	static const struct range bad[] = {
		{ PAGE, PAGE, 0, 1 },
		{ 2 * PAGE, PAGE, 0, 1 },
		{ PAGE + 1, 3 * PAGE, 0, 1 },
		{ PAGE, 3 * PAGE - 1, 0, 1 },
		{ PAGE, 3 * PAGE, 5, 1 },
		{ 0xffffffffff600000, 0xffffffffff601000, 0, 1 },
		{ PAGE, 3 * PAGE, 1UL << 40, 1 },
		{ PAGE, 3 * PAGE, (1UL << 40) - PAGE, 1 },
	};
	struct ranges ranges = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(ranges__put(&ranges, &bad[i]), -EINVAL);
	assert_int_equal(ranges.count, 0);
	ranges__release(&ranges);
}

static void the_first_251_are_what_the_kernel_half_gets(void **state)
{
	static struct unwind_process process;
	struct ranges ranges = { 0 }, copy = { 0 };

	for (uint64_t i = 0; i < UNWIND_MAPPINGS; i++)
		put(&ranges, 1000 + 2 * i, 1001 + 2 * i, 7, 3);
	assert_true(ranges__fill(&ranges, &process));
	assert_int_equal(process.count, UNWIND_MAPPINGS);
	put(&ranges, 10, 13, 5, 9);
	assert_false(ranges__fill(&ranges, &process));
	assert_int_equal(process.count, UNWIND_MAPPINGS);
	assert_int_equal(process.mappings[0].page_and_module, 10UL << UNWIND_MODULE_BITS | 9);
	assert_int_equal(process.mappings[0].pages, 3);
	assert_int_equal(process.mappings[0].file_page, 5);
	assert_int_equal(ranges__copy(&ranges, &copy), 0);
	assert_int_equal(copy.count, ranges.count);
	put(&ranges, 0, 10000, 0, 0);
	assert_true(ranges__fill(&ranges, &process));
	assert_int_equal(process.count, 0);
	assert_int_equal(process.mappings[0].pages, 0);
	ranges__release(&ranges);
	ranges__release(&copy);
}

/* Against an array with an entry for each page. */
static void many_ranges_at_random_agree_with_a_map_of_pages(void **state)
{
	static struct {
		uint32_t module;
		uint64_t address;
	} pages[256];
	struct ranges ranges = { 0 };

	srand(1);
	for (int round = 0; round < 20000; round++) {
		uint64_t begin = (uint64_t)rand() % 255, length = 1 + (uint64_t)rand() % 20;
		uint64_t end = begin + length < 256 ? begin + length : 256;
		uint32_t module = (uint32_t)rand() % 4;
		uint64_t bias = (uint64_t)rand() % 2 * 50;

		put(&ranges, begin, end, begin + bias, module);
		for (uint64_t page = begin; page < end; page++) {
			pages[page].module = module;
			pages[page].address = (page + bias) * PAGE;
		}
		for (uint64_t page = 0; page < 256; page++) {
			const struct range *range = ranges__find(&ranges, page * PAGE);

			assert_int_equal(range ? range->module : 0, pages[page].module);
			if (range)
				assert_int_equal(range->address + page * PAGE - range->begin,
						 pages[page].address);
		}
		assert_true(ranges.count <= 256);
	}
	ranges__release(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_read_with_its_path),
		cmocka_unit_test(a_line_without_a_path_is_read_with_and_without_a_blank_at_its_end),
		cmocka_unit_test(lines_that_are_none_are_refused_and_the_output_is_left_alone),
		cmocka_unit_test(the_start_of_a_process_is_read_whatever_its_name),
		cmocka_unit_test(a_stat_that_is_cut_short_is_refused),
		cmocka_unit_test(a_range_inside_another_splits_it),
		cmocka_unit_test(
			a_range_over_several_cuts_the_outer_ones_and_removes_the_inner_ones),
		cmocka_unit_test(a_range_without_a_module_only_cuts),
		cmocka_unit_test(neighbours_that_go_on_become_one_and_others_do_not),
		cmocka_unit_test(an_address_is_found_in_its_range_alone),
		cmocka_unit_test(addresses_that_the_tables_cannot_hold_are_refused),
		cmocka_unit_test(the_first_251_are_what_the_kernel_half_gets),
		cmocka_unit_test(many_ranges_at_random_agree_with_a_map_of_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
