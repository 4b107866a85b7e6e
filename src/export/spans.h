/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time on an axis. An account says how long a thread was in each state during a slice, but not in
 * which order. So a viewer gets shares of the slice, never a sequence of states. A sampled wait has
 * a beginning and an end, so it is a span.
 */
#pragma once

#include "model/profile.h"

/* The accounts of a thread over the same slices: `count` accounts from index `first` on. */
struct slice {
	uint32_t thread;
	int64_t begin_ns, end_ns;
	size_t first, count;
};

/*
 * Returns the next slice from *at on, which is 0 at first: by thread, then by time. Returns false
 * at the end.
 */
bool spans__next_slice(const struct profile *profile, size_t *at, struct slice *ret);
/* The share of the slice that the thread spent in `state`, in millionths. */
int64_t spans__share(const struct profile *profile, const struct slice *slice, uint32_t state);

struct span {
	uint32_t thread, state;
	int64_t begin_ns, ns;
};

/*
 * A sampled wait as a span that ends at the sample. One sample may stand for several waits. Its
 * length then reaches back over earlier waits or before the start of a cut, which viewers cannot
 * show, so that part is cut off. `free_ns` is where the last span of each thread ended.
 */
int64_t *spans__free_ns(const struct profile *profile); /* initial values; NULL: out of memory */
struct span spans__wait(const struct profile_sample *sample, int64_t *free_ns);

/*
 * For viewers that only know moments: an interval becomes many samples spread over its time, so
 * that any range of the axis contains its part.
 */
struct piece {
	int64_t time_ns, weight_ns;
	uint32_t of; /* index of the sample or account */
};
struct pieces {
	struct piece *list;
	size_t count, room;
};
void pieces__release(struct pieces *pieces);
/* Adds pieces of at most step_ns, with the weight spread evenly over them. -ENOMEM. */
int pieces__add(struct pieces *pieces, uint32_t of, int64_t begin_ns, int64_t end_ns,
		int64_t weight_ns, int64_t step_ns);
void pieces__sort(struct pieces *pieces); /* by time */
/* A step that limits the pieces of a profile to a number that viewers can show. */
int64_t pieces__step(const struct profile *profile);

/*
 * The rate per second from begin_ns on; and whether it falls to 0 at end_ns, because no point
 * follows immediately.
 */
double spans__rate(const struct profile_point *point);
bool spans__ends(const struct profile *profile, const struct profile_counter *counter, size_t i);

/*
 * Windows that can be shown as spans, by thread and then by beginning. (*ret_begins)[i] is the
 * place of the first one of thread i in *ret; that of the thread after the last one is the end.
 * -ENOMEM.
 */
int spans__windows(const struct profile *profile, uint32_t **ret, size_t **ret_begins);

/* By thread: whether it has samples, accounts, events or windows. -ENOMEM. */
int spans__used(const struct profile *profile, bool **ret);
