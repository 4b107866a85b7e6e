/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of the agent: a program that burns CPU time in a known function, and what is spooled. */
#include "../harness.h"

#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/kernel_code.h"
#include "base/clock.h"
#include "fold/sampling.h"
#include "live.h"
#include "served.h"
#include "spooled.h"

#define SECOND_NS UINT64_C(1000000000)
#define REST                                                                                       \
	"budget.cpu_ppm: 1000000\nbudget.memory: 1G\nstore.url: http://127.0.0.1:9\n"              \
	"identity.rule: process=stack-burner -> service=burner\n"                                  \
	"identity.rule: process=late-burner -> service=late\n"
#define STACKS "level: stacks\nstacks.probability: 1\n" REST

/* --- a known function ------------------------------------------------------------------------- */

static volatile uint64_t burnt;

__attribute__((noinline)) void burn_here(uint64_t cpu_ns);
__attribute__((noinline)) void burn_here(uint64_t cpu_ns)
{
	while (clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) < cpu_ns)
		for (int i = 0; i < 1000000; i++)
			burnt += (uint64_t)i;
}

static pid_t start_burner(const char *name, uint64_t cpu_ns)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		burn_here(cpu_ns);
		_exit(0);
	}
	return pid;
}

/* Two at once. */
static void burn(const char *name, uint64_t cpu_ns)
{
	pid_t first = start_burner(name, cpu_ns), second = start_burner(name, cpu_ns);

	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
}

struct known {
	uint64_t module, begin, end;
	char build_id[CODE_BUILD_ID_BYTES];
};

static int find_build_id(struct dl_phdr_info *info, size_t size, void *context)
{
	struct known *known = context;

	for (int i = 0; i < info->dlpi_phnum && !known->build_id[0]; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_NOTE)
			(void)kernel_code__parse_notes(
				(const void *)(info->dlpi_addr + header->p_vaddr), header->p_memsz,
				known->build_id);
	}
	return 1; /* the first object is the program */
}

static struct known find_function(void)
{
	struct known known = {};
	char command[64], line[256];
	FILE *names;

	dl_iterate_phdr(find_build_id, &known);
	assert_true(known.build_id[0]);
	known.module = sampling__hash_build_id(known.build_id);
	snprintf(command, sizeof(command), "nm -S /proc/%d/exe", getpid());
	names = popen(command, "r");
	assert_non_null(names);
	while (fgets(line, sizeof(line), names)) {
		uint64_t size;

		if (strstr(line, " burn_here\n") &&
		    sscanf(line, "%" SCNx64 " %" SCNx64, &known.begin, &size) == 2)
			known.end = known.begin + size;
	}
	pclose(names);
	assert_true(known.end);
	return known;
}

/* --- what was spooled ------------------------------------------------------------------------- */

static struct spooled read_table(const char *table)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "%s/state/spool", served__folder());
	return spooled__read(folder, table);
}

