/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Known answers about programs of ours. */
#include "symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "symbol/demangle.h"

static struct symbol_chain chain;

static void assert_frame(const struct symbol *frame, const char *name, uint32_t line,
			 uint32_t start_line)
{
	assert_string_equal(frame->name, name);
	assert_non_null(frame->file);
	assert_non_null(strstr(frame->file, "chain.c"));
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->start_line, start_line);
}

static void assert_chain_in(const char *path)
{
	struct symbols *symbols = new_symbols();
	GElf_Sym outermost = look_up(path, "outermost");
	int divisions = 0;

	for (uint64_t i = 0; i < outermost.st_size; i++) {
		ask(symbols, "", path, outermost.st_value + i, &chain);
		assert_true(chain.count >= 1 && chain.count <= 3);
		assert_string_equal(chain.frames[chain.count - 1].name, "outermost");
		if (chain.count != 3 || chain.frames[0].line != 9)
			continue;
		divisions++;
		assert_frame(&chain.frames[0], "innermost", 9, 7);
		assert_int_equal(chain.frames[0].source, NAME_DWARF);
		assert_frame(&chain.frames[1], "middle", 14, 12);
		assert_frame(&chain.frames[2], "outermost", 19, 17);
	}
	assert_true(divisions > 0);
	assert_int_equal(symbols__quality(symbols).modules, 1);
	assert_int_equal(symbols__quality(symbols).with_debug, 1);
	assert_int_equal(symbols__quality(symbols).addresses, outermost.st_size);
	assert_int_equal(symbols__quality(symbols).unnamed, 0);
	symbols__free(symbols);
}

static void inlined_functions_have_their_lines_and_those_of_their_calls(void **state)
{
	assert_chain_in(SUBJECTS "/chain4");
	assert_chain_in(SUBJECTS "/chain5");
}

static const char *name_at(struct symbols *symbols, const char *path, uint64_t address)
{
	ask(symbols, "", path, address, &chain);
	return chain.count ? chain.frames[chain.count - 1].name : NULL;
}

static void a_function_without_size_ends_where_the_next_begins(void **state)
{
	const char *path = SUBJECTS "/chain5";
	uint64_t start = look_up(path, "unsized_function").st_value;
	uint64_t next = look_up(path, "after_unsized").st_value;
	struct symbols *symbols = new_symbols();

	assert_int_equal(next - start, 5);
	for (uint64_t at = start; at < next; at++)
		assert_string_equal(name_at(symbols, path, at), "unsized_function");
	assert_string_equal(name_at(symbols, path, next), "after_unsized");
	assert_int_equal(chain.frames[0].source, NAME_SYMTAB);
	symbols__free(symbols);
}

static void an_indirect_function_counts_before_its_local_resolver(void **state)
{
	const char *path = SUBJECTS "/chain5";
	GElf_Sym symbol = look_up(path, "chosen");
	struct symbols *symbols = new_symbols();

	assert_int_equal(GELF_ST_TYPE(symbol.st_info), STT_GNU_IFUNC);
	assert_string_equal(name_at(symbols, path, symbol.st_value), "chosen");
	symbols__free(symbols);
}

static void what_is_no_code_has_no_name(void **state)
{
	const char *path = SUBJECTS "/chain5";
	struct symbols *symbols = new_symbols();

	assert_null(name_at(symbols, path, 0));
	assert_null(name_at(symbols, path, 64));
	assert_null(name_at(symbols, path, look_up(path, "chain_sink").st_value));
	assert_null(name_at(symbols, path, UINT64_MAX));
	assert_int_equal(symbols__quality(symbols).unnamed, 4);
	symbols__free(symbols);
}

static void a_file_that_cannot_be_read_costs_its_names_and_is_counted_once(void **state)
{
	struct symbols *symbols = new_symbols();

	for (int i = 0; i < 3; i++) {
		assert_null(name_at(symbols, "/nonexistent", 0x1000));
		assert_null(name_at(symbols, "/proc/self/status", 0x1000));
		assert_null(name_at(symbols, "/dev/zero", 0x1000));
	}
	assert_int_equal(symbols__quality(symbols).modules, 3);
	assert_int_equal(symbols__quality(symbols).modules_failed, 3);
	symbols__free(symbols);
}

