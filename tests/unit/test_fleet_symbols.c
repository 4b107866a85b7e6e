/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for code of a fleet: the same as those of a recording, and only from the right file. */
#include "../harness.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "agent/kernel_code.h"
#include "fleet.h"
#include "fleet/symbolizer.h"
#include "symbol/image.h"
#include "symbol/namer.h"
#include "symbols.h"

/* This program has the symbols of a kernel. */
__asm__(".pushsection .text.unlikely, \"ax\"\n"
	".globl _text\n_text: nop\n"
	".globl _stext\n_stext: nop\n"
	".popsection");

static char path[512], build_id[BUILD_ID_TEXT_BYTES];
static uint64_t address; /* in this program */

static int find_self(void **state)
{
	struct image *image = NULL;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(length > 0);
	path[length] = '\0';
	assert_int_equal(image__open(open(path, O_RDONLY | O_CLOEXEC), &image), 0);
	assert_int_equal(image__build_id(image, build_id), 0);
	image__close(image);
	address = look_up(path, "find_self").st_value + 4;
	return 0;
}

static int note_names(void *context, size_t index, const struct symbol_chain *chain,
		      uint64_t offset)
{
	char *text = context;

	for (int i = 0; i < chain->count; i++)
		sprintf(text + strlen(text), "%s'%s'", i ? "," : "", chain->frames[i].name);
	return 0;
}

/* As a recording names the address: by the open file. */
static void name_locally(char *ret)
{
	const struct namer_options options = { .no_debuginfod = true };
	struct namer_question question = {
		.kind = NAMER_MODULE,
		.module = { .key = 1, .fd = -1, .path = path, .root = "" },
		.addresses = &address,
		.count = 1
	};
	struct namer *namer = NULL;

	*ret = '\0';
	assert_int_equal(namer__new(&options, &namer), 0);
	assert_int_equal(namer__ask(namer, &question, note_names, ret), 0);
	namer__free(namer);
	assert_non_null(strstr(ret, "find_self"));
}

struct scripted {
	struct fleet_store store;
	char modules[1024], places[256];
	struct fleet_line lines[8];
};

/* A store that wants names for two places. */
static void script_places(struct scripted *scripted, const char *id, const char *kind,
			  const char *where, uint64_t offset)
{
	*scripted = (struct scripted) {};
	snprintf(scripted->modules, sizeof(scripted->modules), "7\t%s\t%s\t%s\n", id, kind, where);
	snprintf(scripted->places, sizeof(scripted->places), "7\t%" PRIu64 "\n7\t%" PRIu64 "\n",
		 offset, UINT64_MAX - 1);
	memcpy(scripted->lines,
	       (struct fleet_line[]) { FLEET_ABOUT,
				       { "SELECT module, argMax", scripted->modules, 0 },
				       { "SELECT DISTINCT m, o", scripted->places, 0 },
				       { "INSERT INTO", "", 0 } },
	       4 * sizeof(struct fleet_line));
	scripted->store.script = scripted->lines;
}

/* For this program, under another build-id or path if given. */
static void script_store(struct scripted *scripted, const char *id, const char *where)
{
	script_places(scripted, id, "file", where, address);
}

static struct symbolizer_result run_with(struct scripted *scripted, const char *directory,
					 bool no_debuginfod, struct connection **ret)
{
	const char *const directories[] = { directory, NULL };
	const struct symbolizer_options options = { .directories = directories,
						    .part = 0,
						    .parts = 1,
						    .no_debuginfod = no_debuginfod,
						    .now_s = 1794943980 };
	struct symbolizer_result result = {};

	*ret = fleet_open(&scripted->store);
	assert_int_equal(symbolizer__run(*ret, &options, NULL, &result), 0);
	return result;
}

static struct symbolizer_result run(struct scripted *scripted, const char *directory,
				    struct connection **ret)
{
	return run_with(scripted, directory, true, ret);
}

static void names_are_those_of_a_recording(void **state)
{
	char names[1024], row[2048];
	struct connection *connection;
	struct symbolizer_result result;
	struct scripted scripted;

	name_locally(names);
	script_store(&scripted, build_id, path);
	result = run(&scripted, NULL, &connection);
	assert_int_equal(result.named, 1);
	assert_int_equal(result.places, 2);
	snprintf(row, sizeof(row), "(7,%" PRIu64 ",[%s],[", address, names);
	assert_non_null(strstr(fleet_asked(&scripted.store, "INSERT INTO gapless.symbols "), row));
	/* What has no name is not asked for again. */
	assert_non_null(strstr(fleet_asked(&scripted.store, "INSERT INTO gapless.symbols "),
			       "(7,18446744073709551614,[],[],[],"));
	assert_non_null(strstr(fleet_asked(&scripted.store, "symbols_state (module"), "'ready'"));
	fleet_close(&scripted.store, connection);
}

