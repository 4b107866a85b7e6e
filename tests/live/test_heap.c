/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap: what the program counts itself must be what the recording has, exactly if calls are few,
 * and else within what the report says.
 */
#include "../harness.h"

#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

/* Recordings of one program whose calls are estimated, and how many must be within the error. */
/* Statistics need several recordings: slow_heap, made with SEVERAL_ESTIMATES, makes them. */
#ifdef SEVERAL_ESTIMATES
#define ESTIMATES 5
#define WITHIN    4
#else
#define ESTIMATES 1
#define WITHIN    0
#endif

struct truth {
	unsigned long calls, bytes, frees;
};

static char counter_file[64];

static struct truth read_truth(void)
{
	FILE *file = fopen(counter_file, "re");
	struct truth truth;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu %lu", &truth.calls, &truth.bytes, &truth.frees), 3);
	fclose(file);
	unlink(counter_file);
	return truth;
}

static json_t *heap_of(json_t *report)
{
	json_t *signals = json_object_get(report, "signals"), *one;
	size_t i;

	json_array_foreach (signals, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "name")), "heap"))
			return json_object_get(one, "heap");
	fail_msg("the report has no heap");
	return NULL;
}

/* The program's own counts go to the file that `variable` names. */
static json_t *record(const char *variable, const char *budget, const char *const *command)
{
	const char *args[32] = { "record", "--memory-heap", "--signals", "none", "--budget",
				 budget,   "--no-report",   "-o",        NULL,   "--" };
	size_t count = 10;
	struct output output;
	json_t *report;
	char path[64];

	snprintf(counter_file, sizeof(counter_file), "/tmp/heap-counter-%d", getpid());
	setenv(variable, counter_file, 1);
	trial__path(path, sizeof(path));
	args[8] = path;
	for (size_t i = 0; command[i]; i++)
		args[count++] = command[i];
	output = live__run(NULL, args);
	unsetenv(variable);
	if (output.status)
		fail_msg("gapless failed: %s", output.err);
	live__release(&output);
	report = trial__report(path);
	trial__remove(path);
	return report;
}

static double number_of(const json_t *heap, const char *name, const char *what)
{
	return json_number_value(json_object_get(json_object_get(heap, name), what));
}

static void assert_exact(const json_t *heap, const char *name, unsigned long truth)
{
	assert_int_equal(number_of(heap, name, "estimate"), truth);
	assert_int_equal(number_of(heap, name, "error"), 0);
}

/*
 * Whether the truth is within the error, which must not be an excuse for anything. A busy machine
 * leaves room for few windows: then the error is large, or not known.
 */
static int is_within(const json_t *heap, const char *name, unsigned long truth)
{
	double estimate = number_of(heap, name, "estimate"), error = number_of(heap, name, "error"),
	       off = estimate > (double)truth ? estimate - (double)truth : (double)truth - estimate;

	print_message("# %s: %.0f, estimated %.0f ± %.0f\n", name, (double)truth, estimate, error);
	if (json_is_null(json_object_get(json_object_get(heap, name), "error")))
		return 1;
	if (off > 3 * error)
		fail_msg("%s: %lu, not %.0f ± %.0f", name, truth, estimate, error);
	assert_true(error < 2 * estimate ||
		    json_integer_value(json_object_get(heap, "windows")) < 16);
	return off <= error;
}

/* Without a budget, probes stay: every call counts, and a call that glibc passes on counts once. */
static void every_call_is_counted_once_if_probes_stay(void **state)
{
	json_t *report = record("HEAP_COUNTER_FILE", "none", WORKLOAD("heap_user", "1", "100000")),
	       *heap = heap_of(report);
	struct truth truth = read_truth();

	assert_true(json_is_true(json_object_get(heap, "exact")));
	assert_exact(heap, "calls", truth.calls);
	assert_exact(heap, "bytes", truth.bytes);
	assert_exact(heap, "frees", truth.frees);
	json_decref(report);
}

