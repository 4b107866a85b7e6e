/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layer deliver: exactly 1,000 events in, exactly 1,000 out. */
#include <inttypes.h>
#include <string.h>

#include "core/canary.h"
#include "doctor/doctor.h"

static void judge(struct doctor *doctor, const char *name, uint64_t seen, const char *hook)
{
	const struct finding short_of = {
		.layer = "deliver",
		.name = name,
		.status = DOCTOR_MISSING,
		.weight = DOCTOR_ESSENTIAL,
		.cost = "what gapless shows would be incomplete without a word",
		.remedy = "report this with the output of 'gapless doctor --json'",
	};

	if (seen == CANARY_EVENTS)
		doctor__add(doctor, &(struct finding) { .layer = "deliver", .name = name },
			    "%d of %d events arrived (by %s)", CANARY_EVENTS, CANARY_EVENTS, hook);
	else
		doctor__add(doctor, &short_of, "%" PRIu64 " of %d events arrived (by %s)", seen,
			    CANARY_EVENTS, hook);
}

void doctor__check_deliver(struct doctor *doctor)
{
	const struct finding not_run = {
		.layer = "deliver",
		.name = "canary",
		.status = DOCTOR_MISSING,
		.weight = DOCTOR_ESSENTIAL,
		.cost = "nothing can be measured",
		.remedy = "mend what is missing in the layers above",
	};
	struct canary_result result;
	int err;

	if (doctor->seccomp) {
		doctor__add(doctor, &not_run, "not tried: a seccomp filter forbids it");
		return;
	}
	err = canary__run(doctor->features, &result);
	if (err) {
		doctor__add(doctor, &not_run, "the canary did not run: %s", strerror(-err));
		return;
	}
	judge(doctor, "ring buffer", result.ring, result.hook_kind);
	judge(doctor, "iterator", result.iterator, result.hook_kind);
}