struct folder {
	char name[32], ids[64], part[96], file[512];
};

/* A folder that has this program by its build-id. */
static void make_folder(struct folder *folder)
{
	snprintf(folder->name, sizeof(folder->name), "/tmp/test_fleet_XXXXXX");
	assert_non_null(mkdtemp(folder->name));
	snprintf(folder->ids, sizeof(folder->ids), "%s/.build-id", folder->name);
	assert_int_equal(mkdir(folder->ids, 0700), 0);
	snprintf(folder->part, sizeof(folder->part), "%s/%.2s", folder->ids, build_id);
	assert_int_equal(mkdir(folder->part, 0700), 0);
	snprintf(folder->file, sizeof(folder->file), "%s/%s.debug", folder->part, build_id + 2);
	assert_int_equal(link(path, folder->file) && symlink(path, folder->file), 0);
}

static void remove_folder(const struct folder *folder)
{
	unlink(folder->file);
	rmdir(folder->part);
	rmdir(folder->ids);
	rmdir(folder->name);
}

static void a_file_is_found_by_build_id_in_a_folder(void **state)
{
	struct connection *connection;
	struct scripted scripted;
	struct folder folder;

	make_folder(&folder);
	script_store(&scripted, build_id, "/nowhere/program");
	assert_int_equal(run(&scripted, folder.name, &connection).named, 1);
	fleet_close(&scripted.store, connection);
	remove_folder(&folder);
}

/* What an agent reads on a machine whose kernel was moved by this much. */
static void read_kallsyms(struct kernel_code_part *ret, bool with_text, uint64_t moved)
{
	char text[512];
	FILE *file;

	snprintf(text, sizeof(text),
		 "%016" PRIx64 " T %s\n%016" PRIx64 " T _stext\n%016" PRIx64 " t find_self\n"
		 "%016" PRIx64 " T _etext\n",
		 look_up(path, "_text").st_value + moved, with_text ? "_text" : "other",
		 look_up(path, "_stext").st_value + moved, address - 4 + moved,
		 address + 4096 + moved);
	file = fmemopen(text, strlen(text), "r");
	assert_int_equal(kernel_code__parse_symbols(file, ret), 0);
	fclose(file);
}

static void the_kernel_is_named_wherever_it_was_loaded(void **state)
{
	static const uint64_t moved = UINT64_C(0xffffffff92000000);
	char names[1024], row[2048];
	struct connection *connection;
	struct scripted scripted;
	struct folder folder;

	name_locally(names);
	make_folder(&folder);
	for (int with_text = 0; with_text < 2; with_text++) {
		struct kernel_code_part part;
		uint64_t offset;

		read_kallsyms(&part, with_text, moved);
		offset = address + moved - part.begin;
		assert_true(offset < address);
		script_places(&scripted, build_id, "kernel", part.name, offset);
		assert_int_equal(run(&scripted, folder.name, &connection).named, 1);
		/* The place keeps the offset that the agent sent. */
		snprintf(row, sizeof(row), "(7,%" PRIu64 ",[%s],[", offset, names);
		assert_non_null(
			strstr(fleet_asked(&scripted.store, "INSERT INTO gapless.symbols "), row));
		fleet_close(&scripted.store, connection);
	}
	remove_folder(&folder);
}

static void modules_of_the_kernel_are_counted_and_get_no_wrong_names(void **state)
{
	struct symbolizer_result result;
	struct connection *connection;
	struct scripted scripted;
	struct folder folder;

	make_folder(&folder);
	script_places(&scripted, build_id, "kernel", "ext4.ko", address);
	result = run(&scripted, folder.name, &connection);
	assert_int_equal(result.named, 0);
	assert_int_equal(result.kernel_modules, 1);
	assert_int_equal(result.absent, 0);
	fleet_close(&scripted.store, connection);
	remove_folder(&folder);
}

