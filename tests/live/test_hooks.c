/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks that are attached and detached while programs run: each call is counted, and no other. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/features.h"
#include "core/hooks.h"
#include "core/sys.h"
#include "live.h"

/* After what it uses. */
#include "probe.skel.h"

#define NONCE 4711
#define TIMES 1000

/* A program that calls marked(NONCE) TIMES times for each byte, see workloads/marks.c. */
struct program {
	pid_t pid;
	int to, from;
};

static char path[PATH_MAX];
static struct probe_bpf *skel;
static struct program one, two;

static struct program start(void)
{
	struct program program;
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	program.pid = fork();
	if (!program.pid) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		execl(path, path, "4711", "1000", NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	program.to = to[1];
	program.from = from[0];
	return program;
}

static void stop(struct program *program)
{
	close(program->to);
	close(program->from);
	waitpid(program->pid, NULL, 0);
}

/* How many of its calls were counted. */
static uint64_t run(struct program *program)
{
	uint64_t before = skel->bss->seen;
	char byte = 0;

	assert_int_equal(write(program->to, &byte, 1), 1);
	assert_int_equal(read(program->from, &byte, 1), 1);
	return skel->bss->seen - before;
}

/* Only these programs of all in probe.bpf.c, and what they need. */
static struct probe_bpf *load(const char *const *programs, bool usdt)
{
	struct probe_bpf *loaded = probe_bpf__open();
	struct bpf_program *program;
	struct bpf_map *map;

	assert_non_null(loaded);
	bpf_object__for_each_program (program, loaded->obj)
		bpf_program__set_autoload(program, live__has(programs, bpf_program__name(program)));
	bpf_object__for_each_map (map, loaded->obj)
		if (!bpf_map__is_internal(map) && !(usdt && strstr(bpf_map__name(map), "usdt")))
			bpf_map__set_autocreate(map, false);
	loaded->rodata->nonce = NONCE;
	assert_int_equal(probe_bpf__load(loaded), 0);
	return loaded;
}

static int set_up(void **state)
{
	static const char *const programs[] = { "probe_uprobe", "probe_uretprobe", "probe_usdt",
						"probe_perf_event", NULL };
	char self[PATH_MAX - 64];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(length > 0);
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/workloads/marks", self);
	skel = load(programs, true);
	one = start();
	two = start();
	assert_int_equal(run(&one), 0);
	assert_int_equal(run(&two), 0);
	return 0;
}

static int tear_down(void **state)
{
	stop(&one);
	stop(&two);
	probe_bpf__destroy(skel);
	return 0;
}

/* Attached to one process, then to all, then not any more. */
static void counts_while_it_is_attached(const char *program, struct hook_target target)
{
	struct bpf_link *link = NULL;

	target.pid = one.pid;
	assert_int_equal(hooks__attach(skel->obj, program, &target, &link), 0);
	assert_int_equal(run(&one), TIMES);
	assert_int_equal(run(&two), 0);
	hooks__detach(link);
	assert_int_equal(run(&one), 0);
	target.pid = 0;
	assert_int_equal(hooks__attach(skel->obj, program, &target, &link), 0);
	assert_int_equal(run(&one), TIMES);
	assert_int_equal(run(&two), TIMES);
	hooks__detach(link);
	assert_int_equal(run(&one), 0);
	assert_int_equal(run(&two), 0);
}

static void a_function_is_counted_while_its_hook_is_attached(void **state)
{
	struct hook_target target = { .file = path, .symbol = "marked" };

	counts_while_it_is_attached("probe_uprobe", target);
	counts_while_it_is_attached("probe_uretprobe", target);
}

static void a_usdt_probe_is_counted_while_its_hook_is_attached(void **state)
{
	struct hook_target target = { .file = path, .provider = "gapless_test", .name = "step" };

	counts_while_it_is_attached("probe_usdt", target);
}

/* Where in the file the function is. */
static uint64_t offset_of(const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	Elf_Scn *section = NULL;
	uint64_t address = 0, offset = 0;
	GElf_Phdr segment;
	GElf_Shdr head;
	GElf_Sym symbol;
	size_t count = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &head))
		for (size_t i = 0; head.sh_type == SHT_SYMTAB && i < head.sh_size / head.sh_entsize;
		     i++)
			if (gelf_getsym(elf_getdata(section, NULL), (int)i, &symbol) &&
			    !strcmp(elf_strptr(elf, head.sh_link, symbol.st_name), name))
				address = symbol.st_value;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
		    address < segment.p_vaddr + segment.p_memsz)
			offset = address - segment.p_vaddr + segment.p_offset;
	elf_end(elf);
	close(fd);
	assert_int_not_equal(offset, 0);
	return offset;
}

