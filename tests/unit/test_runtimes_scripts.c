/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRuby and PHP on recorded memory: what methods, blocks and functions are called, against what the
 * interpreters themselves said when it was recorded; and what open() finds out, in files made by
 * hand.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "recorded/recorded.h"

#include "runtimes/language.h"

#define MOST_FRAMES 256

struct known {
	struct runtime_frame frame;
	int line, first_line;
	char file[128], function[128];
};

struct script {
	const struct language *language;
	struct recorded recorded;
	struct subject subject;
	int file;
	struct known known[MOST_FRAMES];
	size_t count;
};

static const struct {
	const struct language *language;
	const char *name, *version, *header;
} all[] = {
	{ &language_ruby, "ruby-3.1", "3.1.2", "3.1.2" },
	{ &language_ruby, "ruby-3.3", "3.3.8", "3.3.8" },
	{ &language_php, "php-8.2", "8.2.35", "X-Powered-By: PHP/8.2.35" },
	{ &language_php, "php-8.4", "8.4.24", "X-Powered-By: PHP/8.4.24" },
};
#define ALL (sizeof(all) / sizeof(*all))

/* --- the file of the interpreter, made by hand ------------------------------------------------ */

#define BIAS      0x600000000000ULL
#define HEADERS   5
#define VERSION   0x300 /* in what is only read */
#define FUNCTIONS 0x400
#define TEXT      0x1000 /* in the code */
#define LOOP      0x2000
#define LOOP_END  0x5000
#define CALLER    0x6000
#define TEXT_END  0x8000
#define DATA      0x9000 /* in what is written to */
#define ACCESS    0x9800
#define FILE_SIZE 0xa000
#define GLOBALS   0x12340

static uint64_t globals;
static unsigned instructions = 200;

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count);

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count)
{
	static const struct wanted_symbol known[] = {
		{ "ruby_version", VERSION, 6 },
		{ "rb_errinfo", TEXT, 32 },
		{ "execute_ex", LOOP, LOOP_END - LOOP },
	};
	int found = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < 3; k++)
			if (!strcmp(wanted[i].name, known[k].name))
				wanted[i] = known[k];
		if (!strcmp(wanted[i].name, "executor_globals"))
			wanted[i].address = globals;
		found += wanted[i].address != 0;
	}
	return found;
}

static void put_headers(uint8_t *file)
{
	const Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = HEADERS,
	};
	const Elf64_Phdr headers[HEADERS] = {
		{ PT_LOAD, PF_R, 0, 0, 0, TEXT, TEXT, 4096 },
		{ PT_LOAD, PF_R | PF_X, TEXT, TEXT, TEXT, TEXT_END - TEXT, TEXT_END - TEXT, 4096 },
		{ PT_LOAD, PF_R | PF_W, DATA, DATA, DATA, FILE_SIZE - DATA, FILE_SIZE - DATA,
		  4096 },
		{ PT_TLS, PF_R, DATA, DATA, DATA, 0, 64, 8 },
		{ PT_GNU_EH_FRAME, PF_R, FUNCTIONS, FUNCTIONS, FUNCTIONS, 64, 64, 4 },
	};

	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), headers, sizeof(headers));
}

/* The sorted table of functions, and one call of the loop. */
static void put_functions(uint8_t *file)
{
	static const int32_t begins[] = { TEXT, LOOP, LOOP_END, CALLER, CALLER + 0x100, TEXT_END };
	const uint32_t count = sizeof(begins) / sizeof(*begins);
	const int32_t call = LOOP - (CALLER + 0x25);
	int32_t entry[2] = {};

	memcpy(file + FUNCTIONS, "\x01\x1b\x03\x3b", 4);
	memcpy(file + FUNCTIONS + 8, &count, 4);
	for (uint32_t i = 0; i < count; i++) {
		entry[0] = begins[i] - FUNCTIONS;
		memcpy(file + FUNCTIONS + 12 + sizeof(entry) * i, entry, sizeof(entry));
	}
	file[CALLER + 0x20] = 0xe8;
	memcpy(file + CALLER + 0x21, &call, sizeof(call));
}