static void a_file_with_another_build_id_gives_no_names(void **state)
{
	struct connection *connection;
	struct symbolizer_result result;
	struct scripted scripted;

	script_store(&scripted, "00112233445566778899aabbccddeeff00112233", path);
	result = run(&scripted, NULL, &connection);
	assert_int_equal(result.named, 0);
	assert_int_equal(result.absent, 1);
	assert_non_null(strstr(fleet_asked(&scripted.store, "symbols_state (module"), "'absent'"));
	/* Its places do not take the room of others at the next run. */
	assert_non_null(
		strstr(fleet_asked(&scripted.store, "SELECT DISTINCT m, o"),
		       "m GLOBAL NOT IN (SELECT module FROM gapless.symbols_state FINAL WHERE "
		       "(symbols = 'absent'"));
	fleet_close(&scripted.store, connection);
}

/* With a server at this URL, for a program that it does not have. */
static struct symbolizer_result run_server(struct scripted *scripted, const char *url,
					   struct connection **ret)
{
	char cache[] = "/tmp/test_fleet_XXXXXX", command[128];
	struct symbolizer_result result;

	assert_non_null(mkdtemp(cache));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	setenv("DEBUGINFOD_RETRY_LIMIT", "1", 1);
	script_store(scripted, "00112233445566778899aabbccddeeff00112233", "/nowhere/program");
	result = run_with(scripted, NULL, false, ret);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	snprintf(command, sizeof(command), "rm -r %s", cache);
	assert_int_equal(system(command), 0);
	return result;
}

static void a_file_is_absent_only_if_the_server_says_so(void **state)
{
	struct symbolizer_result result;
	struct connection *connection;
	struct scripted scripted;

	result = run_server(&scripted, "file:///tmp/nowhere", &connection);
	assert_int_equal(result.absent, 1);
	assert_int_equal(result.failed, 0);
	assert_non_null(strstr(fleet_asked(&scripted.store, "symbols_state (module"), "'absent'"));
	fleet_close(&scripted.store, connection);
}

static void a_server_that_cannot_be_reached_does_not_make_files_absent(void **state)
{
	struct symbolizer_result result;
	struct connection *connection;
	struct scripted scripted;

	/* Nothing listens there. */
	result = run_server(&scripted, "http://127.0.0.1:9", &connection);
	assert_int_equal(result.absent, 0);
	assert_int_equal(result.failed, 1);
	assert_non_null(strstr(fleet_asked(&scripted.store, "symbols_state (module"), "'failed'"));
	/* It is not asked for again at once, and not a day later. */
	assert_non_null(strstr(fleet_asked(&scripted.store, "SELECT DISTINCT m, o"),
			       "OR (symbols = 'failed' AND ver > toDateTime(1794942180))"));
	fleet_close(&scripted.store, connection);
}

static void only_modules_with_places_are_asked_for(void **state)
{
	struct connection *connection;
	struct scripted scripted;

	script_store(&scripted, build_id, path);
	run(&scripted, NULL, &connection);
	assert_non_null(strstr(fleet_asked(&scripted.store, "SELECT module, argMax"),
			       "FROM gapless.modules WHERE module IN (7) GROUP BY module"));
	fleet_close(&scripted.store, connection);
	/* And none if there are no places. */
	script_store(&scripted, build_id, path);
	*scripted.places = '\0';
	assert_int_equal(run(&scripted, NULL, &connection).modules, 0);
	for (size_t i = 0; i < scripted.store.count; i++)
		assert_null(strstr(scripted.store.asked[i], "argMax"));
	fleet_close(&scripted.store, connection);
}

static void hostile_build_ids_are_no_paths(void **state)
{
	struct connection *connection;
	struct scripted scripted;

	script_store(&scripted, "../../../../etc/passwd", path);
	assert_int_equal(run(&scripted, "/", &connection).named, 0);
	fleet_close(&scripted.store, connection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_a_recording),
		cmocka_unit_test(a_file_is_found_by_build_id_in_a_folder),
		cmocka_unit_test(the_kernel_is_named_wherever_it_was_loaded),
		cmocka_unit_test(modules_of_the_kernel_are_counted_and_get_no_wrong_names),
		cmocka_unit_test(a_file_with_another_build_id_gives_no_names),
		cmocka_unit_test(a_file_is_absent_only_if_the_server_says_so),
		cmocka_unit_test(a_server_that_cannot_be_reached_does_not_make_files_absent),
		cmocka_unit_test(only_modules_with_places_are_asked_for),
		cmocka_unit_test(hostile_build_ids_are_no_paths),
	};

	return cmocka_run_group_tests(tests, find_self, NULL);
}