/* A FIFO stands for a device here, since nobody else opens it. */
static void what_is_no_file_is_not_even_opened(void **state)
{
	char folder[] = "/tmp/test_symbol_XXXXXX", path[64], link[64];
	struct symbols *symbols = new_symbols();
	cleanup(close_p) int opens = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(symlink("fifo", link), 0);
	assert_true(inotify_add_watch(opens, path, IN_OPEN) >= 0);
	assert_null(name_at(symbols, path, 0x1000));
	assert_null(name_at(symbols, link, 0x1000));
	ask(symbols, folder, "/fifo", 0x1000, &chain);
	ask(symbols, folder, "/link", 0x1000, &chain);
	assert_int_equal(symbols__quality(symbols).modules_failed, 4);
	assert_int_equal(read(opens, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	unlink(link);
	unlink(path);
	rmdir(folder);
	symbols__free(symbols);
}

/* Copies `path` into a file in memory, up to `most` bytes. */
static int copy_of(const char *path, size_t most)
{
	static char bytes[1 << 20];
	cleanup(close_p) int from = open(path, O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("copy", MFD_CLOEXEC);
	ssize_t size = read(from, bytes, most < sizeof(bytes) ? most : sizeof(bytes));

	assert_true(fd >= 0 && size > 0);
	assert_int_equal(write(fd, bytes, (size_t)size), size);
	return fd;
}

static void a_file_without_a_path_is_read_through_its_descriptor(void **state)
{
	const char *path = SUBJECTS "/chain5";
	cleanup(close_p) int fd = copy_of(path, SIZE_MAX);
	const struct symbol_module module = { .fd = fd, .path = "/gone (deleted)", .root = "" };
	struct symbols *symbols = new_symbols();
	uint64_t address = look_up(path, "outermost").st_value;

	assert_int_equal(symbols__in_module(symbols, &module, address, &chain), 0);
	assert_string_equal(chain.frames[chain.count - 1].name, "outermost");
	symbols__free(symbols);
}

static void a_variable_is_named_with_the_way_into_it(void **state)
{
	const char *path = SUBJECTS "/chain5";
	const struct symbol_module module = { .fd = -1, .path = path, .root = "" };
	struct symbols *symbols = new_symbols();
	uint64_t address = look_up(path, "chain_sink").st_value, offset;
	const char *name;

	assert_int_equal(symbols__variable(symbols, &module, address, &name, &offset), 0);
	assert_string_equal(name, "chain_sink");
	assert_int_equal(offset, 0);
	assert_int_equal(symbols__variable(symbols, &module, address + 3, &name, &offset), 0);
	assert_string_equal(name, "chain_sink");
	assert_int_equal(offset, 3);
	/* What has no name, and what is code. */
	assert_int_equal(symbols__variable(symbols, &module, 1, &name, &offset), -ENOENT);
	address = look_up(path, "outermost").st_value;
	assert_int_equal(symbols__variable(symbols, &module, address, &name, &offset), -ENOENT);
	symbols__free(symbols);
}

static void a_file_that_was_cut_costs_names_only(void **state)
{
	const char *path = SUBJECTS "/chain5";
	uint64_t address = look_up(path, "outermost").st_value;
	struct stat stat_of;

	assert_int_equal(stat(path, &stat_of), 0);
	for (size_t size = 1; size < (size_t)stat_of.st_size; size += 61) {
		cleanup(close_p) int fd = copy_of(path, size);
		const struct symbol_module module = { .fd = fd, .path = path, .root = "" };
		struct symbols *symbols = new_symbols();
		const char *name;
		uint64_t offset;

		assert_int_equal(symbols__in_module(symbols, &module, address, &chain), 0);
		symbols__variable(symbols, &module, address, &name, &offset);
		symbols__free(symbols);
	}
}

static void a_file_that_shrinks_while_it_is_open_does_not_kill_us(void **state)
{
	const char *path = SUBJECTS "/chain5";
	cleanup(close_p) int fd = copy_of(path, SIZE_MAX);
	const struct symbol_module module = { .fd = fd, .path = path, .root = "" };
	struct symbols *symbols = new_symbols();
	uint64_t address = look_up(path, "outermost").st_value;

	assert_int_equal(symbols__in_module(symbols, &module, 0, &chain), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(symbols__in_module(symbols, &module, address, &chain), 0);
	symbols__free(symbols);
}

/* Makes the tables of a kind 1 GB of nothing. */
static void inflate(int fd, uint32_t type)
{
	const off_t much = 1L << 30;
	Elf64_Ehdr header;
	off_t at;

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	at = (off_t)header.e_shoff;
	for (int i = 0; i < header.e_shnum; i++, at += (off_t)sizeof(Elf64_Shdr)) {
		Elf64_Shdr section;

		assert_int_equal(pread(fd, &section, sizeof(section), at), sizeof(section));
		if (section.sh_type != type)
			continue;
		section.sh_size = (uint64_t)much;
		assert_int_equal(pwrite(fd, &section, sizeof(section), at), sizeof(section));
	}
	assert_int_equal(ftruncate(fd, much + (1 << 20)), 0);
}

static void a_hole_that_claims_to_be_a_table_costs_no_memory(void **state)
{
	const char *path = SUBJECTS "/chain5";
	uint64_t address = look_up(path, "outermost").st_value;
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	for (uint32_t type = SHT_SYMTAB; type <= SHT_STRTAB; type++) {
		cleanup(close_p) int fd = copy_of(path, SIZE_MAX);
		const struct symbol_module module = { .fd = fd, .path = path, .root = "" };
		struct symbols *symbols = new_symbols();

		inflate(fd, type);
		assert_int_equal(symbols__in_module(symbols, &module, address, &chain), 0);
		symbols__free(symbols);
	}
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 100000);
}

static void the_vdso_has_names(void **state)
{
	struct symbols *symbols = new_symbols();
	int found = 0;

	for (uint64_t address = 0; address < 16384; address++) {
		assert_int_equal(symbols__in_vdso(symbols, address, &chain), 0);
		found += chain.count && strstr(chain.frames[0].name, "clock_gettime") &&
			 chain.frames[0].source == NAME_DYNSYM;
	}
	assert_true(found > 0);
	symbols__free(symbols);
}

static void the_kernel_has_names_if_it_shows_its_addresses(void **state)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/kallsyms", "re");
	struct symbols *symbols = new_symbols();
	unsigned long long address = 0;
	char type, name[256] = "", line[1024];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 &&
		    (type == 'T' || type == 't') && !strcmp(name, "do_exit"))
			break;
	if (!address || strcmp(name, "do_exit")) {
		print_message("# skip: /proc/kallsyms hides its addresses\n");
		symbols__free(symbols);
		skip();
	}
	assert_int_equal(symbols__in_kernel(symbols, address + 1, &chain), 0);
	assert_int_equal(chain.count, 1);
	assert_string_equal(chain.frames[0].name, "do_exit");
	assert_int_equal(chain.frames[0].source, NAME_KALLSYMS);
	assert_int_equal(symbols__in_kernel(symbols, 0x1000, &chain), 0);
	assert_int_equal(chain.count, 0);
	symbols__free(symbols);
}

static void assert_shown(const char *name, const char *expected)
{
	struct map cache = {};
	const char *shown = demangle__show(&cache, name);

	assert_string_equal(shown, expected);
	assert_ptr_equal(demangle__show(&cache, name), shown);
	demangle__release(&cache);
}

static void names_are_shown_as_they_were_written(void **state)
{
	assert_shown("main", "main");
	assert_shown("_ZN2ns3boxIiE3farEv", "ns::box<int>::far()");
	assert_shown("_ZN2ns3boxIiE3farEv.cold", "ns::box<int>::far() [clone .cold]");
	assert_shown("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		     "core::fmt::Write::write_fmt");
	assert_shown("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	assert_shown("memcpy@@GLIBC_2.14", "memcpy");
	assert_shown("_ZN2ns3boxIiE3farEv@@VERS_1", "ns::box<int>::far()");
	assert_shown("_Znonsense@VERS_1", "_Znonsense");
	assert_shown("@odd", "@odd");
	assert_shown("_Znonsense", "_Znonsense");
	assert_shown("", "");
}

/* f(A<…>, …): each argument twice the one before it, by reference to it. */
static void a_short_name_that_stands_for_gigabytes_stays_as_it_is(void **state)
{
	char name[1024] = "_Z1f1AIiiE";

	for (int i = 0; i < 30; i++) {
		char more[32], digit[3] = "_";

		/* S_ is A, S0_ is A<int, int>, S1_ is A<S0_, S0_> and so on, to base 36 */
		if (i < 36)
			snprintf(digit, sizeof(digit), "%c_", i < 10 ? '0' + i : 'A' + i - 10);
		snprintf(more, sizeof(more), "S_IS%sS%sE", digit, digit);
		strcat(name, more);
	}
	assert_shown(name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_have_their_lines_and_those_of_their_calls),
		cmocka_unit_test(a_function_without_size_ends_where_the_next_begins),
		cmocka_unit_test(an_indirect_function_counts_before_its_local_resolver),
		cmocka_unit_test(what_is_no_code_has_no_name),
		cmocka_unit_test(a_file_that_cannot_be_read_costs_its_names_and_is_counted_once),
		cmocka_unit_test(what_is_no_file_is_not_even_opened),
		cmocka_unit_test(a_file_without_a_path_is_read_through_its_descriptor),
		cmocka_unit_test(a_variable_is_named_with_the_way_into_it),
		cmocka_unit_test(a_file_that_was_cut_costs_names_only),
		cmocka_unit_test(a_file_that_shrinks_while_it_is_open_does_not_kill_us),
		cmocka_unit_test(a_hole_that_claims_to_be_a_table_costs_no_memory),
		cmocka_unit_test(the_vdso_has_names),
		cmocka_unit_test(the_kernel_has_names_if_it_shows_its_addresses),
		cmocka_unit_test(names_are_shown_as_they_were_written),
		cmocka_unit_test(a_short_name_that_stands_for_gigabytes_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