/* `code`: how rb_errinfo() begins. The caller closes it. */
static int make_file(const char *version, const void *code, size_t size)
{
	static uint8_t file[FILE_SIZE];
	int fd = memfd_create("file", MFD_CLOEXEC);

	memset(file, 0, sizeof(file));
	put_headers(file);
	put_functions(file);
	snprintf((char *)file + VERSION, 64, "%s", version);
	memcpy(file + TEXT, code, size);
	assert_int_equal(pwrite(fd, file, sizeof(file), 0), sizeof(file));
	return fd;
}

/* endbr64; mov ACCESS(%rip),%rax; mov %fs:(%rax),%rax: of a library loaded with the program. */
static const uint8_t by_offset[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0xf5,
				     0x87, 0x00, 0x00, 0x64, 0x48, 0x8b, 0x00, 0xc3 };

static void load_known(struct script *script, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[32768];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct known *known = &script->known[script->count];

		if (sscanf(line,
			   "frame %" SCNx64 " %" SCNx32 " %" SCNx32 " %d %d %127[^|]|%127[^\n]",
			   &known->frame.object, &known->frame.position, &known->frame.cookie,
			   &known->line, &known->first_line, known->file, known->function) == 7)
			script->count++;
		assert_true(script->count < MOST_FRAMES);
	}
	fclose(file);
}

static void put(struct script *script, uint64_t address, uint64_t value)
{
	assert_int_equal(pwrite(script->recorded.memory, &value, 8, (off_t)address), 8);
}

/* Another file for the same memory. */
static void change_file(struct script *script, const char *version, const void *code, size_t size)
{
	if (script->subject.file.image) {
		image__close(script->subject.file.image);
		close(script->file);
	}
	script->file = make_file(version, code, size);
	assert_int_equal(image__borrow(script->file, &script->subject.file.image), 0);
}

/* The caller calls release(). */
static struct script *load(size_t i)
{
	struct script *script = calloc(1, sizeof(*script));
	char path[256];

	assert_non_null(script);
	snprintf(path, sizeof(path), RECORDED "/%s.memory", all[i].name);
	script->language = all[i].language;
	script->recorded = recorded_load(path);
	load_known(script, path);
	script->subject = (struct subject) { .maps_fd = -1, .file.bias = BIAS };
	script->subject.runtime.kind = all[i].language->kind;
	globals = GLOBALS;
	change_file(script, all[i].header, by_offset, sizeof(by_offset));
	/* The table of instructions, and where the variable is. */
	for (unsigned k = 0; k < instructions; k++)
		put(script, BIAS + DATA + 8 * (k + 5), BIAS + LOOP + 32 * k);
	put(script, BIAS + ACCESS, (uint64_t)-24);
	assert_int_equal(remote__new(script->recorded.memory, &script->subject.memory), 0);
	return script;
}

static void release(struct script *script)
{
	remote__free(script->subject.memory);
	image__close(script->subject.file.image);
	close(script->file);
	free(script);
}

/* --- open ------------------------------------------------------------------------------------- */

static void every_version_is_opened(void **state)
{
	for (size_t i = 0; i < ALL; i++) {
		struct script *script = load(i);
		const struct runtime *runtime = &script->subject.runtime;

		assert_true(script->language->is_in(&script->subject.file));
		assert_int_equal(script->language->open(&script->subject), 0);
		assert_string_equal(script->subject.version, all[i].version);
		assert_int_equal(runtime->areas[0].begin, BIAS + LOOP);
		assert_int_equal(runtime->areas[0].end, BIAS + LOOP_END);
		if (all[i].language == &language_ruby) {
			assert_int_equal(runtime->areas[1].begin, BIAS + CALLER);
			assert_int_equal(runtime->areas[1].end, BIAS + CALLER + 0x100);
			assert_int_equal(runtime->areas[2].end, 0);
			assert_int_equal(runtime->ruby.from_thread, -24);
			assert_int_equal(runtime->ruby.block, 0);
			assert_int_equal(runtime->ruby.frame_bytes, i ? 56 : 64);
		} else {
			assert_int_equal(runtime->php.current, BIAS + GLOBALS + 488);
		}
		release(script);
	}
}

