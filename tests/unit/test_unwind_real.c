/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over real processes: `walked` is traced, stopped at places that are known, and walked
 * with the rows of all files that it has mapped.
 */
#include "../harness.h"

#include "../walk.h"

#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MOST_STEPS 500000

DEFINE_CLEANUP(Elf *, elf_end)

struct traced {
	pid_t pid; /* of the thread that stopped */
	struct unwind_process process;
	struct rows rows[WORLD_MODULES];
	char names[WORLD_MODULES][256]; /* of files, without folders */
	uint32_t module_count;          /* and one: ids begin with 1 */
	uint32_t own, linker;           /* modules: `walked`, and what resolves symbols */
	struct world world;
	struct unwind walk;
	uint64_t tail[4]; /* of the first stack */
};

/* --- files ---------------------------------------------------------------------------------- */

/* The address that the file has for what is at `offset` of it. */
static uint64_t address_of_offset(Elf *elf, uint64_t offset)
{
	size_t count = 0;
	GElf_Phdr phdr;

	elf_getphdrnum(elf, &count);
	for (int i = 0; i < (int)count; i++)
		if (gelf_getphdr(elf, i, &phdr) && phdr.p_type == PT_LOAD && phdr.p_flags & PF_X &&
		    offset >= (phdr.p_offset & ~4095ULL) && offset < phdr.p_offset + phdr.p_filesz)
			return phdr.p_vaddr - phdr.p_offset + offset;
	fail_msg("no segment at offset 0x%lx", offset);
	return 0;
}

/* *at: an offset in the file; becomes the address that the file has for it. */
static void load_file(const char *path, struct rows *rows, uint64_t *at)
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(elf_end_p) Elf *elf = NULL;

	assert_true(fd >= 0);
	assert_int_equal(rows__compile(fd, rows), 0);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	*at = address_of_offset(elf, *at);
}

static int read_process(void *from, void *to, uint32_t bytes, uint64_t address)
{
	const struct traced *traced = from;
	struct iovec local = { to, bytes }, remote = { (void *)address, bytes };

	return process_vm_readv(traced->pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

static void load_vdso(struct traced *traced, uint64_t begin, uint64_t end, struct rows *rows)
{
	cleanup(free_p) char *image = malloc(end - begin);

	assert_int_equal(read_process(traced, image, (uint32_t)(end - begin), begin), 0);
	assert_int_equal(rows__compile_image(image, end - begin, rows), 0);
}

static void add_mapping(struct traced *traced, uint64_t begin, uint64_t end, uint64_t address,
			const char *path)
{
	uint32_t id = ++traced->module_count;
	bool is_vdso = !strcmp(path, "[vdso]");

	assert_true(id < WORLD_MODULES);
	snprintf(traced->names[id], sizeof(traced->names[id]), "%s",
		 is_vdso ? path : strrchr(path, '/') + 1);
	if (is_vdso)
		load_vdso(traced, begin, end, &traced->rows[id]);
	else
		load_file(path, &traced->rows[id], &address);
	if (!strcmp(traced->names[id], "walked"))
		traced->own = id;
	if (!strncmp(traced->names[id], "ld-linux", 8))
		traced->linker = id;
	traced->world.modules[id] = &traced->rows[id];
	traced->process.mappings[traced->process.count++] = (struct unwind_mapping) {
		.page_and_module = begin >> UNWIND_PAGE_SHIFT << UNWIND_MODULE_BITS | id,
		.pages = (uint32_t)((end - begin) >> UNWIND_PAGE_SHIFT),
		.file_page = (uint32_t)(address >> UNWIND_PAGE_SHIFT),
	};
}

static void load_mappings(struct traced *traced)
{
	cleanup(fclose_p) FILE *maps = NULL;
	uint64_t begin, end, offset;
	char line[512], access[8], path[256];

	snprintf(line, sizeof(line), "/proc/%d/maps", traced->pid);
	maps = fopen(line, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &begin, &end, access, &offset,
			   path) == 5 &&
		    strchr(access, 'x') && (*path == '/' || !strcmp(path, "[vdso]")))
			add_mapping(traced, begin, end, offset, path);
	traced->world.read = read_process;
	traced->world.from = traced;
	assert_true(traced->own);
}

/* --- names ---------------------------------------------------------------------------------- */

/* The function of `walked` at an address of its file. */
static void name_address(uint64_t address, char *ret, size_t size)
{
	cleanup(close_p) int fd = open(WALKED, O_RDONLY | O_CLOEXEC);
	cleanup(elf_end_p) Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	snprintf(ret, size, "?");
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(section, NULL), i, &symbol); i++)
			if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
			    address - symbol.st_value < symbol.st_size)
				snprintf(ret, size, "%s",
					 elf_strptr(elf, header.sh_link, symbol.st_name));
	}
}

