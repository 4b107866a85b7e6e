/*
 * Time on an axis. What an account knows is how long a thread was in each state of a slice, not in
 * which order: so a viewer gets shares of the slice, never states one after the other. A drawn wait
 * has a begin and an end, and is a span.
 */
#pragma once

#include "model/profile.h"

/* The accounts of a thread over the same slices: accounts[first … first + count). */
struct slice {
	uint32_t thread;
	int64_t begin_ns, end_ns;
	size_t first, count;
};

/* Goes on behind *at, 0 at first: by thread, then time. False: that was the last. */
bool spans__next_slice(const struct profile *profile, size_t *at, struct slice *ret);
/* How much of the slice the thread was in `state`, in millionths. */
int64_t spans__share(const struct profile *profile, const struct slice *slice, uint32_t state);

struct span {
	uint32_t thread, state;
	int64_t begin_ns, ns;
};

/*
 * A drawn wait as a span: it ends at the sample. Several waits may be in one sample, and then its
 * length reaches back over what was drawn before, or before the begin of a cut; a viewer wants
 * neither, so that is cut off. `free_ns` is where the last one of each thread ended.
 */
int64_t *spans__free_ns(const struct profile *profile); /* at first; NULL: no memory */
struct span spans__wait(const struct profile_sample *sample, int64_t *free_ns);

/*
 * For viewers that know moments only: what lasts becomes many samples over its time, so that any
 * range of the axis has its part.
 */
struct piece {
	int64_t time_ns, weight_ns;
	uint32_t of; /* sample, or account */
};
struct pieces {
	struct piece *list;
	size_t count, room;
};
void pieces__release(struct pieces *pieces);
/* Pieces of step_ns at most, the weight spread evenly over them. -ENOMEM. */
int pieces__add(struct pieces *pieces, uint32_t of, int64_t begin_ns, int64_t end_ns,
		int64_t weight_ns, int64_t step_ns);
void pieces__sort(struct pieces *pieces); /* by time */
/* A step that keeps all pieces of a profile to a number that viewers can show. */
int64_t pieces__step(const struct profile *profile);

/* How much a second, from begin_ns on; where nothing follows at once, 0 from end_ns on. */
double spans__rate(const struct profile_point *point);
bool spans__ends(const struct profile *profile, const struct profile_counter *counter, size_t i);

/* For each thread, whether it has samples, accounts or events. -ENOMEM. */
int spans__used(const struct profile *profile, bool **ret);
