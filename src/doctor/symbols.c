/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layer symbols: the sources of names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/sys.h"
#include "doctor/doctor.h"

bool doctor__kallsyms_readable(void)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t address;

	/* The first symbols may be per-CPU offsets at 0; in a hidden table, all addresses are 0. */
	for (int i = 0; file && i < 100000; i++) {
		if (fscanf(file, "%" SCNx64 " %*[^\n]", &address) != 1)
			break;
		if (address >= UINT64_C(1) << 63)
			return true;
	}
	return false;
}

void doctor__check_symbols(struct doctor *doctor)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool files = sys__exists("/usr/lib/debug/.build-id");
	const struct finding hidden = {
		.layer = "symbols",
		.name = "kallsyms",
		.status = DOCTOR_DEGRADED,
		.weight = DOCTOR_GAP,
		.cost = "kernel functions have no names",
		.remedy = "run as root or with cap_syslog, and with kernel.kptr_restrict at most 1",
	};
	const struct finding no_debuginfo = {
		.layer = "symbols",
		.name = "debuginfo",
		.status = DOCTOR_DEGRADED,
		.weight = DOCTOR_ADVICE,
		.cost = "stripped programs show exported names only, no lines, no inlined functions",
		.remedy = "install -dbgsym packages, or set DEBUGINFOD_URLS to your distribution's "
			  "debuginfod server",
	};

	if (doctor__kallsyms_readable())
		doctor__add(doctor, &(struct finding) { .layer = "symbols", .name = "kallsyms" },
			    "addresses are readable");
	else
		doctor__add(doctor, &hidden, "addresses are hidden");
	if (urls && *urls)
		doctor__add(doctor, &(struct finding) { .layer = "symbols", .name = "debuginfo" },
			    "debuginfod: %s%s", urls,
			    files ? "; and /usr/lib/debug/.build-id" : "");
	else if (files)
		doctor__add(doctor, &(struct finding) { .layer = "symbols", .name = "debuginfo" },
			    "/usr/lib/debug/.build-id has files; DEBUGINFOD_URLS is not set");
	else
		doctor__add(doctor, &no_debuginfo,
			    "none in /usr/lib/debug/.build-id, DEBUGINFOD_URLS is not set");
}
