/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What users write after --function and --usdt, the choice of the instruction, and ELF files. */
#include "../harness.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/uprobes.h"
#include "symbol/name_pattern.h"

/* --- specifications --------------------------------------------------------------------------- */

static struct uprobe_spec parsed(const char *text)
{
	struct uprobe_spec spec;

	if (uprobes__parse(text, &spec))
		fail_msg("'%s' is refused", text);
	return spec;
}

static void a_path_and_a_symbol_are_split_at_the_first_single_colon(void **state)
{
	struct uprobe_spec spec = parsed("/usr/bin/prog:shop::Cart<int>::add(int)");

	assert_int_equal(spec.kind, UPROBE_FUNCTION);
	assert_string_equal(spec.file, "/usr/bin/prog");
	assert_string_equal(spec.name, "shop::Cart<int>::add(int)");
	assert_int_equal(spec.at, 0);
}

static void a_bare_symbol_is_in_the_main_program_even_with_colons(void **state)
{
	assert_string_equal(parsed("work").file, "");
	assert_string_equal(parsed("work").name, "work");
	assert_string_equal(parsed("shop::Cart::add").file, "");
	assert_string_equal(parsed("shop::Cart::add").name, "shop::Cart::add");
}

static void an_offset_and_an_address_are_numbers(void **state)
{
	struct uprobe_spec spec = parsed("libc:malloc+0x10");

	assert_string_equal(spec.file, "libc");
	assert_string_equal(spec.name, "malloc");
	assert_int_equal(spec.at, 16);
	spec = parsed("./prog:0x1139");
	assert_int_equal(spec.kind, UPROBE_ADDRESS);
	assert_int_equal(spec.at, 0x1139);
	assert_string_equal(parsed("libx:operator+").name, "operator+");
	assert_string_equal(parsed("libx:operator++").name, "operator++");
}

static void a_function_of_the_kernel_is_recognised(void **state)
{
	assert_int_equal(parsed("kernel:vfs_read").kind, UPROBE_KERNEL);
	assert_string_equal(parsed("kernel:vfs_read").name, "vfs_read");
}

static void malformed_specifications_are_refused_and_leave_the_output_alone(void **state)
{
	static const char *const bad[] = { "", ":work", "prog:", "prog:0xyz", "a:b:c", "prog:0x" };
	static const char *const bad_usdt[] = { "",     "x",    "x:",   ":x",
						"a:b:", "a::b", ":a:b", "a:b:c:d" };
	struct uprobe_spec spec = { .at = 77 };
	char *longer = calloc(1, PATH_MAX + 16);

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (uprobes__parse(bad[i], &spec) != -EINVAL || spec.at != 77)
			fail_msg("'%s' is not refused", bad[i]);
	for (size_t i = 0; i < sizeof(bad_usdt) / sizeof(*bad_usdt); i++)
		if (uprobes__parse_usdt(bad_usdt[i], &spec) != -EINVAL || spec.at != 77)
			fail_msg("'%s' is not refused", bad_usdt[i]);
	memset(longer, 'x', PATH_MAX + 8);
	assert_int_equal(uprobes__parse(longer, &spec), -ENAMETOOLONG);
	free(longer);
}

static void a_declared_probe_may_name_its_file(void **state)
{
	struct uprobe_spec spec;

	assert_int_equal(uprobes__parse_usdt("/bin/x:python:gc__start", &spec), 0);
	assert_string_equal(spec.file, "/bin/x");
	assert_string_equal(spec.name, "python:gc__start");
	assert_int_equal(uprobes__parse_usdt("libc:memory_*", &spec), 0);
	assert_string_equal(spec.file, "");
	assert_string_equal(spec.name, "libc:memory_*");
}

/* --- names ------------------------------------------------------------------------------------ */

static void names_match_as_in_the_table_and_as_in_the_source(void **state)
{
	static const char raw[] = "_ZN4shop3addIiEEvT_";
	static const char shown[] = "void shop::add<int>(int)";

	assert_true(name_pattern__matches(raw, raw, shown));
	assert_true(name_pattern__matches(shown, raw, shown));
	assert_true(name_pattern__matches("shop::add<int>", raw, shown));
	assert_true(name_pattern__matches("void shop::add<int>", raw, shown));
	assert_true(name_pattern__matches("shop::*", raw, shown));
	assert_false(name_pattern__matches("shop::add", raw, shown));
	assert_false(name_pattern__matches("add<int>", raw, shown));
	assert_true(name_pattern__matches("shop::Cart::operator()", "_Z",
					  "shop::Cart::operator()(int) const"));
	assert_true(name_pattern__matches("orders::work", "_ZN6orders4work17h0E", "orders::work"));
	assert_true(name_pattern__matches("m?ll*c", "malloc", "malloc"));
	assert_false(name_pattern__matches("malloc", "malloc_usable_size", "malloc_usable_size"));
}

