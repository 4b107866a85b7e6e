/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layer privileges: the user, the capabilities, and the policies that restrict them. */
#include <cap-ng.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/sys.h"
#include "doctor/doctor.h"

#define LAYER "privileges"

/* The inode of the initial pid namespace, fixed in the kernel (PROC_PID_INIT_INO). */
#define INIT_PID_NAMESPACE 0xEFFFFFFCU

/* Broad ones first, because the search for the smallest set drops them in this order. */
static const struct doctor_cap known_caps[] = {
	{ CAP_SYS_ADMIN, "cap_sys_admin", "stands for cap_bpf and cap_perfmon", false },
	{ CAP_SYS_RESOURCE, "cap_sys_resource", "raises the locked-memory limit", false },
	{ CAP_DAC_READ_SEARCH, "cap_dac_read_search", "reads tracefs and other users' files",
	  false },
	{ CAP_SYSLOG, "cap_syslog", "reads kernel symbol addresses", false },
	{ CAP_SYS_PTRACE, "cap_sys_ptrace",
	  "reads other users' mappings and memory, and names of functions of Python, Java, JavaScript, Ruby and PHP",
	  false },
	{ CAP_PERFMON, "cap_perfmon", "attaches programs, reads kernel memory", false },
	{ CAP_BPF, "cap_bpf", "loads programs and makes maps", false },
	{ 0, NULL, NULL, false },
};

const struct doctor_cap *doctor__known_caps(void)
{
	return known_caps;
}

static bool holds(int cap)
{
	return capng_have_capability(CAPNG_EFFECTIVE, (unsigned)cap);
}

static void check_caps(struct doctor *doctor)
{
	bool admin = holds(CAP_SYS_ADMIN);
	char missing[256] = "";
	bool has_names = holds(CAP_SYS_PTRACE);
	size_t used = 0;

	for (const struct doctor_cap *cap = known_caps; cap->name; cap++) {
		bool covered = admin && (cap->number == CAP_BPF || cap->number == CAP_PERFMON);
		bool optional = cap->number == CAP_SYS_ADMIN || cap->number == CAP_SYS_RESOURCE;

		if (optional || covered || holds(cap->number))
			continue;
		if (cap->number == CAP_BPF || cap->number == CAP_PERFMON)
			doctor->unprivileged = true;
		used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
					 used ? ", " : "", cap->name);
	}
	if (!used)
		doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "capabilities" },
			    "all that gapless asks for (uid %u)", geteuid());
	else
		doctor__add(
			doctor,
			&(struct finding) {
				.layer = LAYER,
				.name = "capabilities",
				.status = doctor->unprivileged ? DOCTOR_MISSING : DOCTOR_DEGRADED,
				.weight = DOCTOR_ESSENTIAL,
				.cost = doctor->unprivileged
						? "no program can be loaded or attached"
					: !has_names
						? "functions of Python, Java, JavaScript, Ruby "
						  "and PHP have no names, and some mappings are "
						  "out of reach"
						: "some names, mappings or tracepoints are "
						  "out of reach",
				.remedy = "sudo gapless …, or give the program what 'sudo "
					  "gapless doctor --caps' prints" },
			"uid %u lacks %s", geteuid(), missing);
}

/*
 * A seccomp filter may kill the caller of bpf(), so a child tries first. Without a filter, the
 * arguments of both calls are refused with EINVAL, EFAULT or E2BIG, whatever the privileges. Any
 * other error counts as forbidden.
 */
static int try_calls(void)
{
	struct rlimit no_core = {};
	struct perf_event_attr attr = { .size = sizeof(attr) };
	bool forbidden;

	setrlimit(RLIMIT_CORE, &no_core);
	forbidden = syscall(SYS_bpf, -1, NULL, 0) && errno != EINVAL && errno != EFAULT &&
		    errno != E2BIG;
	/* pid -1 with cpu -1 is EINVAL, which the kernel checks before permissions. */
	forbidden |= syscall(SYS_perf_event_open, &attr, -1, -1, -1, ~0UL) < 0 && errno != EINVAL;
	return forbidden;
}

