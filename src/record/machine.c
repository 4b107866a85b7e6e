/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/machine.h"

#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/sys.h"
#include "record/commit.h"

/* One-line files whose values can affect the quality or the cost of a recording. */
static const struct {
	const char *name, *path;
} settings[] = {
	{ "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid" },
	{ "kptr_restrict", "/proc/sys/kernel/kptr_restrict" },
	{ "unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled" },
	{ "bpf_stats_enabled", "/proc/sys/kernel/bpf_stats_enabled" },
	{ "bpf_jit_enable", "/proc/sys/net/core/bpf_jit_enable" },
	{ "bpf_jit_harden", "/proc/sys/net/core/bpf_jit_harden" },
	{ "clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled" },
	{ "smt", "/sys/devices/system/cpu/smt/control" },
};

static int write_json(struct recording *recording, const char *key, json_t *value)
{
	cleanup(free_p) char *text = json_dumps(value, JSON_COMPACT);

	json_decref(value);
	return text ? recording__set_text(recording, key, text) : -ENOMEM;
}

static int write_settings(struct recording *recording)
{
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		char value[128];

		if (!sys__read_line(settings[i].path, value, sizeof(value)))
			json_object_set_new(object, settings[i].name, json__text(value));
	}
	return write_json(recording, "settings", object);
}

/* "model name" on x86, "cpu model" on some others; not all architectures have it. */
static void read_cpu_model(char *ret, size_t size)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];

	ret[0] = '\0';
	while (file && !ret[0] && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, ':');

		if (!value || (strncmp(line, "model name", 10) && strncmp(line, "cpu model", 9)))
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		snprintf(ret, size, "%s", value);
	}
}

static int64_t limit_of(int resource)
{
	struct rlimit limit;

	if (getrlimit((unsigned int)resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return -1;
	return (int64_t)limit.rlim_cur;
}

/* The resource limits of this process. */
static int write_limits(struct recording *recording)
{
	uint64_t memory = memory__limit();
	cpu_set_t cpus;
	json_t *object =
		json_pack("{s:I, s:I, s:I}", "nofile", (json_int_t)limit_of(RLIMIT_NOFILE),
			  "memlock_bytes", (json_int_t)limit_of(RLIMIT_MEMLOCK), "memory_bytes",
			  (json_int_t)(memory > INT64_MAX ? -1 : (int64_t)memory));

	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		json_object_set_new(object, "cpus", json_integer(CPU_COUNT(&cpus)));
	return write_json(recording, "limits", object);
}

int machine__write(struct recording *recording)
{
	char model[256], governor[64];
	int err = 0;

	read_cpu_model(model, sizeof(model));
	sys__read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
		       sizeof(governor));
	err |= recording__set_text(recording, "gapless_commit", GAPLESS_COMMIT);
	err |= recording__set_text(recording, "cpu_model", model);
	err |= recording__set_text(recording, "governor", governor);
	err |= recording__set_number(recording, "memory_bytes",
				     (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	err |= write_settings(recording);
	err |= write_limits(recording);
	return err ? -EIO : 0;
}

int machine__write_maps(struct recording *recording, struct ledger *ledger)
{
	json_t *object = json_object();

	json_object_set_new(object, "ledger", loader__map_sizes(ledger__object(ledger)));
	return write_json(recording, "maps", object);
}