/* The function with most bytes leads the list of stacks. */
static void assert_led_by(const json_t *heap, const char *function)
{
	const json_t *first = json_array_get(json_object_get(heap, "stacks"), 0), *one;
	const json_t *functions = json_object_get(first, "functions");
	bool is_there = false;
	size_t i;

	json_array_foreach (functions, i, one)
		is_there |= !strcmp(json_string_value(one), function);
	if (!is_there)
		fail_msg("the first stack does not have '%s'", function);
}

/* So many calls that windows have a hundredth of the time. */
static void estimate(const char *mode, int *within)
{
	json_t *report = record("HEAP_COUNTER_FILE", "5%", WORKLOAD("heap_user", "4", "300", mode)),
	       *heap = heap_of(report);
	struct truth truth = read_truth();

	assert_true(json_is_false(json_object_get(heap, "exact")));
	assert_true(json_integer_value(json_object_get(heap, "windows")) > 0);
	assert_true(json_integer_value(json_object_get(heap, "least_calls")) > 3);
	/* A fifth of the budget; what a short recording cannot make good is the burst at its start.
	 */
	assert_true(json_number_value(json_object_get(heap, "cost_share")) < 0.02);
	within[0] += is_within(heap, "calls", truth.calls);
	within[1] += is_within(heap, "bytes", truth.bytes);
	within[2] += is_within(heap, "frees", truth.frees);
	assert_led_by(heap, "large");
	json_decref(report);
}

static void assert_estimated(const char *mode)
{
	int within[3] = {};

	for (int i = 0; i < ESTIMATES; i++)
		estimate(mode, within);
	for (int i = 0; i < 3; i++)
		assert_in_range(within[i], WITHIN, ESTIMATES);
}

static void many_calls_are_estimated_within_the_error(void **state)
{
	assert_estimated("steady");
}

#ifdef SEVERAL_ESTIMATES
static void a_program_with_phases_is_estimated_within_the_error(void **state)
{
	assert_estimated("phases");
}
#endif

/* --- allocators ------------------------------------------------------------------------------- */

/* Besides the program, env(1), the C library and the dynamic linker ask for memory. */
static void assert_about(const json_t *heap, const char *name, unsigned long truth,
			 unsigned long besides)
{
	double is = number_of(heap, name, "estimate");

	print_message("# %s: %lu, counted %.0f\n", name, truth, is);
	if (is < (double)truth || is > (double)(truth + besides))
		fail_msg("%s: %.0f, not %lu", name, is, truth);
	assert_int_equal(number_of(heap, name, "error"), 0);
}

/* `library` is preloaded; NULL: none. */
static void assert_counted(const char *program, const char *library, const char *mode)
{
	char preload[256];
	const char *const command[] = {
		"/usr/bin/env", preload, workload__path(program), "1", "20000", mode, NULL
	};
	struct truth truth;
	json_t *report, *heap;

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library ? library : "");
	report = record("HEAP_USER_FILE", "none", command + (library ? 0 : 2));
	heap = heap_of(report);
	truth = read_truth();
	assert_true(truth.calls > 2000);
	assert_true(json_is_true(json_object_get(heap, "exact")));
	assert_about(heap, "calls", truth.calls, 300);
	assert_about(heap, "bytes", truth.bytes, 1 << 20);
	assert_about(heap, "frees", truth.frees, 300);
	json_decref(report);
}

static const char *need_library(const char *package, const char *name)
{
	static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu",
					       "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					       "/usr/lib" };
	static char path[128];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (!access(path, R_OK))
			return path;
	}
	print_message("# skipped: there is no %s [apt-get install %s]\n", name, package);
	skip();
	return NULL;
}

static void calls_of_glibc_are_counted(void **state)
{
	assert_counted("heap_plain", NULL, "");
}

static void calls_of_a_static_program_are_counted(void **state)
{
	assert_counted("heap_static", NULL, "");
}

static void calls_of_jemalloc_are_counted(void **state)
{
	assert_counted("heap_plain", need_library("libjemalloc2", "libjemalloc.so.2"), "new");
}

static void calls_of_tcmalloc_are_counted(void **state)
{
	assert_counted("heap_plain",
		       need_library("libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"), "new");
}

static void calls_of_mimalloc_are_counted(void **state)
{
	assert_counted("heap_plain", need_library("libmimalloc2.0", "libmimalloc.so.2"), "new");
}