static void empty_spool(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -f %s/state/spool/*.zst", served__folder());
	(void)!system(command);
}

static bool is_run_of(const struct spooled *rows, size_t row, const char *service)
{
	return !strcmp(spooled__get(rows, row, "service")->text, service) &&
	       !strcmp(spooled__get(rows, row, "state")->text, "run");
}

static uint64_t run_of(const struct spooled *rows, const char *service)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < rows->rows; i++)
		if (is_run_of(rows, i, service))
			ns += spooled__get(rows, i, "ns")->number;
	return ns;
}

static bool has_function(const struct spooled *stacks, uint64_t stack, const struct known *known)
{
	for (size_t i = 0; i < stacks->rows; i++) {
		const struct spooled_value *modules = spooled__get(stacks, i, "modules");
		const struct spooled_value *offsets = spooled__get(stacks, i, "offsets");

		if (spooled__get(stacks, i, "stack")->number != stack)
			continue;
		assert_int_equal(modules->count, offsets->count);
		for (size_t j = 0; j < modules->count; j++)
			if (modules->list[j] == known->module && offsets->list[j] >= known->begin &&
			    offsets->list[j] < known->end)
				return true;
	}
	return false;
}

/* The part of a service's samples of running time that are in the known function. */
static uint64_t in_function(const struct spooled *samples, const char *service)
{
	struct spooled stacks = read_table("stacks");
	const struct known known = find_function();
	uint64_t ns = 0;

	for (size_t i = 0; i < samples->rows; i++)
		if (is_run_of(samples, i, service) &&
		    has_function(&stacks, spooled__get(samples, i, "stack")->number, &known))
			ns += spooled__get(samples, i, "ns")->number;
	spooled__release(&stacks);
	return ns;
}

static bool has_module(const struct spooled *modules, const char *build_id, const char *kind,
		       const char *end_of_path)
{
	for (size_t i = 0; i < modules->rows; i++) {
		const char *path = spooled__get(modules, i, "path")->text;
		size_t length = strlen(path), end = strlen(end_of_path);

		if (spooled__get(modules, i, "module")->number ==
			    sampling__hash_build_id(build_id) &&
		    !strcmp(spooled__get(modules, i, "build_id")->text, build_id) &&
		    !strcmp(spooled__get(modules, i, "kind")->text, kind) && length >= end &&
		    !strcmp(path + length - end, end_of_path))
			return true;
	}
	return false;
}

static void check_modules(void)
{
	struct spooled modules = read_table("modules");
	const struct known known = find_function();
	char build_id[CODE_BUILD_ID_BYTES], bytes[4096];
	FILE *notes = fopen("/sys/kernel/notes", "r");
	size_t size = notes ? fread(bytes, 1, sizeof(bytes), notes) : 0;

	assert_true(has_module(&modules, known.build_id, "elf", "/test_agent_stacks"));
	if (!kernel_code__parse_notes(bytes, size, build_id))
		assert_true(has_module(&modules, build_id, "kernel", "vmlinux"));
	if (notes)
		fclose(notes);
	spooled__release(&modules);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void samples_of_a_known_function_weigh_what_the_ledger_has(void **state)
{
	struct spooled samples, ledger;
	uint64_t sampled_ns, exact_ns, known_ns;
	pid_t agent;

	served__configure(STACKS);
	agent = served__start();
	served__wait_for("/metrics", "level=\"stacks\"");
	burn("stack-burner", 6 * SECOND_NS);
	served__stop(agent);
	samples = read_table("samples");
	ledger = read_table("ledger");
	sampled_ns = run_of(&samples, "burner");
	exact_ns = run_of(&ledger, "burner");
	known_ns = in_function(&samples, "burner");
	print_message("exact %" PRIu64 " ms, sampled %" PRIu64 " ms, known %" PRIu64 " ms\n",
		      exact_ns / 1000000, sampled_ns / 1000000, known_ns / 1000000);
	assert_true(exact_ns > 11 * SECOND_NS);
	assert_true(sampled_ns > exact_ns / 10 * 8 && sampled_ns < exact_ns / 10 * 12);
	assert_true(known_ns > sampled_ns / 10 * 8);
	check_modules();
	spooled__release(&samples);
	spooled__release(&ledger);
}

static void samples_go_on_after_the_worker_died(void **state)
{
	struct spooled samples;
	uint64_t known_ns;
	pid_t agent;

	empty_spool();
	served__configure(STACKS);
	agent = served__start();
	served__wait_for("/metrics", "level=\"stacks\"");
	burn("stack-burner", SECOND_NS / 2);
	kill(served__worker(agent), SIGKILL);
	served__wait_for_log("the worker was ended by signal 9");
	served__wait_for("/metrics", "level=\"stacks\"");
	burn("late-burner", 2 * SECOND_NS);
	served__stop(agent);
	samples = read_table("samples");
	known_ns = in_function(&samples, "late");
	print_message("after the restart: %" PRIu64 " ms of 4 s\n", known_ns / 1000000);
	assert_true(known_ns > 3 * SECOND_NS / 2);
	spooled__release(&samples);
}

static void a_lower_level_ends_samples_and_the_account_goes_on(void **state)
{
	struct spooled samples, ledger;
	pid_t agent;

	empty_spool();
	served__configure(STACKS);
	agent = served__start();
	served__wait_for("/metrics", "level=\"stacks\"");
	burn("stack-burner", SECOND_NS / 2);
	served__configure("level: ledger\n" REST);
	kill(agent, SIGHUP);
	served__wait_for("/metrics", "level=\"ledger\"");
	burn("late-burner", SECOND_NS);
	served__stop(agent);
	samples = read_table("samples");
	ledger = read_table("ledger");
	assert_true(in_function(&samples, "burner") > 0);
	assert_int_equal(run_of(&samples, "late"), 0);
	assert_true(run_of(&ledger, "late") > 3 * SECOND_NS / 2);
	spooled__release(&samples);
	spooled__release(&ledger);
}

/* Anonymous memory of a process and its children, shared pages counted once, in kB. */
static uint64_t anonymous_kb(pid_t agent)
{
	char command[256];
	uint64_t kb = 0;
	FILE *sum;

	snprintf(command, sizeof(command),
		 "for p in %d $(pgrep -P %d); do cat /proc/$p/smaps_rollup; done | "
		 "awk '/^Pss_Anon/ { s += $2 } END { print s }'",
		 agent, agent);
	sum = popen(command, "r");
	assert_non_null(sum);
	assert_int_equal(fscanf(sum, "%" SCNu64, &kb), 1);
	pclose(sum);
	return kb;
}

static void all_processes_and_maps_together_are_small(void **state)
{
	uint64_t kb, bpf_kb;
	const char *page;
	pid_t agent;

	served__configure(STACKS);
	agent = served__start();
	served__wait_for("/metrics", "level=\"stacks\"");
	burn("stack-burner", SECOND_NS / 2);
	page = served__wait_for("/metrics", "gapless_agent_memory_bytes{of=\"bpf\"} ");
	bpf_kb = strtoul(strstr(page, "gapless_agent_memory_bytes{of=\"bpf\"} ") +
				 strlen("gapless_agent_memory_bytes{of=\"bpf\"} "),
			 NULL, 10) /
		 1024;
	kb = anonymous_kb(agent);
	print_message("processes %" PRIu64 " kB, BPF %" PRIu64 " kB\n", kb, bpf_kb);
	assert_true(kb + bpf_kb < 90 * 1024);
	served__stop(agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(samples_of_a_known_function_weigh_what_the_ledger_has),
		HERE(samples_go_on_after_the_worker_died),
		HERE(a_lower_level_ends_samples_and_the_account_goes_on),
		HERE(all_processes_and_maps_together_are_small),
	};

	return cmocka_run_group_tests(tests, served__set_up, served__tear_down);
}
