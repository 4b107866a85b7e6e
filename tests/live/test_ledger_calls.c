/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Syscalls that do not simply begin and end; threads that are held from outside. */
#include "../harness.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

static void check_call(json_t *report, const char *name, int64_t count, int64_t errors)
{
	json_t *call = syscall_named(report, name);

	if (!call)
		fail_msg("'%s' was never called", name);
	assert_int_equal(number_at(call, "count"), count);
	assert_int_equal(number_at(call, "errors"), errors);
	assert_true(number_at(call, "run_ns") <= number_at(call, "total_ns"));
}

/* 20 pauses and 20 sleeps end with EINTR; each of the children sleeps once more, undisturbed. */
static void calls_that_signals_break_off_count_once(void **state)
{
	json_t *log,
		*report = trial__record(ARGS("--level", "full"), WORKLOAD("interrupted"), &log);

	check_call(report, "pause", 20, 20);
	check_call(report, "clock_nanosleep", 25, 20);
	check_call(report, "setitimer", 45, 0);
	check_call(report, "rt_sigreturn", 45, 0);
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

/* Made again by the program, a call is another one; made again by the kernel, it is the same. */
static void a_call_made_again_by_the_program_is_another_one(void **state)
{
	static const char *const names[] = { "poll",  "pselect6", "clock_nanosleep", "recvfrom",
					     "futex", "pause",    "rt_sigsuspend" };
	json_t *log, *report = trial__record(ARGS("--level", "full"), WORKLOAD("retried"), &log);
	int64_t alarms = number_at(json_array_get(log, 0), "alarms");

	assert_int_equal(number_at(syscall_named(report, "read"), "errors"), 60);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(number_at(syscall_named(report, names[i]), "errors"), 60);
	check_call(report, "pause", 60, 60);
	check_call(report, "rt_sigsuspend", 60, 60);
	check_call(report, "recvfrom", 60, 60);
	assert_true(alarms >= 10);
	check_call(report, "readv", 20 + alarms, alarms);
	check_call(report, "recvmsg", 5, 5);
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

static void enter_pid_namespace(void)
{
	/* The next child is the first of the namespace: gapless itself, by way of a shell. */
	if (unshare(CLONE_NEWPID))
		_exit(125);
}

/* Numbers as gapless sees them are not the kernel's there. */
static void a_command_is_recorded_from_inside_a_pid_namespace(void **state)
{
	struct output output;
	char command[512];
	json_t *report;
	int status;
	pid_t child;

	snprintf(command, sizeof(command),
		 "%s record --json --force -o /tmp/inside.gapless -- sleep 0.2 >/tmp/inside.json",
		 live__program());
	child = fork();
	if (!child) {
		enter_pid_namespace();
		_exit(system(command) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	output = live__gapless("report", "--json", "/tmp/inside.gapless");
	report = live__json(&output);
	assert_int_equal(threads_named(report, "sleep"), 1);
	/* In all: a thread that loses its CPU on the way to sleep waits for less. */
	assert_int_equal(sum_count(report, "sleep", "wait", "sleep"), 1);
	assert_true(sum_ns(report, "sleep", NULL, NULL) >= 200 * MS);
	assert_closes(report);
	json_decref(report);
	live__release(&output);
	unlink("/tmp/inside.gapless");
	unlink("/tmp/inside.json");
}

static void write_to(const char *folder, const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* How many times the thread has left its CPU to wait. */
static long waits_of(pid_t pid, const char *comm)
{
	char command[160], text[32] = "";
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "awk '$1 == \"Name:\" { is = $2 == \"%s\" } is && /^voluntary/ { print $2 }' "
		 "/proc/%d/task/*/status",
		 comm, pid);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_non_null(fgets(text, sizeof(text), pipe));
	assert_int_equal(pclose(pipe), 0);
	return strtol(text, NULL, 10);
}

/*
 * A thread that spins stops when it next comes by: on a busy machine that takes a while. The cgroup
 * is called frozen even before.
 */
static void await_wait(pid_t pid, const char *comm, long before)
{
	for (int i = 0; i < 1000; i++) {
		if (waits_of(pid, comm) > before)
			return;
		usleep(10000);
	}
	fail_msg("'%s' does not freeze", comm);
}

/* Frozen in the middle of user code, where no syscall could say what it waits for. */
static void a_frozen_cgroup_is_stopped_not_faulting(void **state)
{
	struct workload workload = workload__start(WORKLOAD("stopper"));
	int64_t begin_ns, frozen_ns;
	struct trial trial;
	json_t *report;
	char folder[64], pid[16];
	long waits;

	/* With version 1 beside it, version 2 has a folder of its own. */
	snprintf(folder, sizeof(folder), "/sys/fs/cgroup/%sgapless-test-freeze",
		 access("/sys/fs/cgroup/unified", F_OK) ? "" : "unified/");
	assert_int_equal(mkdir(folder, 0755), 0);
	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	write_to(folder, "cgroup.procs", pid);
	trial = trial__start(ARGS("-p", pid));
	waits = waits_of(workload.pid, "stopped-spin");
	write_to(folder, "cgroup.freeze", "1");
	await_wait(workload.pid, "stopped-spin", waits);
	begin_ns = now_ns();
	usleep(300000);
	frozen_ns = now_ns() - begin_ns;
	write_to(folder, "cgroup.freeze", "0");
	usleep(50000);
	report = trial__end(&trial);
	workload__kill(&workload);
	/* A process that was killed leaves its cgroup a little later. */
	for (int i = 0; i < 50 && rmdir(folder); i++)
		usleep(20000);
	assert_true(sum_ns(report, "stopped-spin", "wait", "stopped") >= frozen_ns);
	assert_int_equal(sum_ns(report, "stopped-spin", "wait", "fault"), 0);
	assert_closes(report);
	json_decref(report);
}

/* A sleep that was stopped and continued before anybody looked goes on as restart_syscall. */
static void a_restarted_sleep_is_not_a_fault(void **state)
{
	struct trial trial;
	json_t *report;
	char pid[16];
	pid_t child = fork();

	if (!child) {
		execl("/bin/sleep", "sleep", "900", NULL);
		_exit(126);
	}
	usleep(100000);
	kill(child, SIGSTOP);
	usleep(100000);
	kill(child, SIGCONT);
	usleep(100000);
	snprintf(pid, sizeof(pid), "%d", child);
	trial = trial__start(ARGS("-p", pid));
	usleep(100000);
	report = trial__end(&trial);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(sum_ns(report, NULL, "wait", "fault"), 0);
	assert_true(sum_ns(report, NULL, "wait", NULL) > 0);
	assert_closes(report);
	json_decref(report);
}

/* Waits of a thread for the mmap_lock; fails on one that another than `holder` is said to hold. */
static int64_t waits_with_holder(json_t *report, const char *comm, const char *holder)
{
	int64_t count = 0;
	json_t *wait;
	size_t i;

	json_array_foreach (json_object_get(report, "waits"), i, wait) {
		json_t *object = json_object_get(wait, "object");

		if (strcmp(json_string_value(json_object_get(wait, "cause")), "kernel") ||
		    strcmp(json_string_value(json_object_get(wait, "evidence")), "owner") ||
		    strncmp(json_string_value(json_object_get(object, "name")), "mmap_lock of ",
			    strlen("mmap_lock of ")))
			continue;
		assert_string_equal(json_string_value(json_object_get(object, "kind")),
				    "kernel lock");
		if (strcmp(json_string_value(
				   json_object_get(json_object_get(wait, "waiter"), "comm")),
			   comm))
			continue;
		assert_string_equal(culprit_of(wait), holder);
		count += number_at(wait, "count");
	}
	return count;
}

/* A lock of the kernel says itself who holds it for writing. */
static void a_kernel_lock_is_named_with_its_holder(void **state)
{
	json_t *log,
		*report = trial__record(ARGS("--level", "sched"),
					WORKLOAD("mapper", is_emulated() ? "3000" : "1500"), &log);

	assert_true(waits_with_holder(report, "mapper", "protector") > 0);
	assert_closes(report);
	json_decref(report);
	json_decref(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_signals_break_off_count_once),
		cmocka_unit_test(a_call_made_again_by_the_program_is_another_one),
		cmocka_unit_test(a_command_is_recorded_from_inside_a_pid_namespace),
		cmocka_unit_test(a_frozen_cgroup_is_stopped_not_faulting),
		cmocka_unit_test(a_restarted_sleep_is_not_a_fault),
		cmocka_unit_test(a_kernel_lock_is_named_with_its_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