static void operators_of_the_cpp_library_are_counted_once(void **state)
{
	assert_counted("heap_plain", need_library("libstdc++6", "libstdc++.so.6"), "new");
}

/* --- leaks ------------------------------------------------------------------------------------ */

/* A block that is not freed in a window is no leak: only what the kernel has given says so. */
static void what_grows_is_named_by_its_function_and_nothing_is_called_a_leak(void **state)
{
	json_t *log = NULL;
	struct output output;
	char path[64];

	trial__path(path, sizeof(path));
	trial__record_at(path, ARGS("--memory-heap", "--signals", "memory"),
			 WORKLOAD("touches", "leak", "1"), &log);
	json_decref(log);
	output = live__gapless("report", "--full", path);
	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "of memory more than it gave back"));
	assert_non_null(strstr(output.out, "of that in leak_here"));
	assert_null(strstr(output.out, " leaks"));
	assert_null(strstr(output.out, "leaked"));
	live__release(&output);
	trial__remove(path);
}

/* --- probes ----------------------------------------------------------------------------------- */

#define CODE 16

/* Where a process has a function of the C library that we have too, or 0. */
static uint64_t address_in(pid_t pid, const char *library, uint64_t offset)
{
	unsigned long begin, from;
	char path[64], line[512];
	uint64_t ret = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (!ret && fgets(line, sizeof(line), maps))
		if (strstr(line, library) && sscanf(line, "%lx-%*x %*s %lx", &begin, &from) == 2 &&
		    !from)
			ret = begin + offset;
	fclose(maps);
	return ret;
}

static void read_code(pid_t pid, uint64_t address, char *code)
{
	char path[64];
	FILE *memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = fopen(path, "re");
	assert_non_null(memory);
	assert_int_equal(fseek(memory, (long)address, SEEK_SET), 0);
	assert_int_equal(fread(code, 1, CODE, memory), CODE);
	fclose(memory);
}

/* While probes stay, malloc() has a breakpoint; after that, its own code. */
static void assert_probes_go(int signal)
{
	uint64_t base = address_in(getpid(), "/libc.so.6", 0), address;
	char seconds[] = "30", steps[] = "20000", during[CODE], after[CODE];
	char *const argv[] = { (char *)workload__path("heap_plain"), seconds, steps, NULL };
	char pid_text[16];
	struct trial trial;
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
	snprintf(pid_text, sizeof(pid_text), "%d", pid);
	trial = trial__start(ARGS("--memory-heap", "--signals", "none", "--budget", "none",
				  "--no-report", "-p", pid_text));
	address = address_in(pid, "/libc.so.6", (uintptr_t)dlsym(RTLD_NEXT, "malloc") - base);
	usleep(500000);
	read_code(pid, address, during);
	(void)trial__stop(&trial, signal);
	usleep(500000);
	read_code(pid, address, after);
	trial__remove(trial.path);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_memory_not_equal(during, (void *)dlsym(RTLD_NEXT, "malloc"), CODE);
	assert_memory_equal(after, (void *)dlsym(RTLD_NEXT, "malloc"), CODE);
}

static void no_probe_is_left_and_the_program_goes_on(void **state)
{
	if (!address_in(getpid(), "/libc.so.6", 0)) {
		print_message("# skipped: the C library has another name\n");
		skip();
	}
	assert_probes_go(SIGINT);
	assert_probes_go(SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_is_counted_once_if_probes_stay),
		HERE(many_calls_are_estimated_within_the_error),
#ifdef SEVERAL_ESTIMATES
		HERE(a_program_with_phases_is_estimated_within_the_error),
#endif
		cmocka_unit_test(calls_of_glibc_are_counted),
		cmocka_unit_test(calls_of_a_static_program_are_counted),
		HERE(calls_of_jemalloc_are_counted),
		HERE(calls_of_tcmalloc_are_counted),
		HERE(calls_of_mimalloc_are_counted),
		HERE(what_grows_is_named_by_its_function_and_nothing_is_called_a_leak),
		cmocka_unit_test(no_probe_is_left_and_the_program_goes_on),
		HERE(operators_of_the_cpp_library_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