static void name_frame(const struct traced *traced, uint32_t at, char *ret, size_t size)
{
	uint64_t frame = traced->walk.frames[at];

	if (at >= traced->walk.count)
		snprintf(ret, size, "-");
	else if (!FRAME_IS_MODULE(frame))
		snprintf(ret, size, "%lx", frame);
	else if (FRAME_MODULE(frame) == traced->own)
		name_address(FRAME_ADDRESS(frame), ret, size);
	else
		snprintf(ret, size, "%s", traced->names[FRAME_MODULE(frame)]);
}

/* Where the first frame of this name is, `count` of them in a row; the frame after them. */
static uint32_t find_frames(const struct traced *traced, const char *name, uint32_t count)
{
	uint32_t at = 0, found = 0;
	char text[64];

	for (; at < traced->walk.count; at++) {
		name_frame(traced, at, text, sizeof(text));
		if (!strcmp(text, name))
			found++;
		else if (found)
			break;
	}
	if (found != count)
		fail_msg("%u frames of '%s', expected %u", found, name, count);
	return at;
}

static void frame_is(const struct traced *traced, uint32_t at, const char *name)
{
	char text[64];

	name_frame(traced, at, text, sizeof(text));
	assert_string_equal(text, name);
}

/* --- tracing -------------------------------------------------------------------------------- */

/* Runs on until a thread is about to get SIGUSR1; other signals are delivered. */
static void run_to_stop(struct traced *traced, int how)
{
	int status, number = 0;

	assert_int_equal(ptrace(how, traced->pid, 0, 0), 0);
	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);

		assert_true(tid > 0);
		assert_true(WIFSTOPPED(status));
		number = WSTOPSIG(status);
		traced->pid = tid;
		if (number == SIGUSR1)
			return;
		/* A new thread begins with a stop. */
		if (number == SIGTRAP || number == SIGSTOP)
			number = 0;
		assert_int_equal(ptrace(PTRACE_CONT, tid, 0, number), 0);
	}
}

