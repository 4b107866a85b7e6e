/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

void doctor__add(struct doctor *doctor, const struct finding *finding, const char *format, ...)
{
	struct finding *added = APPEND(&doctor->findings, &doctor->count);
	va_list args;

	if (!added) {
		doctor->out_of_memory = true;
		return;
	}
	*added = *finding;
	va_start(args, format);
	vsnprintf(added->detail, sizeof(added->detail), format, args);
	va_end(args);
}

int doctor__run(struct doctor *ret)
{
	*ret = (struct doctor) { .features = features__new() };
	if (!ret->features)
		return -ENOMEM;
	doctor__check_kernel(ret);
	doctor__check_mounts(ret);
	doctor__check_privileges(ret);
	doctor__check_load(ret);
	doctor__check_attach(ret);
	doctor__check_deliver(ret);
	doctor__check_symbols(ret);
	doctor__check_settings(ret);
	return ret->out_of_memory ? -ENOMEM : 0;
}

void doctor__release(struct doctor *doctor)
{
	features__free(doctor->features);
	free(doctor->findings);
	*doctor = (struct doctor) {};
}

enum doctor_verdict doctor__verdict(const struct doctor *doctor)
{
	enum doctor_verdict verdict = DOCTOR_USABLE;

	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *finding = &doctor->findings[i];

		if (finding->status == DOCTOR_OK || finding->weight == DOCTOR_ADVICE)
			continue;
		if (finding->status == DOCTOR_MISSING && finding->weight == DOCTOR_ESSENTIAL)
			return DOCTOR_NOT_USABLE;
		verdict = DOCTOR_USABLE_WITH_GAPS;
	}
	return verdict;
}

const char *doctor__status_name(enum doctor_status status)
{
	static const char *const names[] = { "ok", "degraded", "missing" };

	return names[status];
}

const char *doctor__verdict_name(enum doctor_verdict verdict)
{
	static const char *const names[] = { "usable", "usable with gaps", "not usable" };

	return names[verdict];
}