static void a_pattern_of_many_stars_takes_no_long_time(void **state)
{
	char pattern[FINDER_NAME_BYTES], name[4096];

	for (size_t i = 0; i + 1 < sizeof(pattern); i++)
		pattern[i] = i % 2 ? 'a' : '*';
	pattern[sizeof(pattern) - 2] = 'c';
	pattern[sizeof(pattern) - 1] = '\0';
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 2] = 'b';
	name[sizeof(name) - 1] = '\0';
	assert_false(name_pattern__matches(pattern, name, name));
}

/* --- instructions ----------------------------------------------------------------------------- */

#if defined(__x86_64__)
static void assert_cost(const char *code, size_t size, enum instruction_cost expected)
{
	assert_int_equal(instruction__cost((const uint8_t *)code, size), expected);
}

static void instructions_that_the_kernel_emulates_are_known(void **state)
{
	assert_cost("\x55\x48\x89\xe5", 4, INSTRUCTION_EMULATED); /* push %rbp */
	assert_cost("\x41\x57", 2, INSTRUCTION_EMULATED);         /* push %r15 */
	assert_cost("\xe8\0\0\0\0", 5, INSTRUCTION_EMULATED);     /* call */
	assert_cost("\xe9\0\0\0\0", 5, INSTRUCTION_EMULATED);     /* jmp */
	assert_cost("\x90", 1, INSTRUCTION_EMULATED);             /* nop */
	assert_cost("\x0f\x84\0\0\0\0", 6, INSTRUCTION_EMULATED); /* je */
	assert_cost("\x0f\x1f\x44\0\0", 5, INSTRUCTION_NOP5);
	assert_cost("\xf3\x0f\x1e\xfa", 4, INSTRUCTION_STEPPED); /* endbr64 */
	assert_cost("\x48\x83\xec\x08", 4, INSTRUCTION_STEPPED); /* sub $8, %rsp */
	assert_cost("\x41\x89\xf0", 3, INSTRUCTION_STEPPED);     /* mov %esi, %r8d */
	assert_cost("\x0f\x1f\x44\0", 4, INSTRUCTION_STEPPED);
	assert_cost("\x41", 1, INSTRUCTION_STEPPED);
	assert_cost("\x0f", 1, INSTRUCTION_STEPPED);
	assert_cost("", 0, INSTRUCTION_STEPPED);
}

static void only_endbr64_is_skipped(void **state)
{
	assert_int_equal(instruction__skip((const uint8_t *)"\xf3\x0f\x1e\xfa\x55", 5), 4);
	assert_int_equal(instruction__skip((const uint8_t *)"\xf3\x0f\x1e\xfa", 4), 0);
	assert_int_equal(instruction__skip((const uint8_t *)"\xf3\x0f\x1e\xfb\x55", 5), 0);
	assert_int_equal(instruction__skip((const uint8_t *)"\x55", 1), 0);
}

static void assert_saves(const char *code, size_t size, size_t expected)
{
	assert_int_equal(instruction__skip_saves((const uint8_t *)code, size), expected);
}