static void begin(struct traced *traced, const char *mode)
{
	int status;

	*traced = (struct traced) {};
	traced->pid = fork();
	assert_true(traced->pid >= 0);
	if (!traced->pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(42);
		execl(WALKED, WALKED, mode, WALKED_PLUGIN, (char *)NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(traced->pid, &status, 0), traced->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 42) {
		printf("# skip: not allowed to trace a child\n");
		skip();
	}
	assert_true(WIFSTOPPED(status));
	assert_int_equal(
		ptrace(PTRACE_SETOPTIONS, traced->pid, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL),
		0);
	run_to_stop(traced, PTRACE_CONT);
	load_mappings(traced);
}

static void end(struct traced *traced, pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	for (uint32_t i = 0; i < WORLD_MODULES; i++)
		rows__release(&traced->rows[i]);
}

static void walk_now(struct traced *traced)
{
	struct user_regs_struct r;
	struct iovec all = { &r, sizeof(r) };
	struct unwind *walk = &traced->walk;

	assert_int_equal(ptrace(PTRACE_GETREGSET, traced->pid, NT_PRSTATUS, &all), 0);
#ifdef __aarch64__
	unwind_begin(walk, (uint32_t)traced->pid, r.pc, r.sp, r.regs[ARCH_DWARF_FP]);
	memcpy(walk->registers, r.regs, sizeof(r.regs));
	walk->registers[ARCH_DWARF_SP] = r.sp;
#else
	unwind_begin(walk, (uint32_t)traced->pid, r.rip, r.rsp, r.rbp);
	memcpy(walk->registers,
	       (const uint64_t[]) { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
				    r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 },
	       sizeof(walk->registers));
#endif
	walk_all(&traced->world, walk, &traced->process);
}

static void assert_whole(const struct traced *traced)
{
	assert_int_equal(traced->walk.end, STACK_END_ROOT);
	assert_int_equal(traced->walk.how, STACK_BY_ROWS);
}

/* --- tests ---------------------------------------------------------------------------------- */

static void a_deep_recursion_is_walked_to_its_begin(void **state)
{
	static struct traced traced;
	uint32_t next;

	begin(&traced, "recursion");
	walk_now(&traced);
	assert_whole(&traced);
	frame_is(&traced, 0, "libc.so.6");
	next = find_frames(&traced, "recurse", 101);
	frame_is(&traced, next, "main");
	frame_is(&traced, traced.walk.count - 1, "_start");
	end(&traced, traced.pid);
}

static void signal_handlers_are_walked_through(void **state)
{
	static const char *const modes[] = { "handler", "own-stack" };
	static struct traced traced;
	uint32_t next;

	for (int i = 0; i < 2; i++) {
		begin(&traced, modes[i]);
		walk_now(&traced);
		assert_whole(&traced);
		next = find_frames(&traced, "handle", 1);
		frame_is(&traced, next, "libc.so.6");
		frame_is(&traced, next + 1, "fault");
		find_frames(&traced, "main", 1);
		frame_is(&traced, traced.walk.count - 1, "_start");
		end(&traced, traced.pid);
	}
}

static void a_thread_ends_where_it_was_made(void **state)
{
	static struct traced traced;
	uint32_t next;
	pid_t pid;

	begin(&traced, "thread");
	walk_now(&traced);
	assert_whole(&traced);
	next = find_frames(&traced, "recurse", 21);
	frame_is(&traced, next, "thread_body");
	frame_is(&traced, next + 1, "libc.so.6");
	/* start_thread and clone3 */
	assert_int_equal(traced.walk.count, next + 3);
	pid = traced.pid;
	end(&traced, pid);
}

/* Whether the stack is whole, and the same from main on as at the first stop. */
static bool is_right(const struct traced *traced)
{
	const struct unwind *walk = &traced->walk;

	return walk->end == STACK_END_ROOT && walk->how == STACK_BY_ROWS &&
	       walk->count > sizeof(traced->tail) / 8 &&
	       !memcmp(&walk->frames[walk->count - sizeof(traced->tail) / 8], traced->tail,
		       sizeof(traced->tail));
}

/*
 * The resolver of lazy binding finds its frame by rbx while it calls others, and rbx is known in
 * the innermost frame only: a stack that ends there is right as far as it goes.
 */
static bool ends_in_the_resolver(const struct traced *traced)
{
	const struct unwind *walk = &traced->walk;
	uint64_t last = walk->frames[walk->count - 1];

	return walk->end == STACK_END_NO_RULE && walk->how == STACK_BY_ROWS && walk->count > 1 &&
	       FRAME_IS_MODULE(last) && FRAME_MODULE(last) == traced->linker;
}

static void show_wrong(const struct traced *traced, int step)
{
	char text[64];

	printf("# step %d: end %d, how %d:", step, traced->walk.end, traced->walk.how);
	for (uint32_t i = 0; i < traced->walk.count && i < 12; i++) {
		name_frame(traced, i, text, sizeof(text));
		printf(" %s+%lx", text, (uint64_t)FRAME_ADDRESS(traced->walk.frames[i]));
	}
	printf("\n");
}

static void every_instruction_is_a_place_to_walk_from(void **state)
{
	static struct traced traced;
	int step, wrong = 0, resolving = 0, status;
	uint64_t seen = 0; /* modules, by bits */

	begin(&traced, "steps");
	walk_now(&traced);
	assert_whole(&traced);
	frame_is(&traced, traced.walk.count - 4, "main");
	memcpy(traced.tail, &traced.walk.frames[traced.walk.count - 4], sizeof(traced.tail));
	for (step = 0; step < MOST_STEPS; step++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, traced.pid, 0, 0), 0);
		assert_int_equal(waitpid(traced.pid, &status, __WALL), traced.pid);
		assert_true(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGUSR1)
			break;
		walk_now(&traced);
		if (FRAME_IS_MODULE(traced.walk.frames[0]))
			seen |= 1ULL << FRAME_MODULE(traced.walk.frames[0]);
		if (ends_in_the_resolver(&traced))
			resolving++;
		else if (!is_right(&traced) && wrong++ < 20)
			show_wrong(&traced, step);
	}
	printf("# %d instructions in %d of %u files, %d of them below the resolver\n", step,
	       __builtin_popcountll(seen), traced.module_count, resolving);
	assert_true(step > 1000 && step < MOST_STEPS);
	assert_int_equal(wrong, 0);
	end(&traced, traced.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deep_recursion_is_walked_to_its_begin),
		cmocka_unit_test(signal_handlers_are_walked_through),
		cmocka_unit_test(a_thread_ends_where_it_was_made),
		cmocka_unit_test(every_instruction_is_a_place_to_walk_from),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
