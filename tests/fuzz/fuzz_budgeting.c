/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers about the budget: what is taken is in range, and what is refused changes nothing. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/budgeting.h"

#define NAMES "service\tprobability\tbegins\tends\thosts\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "api", "shop" };
	static const char known[] = NAMES "api\t0.5\t0\t0\t0\n";
	const struct budgeting_services services = { names, 2 };
	struct budgeting budgeting = { .host_id = size, .fallback = 0.25 };
	double probability;
	int err;

	if (budgeting__take(&budgeting, known, sizeof(known) - 1, 0))
		abort();
	err = budgeting__take(&budgeting, data, size, 0);
	if (err && budgeting.count != 1)
		abort();
	for (uint64_t minute_s = 0; minute_s < 600; minute_s += 60) {
		budgeting__choose(&budgeting, &services, minute_s, 0, &probability);
		if (!(probability >= 0 && probability <= 1) || (err && probability != 0.5))
			abort();
	}
	budgeting__release(&budgeting);
	return 0;
}