static void a_version_that_is_not_known_is_said(void **state)
{
	static const struct {
		size_t of;
		const char *header, *said;
	} others[] = {
		{ 0, "3.0.4", "3.0.4" },
		{ 0, "2.7.8", "2.7.8" },
		{ 0, "5.1.0", "5.1.0" },
		{ 2, "X-Powered-By: PHP/7.4.33", "7.4.33" },
		{ 2, "X-Powered-By: PHP/8.1.2", "8.1.2" },
		{ 2, "X-Powered-By: PHP/9.2.0", "9.2.0" },
		{ 2, "X-Powered-By: PHP", "" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct script *script = load(others[i].of);

		change_file(script, others[i].header, by_offset, sizeof(by_offset));
		assert_int_equal(script->language->open(&script->subject), -ENOTSUP);
		assert_string_equal(script->subject.version, others[i].said);
		release(script);
	}
}

static void php_with_threads_is_said(void **state)
{
	struct script *script = load(2);

	globals = 0;
	assert_int_equal(language_php.open(&script->subject), -ENOTSUP);
	assert_string_equal(script->subject.version, "8.2.35 with threads");
	release(script);
}

static void a_ruby_whose_loop_is_not_known_for_sure_is_refused(void **state)
{
	struct script *script;

	/* Too few instructions. */
	instructions = 149;
	script = load(0);
	assert_int_equal(language_ruby.open(&script->subject), -ENOTSUP);
	release(script);
	instructions = 150;
	script = load(0);
	assert_int_equal(language_ruby.open(&script->subject), 0);
	/* One that is in another function. */
	put(script, BIAS + DATA + 8 * 70, BIAS + CALLER);
	assert_int_equal(language_ruby.open(&script->subject), -ENOTSUP);
	release(script);
	instructions = 200;
	/* Code that is not one of the known ways to load a variable. */
	script = load(0);
	change_file(script, all[0].header, "\xc3\xc3\xc3", 3);
	assert_int_equal(language_ruby.open(&script->subject), -ENOTSUP);
	release(script);
}

static void assert_context(const void *code, size_t size, uint64_t first, uint64_t second, int err,
			   const struct runtime_ruby *expected)
{
	struct script *script = load(0);
	const struct runtime_ruby *found = &script->subject.runtime.ruby;

	change_file(script, all[0].header, code, size);
	put(script, BIAS + ACCESS, first);
	put(script, BIAS + ACCESS + 8, second);
	assert_int_equal(language_ruby.open(&script->subject), err);
	if (!err) {
		assert_int_equal(found->from_thread, expected->from_thread);
		assert_int_equal(found->block, expected->block);
		assert_int_equal(found->in_block, expected->in_block);
	}
	release(script);
}

static void variables_of_threads_are_found_however_they_are_loaded(void **state)
{
	/* sub; data16 lea ACCESS(%rip),%rdi; data16 data16 rex.W call: the general way. */
	static const uint8_t general[] = { 0x48, 0x83, 0xec, 0x08, 0x66, 0x48, 0x8d, 0x3d,
					   0xf4, 0x87, 0x00, 0x00, 0x66, 0x66, 0x48, 0xe8 };
	/* lea ACCESS(%rip),%rdi; call; mov 16(%rax),%rax: a variable of the file itself. */
	static const uint8_t local[] = { 0x48, 0x8d, 0x3d, 0xf9, 0x87, 0x00, 0x00, 0xe8,
					 0x00, 0x00, 0x00, 0x00, 0x48, 0x8b, 0x40, 0x10 };
	/* mov %fs:-8,%rax: a program's own. */
	static const uint8_t own[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff };
	const struct runtime_ruby in_block = { .block = 48, .in_block = 8 },
				  at_16 = { .block = 48, .in_block = 16 },
				  at_8 = { .from_thread = -8 };

	assert_context(general, sizeof(general), 3, 8, 0, &in_block);
	assert_context(local, sizeof(local), 3, 0, 0, &at_16);
	assert_context(own, sizeof(own), 0, 0, 0, &at_8);
	/* The loader has not been there yet. */
	assert_context(general, sizeof(general), 0, 8, -EAGAIN, NULL);
	assert_context(by_offset, sizeof(by_offset), 0, 0, -EAGAIN, NULL);
	/* Behind the variables, or no such module. */
	assert_context(general, sizeof(general), 3, 64, -ENOTSUP, NULL);
	assert_context(general, sizeof(general), 3, UINT64_MAX - 4, -ENOTSUP, NULL);
	assert_context(general, sizeof(general), UINT64_MAX, 8, -ENOTSUP, NULL);
	assert_context(by_offset, sizeof(by_offset), 8, 0, -ENOTSUP, NULL);
	assert_context(by_offset, sizeof(by_offset), (uint64_t)INT64_MIN, 0, -ENOTSUP, NULL);
}

/* --- names ------------------------------------------------------------------------------------ */

static void assert_named(struct script *script, const struct known *known,
			 struct runtime_names *names)
{
	uint64_t before = remote__reads(script->subject.memory);

	names->count = 0;
	assert_int_equal(script->language->name(&script->subject, &known->frame, names), 0);
	assert_int_equal(names->count, 1);
	assert_string_equal(names->frames[0].function, known->function);
	assert_string_equal(names->frames[0].file, strcmp(known->file, "-") ? known->file : "");
	assert_int_equal(names->frames[0].first_line, known->first_line);
	if (names->frames[0].line != known->line)
		fail_msg("%s, position %x: line %d, not %d", known->function, known->frame.position,
			 names->frames[0].line, known->line);
	assert_true(remote__reads(script->subject.memory) - before <= 10);
}

static void names_and_lines_are_those_of_the_interpreter(void **state)
{
	struct runtime_names *names = calloc(1, sizeof(*names));

	assert_non_null(names);
	for (size_t i = 0; i < ALL; i++) {
		struct script *script = load(i);

		assert_int_equal(script->language->open(&script->subject), 0);
		assert_true(script->count >= (all[i].language == &language_ruby ? 110 : 15));
		for (size_t k = 0; k < script->count; k++)
			assert_named(script, &script->known[k], names);
		release(script);
	}
	free(names);
}

static void an_address_that_was_reused_has_no_name(void **state)
{
	struct runtime_names *names = calloc(1, sizeof(*names));

	assert_non_null(names);
	for (size_t i = 0; i < ALL; i++) {
		struct script *script = load(i);
		struct runtime_frame frame = script->known[1].frame;

		assert_int_equal(script->language->open(&script->subject), 0);
		frame.cookie ^= 1;
		assert_int_equal(script->language->name(&script->subject, &frame, names), -ESTALE);
		frame.cookie ^= 1;
		/* The position is in other code. */
		frame.position += 1 << 20;
		assert_int_equal(script->language->name(&script->subject, &frame, names), -ESTALE);
		frame.object = UINT64_MAX - 8;
		assert_int_equal(script->language->name(&script->subject, &frame, names), -EFAULT);
		assert_int_equal(names->count, 0);
		release(script);
	}
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_is_opened),
		cmocka_unit_test(a_version_that_is_not_known_is_said),
		cmocka_unit_test(php_with_threads_is_said),
		cmocka_unit_test(a_ruby_whose_loop_is_not_known_for_sure_is_refused),
		cmocka_unit_test(variables_of_threads_are_found_however_they_are_loaded),
		cmocka_unit_test(names_and_lines_are_those_of_the_interpreter),
		cmocka_unit_test(an_address_that_was_reused_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
