/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layer settings: how the machine is tuned. Only advice, never part of the verdict. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "core/sys.h"
#include "doctor/doctor.h"

#define LAYER "settings"

static bool process_runs(const char *comm)
{
	cleanup(closedir_p) DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		char path[300], name[32];

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (!sys__read_line(path, name, sizeof(name)) && !strcmp(name, comm))
			return true;
	}
	return false;
}

/* A setting with one file, one bad value, and the effect of that value. */
static void check_file(struct doctor *doctor, const char *path, const struct finding *bad,
		       const char *bad_value)
{
	struct finding good = { .layer = LAYER, .name = bad->name };
	char value[128];

	if (sys__read_line(path, value, sizeof(value)))
		doctor__add(doctor, &good, "not set by this kernel");
	else
		doctor__add(doctor, strstr(value, bad_value) ? bad : &good, "%s", value);
}

static void check_clocksource(struct doctor *doctor)
{
	struct finding finding = { .layer = LAYER, .name = "clocksource" };
	char value[64];

	sys__read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", value,
		       sizeof(value));
	if (!strcmp(value, "hpet") || !strcmp(value, "acpi_pm") || !strcmp(value, "jiffies")) {
		finding.status = DOCTOR_DEGRADED;
		finding.cost = "each look at the clock costs a microsecond: gapless and programs "
			       "that take times are slow";
		finding.remedy = "find out why the kernel distrusts the TSC (dmesg | grep -i tsc)";
	}
	doctor__add(doctor, &finding, "%s", value[0] ? value : "unknown");
}

static void check_timer(struct doctor *doctor)
{
	struct timespec coarse;

	/* The coarse clock advances once per tick, so its resolution is the tick. */
	clock_getres(CLOCK_MONOTONIC_COARSE, &coarse);
	doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "timer frequency" },
		    "%ld Hz: user and system times from the kernel are this coarse",
		    coarse.tv_nsec ? 1000000000L / coarse.tv_nsec : 0);
}

void doctor__check_settings(struct doctor *doctor)
{
	const struct finding governor = {
		.layer = LAYER,
		.name = "governor",
		.status = DOCTOR_DEGRADED,
		.cost = "CPUs run below their speed, and speed changes blur comparisons",
		.remedy = "cpupower frequency-set -g performance",
	};
	const struct finding huge_pages = {
		.layer = LAYER,
		.name = "transparent huge pages",
		.status = DOCTOR_DEGRADED,
		.cost = "databases may stall while the kernel compacts memory",
		.remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
	};

	check_file(doctor, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", &governor,
		   "powersave");
	check_file(doctor, "/sys/kernel/mm/transparent_hugepage/enabled", &huge_pages, "[always]");
	doctor__add(doctor, &(struct finding) { .layer = LAYER, .name = "irqbalance" },
		    process_runs("irqbalance") ? "running" : "not running");
	check_clocksource(doctor);
	check_timer(doctor);
}
