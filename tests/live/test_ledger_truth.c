/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger against threads that know what they did: each phase of the workload spends a known
 * time in a known way, by its own clock, at both levels of detail.
 */
#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "ledger.h"

enum level { FULL, SCHED, LEVELS };

static const char *const level_names[LEVELS] = { "full", "sched" };

/* One recording per level serves all tests. */
static struct {
	json_t *report;
	json_t *log;
	int64_t stolen_ns;
} runs[LEVELS];

static int record_both(void **state)
{
	/* The VM's /tmp is memory, which does not let anybody wait. */
	const char *const on_disk[] = { workload__path("phases"), "--file", "/dev/vda", NULL };
	const char *const in_file[] = { workload__path("phases"), NULL };

	for (int i = 0; i < LEVELS; i++) {
		int64_t before_ns = stolen_ns();

		runs[i].report = trial__record(ARGS("--level", level_names[i]),
					       is_emulated() ? on_disk : in_file, &runs[i].log);
		runs[i].stolen_ns = stolen_since(before_ns);
	}
	return 0;
}

static int release_both(void **state)
{
	for (int i = 0; i < LEVELS; i++) {
		json_decref(runs[i].report);
		json_decref(runs[i].log);
	}
	return 0;
}

/* What is to be found of a phase. */
struct truth {
	const char *phase;
	const char *comm;
	const char *cause;
	const char *kind;
	const char *object;  /* its kind, NULL if it does not matter */
	const char *culprit; /* NULL if it does not matter */
	const char *evidence;
};

static const struct truth truths[] = {
	{ "sleep", "sleeper", "sleep", "idle" },
	{ "lock", "waiter", "lock", "delaying", "futex", "holder", "owner" },
	{ "cond", "cond-waiter", "lock", "undecided", "futex", "signaller", "waker" },
	{ "child", "parent", "child", "delaying", "child", "child-sleeper", "waker" },
	{ "tcp", "tcp-waiter", "net", "delaying", "socket", "tcp-answerer", "waker" },
	{ "unix", "unix-waiter", "net", "delaying", "socket", "unix-answerer", "waker" },
	{ "accept", "acceptor", "net", "idle", "socket", "connector", "waker" },
	{ "pipe", "pipe-reader", "pipe", "delaying", "pipe", "pipe-writer", "waker" },
	{ "poll", "poller", "poll", "idle" },
	{ "epoll", "epoller", "poll", "idle" },
	{ "disk", "disk-reader", "disk", "delaying" },
	{ "fault", "faulter", "fault", "delaying" },
};

#define TRUTHS (sizeof(truths) / sizeof(*truths))

static void check_kind(json_t *report, const struct truth *truth)
{
	json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(thread_named(report, truth->comm), "states"), i,
			    entry) {
		if (strcmp(json_string_value(json_object_get(entry, "state")), "wait") ||
		    strcmp(json_string_value(json_object_get(entry, "cause")), truth->cause))
			continue;
		assert_string_equal(json_string_value(json_object_get(entry, "kind")), truth->kind);
	}
}

/*
 * The wait that names the culprit; without a culprit, the longest. On a busy machine an interrupt
 * may deliver a packet; then that wait names the interrupt, and any of the others must do.
 */
static json_t *telling_wait(json_t *report, const struct truth *truth)
{
	json_t *wait, *found = NULL;
	size_t i;

	if (!truth->object || strcmp(truth->object, "socket"))
		return wait_of(report, truth->comm, truth->cause);
	json_array_foreach (json_object_get(report, "waits"), i, wait) {
		if (strcmp(text_at(json_object_get(wait, "waiter"), "comm"), truth->comm) ||
		    strcmp(text_at(wait, "cause"), truth->cause))
			continue;
		if (!strcmp(culprit_of(wait), truth->culprit))
			found = wait;
		else
			assert_string_equal(culprit_of(wait), "[interrupt]");
	}
	assert_non_null(found);
	return found;
}

static void check_culprit(json_t *report, const struct truth *truth)
{
	json_t *wait = telling_wait(report, truth);
	json_t *object = json_object_get(wait, "object");

	if (truth->object) {
		assert_non_null(json_string_value(json_object_get(object, "kind")));
		assert_string_equal(json_string_value(json_object_get(object, "kind")),
				    truth->object);
	}
	if (!truth->culprit)
		return;
	assert_string_equal(culprit_of(wait), truth->culprit);
	assert_string_equal(json_string_value(json_object_get(wait, "evidence")), truth->evidence);
}