/* The beginnings of runtime.casgstatus and runtime.casGToPreemptScan of Go 1.19 and 1.22. */
static void what_go_saves_at_an_entry_is_skipped_and_nothing_else(void **state)
{
	static const char casgstatus[] = "\x48\x83\xec\x40\x48\x89\x6c\x24\x38\x48\x8d\x6c\x24\x38"
					 "\x48\x89\x44\x24\x48\x89\x5c\x24\x50\x89\x4c\x24\x54"
					 "\x0f\xba\xe3\x0c\x90\x72\x0a";
	static const char preempt[] = "\x49\x3b\x66\x10\x76\x60\x48\x83\xec\x18\x48\x89\x6c\x24\x10"
				      "\x48\x8d\x6c\x24\x10\x83\xfb\x02\x75\x3a";

	assert_saves(casgstatus, sizeof(casgstatus) - 1, 31);
	assert_saves(preempt, sizeof(preempt) - 1, 23);
	assert_saves("\x55\x48\x89\xe5", 4, 0);         /* cheap already */
	assert_saves("\x48\x83\xec\x40", 4, 0);         /* nothing behind it */
	assert_saves("\x48\x83\xec", 3, 0);             /* cut */
	assert_saves("\x48\x89\xc8\x90", 4, 0);         /* mov %rcx,%rax */
	assert_saves("\x48\x8b\x44\x24\x48\x90", 6, 0); /* mov 0x48(%rsp),%rax */
	assert_saves("\x48\x8d\x44\x24\x48\x90", 6, 0); /* lea 0x48(%rsp),%rax */
	assert_saves("\x0f\xba\xfb\x0c\x90", 5, 0);     /* btc $12,%ebx */
	assert_saves("", 0, 0);
}

static void arguments_of_declared_probes_are_decoded(void **state)
{
	struct usdt_argument args[USDT_MOST_ARGUMENTS];

	assert_int_equal(usdt__arguments("-4@%eax 8@-20(%rbp) 1@$255 2@(%r9)", args), 4);
	assert_int_equal(args[0].kind, USDT_REGISTER);
	assert_int_equal(args[0].bytes, 4);
	assert_true(args[0].is_signed);
	assert_int_equal(args[0].register_at, offsetof(struct user_regs_struct, rax));
	assert_int_equal(args[1].kind, USDT_MEMORY);
	assert_int_equal(args[1].value, -20);
	assert_int_equal(args[1].register_at, offsetof(struct user_regs_struct, rbp));
	assert_false(args[1].is_signed);
	assert_int_equal(args[2].kind, USDT_CONSTANT);
	assert_int_equal(args[2].value, 255);
	assert_int_equal(args[3].kind, USDT_MEMORY);
	assert_int_equal(args[3].value, 0);
}

static void arguments_in_other_forms_stay_unknown(void **state)
{
	static const char *const bad[] = {
		"8@foo(%rip)", "8@8(%rax,%rbx,4)", "3@%eax", "8@%xyz", "8@",     "@%rax", "8@(%rax",
		"8@$",         "4f@%xmm0",         "8@%",    "8@(%)",  "8@%rax)"
	};
	struct usdt_argument args[USDT_MOST_ARGUMENTS];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (usdt__arguments(bad[i], args) != 1 || args[0].kind != USDT_UNKNOWN)
			fail_msg("'%s' is decoded", bad[i]);
	assert_int_equal(usdt__arguments("", args), 0);
	assert_int_equal(usdt__arguments("8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax 8@%rax", args),
			 USDT_MOST_ARGUMENTS);
}
#endif

/* --- notes ------------------------------------------------------------------------------------ */

/* A note of a probe, with `size` bytes of words; returns its size. */
static size_t put_note(uint8_t *to, uint32_t type, const char *name, const void *words,
		       uint32_t size)
{
	Elf64_Nhdr head = { .n_namesz = (uint32_t)strlen(name) + 1,
			    .n_descsz = size,
			    .n_type = type };
	size_t padded = (head.n_namesz + 3U) / 4 * 4;

	memcpy(to, &head, sizeof(head));
	memset(to + sizeof(head), 0, padded);
	memcpy(to + sizeof(head), name, strlen(name));
	memcpy(to + sizeof(head) + padded, words, size);
	return sizeof(head) + padded + (size + 3U) / 4 * 4;
}

static uint32_t put_words(uint8_t *to, const char *strings, size_t size)
{
	const uint64_t addresses[] = { 0x1234, 0x2000, 0x3000 };

	memcpy(to, addresses, sizeof(addresses));
	memcpy(to + sizeof(addresses), strings, size);
	return (uint32_t)(sizeof(addresses) + size);
}

