/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables that are text, and the map that all tables end up in. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/kallsyms.h"
#include "symbol/perfmap.h"
#include "symbol/rangemap.h"
#include "symbol/symbol.h"

#define SPACE 1000

/* Against an array that is right by being stupid. */
static void the_range_that_was_added_last_counts(void **state)
{
	uint64_t random = 1;

	for (int round = 0; round < 200; round++) {
		uint32_t expected[SPACE] = {};
		struct rangemap map = {};

		for (uint32_t i = 1; i <= (uint32_t)round; i++) {
			uint64_t start, end;

			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			start = (random >> 33) % SPACE;
			end = start + (random >> 50) % 100;
			assert_int_equal(rangemap__add(&map, start, end, i), 0);
			for (uint64_t at = start; at < end && at < SPACE; at++)
				expected[at] = i;
		}
		assert_int_equal(rangemap__seal(&map), 0);
		for (uint64_t at = 0; at < SPACE; at++) {
			uint32_t value = 0;

			assert_int_equal(rangemap__find(&map, at, &value), expected[at] != 0);
			assert_int_equal(value, expected[at]);
		}
		rangemap__release(&map);
	}
}

static void ranges_reach_the_last_address_but_one(void **state)
{
	struct rangemap map = {};
	uint32_t value;

	assert_int_equal(rangemap__seal(&map), 0);
	assert_false(rangemap__find(&map, 0, &value));
	assert_int_equal(rangemap__add(&map, UINT64_MAX - 1, UINT64_MAX, 7), 0);
	assert_int_equal(rangemap__add(&map, 5, 5, 8), 0);
	assert_int_equal(rangemap__add(&map, 6, 5, 9), 0);
	assert_int_equal(rangemap__seal(&map), 0);
	assert_true(rangemap__find(&map, UINT64_MAX - 1, &value));
	assert_int_equal(value, 7);
	assert_false(rangemap__find(&map, UINT64_MAX, &value));
	assert_false(rangemap__find(&map, 5, &value));
	rangemap__release(&map);
}

static struct perfmap *perfmap_of(const char *text)
{
	cleanup(fclose_p) FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct perfmap *map;

	assert_non_null(file);
	assert_int_equal(perfmap__read(file, NULL, &map), 0);
	return map;
}

static void assert_found(const struct perfmap *map, uint64_t address, const char *expected)
{
	const char *name = perfmap__find(map, address);

	if (!expected)
		assert_null(name);
	else
		assert_string_equal(name, expected);
}

static void a_perf_map_has_names_with_spaces_and_later_lines_count(void **state)
{
	struct perfmap *map = perfmap_of("1000 100 LazyCompile:~f native:7\n"
					 "0x2000 0x10 with prefix\r\n"
					 "1080 10 inside\n"
					 "1f00 200 over the second\n"
					 "3000 10 no newline");

	assert_found(map, 0xfff, NULL);
	assert_found(map, 0x1000, "LazyCompile:~f native:7");
	assert_found(map, 0x1080, "inside");
	assert_found(map, 0x108f, "inside");
	assert_found(map, 0x1090, "LazyCompile:~f native:7");
	assert_found(map, 0x10ff, "LazyCompile:~f native:7");
	assert_found(map, 0x1100, NULL);
	assert_found(map, 0x2008, "over the second");
	assert_found(map, 0x300f, "no newline");
	assert_found(map, 0x3010, NULL);
	perfmap__free(map);
}

static void a_perf_map_may_be_full_of_garbage(void **state)
{
	struct perfmap *map =
		perfmap_of("\n\n   \n0x\n1000\n1000 \n1000 10\n1000 10 \nzz 10 bad\n"
			   "1000 zz bad\n-1000 10 bad\n11112222333344445 10 too long\n"
			   "4000 0 empty\n"
			   "fffffffffffffff0 ffffffffffffffff long\n"
			   "5000 1 good\n\xff\xfe\x01\n");

	assert_found(map, 0x1000, NULL);
	assert_found(map, 0x4000, NULL);
	assert_found(map, 0x5000, "good");
	assert_found(map, UINT64_MAX - 1, "long");
	perfmap__free(map);
	map = perfmap_of("");
	assert_found(map, 0, NULL);
	perfmap__free(map);
}

static void a_perf_map_that_cannot_be_read_to_its_end_is_refused(void **state)
{
	cleanup(fclose_p) FILE *file = fopen("/tmp", "re");
	struct perfmap *map = NULL;

	/* Reading a directory fails with EISDIR. */
	assert_non_null(file);
	assert_int_equal(perfmap__read(file, NULL, &map), -EFBIG);
	assert_null(map);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void generated_code_has_the_names_of_its_process_unless_others_wrote_them(void **state)
{
	struct symbol_chain chain;
	struct symbols *symbols;
	struct perfmap *map;
	char path[64], other[80];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	write_file(path, "1000 10 generated\n");
	assert_int_equal(symbols__new(NULL, &symbols), 0);
	assert_int_equal(symbols__in_jit(symbols, getpid(), 0x1008, &chain), 0);
	assert_int_equal(chain.count, 1);
	assert_string_equal(chain.frames[0].name, "generated");
	assert_int_equal(symbols__in_jit(symbols, getpid(), 0x1010, &chain), 0);
	assert_int_equal(chain.count, 0);
	symbols__free(symbols);
	/* Not more than one name: it could be anybody's file. */
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(perfmap__open(getpid(), NULL, &map), -EPERM);
	unlink(other);
	assert_int_equal(perfmap__open(getpid(), NULL, &map), 0);
	perfmap__free(map);
	assert_int_equal(truncate(path, 300L << 20), 0);
	assert_int_equal(perfmap__open(getpid(), NULL, &map), -EFBIG);
	if (!chown(path, 12345, 12345))
		assert_int_equal(perfmap__open(getpid(), NULL, &map), -EPERM);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(perfmap__open(getpid(), NULL, &map), -ELOOP);
	unlink(path);
	assert_int_equal(perfmap__open(getpid(), NULL, &map), -ENOENT);
}

/* As a process can bind any file of this machine over its own map, in a mount namespace. */
static void roots_files_are_not_the_names_of_somebody_elses_process(void **state)
{
	struct perfmap *map;
	char path[64];
	int ready[2];
	pid_t pid;

	if (geteuid()) {
		print_message("# skip: only root can become somebody else\n");
		skip();
	}
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		(void)!write(ready[1], "r", setresuid(12345, 12345, 12345) == 0);
		pause();
	}
	assert_int_equal(read(ready[0], path, 1), 1);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	write_file(path, "1000 10 secret\n");
	assert_int_equal(perfmap__open(pid, NULL, &map), -EPERM);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
	close(ready[0]);
	close(ready[1]);
}

