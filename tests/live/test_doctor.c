/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor on a real kernel: what it says must be what is so. */
#include "../harness.h"

#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "live.h"

#define NOBODY 65534

/* The status of a named finding, "" if there is none. */
static const char *status_of(json_t *report, const char *layer, const char *name)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "capabilities"), i, finding) {
		const char *in = json_string_value(json_object_get(finding, "layer"));
		const char *is = json_string_value(json_object_get(finding, "name"));

		if (!strcmp(in, layer) && !strcmp(is, name))
			return json_string_value(json_object_get(finding, "status"));
	}
	return "";
}

static const char *text_of(json_t *report, const char *name, const char *key)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(report, "capabilities"), i, finding)
		if (!strcmp(json_string_value(json_object_get(finding, "name")), name))
			return json_string_value(json_object_get(finding, key));
	return "";
}

static json_t *doctor_after(live_prepare_fn prepare, int *ret_status)
{
	struct output output =
		live__run(prepare, (const char *const[]) { "doctor", "--json", NULL });
	json_t *report = live__json(&output);

	*ret_status = output.status;
	live__release(&output);
	return report;
}

static void every_essential_feature_works_and_all_events_arrive(void **state)
{
	const char *const load[] = {
		"BTF",     "ring buffer", "task storage", "bpf_task_pt_regs", "bpf_get_task_stack",
		"bpf_loop"
	};
	const char *const attach[] = {
		"task iterator",       "sleepable iterator", "tp_btf", "raw_tp",    "tracepoint",
		"perf_event sampling", "perf mmap2 records", "uprobe", "uretprobe", "USDT"
	};
	int status;
	json_t *report = doctor_after(NULL, &status);

	for (size_t i = 0; i < sizeof(load) / sizeof(*load); i++)
		assert_string_equal(status_of(report, "load", load[i]), "ok");
	for (size_t i = 0; i < sizeof(attach) / sizeof(*attach); i++)
		assert_string_equal(status_of(report, "attach", attach[i]), "ok");
	assert_string_equal(status_of(report, "deliver", "ring buffer"), "ok");
	assert_string_equal(status_of(report, "deliver", "iterator"), "ok");
	json_decref(report);
}

/* The kernel's own list of what it has is the oracle. */
static void kprobes_are_reported_as_the_kernel_has_them(void **state)
{
	int has_kprobes = !access("/sys/bus/event_source/devices/kprobe", F_OK);
	int status;
	json_t *report = doctor_after(NULL, &status);

	assert_string_equal(status_of(report, "attach", "kprobe"), has_kprobes ? "ok" : "missing");
	if (!has_kprobes)
		assert_non_null(strstr(text_of(report, "kprobe", "detail"), "not in this kernel"));
	if (getenv("GAPLESS_VM")) {
#ifdef __x86_64__ /* for arm64, Linux 6.1 has neither */
		assert_string_equal(status_of(report, "attach", "fentry"), "ok");
		assert_string_equal(status_of(report, "attach", "fexit"), "ok");
#endif
		assert_string_equal(status_of(report, "attach", "kprobe"), "ok");
	}
	json_decref(report);
}

static void exit_code_and_verdict_agree(void **state)
{
	static const struct {
		const char *verdict;
		int status;
	} pairs[] = { { "usable", 0 }, { "usable with gaps", 3 }, { "not usable", 1 } };
	const char *verdict;
	int status, expected = -1;
	json_t *report = doctor_after(NULL, &status);

	verdict = json_string_value(json_object_get(report, "verdict"));
	for (int i = 0; i < 3; i++)
		if (!strcmp(pairs[i].verdict, verdict))
			expected = pairs[i].status;
	assert_int_equal(status, expected);
	assert_int_not_equal(status, 1);
	json_decref(report);
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(125);
}

static void nobody_is_told_which_capabilities_are_missing(void **state)
{
	int status;
	json_t *report = doctor_after(become_nobody, &status);
	const char *detail = text_of(report, "capabilities", "detail");

	assert_int_equal(status, 1);
	assert_non_null(strstr(detail, "cap_bpf"));
	assert_non_null(strstr(detail, "cap_perfmon"));
	assert_non_null(strstr(detail, "cap_sys_ptrace"));
	assert_string_equal(json_string_value(json_object_get(report, "verdict")), "not usable");
	json_decref(report);
}

static void unmount_all(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(125);
	/* Each can be mounted several times. */
	while (!umount2("/sys/kernel/tracing", MNT_DETACH))
		;
	while (!umount2("/sys/kernel/debug", MNT_DETACH))
		;
	while (!umount2("/sys/fs/bpf", MNT_DETACH))
		;
}