static void a_note_has_the_place_and_the_names_of_a_probe(void **state)
{
	uint8_t words[128], notes[512];
	uint32_t bytes = put_words(words, "shop\0sold\0-4@%eax", 18);
	size_t size = put_note(notes, 1, "GNU", "xyz", 3), at = 0;
	struct usdt_note note;

	size += put_note(notes + size, 3, "stapsdt", words, bytes);
	assert_int_equal(usdt__next(notes, size, &at, &note), 0);
	assert_int_equal(usdt__next(notes, size, &at, &note), 1);
	assert_int_equal(note.address, 0x1234);
	assert_int_equal(note.base, 0x2000);
	assert_int_equal(note.semaphore, 0x3000);
	assert_string_equal(note.provider, "shop");
	assert_string_equal(note.name, "sold");
	assert_string_equal(note.arguments, "-4@%eax");
	assert_int_equal(usdt__next(notes, size, &at, &note), -ENODATA);
}

static void hostile_notes_end_the_search_or_are_skipped(void **state)
{
	uint8_t words[128], notes[512];
	uint32_t bytes = put_words(words, "shop\0sold\0-4@%eax", 17); /* without its 0 */
	size_t size = put_note(notes, 3, "stapsdt", words, bytes), at = 0;
	Elf64_Nhdr huge = { .n_namesz = UINT32_MAX, .n_descsz = UINT32_MAX, .n_type = 3 };
	struct usdt_note note;

	assert_int_equal(usdt__next(notes, size, &at, &note), 0);
	at = 0;
	size = put_note(notes, 3, "stapsdt", words, 8);
	assert_int_equal(usdt__next(notes, size, &at, &note), 0);
	for (int i = 0; i < 3; i++) {
		at = 0;
		memcpy(notes, &huge, sizeof(huge));
		assert_int_equal(usdt__next(notes, sizeof(notes), &at, &note), -ENODATA);
		huge.n_namesz = i ? UINT32_MAX - 2 : 8;
	}
	at = sizeof(notes) + 1;
	assert_int_equal(usdt__next(notes, sizeof(notes), &at, &note), -ENODATA);
}

/* --- files ------------------------------------------------------------------------------------ */

__attribute__((noinline)) int uprobes_test_subject(int value);
int uprobes_test_subject(int value)
{
	__asm__ volatile("" ::: "memory");
	return value + 1;
}

struct found {
	size_t count;
	struct finder_place last;
};

static int take(void *context, const struct finder_place *place)
{
	struct found *found = context;

	found->count++;
	found->last = *place;
	return 0;
}

static struct found search(struct finder *finder, const struct finder_question *question)
{
	struct found found = {};
	bool more;

	assert_int_equal(finder__ask(finder, question, take, &found, &more), 0);
	return found;
}

static void a_function_is_found_by_its_name_and_named_by_its_offset(void **state)
{
	char path[PATH_MAX] = "";
	struct finder_question question = {
		.kind = FINDER_FUNCTIONS, .root = "", .path = path, .pattern = "uprobes_test_subj*"
	};
	struct finder *finder;
	struct found found;

	assert_int_equal(uprobes_test_subject(1), 2);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(finder__new(&finder), 0);
	found = search(finder, &question);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.last.name, "uprobes_test_subject");
	assert_true(found.last.flags & FINDER_AT_ENTRY);
	assert_false(found.last.flags & FINDER_GO);
	question.kind = FINDER_OFFSET;
	question.at = found.last.offset;
	found = search(finder, &question);
	assert_string_equal(found.last.name, "uprobes_test_subject");
	question.kind = FINDER_FUNCTIONS;
	question.pattern = "no_such_function";
	assert_int_equal(search(finder, &question).count, 0);
	finder__free(finder);
}

static void a_file_that_is_no_program_is_refused(void **state)
{
	const struct finder_question question = {
		.kind = FINDER_FUNCTIONS, .root = "", .path = "/etc/passwd", .pattern = "*"
	};
	struct found found = {};
	struct finder *finder;
	bool more;

	assert_int_equal(finder__new(&finder), 0);
	assert_int_equal(finder__ask(finder, &question, take, &found, &more), -ENOEXEC);
	finder__free(finder);
}

/* A hostile file must not be a function at any place. */
static void hostile_headers_give_no_places(void **state)
{
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_ehsize = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_phoff = sizeof(head),
			    .e_phnum = 1 };
	Elf64_Phdr segment = { .p_type = PT_LOAD,
			       .p_flags = PF_X,
			       .p_offset = UINT64_MAX - 8,
			       .p_vaddr = UINT64_MAX - 16,
			       .p_filesz = UINT64_MAX };
	struct finder_question question = { .kind = FINDER_ADDRESS, .at = UINT64_MAX - 4 };
	struct finder_place *places = NULL;
	int fd = memfd_create("hostile", MFD_CLOEXEC);
	size_t count = 9;
	bool more;

	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, &segment, sizeof(segment)), sizeof(segment));
	assert_int_equal(finder__search(fd, &question, &places, &count, &more), 0);
	assert_int_equal(count, 0);
	free(places);
	close(fd);
}