/* Prints what else it waited for if the count is wrong. */
static void assert_waits(json_t *report, const struct truth *truth, int64_t waits)
{
	int64_t count = sum_count(report, truth->comm, "wait", truth->cause);
	json_t *entry;
	size_t i;

	/* A disk that interrupts the end of a grace period of RCU is taken for it. */
	if (is_emulated() && !strcmp(truth->cause, "disk"))
		count += sum_count(report, truth->comm, "wait", "kernel");
	if (count != waits)
		json_array_foreach (json_object_get(thread_named(report, truth->comm), "states"), i,
				    entry)
			print_message("# %s.%s: %ld\n", text_at(entry, "state"),
				      text_at(entry, "cause"), number_at(entry, "count"));
	assert_int_equal(count, waits);
}

static void check_truth(void **state)
{
	const struct truth *truth = *state;

	for (int i = 0; i < LEVELS; i++) {
		json_t *report = runs[i].report;
		json_t *phase = log_phase(runs[i].log, truth->phase, truth->comm);

		print_message("# level %s\n", level_names[i]);
		assert_true(number_at(phase, "waits") > 0);
		assert_waits(report, truth, number_at(phase, "waits"));
		assert_waited(report, truth->comm, truth->cause, number_at(phase, "blocked_ns"));
		check_kind(report, truth);
		check_culprit(report, truth);
	}
}

static void every_account_closes_and_is_explained(void **state)
{
	for (int i = 0; i < LEVELS; i++) {
		assert_closes(runs[i].report);
		assert_explained(runs[i].report);
	}
}

static void every_call_is_counted(void **state)
{
	json_t *calls = log_phase(runs[FULL].log, "calls", "caller");
	json_t *getppid = syscall_named(runs[FULL].report, "getppid");

	assert_non_null(getppid);
	assert_int_equal(number_at(getppid, "count"), number_at(calls, "count"));
	assert_int_equal(number_at(getppid, "errors"), 0);
	assert_true(number_at(getppid, "p50_ns") <= number_at(getppid, "p99_ns"));
	assert_true(number_at(getppid, "p99_ns") <= number_at(getppid, "max_ns"));
	assert_true(number_at(getppid, "total_ns") <
		    sum_ns(runs[FULL].report, "caller", NULL, NULL));
	assert_true(sum_ns(runs[FULL].report, "caller", "run", "kernel") > 0);
	assert_int_equal(json_array_size(json_object_get(runs[SCHED].report, "syscalls")), 0);
}

/*
 * An emulator that runs its CPUs by turns may leave one amid an interrupt, for 100 ms: that is time
 * in the kernel, and so is what a hypervisor takes away there.
 */
static void spinning_is_user_time(void **state)
{
	json_t *report = runs[FULL].report;
	int64_t user_ns = sum_ns(report, "spinner", "run", "user");
	int64_t kernel_ns = sum_ns(report, "spinner", "run", "kernel");

	assert_true(user_ns > 0);
	if (!is_emulated())
		assert_true(kernel_ns < user_ns / 9 + runs[FULL].stolen_ns);
	assert_int_equal(sum_ns(report, "spinner", "run", "any"), 0);
	assert_true(sum_ns(runs[SCHED].report, "spinner", "run", "any") > 0);
	assert_int_equal(sum_ns(runs[SCHED].report, "spinner", "run", "user"), 0);
}

/*
 * The kernel's clock is stamped elsewhere than ours, by up to 1 µs a switch, and by as much as a
 * hypervisor takes the CPU away in between: that can fall to either side. And the thread goes on
 * for `after_ns` after it has read it: usually some microseconds, more if it is preempted there.
 */
static void check_against_kernel(enum level level, json_t *phase, const char *state,
				 const char *key)
{
	json_t *report = runs[level].report;
	const char *comm = json_string_value(json_object_get(phase, "comm"));
	int64_t is_ns = sum_ns(report, comm, state, NULL), should_ns = number_at(phase, key);
	int64_t after_ns = sum_ns(report, comm, NULL, NULL) -
			   (number_at(phase, "end_ns") - number_at(phase, "begin_ns"));
	int64_t slack =
		slack_ns(should_ns) + 1000 * number_at(phase, "slices") + runs[level].stolen_ns;
	int64_t most_ns = should_ns + slack + after_ns;

	if (is_emulated())
		return;
	if (is_ns < should_ns - slack || is_ns > most_ns)
		fail_msg("'%s', %s: %" PRId64 " ns, the kernel says %" PRId64 " (- %" PRId64
			 ", at most %" PRId64 ")",
			 comm, state, is_ns, should_ns, slack, most_ns);
}

