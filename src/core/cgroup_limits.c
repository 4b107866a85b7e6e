/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/cgroup_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "core/cgroups.h"
#include "core/devices.h"
#include "core/sys.h"

DEFINE_CLEANUP(FILE *, endmntent)

/* In the order of enum cgroup_limits_kind. */
static const char *const names[] = { "cpu", "memory", "io" };
static const char *const controllers_v1[] = { "cpu", "memory", "blkio" };

const char *cgroup_limits__name(enum cgroup_limits_kind kind)
{
	return names[kind];
}

bool cgroup_limits__is_in(enum cgroup_limits_kind kind, const char *controllers)
{
	size_t length = strlen(controllers_v1[kind]);

	for (const char *at = controllers; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, controllers_v1[kind], length) &&
		    (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

int cgroup_limits__mount(enum cgroup_limits_kind kind, bool v2, char ret[PATH_MAX])
{
	cleanup(endmntent_p) FILE *mounts = NULL;
	char text[2 * PATH_MAX];
	struct mntent entry;

	if (v2)
		return cgroups__mount(ret);
	mounts = setmntent("/proc/self/mounts", "r");
	while (mounts && getmntent_r(mounts, &entry, text, sizeof(text))) {
		if (strcmp(entry.mnt_type, "cgroup") ||
		    !cgroup_limits__is_in(kind, entry.mnt_opts) ||
		    strlen(entry.mnt_dir) >= PATH_MAX)
			continue;
		snprintf(ret, PATH_MAX, "%s", entry.mnt_dir);
		return 0;
	}
	return -ENOENT;
}

static FILE *open_in(const char *folder, const char *file)
{
	char path[PATH_MAX + 64];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", folder, file) < sizeof(path)
		       ? fopen(path, "re")
		       : NULL;
}

/* The number in a file; -1 if it is "max", negative, or not there. */
static int64_t number_in(const char *folder, const char *file)
{
	cleanup(fclose_p) FILE *from = open_in(folder, file);
	int64_t number;

	return from && fscanf(from, "%" SCNd64, &number) == 1 && number >= 0 ? number : -1;
}

static void read_cpu(bool v2, const char *folder, char *ret, size_t size)
{
	int64_t quota_us = -1, period_us = -1;

	if (v2) {
		cleanup(fclose_p) FILE *from = open_in(folder, "cpu.max");

		/* "max 100000" if there is none */
		if (!from || fscanf(from, "%" SCNd64 " %" SCNd64, &quota_us, &period_us) != 2)
			return;
	} else {
		quota_us = number_in(folder, "cpu.cfs_quota_us");
		period_us = number_in(folder, "cpu.cfs_period_us");
	}
	if (quota_us > 0 && period_us > 0)
		snprintf(ret, size, "%g ms per %g ms", (double)quota_us / 1000,
			 (double)period_us / 1000);
}

static void add_bytes(const char *before, int64_t bytes, char *ret, size_t size)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0, length = strlen(ret);

	for (; value >= 1024 && unit < sizeof(units) / sizeof(*units) - 1; unit++)
		value /= 1024;
	snprintf(ret + length, size - length, "%s%s%.4g %s", length ? ", " : "", before, value,
		 units[unit]);
}

static void read_memory(bool v2, const char *folder, char *ret, size_t size)
{
	struct sysinfo machine;
	int64_t most = sysinfo(&machine) ? INT64_MAX
					 : (int64_t)((uint64_t)machine.totalram * machine.mem_unit);
	int64_t max = number_in(folder, v2 ? "memory.max" : "memory.limit_in_bytes");
	int64_t high = v2 ? number_in(folder, "memory.high") : -1;

	/* Version 1 has no word for no limit, but a very large number. */
	if (max >= 0 && max < most)
		add_bytes("", max, ret, size);
	if (high >= 0 && high < most)
		add_bytes("high ", high, ret, size);
}

/* Appends "sda wbps=1048576" to the list; `device` is "8:0". */
static void add_device(const char *device, const char *limits, char *ret, size_t size)
{
	unsigned int major, minor;
	size_t length = strlen(ret);
	char name[64];

	if (sscanf(device, "%u:%u", &major, &minor) != 2)
		return;
	(void)devices__disk(major << DEVICES_MINOR_BITS | minor, name, sizeof(name));
	snprintf(ret + length, size - length, "%s%s%s", length ? ", " : "", name, limits);
}

/* Lines like "8:0 rbps=max wbps=1048576 riops=max wiops=max". */
static void read_io_v2(const char *folder, char *ret, size_t size)
{
	cleanup(fclose_p) FILE *from = open_in(folder, "io.max");
	char line[256];

	while (from && fgets(line, sizeof(line), from)) {
		char *rest, *device = strtok_r(line, " \n", &rest), *word;
		char limits[256] = "";
		size_t length = 0;

		while ((word = strtok_r(NULL, " \n", &rest)))
			if (!strstr(word, "=max"))
				length += (size_t)snprintf(limits + length, sizeof(limits) - length,
							   " %s", word);
		if (device && length)
			add_device(device, limits, ret, size);
	}
}

static void read_io_v1(const char *folder, char *ret, size_t size)
{
	static const char *const files[][2] = {
		{ "blkio.throttle.read_bps_device", "rbps" },
		{ "blkio.throttle.write_bps_device", "wbps" },
		{ "blkio.throttle.read_iops_device", "riops" },
		{ "blkio.throttle.write_iops_device", "wiops" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		cleanup(fclose_p) FILE *from = open_in(folder, files[i][0]);
		char device[32], number[32], limit[64];

		while (from && fscanf(from, "%31s %31s", device, number) == 2) {
			snprintf(limit, sizeof(limit), " %s=%s", files[i][1], number);
			add_device(device, limit, ret, size);
		}
	}
}

void cgroup_limits__read(enum cgroup_limits_kind kind, bool v2, const char *folder, char *ret,
			 size_t size)
{
	ret[0] = '\0';
	switch (kind) {
	case LIMITS_CPU:
		read_cpu(v2, folder, ret, size);
		break;
	case LIMITS_MEMORY:
		read_memory(v2, folder, ret, size);
		break;
	default:
		if (v2)
			read_io_v2(folder, ret, size);
		else
			read_io_v1(folder, ret, size);
	}
}

int cgroup_limits__throttled_ns(bool v2, const char *folder, uint64_t *ret)
{
	cleanup(fclose_p) FILE *from = open_in(folder, "cpu.stat");
	char word[64];
	uint64_t value;

	while (from && fscanf(from, "%63s %" SCNu64, word, &value) == 2) {
		if (strcmp(word, v2 ? "throttled_usec" : "throttled_time"))
			continue;
		*ret = v2 ? value * 1000 : value;
		return 0;
	}
	return -ENOENT;
}

/* Version 1 has the sums with those below under names of their own. */
static bool is_named(const char *word, const char *name)
{
	return !strcmp(word, name) || (!strncmp(word, "total_", 6) && !strcmp(word + 6, name));
}

int cgroup_limits__refaults(const char *folder, struct cgroup_limits_refaults *ret)
{
	cleanup(fclose_p) FILE *from = open_in(folder, "memory.stat");
	struct cgroup_limits_refaults found = {};
	bool is_known = false;
	uint64_t number;
	char word[64];

	while (from && fscanf(from, "%63s %" SCNu64, word, &number) == 2) {
		if (is_named(word, "workingset_refault_file")) {
			found.file = number;
			is_known = true;
		} else if (is_named(word, "workingset_refault_anon")) {
			found.anonymous = number;
		}
	}
	if (!is_known)
		return -ENOENT;
	*ret = found;
	return 0;
}

int cgroup_limits__pressure(enum cgroup_limits_kind kind, const char *folder,
			    struct cgroup_limits_pressure *ret)
{
	cleanup(fclose_p) FILE *from = NULL;
	struct cgroup_limits_pressure found = {};
	bool is_known = false;
	char file[32], word[8], line[256];
	uint64_t total_us;

	snprintf(file, sizeof(file), "%s.pressure", cgroup_limits__name(kind));
	from = open_in(folder, file);
	while (from && fgets(line, sizeof(line), from)) {
		if (sscanf(line, "%7s avg10=%*f avg60=%*f avg300=%*f total=%" SCNu64, word,
			   &total_us) != 2)
			continue;
		if (!strcmp(word, "some")) {
			found.some_ns = total_us * 1000;
			is_known = true;
		} else if (!strcmp(word, "full")) {
			found.full_ns = total_us * 1000;
		}
	}
	if (!is_known)
		return -ENOENT;
	*ret = found;
	return 0;
}
