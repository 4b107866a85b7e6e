/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names through a helper: of ordinary files as without it, of hostile ones none, and counted. */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elfcheck.h"
#include "symbol/namer.h"
#include "symbol/namer_wire.h"

#define MEMORY_BYTES (192UL << 20)

static char folder[] = "/tmp/test_namer_XXXXXX";

struct taken {
	int count;
	char name[64];
};

static int take(void *context, size_t index, const struct symbol_chain *chain, uint64_t offset)
{
	struct taken *taken = context;

	assert_int_equal(index, 0);
	taken->count++;
	snprintf(taken->name, sizeof(taken->name), "%s",
		 chain->frames[chain->count - 1].system_name);
	return 0;
}

static struct namer *new_namer(void)
{
	const struct namer_options options = { .no_debuginfod = true,
					       .memory_bytes = MEMORY_BYTES };
	struct namer *namer;

	assert_int_equal(namer__new(&options, &namer), 0);
	return namer;
}

/* The name at an address, "" if there is none. */
static struct taken name_at(struct namer *namer, const char *path, uint64_t key, uint64_t address)
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct namer_question question = {
		.kind = NAMER_MODULE,
		.module = { .key = key, .fd = fd, .path = path, .root = "" },
		.addresses = &address,
		.count = 1,
	};
	struct taken taken = {};

	assert_true(fd >= 0);
	assert_int_equal(namer__ask(namer, &question, take, &taken), 0);
	return taken;
}

static void names_are_those_that_symbols_give(void **state)
{
	struct symbols *symbols = new_symbols();
	struct namer *namer = new_namer();
	GElf_Sym symbol = look_up(SUBJECTS "/c5", "main");
	struct symbol_chain chain;
	struct taken taken;

	for (uint64_t at = symbol.st_value; at < symbol.st_value + symbol.st_size; at++) {
		ask(symbols, "", SUBJECTS "/c5", at, &chain);
		taken = name_at(namer, SUBJECTS "/c5", 1, at);
		assert_int_equal(taken.count, 1);
		assert_string_equal(taken.name, chain.frames[chain.count - 1].system_name);
	}
	assert_int_equal(namer__quality(namer).refused, 0);
	assert_int_equal(namer__quality(namer).without_debug, 0);
	assert_int_equal(namer__quality(namer).too_large, 0);
	namer__free(namer);
	symbols__free(symbols);
}

/* A copy of the subject in which something is claimed; the file is long enough for it. */
static void make(const char *path,
		 void (*change)(Elf64_Ehdr *head, Elf64_Shdr *sections, const char *names))
{
	cleanup(free_p) char *bytes = malloc(16 << 20);
	FILE *file = fopen(SUBJECTS "/c5", "re");
	Elf64_Ehdr *head = (void *)bytes;
	Elf64_Shdr *sections;
	size_t size;

	if (!file || !bytes) {
		fail();
		return;
	}
	size = fread(bytes, 1, 16 << 20, file);
	assert_true(size > sizeof(*head) && size < 16 << 20);
	fclose(file);
	sections = (void *)(bytes + head->e_shoff);
	change(head, sections, bytes + sections[head->e_shstrndx].sh_offset);
	file = fopen(path, "we");
	if (!file) {
		fail();
		return;
	}
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(truncate(path, 3L << 30), 0);
}

static void claim(Elf64_Ehdr *head, Elf64_Shdr *sections, const char *names, const char *name,
		  uint64_t bytes)
{
	for (int i = 0; i < head->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, name) != 0)
			continue;
		sections[i].sh_offset = 16 << 20;
		sections[i].sh_size = bytes;
		sections[i].sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	}
}

static void claim_symbols(Elf64_Ehdr *head, Elf64_Shdr *sections, const char *names)
{
	claim(head, sections, names, ".symtab", (400UL << 20) / 24 * 24);
	claim(head, sections, names, ".debug_info", 1UL << 30);
}

static void claim_debug(Elf64_Ehdr *head, Elf64_Shdr *sections, const char *names)
{
	claim(head, sections, names, ".debug_info", 1UL << 30);
}

static void claim_sections(Elf64_Ehdr *head, Elf64_Shdr *sections, const char *names)
{
	head->e_shnum = 0;
	sections[0].sh_size = 30000000;
}

