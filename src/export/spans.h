/*
 * A thread's accounts as spans of time. How long it was in each state of a slice is exact; in which
 * order is not known, so a slice shows its states one after the other, in the order of the states.
 */
#pragma once

#include "export/profile.h"

struct span {
	uint32_t thread, state;
	int64_t begin_ns, ns;
};

/* Begin with all zeroes but the profile. */
struct spans {
	const struct profile *profile;
	size_t at;
	int64_t free_ns; /* where the thread's last span ended */
};

/* By thread, then time; spans of a thread do not overlap. False: that was the last. */
bool spans__next(struct spans *spans, struct span *ret);