static void a_library_is_found_by_its_name_in_the_maps_of_a_process(void **state)
{
	struct target target = {};
	const struct uprobe_scope scope = { .target = &target };
	struct uprobe_spec spec = parsed("libc:malloc");
	struct uprobe_file *files = NULL;
	size_t count = 0;

	assert_int_equal(target__add_pid(&target, (uint64_t)getpid()), 0);
	assert_int_equal(uprobes__files(&spec, &scope, &files, &count), 0);
	assert_int_equal(count, 1);
	assert_non_null(strstr(files[0].path, "/libc"));
	assert_string_equal(files[0].root, "");
	free(files);
	spec = parsed("libnosuch:malloc");
	assert_int_equal(uprobes__files(&spec, &scope, &files, &count), -ENOENT);
}

/* A process with a /tmp of its own that has this file; it ends when its pipe closes. 0: not
 * allowed. */
static pid_t start_with_own_tmp(const char *name, int ended)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		if (!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		    !mount("tmpfs", "/tmp", "tmpfs", 0, NULL) && creat(name, 0600) >= 0 &&
		    write(ready[1], "x", 1) == 1)
			_exit((int)read(ended, &byte, 1));
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		child = 0;
	close(ready[0]);
	return child;
}

static void a_file_is_the_one_that_the_process_sees_in_its_own_mounts(void **state)
{
	struct target target = {};
	const struct uprobe_scope scope = { .target = &target };
	struct uprobe_spec spec = parsed("/tmp/test-uprobes-inside:main");
	struct uprobe_file *files = NULL;
	size_t count = 0;
	char root[32];
	int ended[2];
	pid_t child;

	assert_int_equal(pipe(ended), 0);
	child = start_with_own_tmp(spec.file, ended[0]);
	if (!child) {
		print_message("# skip: no mount namespace can be made\n");
		skip();
	}
	snprintf(root, sizeof(root), "/proc/%d/root", child);
	assert_int_equal(target__add_pid(&target, (uint64_t)child), 0);
	assert_int_equal(uprobes__files(&spec, &scope, &files, &count), 0);
	assert_int_equal(count, 1);
	assert_string_equal(files[0].root, root);
	free(files);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ended[0]);
	close(ended[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_and_a_symbol_are_split_at_the_first_single_colon),
		cmocka_unit_test(a_bare_symbol_is_in_the_main_program_even_with_colons),
		cmocka_unit_test(an_offset_and_an_address_are_numbers),
		cmocka_unit_test(a_function_of_the_kernel_is_recognised),
		cmocka_unit_test(malformed_specifications_are_refused_and_leave_the_output_alone),
		cmocka_unit_test(a_declared_probe_may_name_its_file),
		cmocka_unit_test(names_match_as_in_the_table_and_as_in_the_source),
		cmocka_unit_test(a_pattern_of_many_stars_takes_no_long_time),
#if defined(__x86_64__)
		cmocka_unit_test(instructions_that_the_kernel_emulates_are_known),
		cmocka_unit_test(only_endbr64_is_skipped),
		cmocka_unit_test(what_go_saves_at_an_entry_is_skipped_and_nothing_else),
		cmocka_unit_test(arguments_of_declared_probes_are_decoded),
		cmocka_unit_test(arguments_in_other_forms_stay_unknown),
#endif
		cmocka_unit_test(a_note_has_the_place_and_the_names_of_a_probe),
		cmocka_unit_test(hostile_notes_end_the_search_or_are_skipped),
		cmocka_unit_test(a_function_is_found_by_its_name_and_named_by_its_offset),
		cmocka_unit_test(a_file_that_is_no_program_is_refused),
		cmocka_unit_test(hostile_headers_give_no_places),
		cmocka_unit_test(a_library_is_found_by_its_name_in_the_maps_of_a_process),
		cmocka_unit_test(a_file_is_the_one_that_the_process_sees_in_its_own_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
