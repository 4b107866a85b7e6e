/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

int sys__perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

void sys__stay_on_cpu(int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((size_t)cpu, &only);
	sched_setaffinity(0, sizeof(only), &only);
}

int sys__file_offset(uintptr_t address, uint64_t *ret_offset)
{
	cleanup(fclose_p) FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    address >= start && address < end) {
			*ret_offset = address - start + offset;
			return 0;
		}
	}
	return -ENOENT;
}

static int count_cpus(const char *path)
{
	char line[256];
	const char *last;

	/* "0-3,5": the numbers are in ascending order, so the last one is the highest. */
	if (sys__read_line(path, line, sizeof(line)))
		return (int)sysconf(_SC_NPROCESSORS_CONF);
	last = line + strlen(line);
	while (last > line && last[-1] >= '0' && last[-1] <= '9')
		last--;
	return atoi(last) + 1;
}

int sys__cpus(void)
{
	return count_cpus("/sys/devices/system/cpu/online");
}

int sys__possible_cpus(void)
{
	return count_cpus("/sys/devices/system/cpu/possible");
}

bool sys__exists(const char *path)
{
	return !access(path, F_OK);
}

int sys__read_line(const char *path, char *ret, size_t size)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");

	ret[0] = '\0';
	if (!file)
		return -errno;
	if (!fgets(ret, (int)size, file))
		return ferror(file) ? -EIO : -ENODATA;
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

const char *sys__tracefs(void)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	/*
	 * AT_EACCESS checks with the effective rights, including file capabilities. access() would
	 * not.
	 */
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char events[64];

		snprintf(events, sizeof(events), "%s/events", places[i]);
		if (!faccessat(AT_FDCWD, events, R_OK | X_OK, AT_EACCESS))
			return places[i];
	}
	return NULL;
}

int sys__status(const char *name, char *ret, size_t size)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/self/status", "re");
	size_t length = strlen(name);
	char line[512];

	ret[0] = '\0';
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, length) || line[length] != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(ret, size, "%s", line + length + 1 + strspn(line + length + 1, " \t"));
		return 0;
	}
	return -ENOENT;
}
