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

/*
 * A drawn wait as a span: it ends at the sample. Several waits may be in one sample, and then its
 * length reaches back over what was drawn before, or before the begin of a cut; a viewer wants
 * neither, so that is cut off. `free_ns` is where the last one of each thread ended.
 */
int64_t *spans__free_ns(const struct profile *profile); /* at first; NULL: no memory */
struct span spans__wait(const struct profile_sample *sample, int64_t *free_ns);

/* For each thread, whether it has samples or accounts. -ENOMEM. */
int spans__used(const struct profile *profile, bool **ret);
