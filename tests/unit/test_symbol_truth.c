/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random addresses of programs in C, C++ and Rust: functions, inlined functions and lines are those
 * that llvm-symbolizer finds.
 */
#include "../harness.h"

#include <fcntl.h>
#include <gelf.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/symbol.h"

#define ADDRESSES 2000

struct text {
	uint64_t start, size;
};

static struct text text_of(int fd)
{
	struct text text = {};
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	/* The largest section with code is .text. */
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR &&
		    header.sh_size > text.size)
			text = (struct text) { header.sh_addr, header.sh_size };
	elf_end(elf);
	assert_true(text.size > 0);
	return text;
}

static FILE *ask_llvm(const char *path, const uint64_t *addresses)
{
	char questions[] = "/tmp/test_symbol_XXXXXX", command[1024];
	int fd = mkstemp(questions);
	FILE *file = fdopen(fd, "w"), *answers;

	assert_non_null(file);
	for (int i = 0; i < ADDRESSES; i++)
		fprintf(file, "0x%llx\n", (unsigned long long)addresses[i]);
	fclose(file);
	snprintf(
		command, sizeof(command),
		"llvm-symbolizer-19 --obj='%s' --inlines --no-demangle --output-style=JSON <%s; rm %s",
		path, questions, questions);
	answers = popen(command, "r");
	assert_non_null(answers);
	return answers;
}

static const char *base_of(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* Where there is no line, they give the file that the symbol table names. */
static bool frame_agrees(const struct symbol *frame, json_t *theirs)
{
	const char *name = json_string_value(json_object_get(theirs, "FunctionName"));
	const char *file = json_string_value(json_object_get(theirs, "FileName"));

	return !strcmp(frame->system_name, name) &&
	       (!frame->line || !strcmp(frame->file ? frame->file : "", file)) &&
	       frame->start_line == json_integer_value(json_object_get(theirs, "StartLine")) &&
	       frame->line == json_integer_value(json_object_get(theirs, "Line")) &&
	       frame->column == json_integer_value(json_object_get(theirs, "Column"));
}

/* They name what has no name with "", and then may know the line nevertheless. */
static bool is_unnamed(json_t *frames)
{
	const char *name =
		json_string_value(json_object_get(json_array_get(frames, 0), "FunctionName"));

	return !name || !*name;
}

static bool chain_agrees(const struct symbol_chain *chain, json_t *frames)
{
	if (!chain->count)
		return is_unnamed(frames);
	if ((size_t)chain->count != json_array_size(frames))
		return false;
	for (int i = 0; i < chain->count; i++)
		if (!frame_agrees(&chain->frames[i], json_array_get(frames, (size_t)i)))
			return false;
	return true;
}

static void print_difference(uint64_t address, const struct symbol_chain *chain, const char *theirs)
{
	/* print_message() cuts at 1,023 bytes. */
	fprintf(stdout, "# %#llx, theirs: %s", (unsigned long long)address, theirs);
	for (int i = 0; i < chain->count; i++)
		fprintf(stdout, "#   ours: %s %s:%u:%u\n", chain->frames[i].system_name,
			chain->frames[i].file, chain->frames[i].line, chain->frames[i].column);
}

static void assert_same_as_llvm(const char *path)
{
	static uint64_t addresses[ADDRESSES];
	static char line[1 << 20];
	static struct symbol_chain chain;
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct symbol_module module = { .key = 1, .fd = fd, .path = path, .root = "" };
	struct text text;
	uint64_t random = 1;
	struct symbols *symbols;
	int different = 0, inlined = 0, named = 0, answered = 0;
	FILE *answers;

	assert_true(fd >= 0);
	text = text_of(fd);
	for (int i = 0; i < ADDRESSES; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		addresses[i] = text.start + (random >> 33) % text.size;
	}
	assert_int_equal(
		symbols__new(&(struct symbols_options) { .no_debuginfod = true }, &symbols), 0);
	assert_int_equal(symbols__want(symbols, addresses, ADDRESSES), 0);
	answers = ask_llvm(path, addresses);
	for (; answered < ADDRESSES && fgets(line, sizeof(line), answers); answered++) {
		json_t *theirs = json_loads(line, 0, NULL);

		assert_non_null(theirs);
		assert_int_equal(symbols__in_module(symbols, &module, addresses[answered], &chain),
				 0);
		if (!chain_agrees(&chain, json_object_get(theirs, "Symbol"))) {
			if (different++ < 10)
				print_difference(addresses[answered], &chain, line);
		}
		inlined += chain.count > 1;
		named += chain.count > 0;
		json_decref(theirs);
	}
	pclose(answers);
	print_message("# %s: %d of %d differ, %d have names, %d inlined functions\n", base_of(path),
		      different, answered, named, inlined);
	assert_int_equal(answered, ADDRESSES);
	assert_int_equal(different, 0);
	assert_true(named > ADDRESSES / 2 && inlined > ADDRESSES / 20);
	symbols__free(symbols);
}

static void c_is_named_as_llvm_names_it(void **state)
{
	assert_same_as_llvm(SUBJECTS "/c4");
	assert_same_as_llvm(SUBJECTS "/c5");
	assert_same_as_llvm(SUBJECTS "/clang");
}

static void cxx_is_named_as_llvm_names_it(void **state)
{
	assert_same_as_llvm(SUBJECTS "/cxx4");
	assert_same_as_llvm(SUBJECTS "/cxx5");
}

static void rust_is_named_as_llvm_names_it(void **state)
{
	assert_same_as_llvm(SUBJECTS "/rust");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_is_named_as_llvm_names_it),
		cmocka_unit_test(cxx_is_named_as_llvm_names_it),
		cmocka_unit_test(rust_is_named_as_llvm_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
