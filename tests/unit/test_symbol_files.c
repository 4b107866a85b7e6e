/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stripped programs, and the files that have what was stripped. */
#include "symbols.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "symbol/image.h"

#define SUBJECT SUBJECTS "/chain5"

static struct symbol_chain chain;

struct place {
	char folder[64];
	char program[128]; /* stripped */
	char debug[128];   /* what was stripped */
	char build_id[64];
	uint64_t address; /* of the static function `plain` */
};

static void read_build_id(const char *path, char *ret, size_t size)
{
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "readelf -n '%s' | sed -n 's/.*Build ID: //p' | tr -d '\\n'", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(ret, (int)size, pipe));
	pclose(pipe);
}

static void make_place(struct place *place, const char *subject, const char *function)
{
	snprintf(place->folder, sizeof(place->folder), "/tmp/test_symbol_XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->program, sizeof(place->program), "%s/program", place->folder);
	snprintf(place->debug, sizeof(place->debug), "%s/program.debug", place->folder);
	shell("objcopy --only-keep-debug %s %s", subject, place->debug);
	shell("objcopy --strip-all %s %s", subject, place->program);
	read_build_id(subject, place->build_id, sizeof(place->build_id));
	place->address = look_up(subject, function).st_value;
}

static int make(void **state)
{
	*state = calloc(1, sizeof(struct place));
	make_place(*state, SUBJECT, "plain");
	return 0;
}

static int unmake(void **state)
{
	struct place *place = *state;

	shell("rm -r %s", place->folder);
	free(place);
	return 0;
}

/* What is known about `plain`: nothing, its name, or its line too. */
enum known { NOTHING, NAME, LINE };
static enum known known_of(struct symbols *symbols, const char *root, const struct place *place,
			   const char *path)
{
	ask(symbols, root, path, place->address, &chain);
	if (!chain.count)
		return NOTHING;
	assert_string_equal(chain.frames[0].name, "plain");
	if (!chain.frames[0].line)
		return NAME;
	assert_int_equal(chain.frames[0].start_line, 24);
	return LINE;
}

static void assert_known(enum known expected, const char *root, const struct place *place,
			 const char *path)
{
	struct symbols *symbols = new_symbols();

	assert_int_equal(known_of(symbols, root, place, path), expected);
	symbols__free(symbols);
}

static void what_was_stripped_is_not_known(void **state)
{
	const struct place *place = *state;

	assert_known(NOTHING, "", place, place->program);
}

static void a_packed_table_has_names(void **state)
{
	const struct place *place = *state;
	const char *in = place->folder;

	shell("cd %s && objcopy --strip-debug %s table && xz table", in, SUBJECT);
	shell("cd %s && objcopy --add-section .gnu_debugdata=table.xz program", in);
	assert_known(NAME, "", place, place->program);
}

static void a_broken_packed_table_has_none(void **state)
{
	const struct place *place = *state;
	const char *in = place->folder;

	shell("cd %s && objcopy --strip-debug %s table && xz table", in, SUBJECT);
	shell("cd %s && truncate -s -100 table.xz", in);
	shell("cd %s && objcopy --add-section .gnu_debugdata=table.xz program", in);
	assert_known(NOTHING, "", place, place->program);
	/* 300 MB of zeroes in 45 kB */
	shell("cd %s && rm -f table* && head -c 300M /dev/zero | xz -1 >table.xz", in);
	shell("cd %s && objcopy --update-section .gnu_debugdata=table.xz program", in);
	assert_known(NOTHING, "", place, place->program);
}

static void a_debug_file_is_found_by_build_id_below_the_root_of_the_process(void **state)
{
	const struct place *place = *state;
	const char *id = place->build_id;

	shell("mkdir -p %s/usr/lib/debug/.build-id/%.2s", place->folder, id);
	shell("mv %s %s/usr/lib/debug/.build-id/%.2s/%s.debug", place->debug, place->folder, id,
	      id + 2);
	assert_known(NOTHING, "", place, place->program);
	assert_known(LINE, place->folder, place, "/program");
}

static void a_debug_file_of_another_build_is_refused(void **state)
{
	const struct place *place = *state;
	const char *id = place->build_id;

	shell("mkdir -p %s/usr/lib/debug/.build-id/%.2s", place->folder, id);
	shell("objcopy --only-keep-debug %s/chain4 %s/usr/lib/debug/.build-id/%.2s/%s.debug",
	      SUBJECTS, place->folder, id, id + 2);
	assert_known(NOTHING, place->folder, place, "/program");
}

static void a_debug_file_is_found_by_link_in_its_three_places(void **state)
{
	const struct place *place = *state;
	const char *in = place->folder;

	shell("cd %s && objcopy --add-gnu-debuglink=program.debug program", in);
	assert_known(LINE, "", place, place->program);
	shell("cd %s && mkdir .debug && mv program.debug .debug", in);
	assert_known(LINE, "", place, place->program);
	shell("cd %s && mkdir -p usr/lib/debug/bin && mv .debug/* usr/lib/debug/bin", in);
	shell("cd %s && mkdir bin && mv program bin", in);
	assert_known(LINE, in, place, "/bin/program");
	/* As it is with merged /usr: the link leads nowhere from our own root. */
	shell("cd %s && ln -s /bin sbin && mv usr/lib/debug/bin usr/lib/debug/sbin", in);
	assert_known(LINE, in, place, "/sbin/program");
}

static void a_link_without_build_id_counts_if_the_checksum_agrees(void **state)
{
	const struct place *place = *state;
	const char *in = place->folder;

	shell("cd %s && objcopy --remove-section .note.gnu.build-id program.debug", in);
	shell("cd %s && objcopy --remove-section .note.gnu.build-id "
	      "--add-gnu-debuglink=program.debug program",
	      in);
	assert_known(LINE, "", place, place->program);
	shell("cd %s && printf x >>program.debug", in);
	assert_known(NOTHING, "", place, place->program);
}

static void a_server_is_asked_unless_that_is_off(void **state)
{
	const struct place *place = *state;
	struct symbols_options options = {};
	struct symbols *symbols;

	shell("mkdir -p %s/buildid/%s && mv %s %s/buildid/%s/debuginfo", place->folder,
	      place->build_id, place->debug, place->folder, place->build_id);
	for (int i = 0; i < 2; i++) {
		char text[128];

		snprintf(text, sizeof(text), "file://%s", place->folder);
		setenv("DEBUGINFOD_URLS", text, 1);
		snprintf(text, sizeof(text), "%s/cache", place->folder);
		setenv("DEBUGINFOD_CACHE_PATH", text, 1);
		options.no_debuginfod = i == 0;
		assert_int_equal(symbols__new(&options, &symbols), 0);
		assert_int_equal(known_of(symbols, "", place, place->program),
				 i == 0 ? NOTHING : LINE);
		symbols__free(symbols);
	}
	unsetenv("DEBUGINFOD_URLS");
}

static void parts_that_debug_files_share_are_found(void **state)
{
	struct place place = {};
	struct symbols *symbols = new_symbols();

	make_place(&place, SUBJECTS "/cxx4", "main");
	shell("cd %s && cp %s/cxx4 one && cp one two && objcopy -R .note.gnu.build-id two",
	      place.folder, SUBJECTS);
	shell("cd %s && dwz -m shared -M %s/shared one two", place.folder, place.folder);
	shell("cd %s && readelf -S one | grep -q gnu_debugaltlink", place.folder);
	shell("cd %s && mv one three", place.folder);
	snprintf(place.program, sizeof(place.program), "%s/three", place.folder);
	ask(symbols, "", place.program, place.address, &chain);
	assert_true(chain.count > 0);
	assert_string_equal(chain.frames[chain.count - 1].name, "main");
	assert_true(chain.frames[0].line > 0);
	symbols__free(symbols);
	/* Without them, the table is left. */
	shell("rm %s/shared", place.folder);
	symbols = new_symbols();
	ask(symbols, "", place.program, place.address, &chain);
	assert_int_equal(chain.count, 1);
	assert_string_equal(chain.frames[0].name, "main");
	assert_int_equal(chain.frames[0].line, 0);
	symbols__free(symbols);
	shell("rm -r %s", place.folder);
}

/* A copy in memory would be of no use. */
static bool has_disk(void)
{
	struct statfs info;

	assert_int_equal(statfs("/var/tmp", &info), 0);
	return info.f_type != TMPFS_MAGIC && info.f_type != RAMFS_MAGIC;
}

/* Asks for main, of a file with 5 MB more of debug information. */
static void assert_read(struct place *place, const char *file, bool from_copy)
{
	struct symbols *symbols = new_symbols();

	snprintf(place->program, sizeof(place->program), "%s/%s", place->folder, file);
	ask(symbols, "", place->program, place->address, &chain);
	assert_int_equal(image__copied_bytes() > 5000000, from_copy);
	assert_true(chain.count > 0);
	assert_string_equal(chain.frames[chain.count - 1].name, "main");
	assert_true(chain.frames[0].line > 0);
	symbols__free(symbols);
	assert_int_equal(image__copied_bytes(), 0);
}

static void debug_information_that_is_not_read_is_not_copied(void **state)
{
	struct place place = {};
	struct symbol_module module = { .fd = -1, .path = place.program, .root = "" };
	struct symbols *symbols = new_symbols();

	make_place(&place, SUBJECTS "/cxx5", "main");
	shell("cd %s && head -c 5000000 /dev/urandom >more", place.folder);
	shell("cd %s && objcopy --add-section .debug_types=more %s/cxx5 program", place.folder,
	      SUBJECTS);
	module.depth = SYMBOL_TABLES;
	assert_int_equal(symbols__in_module(symbols, &module, place.address, &chain), 0);
	assert_int_equal(image__copied_bytes(), 0);
	assert_int_equal(chain.count, 1);
	assert_string_equal(chain.frames[0].name, "main");
	assert_int_equal(chain.frames[0].line, 0);
	symbols__free(symbols);
	shell("rm -r %s", place.folder);
}

static void a_large_file_is_read_from_a_private_copy(void **state)
{
	struct place place = {};

	make_place(&place, SUBJECTS "/cxx5", "main");
	shell("cd %s && head -c 5000000 /dev/urandom >more", place.folder);
	shell("cd %s && objcopy --add-section .debug_types=more %s/cxx5 plain", place.folder,
	      SUBJECTS);
	shell("cd %s && objcopy --compress-debug-sections=zlib plain packed", place.folder);
	shell("cd %s && objcopy --compress-debug-sections=zlib-gnu plain old", place.folder);
	shell("cd %s && readelf -SW old | grep -q zdebug_info", place.folder);
	assert_read(&place, "plain", has_disk());
	assert_read(&place, "packed", has_disk());
	assert_read(&place, "old", false);
	shell("rm -r %s", place.folder);
}

static void assert_main(struct symbols *symbols, const struct place *place)
{
	ask(symbols, "", place->program, place->address, &chain);
	assert_true(chain.count > 0);
	assert_string_equal(chain.frames[chain.count - 1].name, "main");
	assert_true(chain.frames[0].line > 0);
}

static void files_that_were_closed_are_opened_again_and_counted_once(void **state)
{
	struct symbols *symbols = new_symbols();
	struct place place = {};
	uint64_t copied, plain = look_up(SUBJECT, "plain").st_value;

	make_place(&place, SUBJECTS "/cxx5", "main");
	shell("cd %s && head -c 5000000 /dev/urandom >more", place.folder);
	shell("cd %s && objcopy --add-section .debug_types=more %s/cxx5 program", place.folder,
	      SUBJECTS);
	for (int i = 0; i < 3; i++) {
		assert_main(symbols, &place);
		copied = image__copied_bytes();
		assert_int_equal(copied > 5000000, has_disk());
		/* The copy of the file that was used last is kept, until another one is used. */
		symbols__shrink(symbols, 0);
		assert_int_equal(image__copied_bytes(), copied);
		assert_main(symbols, &place);
		ask(symbols, "", SUBJECT, plain, &chain);
		assert_string_equal(chain.frames[0].name, "plain");
		assert_true(chain.frames[0].line > 0);
		ask(symbols, "", "/nonexistent", plain, &chain);
		symbols__shrink(symbols, 0);
		assert_int_equal(image__copied_bytes(), 0);
	}
	assert_int_equal(symbols__quality(symbols).modules, 3);
	assert_int_equal(symbols__quality(symbols).modules_failed, 1);
	assert_int_equal(symbols__quality(symbols).with_debug, 2);
	symbols__free(symbols);
	shell("rm -r %s", place.folder);
}

#define in_a_place(test) cmocka_unit_test_setup_teardown(test, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_a_place(what_was_stripped_is_not_known),
		in_a_place(a_packed_table_has_names),
		in_a_place(a_broken_packed_table_has_none),
		in_a_place(a_debug_file_is_found_by_build_id_below_the_root_of_the_process),
		in_a_place(a_debug_file_of_another_build_is_refused),
		in_a_place(a_debug_file_is_found_by_link_in_its_three_places),
		in_a_place(a_link_without_build_id_counts_if_the_checksum_agrees),
		in_a_place(a_server_is_asked_unless_that_is_off),
		cmocka_unit_test(parts_that_debug_files_share_are_found),
		cmocka_unit_test(debug_information_that_is_not_read_is_not_copied),
		cmocka_unit_test(a_large_file_is_read_from_a_private_copy),
		cmocka_unit_test(files_that_were_closed_are_opened_again_and_counted_once),
	};

	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