static void missing_mounts_are_named_with_their_remedy(void **state)
{
	int status;
	json_t *report = doctor_after(unmount_all, &status);

	assert_int_equal(status, 3);
	assert_string_equal(status_of(report, "mounts", "tracefs"), "degraded");
	assert_non_null(strstr(text_of(report, "tracefs", "remedy"), "mount -t tracefs"));
	assert_string_equal(status_of(report, "mounts", "bpffs"), "degraded");
	assert_non_null(strstr(text_of(report, "bpffs", "remedy"), "mount -t bpf"));
	assert_string_equal(status_of(report, "attach", "tracepoint"), "missing");
	assert_string_equal(status_of(report, "deliver", "ring buffer"), "ok");
	json_decref(report);
}

static void forbid_bpf(uint32_t action)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter || seccomp_rule_add(filter, action, SCMP_SYS(bpf), 0) || seccomp_load(filter))
		_exit(125);
	seccomp_release(filter);
}

static void refuse_bpf(void)
{
	forbid_bpf(SCMP_ACT_ERRNO(1));
}

static void kill_on_bpf(void)
{
	forbid_bpf(SCMP_ACT_KILL_PROCESS);
}

static void a_seccomp_filter_is_named_even_one_that_kills(void **state)
{
	const live_prepare_fn filters[] = { refuse_bpf, kill_on_bpf };

	for (int i = 0; i < 2; i++) {
		int status;
		json_t *report = doctor_after(filters[i], &status);

		assert_int_equal(status, 1);
		assert_string_equal(status_of(report, "privileges", "seccomp"), "missing");
		json_decref(report);
	}
}

static void words_that_are_nearly_right_are_suggested(void **state)
{
	static const struct {
		const char *args[3];
		const char *suggestion;
	} cases[] = {
		{ { "doctr" }, "'doctor'" },
		{ { "doctor", "--jsn" }, "'--json'" },
		{ { "watch", "exce" }, "'exec'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct output output = live__run(NULL, cases[i].args);

		assert_int_equal(output.status, 2);
		assert_string_equal(output.out, "");
		assert_non_null(strstr(output.err, cases[i].suggestion));
		live__release(&output);
	}
}

static void smallest_capabilities_are_found_by_trying(void **state)
{
	struct output output = live__gapless("doctor", "--caps");

	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "cap_bpf"));
	assert_non_null(strstr(output.out, "setcap "));
	assert_non_null(strstr(output.out, "AmbientCapabilities=CAP_"));
	live__release(&output);
}

static void a_full_disk_is_a_failure(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	char command[512];

	assert_non_null(full);
	fclose(full);
	snprintf(command, sizeof(command), "%s --version >/dev/full 2>/dev/null", live__program());
	assert_int_not_equal(system(command), 0);
}

static void the_self_test_passes(void **state)
{
	struct output output = live__gapless("doctor", "--self-test", "--json");
	json_t *report = live__json(&output), *check;
	size_t i;

	json_array_foreach (json_object_get(report, "checks"), i, check)
		if (!json_is_true(json_object_get(check, "ok")))
			fail_msg("%s: %s", json_string_value(json_object_get(check, "name")),
				 json_string_value(json_object_get(check, "detail")));
	assert_true(json_array_size(json_object_get(report, "checks")) >= 15);
	assert_string_equal(json_string_value(json_object_get(report, "verdict")), "passed");
	assert_int_equal(output.status, 0);
	json_decref(report);
	live__release(&output);
}

static void the_self_test_fails_where_wakeups_are_lost(void **state)
{
	struct output output;

	setenv("GAPLESS_TEST_DROP_WAKEUPS", "10", 1);
	output = live__gapless("doctor", "--self-test");
	unsetenv("GAPLESS_TEST_DROP_WAKEUPS");
	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.out, "dropped_on_purpose"));
	assert_non_null(strstr(output.out, "verdict: failed"));
	live__release(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_essential_feature_works_and_all_events_arrive),
		cmocka_unit_test(kprobes_are_reported_as_the_kernel_has_them),
		HERE(exit_code_and_verdict_agree),
		HERE(nobody_is_told_which_capabilities_are_missing),
		HERE(missing_mounts_are_named_with_their_remedy),
		HERE(a_seccomp_filter_is_named_even_one_that_kills),
		HERE(words_that_are_nearly_right_are_suggested),
		cmocka_unit_test(smallest_capabilities_are_found_by_trying),
		HERE(a_full_disk_is_a_failure),
		cmocka_unit_test(the_self_test_passes),
		HERE(the_self_test_fails_where_wakeups_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
