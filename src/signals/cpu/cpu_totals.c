/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/cpu/cpu_totals.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

void cpu_totals__parse_stat(FILE *file, uint64_t tick_ns, struct cpu_totals *ret)
{
	uint64_t idle, iowait, steal;
	char line[512];
	unsigned cpu;

	while (fgets(line, sizeof(line), file)) {
		/* The line "cpu  …" is their sum. */
		if (strncmp(line, "cpu", 3) || !isdigit((unsigned char)line[3]))
			continue;
		/* user nice system idle iowait irq softirq steal */
		if (sscanf(line + 3, "%u %*u %*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64,
			   &cpu, &idle, &iowait, &steal) != 4 ||
		    cpu >= TOTALS_CPUS)
			continue;
		ret->steal_ns[cpu] = steal * tick_ns;
		/* A CPU in iowait is idle. */
		ret->idle_ns[cpu] = (idle + iowait) * tick_ns;
		if (cpu >= ret->count)
			ret->count = cpu + 1;
	}
}

int cpu_totals__read(struct cpu_totals *ret)
{
	cleanup(fclose_p) FILE *stat = fopen("/proc/stat", "re");

	if (!stat)
		return -errno;
	cpu_totals__parse_stat(stat, UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK), ret);
	return 0;
}