/* A process that is 1 in its pid namespace, with `root` as its root. Its number here. */
static pid_t start_contained(const char *root)
{
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		pid_t inner = unshare(CLONE_NEWPID) ? -1 : fork();

		if (!inner) {
			pid = chroot(root) ? -1 : 0;
			(void)!write(ready[1], &pid, sizeof(pid));
			pause();
		}
		(void)!write(ready[1], &inner, sizeof(inner));
		_exit(inner < 0);
	}
	for (int i = 0; i < 2; i++) {
		pid_t told = -1;

		(void)!read(ready[0], &told, sizeof(told));
		pid = told ? told : pid;
		if (told < 0)
			break;
	}
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void a_container_has_its_own_names(void **state)
{
	char root[] = "/tmp/test_symbol_XXXXXX", path[64];
	struct perfmap *map;
	pid_t pid;

	if (geteuid()) {
		print_message("# skip: only root can make a pid namespace\n");
		skip();
	}
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/tmp", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/tmp/perf-1.map", root);
	write_file(path, "1000 10 contained\n");
	pid = start_contained(root);
	assert_true(pid > 1);
	assert_int_equal(perfmap__open(pid, NULL, &map), 0);
	assert_found(map, 0x1000, "contained");
	perfmap__free(map);
	kill(pid, SIGKILL);
	while (wait(NULL) > 0)
		;
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(root);
}

static struct kallsyms kallsyms_of(const char *text)
{
	cleanup(fclose_p) FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct kallsyms kallsyms;

	assert_non_null(file);
	assert_int_equal(kallsyms__read(file, &kallsyms), 0);
	return kallsyms;
}

static void assert_kernel_name(const struct kallsyms *kallsyms, uint64_t address, const char *name,
			       const char *owner)
{
	const char *found_owner = NULL, *found = kallsyms__find(kallsyms, address, &found_owner);

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, name);
	if (owner)
		assert_string_equal(found_owner, owner);
	else
		assert_null(found_owner);
}

static void kallsyms_has_the_kernel_its_modules_and_bpf_programs(void **state)
{
	struct kallsyms kallsyms =
		kallsyms_of("0000000000000000 A fixed_percpu_data\n"
			    "ffffffff81000000 T _stext\n"
			    "ffffffff81000000 T startup_64\n"
			    "ffffffff81000100 t helper\n"
			    "ffffffff81000180 D some_data\n"
			    "ffffffff81000200 W weak_one\n"
			    "ffffffffc0001000 t ext4_read\t[ext4]\n"
			    "ffffffffc0002000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
			    "garbage\nffffffffc0003000\nffffffffc0003000 t\n ffff t x\n");

	assert_kernel_name(&kallsyms, 0, NULL, NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffff80ffffff), NULL, NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffff810000ff), "startup_64", NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffff8100017f), "helper", NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffff81000180), NULL, NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffff81000200), "weak_one", NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffffb0000000), NULL, NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffffc0001fff), "ext4_read", "[ext4]");
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffffc0002001),
			   "bpf_prog_6deef7357e7b4530_sd_fw", "[bpf]");
	kallsyms__release(&kallsyms);
}

static void kallsyms_that_hides_its_addresses_has_no_names(void **state)
{
	struct kallsyms kallsyms = kallsyms_of("0000000000000000 T _stext\n"
					       "0000000000000000 t helper\n");

	assert_kernel_name(&kallsyms, 0, NULL, NULL);
	assert_kernel_name(&kallsyms, UINT64_C(0xffffffff81000000), NULL, NULL);
	kallsyms__release(&kallsyms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_range_that_was_added_last_counts),
		cmocka_unit_test(ranges_reach_the_last_address_but_one),
		cmocka_unit_test(a_perf_map_has_names_with_spaces_and_later_lines_count),
		cmocka_unit_test(a_perf_map_may_be_full_of_garbage),
		cmocka_unit_test(a_perf_map_that_cannot_be_read_to_its_end_is_refused),
		cmocka_unit_test(
			generated_code_has_the_names_of_its_process_unless_others_wrote_them),
		cmocka_unit_test(roots_files_are_not_the_names_of_somebody_elses_process),
		cmocka_unit_test(a_container_has_its_own_names),
		cmocka_unit_test(kallsyms_has_the_kernel_its_modules_and_bpf_programs),
		cmocka_unit_test(kallsyms_that_hides_its_addresses_has_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