static bool calls_are_forbidden(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(try_calls());
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static void check_seccomp(struct doctor *doctor)
{
	char mode[16];

	sys__status("Seccomp", mode, sizeof(mode));
	doctor->seccomp = strcmp(mode, "0") && calls_are_forbidden();
	if (doctor->seccomp)
		doctor__add(doctor,
			    &(struct finding) {
				    .layer = LAYER,
				    .name = "seccomp",
				    .status = DOCTOR_MISSING,
				    .weight = DOCTOR_ESSENTIAL,
				    .cost = "no program can be loaded",
				    .remedy =
					    "run outside of the container, or with a profile that "
					    "allows bpf and perf_event_open (docker: "
					    "--security-opt seccomp=unconfined)" },
			    "a seccomp filter forbids bpf() or perf_event_open()");
	else
		doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "seccomp" }, "%s",
			    strcmp(mode, "0") ? "a filter is on and allows bpf()" : "no filter");
}

static void check_lockdown(struct doctor *doctor)
{
	char line[128];
	const struct finding locked = {
		.layer = LAYER,
		.name = "lockdown",
		.status = DOCTOR_DEGRADED,
		.weight = DOCTOR_GAP,
		.cost = "confidentiality forbids BPF to read kernel memory; integrity limits hooks",
		.remedy = "boot with lockdown=none, or without Secure Boot's lockdown",
	};

	if (sys__read_line("/sys/kernel/security/lockdown", line, sizeof(line)) ||
	    strstr(line, "[none]"))
		doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "lockdown" }, "%s",
			    line[0] ? "none" : "not in force");
	else
		doctor__add(doctor, &locked, "%s", line);
}

static void check_sysctls(struct doctor *doctor)
{
	char value[32];
	struct rlimit memlock;

	sys__read_line("/proc/sys/kernel/unprivileged_bpf_disabled", value, sizeof(value));
	doctor__add(doctor,
		    &(struct finding) { .layer = LAYER, .name = "unprivileged_bpf_disabled" },
		    "%s: %s", value[0] ? value : "absent",
		    "BPF is for those with cap_bpf, which gapless wants anyway");
	sys__read_line("/proc/sys/kernel/perf_event_paranoid", value, sizeof(value));
	doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "perf_event_paranoid" },
		    "%s: %s", value[0] ? value : "absent",
		    atoi(value) > 2 ? "on Debian's kernels, cap_perfmon must then be cap_sys_admin"
				    : "no matter to those with cap_perfmon");
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	if (memlock.rlim_cur == RLIM_INFINITY)
		doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "memlock" },
			    "unlimited");
	else
		doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "memlock" },
			    "%llu kB; BPF memory is charged to the cgroup instead",
			    (unsigned long long)memlock.rlim_cur / 1024);
}

static void check_container(struct doctor *doctor)
{
	bool in_container = sys__exists("/.dockerenv") || sys__exists("/run/.containerenv") ||
			    getenv("container");
	struct stat ns;
	bool own_pids = !stat("/proc/self/ns/pid", &ns) && ns.st_ino != INIT_PID_NAMESPACE;
	const struct finding inside = {
		.layer = LAYER,
		.name = "container",
		.status = DOCTOR_DEGRADED,
		.weight = DOCTOR_GAP,
		.cost = "processes outside of this pid namespace have no name or mappings here",
		.remedy = "run on the host, or in the host's pid namespace (docker: --pid=host)",
	};

	if (own_pids)
		doctor__add(doctor, &inside, "in a pid namespace of its own%s",
			    in_container ? ", in a container" : "");
	else
		doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "container" }, "%s",
			    in_container ? "in a container, with the host's pids" : "none");
}

void doctor__check_privileges(struct doctor *doctor)
{
	capng_get_caps_process();
	check_caps(doctor);
	check_seccomp(doctor);
	check_lockdown(doctor);
	check_sysctls(doctor);
	check_container(doctor);
}