static void an_offset_in_the_file_does_as_well(void **state)
{
	counts_while_it_is_attached(
		"probe_uprobe",
		(struct hook_target) { .file = path, .offset = offset_of("marked") });
}

static void a_clock_ticks_while_its_hook_is_attached(void **state)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};
	struct hook_target target = { .event_fd = sys__perf_event_open(&attr, -1, 0) };
	struct bpf_link *link = NULL;
	uint64_t before = skel->bss->seen;

	assert_true(target.event_fd > 0);
	assert_int_equal(hooks__attach(skel->obj, "probe_perf_event", &target, &link), 0);
	for (int i = 0; i < 100 && skel->bss->seen == before; i++)
		usleep(10000);
	hooks__detach(link);
	assert_true(skel->bss->seen > before);
	before = skel->bss->seen;
	usleep(50000);
	assert_int_equal(skel->bss->seen, before);
}

static void what_is_not_there_is_refused_by_name(void **state)
{
	struct hook_target target = { .pid = one.pid, .file = path, .symbol = "no_such_function" };
	struct bpf_link *link = NULL;
	char words[PATH_MAX + 64], expected[PATH_MAX + 64];

	assert_int_equal(hooks__attach(skel->obj, "probe_uprobe", &target, &link), -ENOENT);
	hooks__describe(&target, words, sizeof(words));
	snprintf(expected, sizeof(expected), "'no_such_function' in '%s', process %d", path,
		 one.pid);
	assert_string_equal(words, expected);
	assert_int_equal(hooks__attach(skel->obj, "no_such_program", &target, &link), -ENOENT);
	assert_int_equal(hooks__attach(skel->obj, "probe_uprobe", NULL, &link), -EINVAL);
	target = (struct hook_target) { .file = path, .provider = "gapless_test", .name = "none" };
	assert_int_equal(hooks__attach(skel->obj, "probe_usdt", &target, &link), -ENOENT);
	target.file = "/no/such/file";
	assert_int_not_equal(hooks__attach(skel->obj, "probe_usdt", &target, &link), 0);
	assert_null(link);
	assert_int_equal(run(&one), 0);
}

/* It counts a sleep of as many nanoseconds as the nonce. */
static uint64_t sleeps_counted(struct probe_bpf *loaded)
{
	const struct timespec time = { .tv_nsec = NONCE };
	uint64_t before = loaded->bss->seen;

	for (int i = 0; i < 10; i++)
		nanosleep(&time, NULL);
	return loaded->bss->seen - before;
}

static void a_function_of_the_kernel_is_counted_while_its_hook_is_attached(void **state)
{
	static const char *const programs[] = { "probe_kprobe", NULL };
	struct hook_target target = { .symbol = "hrtimer_nanosleep" };
	struct features *features = features__new();
	struct bpf_link *link = NULL;
	struct probe_bpf *loaded;
	bool works = features__has(features, FEATURE_KPROBE);

	features__free(features);
	if (!works) {
		print_message("# skip: this kernel has no kprobes\n");
		skip();
	}
	loaded = load(programs, false);
	assert_int_equal(hooks__attach(loaded->obj, "probe_kprobe", &target, &link), 0);
	assert_int_equal(sleeps_counted(loaded), 10);
	hooks__detach(link);
	assert_int_equal(sleeps_counted(loaded), 0);
	probe_bpf__destroy(loaded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_counted_while_its_hook_is_attached),
		cmocka_unit_test(a_usdt_probe_is_counted_while_its_hook_is_attached),
		cmocka_unit_test(an_offset_in_the_file_does_as_well),
		cmocka_unit_test(a_clock_ticks_while_its_hook_is_attached),
		cmocka_unit_test(what_is_not_there_is_refused_by_name),
		cmocka_unit_test(a_function_of_the_kernel_is_counted_while_its_hook_is_attached),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