static void running_and_ready_time_are_what_the_kernel_says(void **state)
{
	for (int i = 0; i < LEVELS; i++) {
		json_t *phase;
		size_t j;

		json_array_foreach (runs[i].log, j, phase) {
			if (json_object_get(phase, "skip"))
				continue;
			check_against_kernel(i, phase, "run", "cpu_ns");
			check_against_kernel(i, phase, "ready", "ready_ns");
		}
	}
}

struct crowd {
	int members;
	int64_t begin_ns, end_ns; /* from the first one's begin to the last one's end */
	int64_t spun_ns;          /* of all of them, by their own clocks */
	int64_t lives_ns;         /* … and what they lived: a little more */
	int64_t run_ns, ready_ns;
};

static void add_member(struct crowd *crowd, json_t *report, json_t *phase)
{
	const char *comm = json_string_value(json_object_get(phase, "comm"));
	int64_t begin_ns = number_at(phase, "begin_ns"), end_ns = number_at(phase, "end_ns");

	assert_true(sum_count(report, comm, "ready", "preempted") > 0);
	if (!crowd->members || begin_ns < crowd->begin_ns)
		crowd->begin_ns = begin_ns;
	if (end_ns > crowd->end_ns)
		crowd->end_ns = end_ns;
	crowd->members++;
	crowd->spun_ns += end_ns - begin_ns;
	crowd->lives_ns += sum_ns(report, comm, NULL, NULL);
	crowd->run_ns += sum_ns(report, comm, "run", NULL);
	crowd->ready_ns += sum_ns(report, comm, "ready", NULL);
}

/* They wait for nothing, and no more of them run than there are CPUs: so the rest was ready. */
static void a_crowd_shares_the_cpus_and_is_ready_for_the_rest(void **state)
{
	int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (int i = 0; i < LEVELS; i++) {
		struct crowd crowd = { 0 };
		int64_t span_ns;
		json_t *phase;
		size_t j;

		json_array_foreach (runs[i].log, j, phase)
			if (!strcmp(json_string_value(json_object_get(phase, "phase")), "crowd"))
				add_member(&crowd, runs[i].report, phase);
		span_ns = crowd.end_ns - crowd.begin_ns;
		assert_int_equal(crowd.members, cpus + 2);
		assert_true(crowd.run_ns + crowd.ready_ns >=
			    crowd.spun_ns - slack_ns(crowd.spun_ns));
		assert_true(crowd.run_ns <= cpus * span_ns + crowd.lives_ns - crowd.spun_ns);
	}
}

/* cmocka names a test by its function; these share one. */
static const struct CMUnitTest truth_tests[TRUTHS] = {
	{ "sleeping_is_idle", check_truth, NULL, NULL, (void *)&truths[0] },
	{ "a_mutex_is_waited_for_because_of_its_holder", check_truth, NULL, NULL,
	  (void *)&truths[1] },
	{ "a_condition_variable_is_undecided_and_names_who_signalled", check_truth, NULL, NULL,
	  (void *)&truths[2] },
	{ "a_child_is_waited_for_by_name", check_truth, NULL, NULL, (void *)&truths[3] },
	{ "a_tcp_answer_is_waited_for_because_of_the_answerer", check_truth, NULL, NULL,
	  (void *)&truths[4] },
	{ "a_unix_answer_is_waited_for_because_of_the_answerer", check_truth, NULL, NULL,
	  (void *)&truths[5] },
	{ "accepting_is_idle_and_names_who_connected", check_truth, NULL, NULL,
	  (void *)&truths[6] },
	{ "a_pipe_is_waited_for_because_of_its_writer", check_truth, NULL, NULL,
	  (void *)&truths[7] },
	{ "polling_is_idle", check_truth, NULL, NULL, (void *)&truths[8] },
	{ "epoll_is_polling", check_truth, NULL, NULL, (void *)&truths[9] },
	{ "direct_reads_wait_for_the_disk", check_truth, NULL, NULL, (void *)&truths[10] },
	{ "major_faults_wait_for_their_page", check_truth, NULL, NULL, (void *)&truths[11] },
};

int main(void)
{
	struct CMUnitTest tests[TRUTHS + 5] = {
		cmocka_unit_test(every_account_closes_and_is_explained),
		cmocka_unit_test(every_call_is_counted),
		cmocka_unit_test(spinning_is_user_time),
		cmocka_unit_test(running_and_ready_time_are_what_the_kernel_says),
		cmocka_unit_test(a_crowd_shares_the_cpus_and_is_ready_for_the_rest),
	};

	memcpy(&tests[5], truth_tests, sizeof(truth_tests));
	return cmocka_run_group_tests(tests, record_both, release_both);
}