static void files_for_the_other_byte_order_are_refused(void **state)
{
	Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 } };

	head.e_ident[EI_DATA] = ELFDATA2LSB;
	assert_int_equal(elfcheck__sections_of(&head, sizeof(head)), 0);
	head.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(elfcheck__sections_of(&head, sizeof(head)), -ENOEXEC);
}

static void hostile_files_cost_their_own_names_and_are_counted(void **state)
{
	struct namer *namer = new_namer();
	GElf_Sym symbol = look_up(SUBJECTS "/c5", "main");
	char path[64];

	snprintf(path, sizeof(path), "%s/symbols", folder);
	make(path, claim_symbols);
	assert_int_equal(name_at(namer, path, 1, symbol.st_value).count, 0);
	assert_int_equal(namer__quality(namer).refused, 1);
	/* Once: it is not tried again. */
	assert_int_equal(name_at(namer, path, 1, symbol.st_value).count, 0);
	assert_int_equal(namer__quality(namer).refused, 1);

	snprintf(path, sizeof(path), "%s/sections", folder);
	make(path, claim_sections);
	assert_int_equal(name_at(namer, path, 2, symbol.st_value).count, 0);
	assert_int_equal(namer__quality(namer).too_large, 1);

	/* Names are in the symbol table still. */
	snprintf(path, sizeof(path), "%s/debug", folder);
	make(path, claim_debug);
	assert_string_equal(name_at(namer, path, 3, symbol.st_value).name, "main");
	assert_int_equal(namer__quality(namer).without_debug, 1);

	assert_string_equal(name_at(namer, SUBJECTS "/c5", 4, symbol.st_value).name, "main");
	namer__free(namer);
}

/* A file that nobody could read for lack of descriptors is whole as soon as there are some. */
static void a_helper_that_cannot_be_started_costs_no_file_its_depth(void **state)
{
	struct namer *namer = new_namer();
	uint64_t address = look_up(SUBJECTS "/c5", "main").st_value;
	cleanup(close_p) int fd = open(SUBJECTS "/c5", O_RDONLY | O_CLOEXEC);
	const struct namer_question question = {
		.kind = NAMER_MODULE,
		.module = { .key = 1, .fd = fd, .path = SUBJECTS "/c5", .root = "" },
		.addresses = &address,
		.count = 1,
	};
	struct rlimit limit, none = {};
	struct taken taken = {};
	int err;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = namer__ask(namer, &question, take, &taken);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(err, 0);
	assert_int_equal(taken.count, 0);
	assert_int_equal(namer__quality(namer).refused, 1);
	assert_int_equal(namer__ask(namer, &question, take, &taken), 0);
	assert_string_equal(taken.name, "main");
	assert_int_equal(namer__quality(namer).refused, 1);
	assert_int_equal(namer__quality(namer).without_debug, 0);
	namer__free(namer);
}

static void answers_that_are_cut_are_refused(void **state)
{
	const struct symbol_chain chain = { .count = 2,
					    .frames = { { .name = "a", .system_name = "b" },
							{ .name = "c",
							  .system_name = "c",
							  .file = "d",
							  .line = 7,
							  .source = NAME_DYNSYM } } };
	struct symbol_chain got;
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);
	uint64_t offset;

	namer_wire__put_chain(out, &chain, 9);
	assert_int_equal(fclose(out), 0);
	for (size_t cut = 0; cut <= size; cut++) {
		const char *at = bytes;
		int err = namer_wire__get_chain(&at, bytes + cut, &got, &offset);

		assert_int_equal(err, cut == size ? 0 : -EBADMSG);
	}
	assert_int_equal(got.count, 2);
	assert_int_equal(offset, 9);
	assert_string_equal(got.frames[0].system_name, "b");
	assert_string_equal(got.frames[1].file, "d");
	assert_int_equal(got.frames[1].line, 7);
	assert_int_equal(got.frames[0].source, NAME_UNKNOWN);
	assert_int_equal(got.frames[1].source, NAME_DYNSYM);
	free(bytes);
}

static int set_up(void **state)
{
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int tear_down(void **state)
{
	shell("rm -r %s", folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_that_symbols_give),
		cmocka_unit_test(files_for_the_other_byte_order_are_refused),
		cmocka_unit_test(hostile_files_cost_their_own_names_and_are_counted),
		cmocka_unit_test(a_helper_that_cannot_be_started_costs_no_file_its_depth),
		cmocka_unit_test(answers_that_are_cut_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
