/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define MOST_PIECES   200000
#define SHORTEST_STEP 10000000 /* ns */
#define LONGEST_STEP  (INT64_C(1) << 62)

bool spans__next_slice(const struct profile *profile, size_t *at, struct slice *ret)
{
	const struct profile_account *account;
	size_t end = *at;

	if (*at >= profile->account_count)
		return false;
	account = &profile->accounts[*at];
	while (end < profile->account_count && profile->accounts[end].thread == account->thread &&
	       profile->accounts[end].begin_ns == account->begin_ns &&
	       profile->accounts[end].end_ns == account->end_ns)
		end++;
	*ret = (struct slice) { account->thread, account->begin_ns, account->end_ns, *at,
				end - *at };
	*at = end;
	return true;
}

int64_t spans__share(const struct profile *profile, const struct slice *slice, uint32_t state)
{
	int64_t ns = 0, length_ns = slice->end_ns - slice->begin_ns;

	for (size_t i = slice->first; i < slice->first + slice->count; i++)
		if (profile->accounts[i].state == state)
			ns += profile->accounts[i].ns;
	if (length_ns <= 0)
		return 0;
	return (int64_t)((__int128)(ns < length_ns ? ns : length_ns) * 1000000 / length_ns);
}

void pieces__release(struct pieces *pieces)
{
	free(pieces->list);
}

int pieces__add(struct pieces *pieces, uint32_t of, int64_t begin_ns, int64_t end_ns,
		int64_t weight_ns, int64_t step_ns)
{
	int64_t length_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
	int64_t count = length_ns > step_ns ? (length_ns + step_ns - 1) / step_ns : 1;

	if (pieces->count + (size_t)count > pieces->room) {
		size_t room = (pieces->count + (size_t)count) * 2;
		struct piece *grown = reallocarray(pieces->list, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		pieces->list = grown;
		pieces->room = room;
	}
	/* A piece's weight is the difference of two rounded running sums, so no time is lost. */
	for (__int128 i = 0; i < count; i++)
		pieces->list[pieces->count++] = (struct piece) {
			.time_ns = begin_ns + (int64_t)(length_ns * (i + 1) / count),
			.weight_ns = (int64_t)(weight_ns * (i + 1) / count) -
				     (int64_t)(weight_ns * i / count),
			.of = of,
		};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->of > y->of) - (x->of < y->of);
}

void pieces__sort(struct pieces *pieces)
{
	if (pieces->count)
		qsort(pieces->list, pieces->count, sizeof(*pieces->list), by_time);
}

int64_t pieces__step(const struct profile *profile)
{
	double length_ns = 0;

	for (size_t i = 0; i < profile->sample_count; i++)
		length_ns += (double)profile->samples[i].wait_ns;
	for (size_t i = 0; i < profile->account_count; i++)
		length_ns += (double)(profile->accounts[i].end_ns - profile->accounts[i].begin_ns);
	length_ns /= MOST_PIECES;
	if (length_ns < SHORTEST_STEP)
		return SHORTEST_STEP;
	/* Each length fits, but in a hostile recording their sum may not. */
	return length_ns < LONGEST_STEP ? (int64_t)length_ns : LONGEST_STEP;
}

int64_t *spans__free_ns(const struct profile *profile)
{
	int64_t *free_ns = calloc(profile->thread_count + 1, sizeof(*free_ns));

	for (size_t i = 0; free_ns && i < profile->thread_count; i++)
		free_ns[i] = profile->start_ns;
	return free_ns;
}

struct span spans__wait(const struct profile_sample *sample, int64_t *free_ns)
{
	int64_t *last_ns = &free_ns[sample->thread], begin_ns = sample->time_ns - sample->wait_ns;

	if (begin_ns < *last_ns)
		begin_ns = *last_ns;
	*last_ns = sample->time_ns;
	return (struct span) { sample->thread, sample->state, begin_ns,
			       sample->time_ns - begin_ns };
}

double spans__rate(const struct profile_point *point)
{
	return (double)point->sum * 1e9 / (double)(point->end_ns - point->begin_ns);
}

bool spans__ends(const struct profile *profile, const struct profile_counter *counter, size_t i)
{
	const struct profile_point *point = &profile->points[counter->first_point + i];

	return i + 1 == counter->point_count || point[1].begin_ns != point->end_ns;
}

static bool is_span(const struct profile_window *window)
{
	return window->has_details && window->thread != PROFILE_NONE;
}

static int by_thread(const void *a, const void *b, void *windows)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	const struct profile_window *x = (const struct profile_window *)windows + first;
	const struct profile_window *y = (const struct profile_window *)windows + second;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (first > second) - (first < second);
}

int spans__windows(const struct profile *profile, uint32_t **ret, size_t **ret_begins)
{
	cleanup(free_p) uint32_t *order = calloc(profile->window_count + 1, sizeof(*order));
	cleanup(free_p) size_t *begins = calloc(profile->thread_count + 2, sizeof(*begins));
	size_t count = 0;

	if (!order || !begins)
		return -ENOMEM;
	for (size_t i = 0; i < profile->window_count; i++)
		if (is_span(&profile->windows[i])) {
			order[count++] = (uint32_t)i;
			begins[profile->windows[i].thread + 1]++;
		}
	for (size_t i = 0; i < profile->thread_count; i++)
		begins[i + 1] += begins[i];
	qsort_r(order, count, sizeof(*order), by_thread, profile->windows);
	*ret = TAKE(order);
	*ret_begins = TAKE(begins);
	return 0;
}

int spans__used(const struct profile *profile, bool **ret)
{
	bool *used = calloc(profile->thread_count + 1, sizeof(*used));

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < profile->sample_count; i++)
		used[profile->samples[i].thread] = true;
	for (size_t i = 0; i < profile->account_count; i++)
		used[profile->accounts[i].thread] = true;
	for (size_t i = 0; i < profile->event_count; i++)
		if (profile->events[i].thread != PROFILE_NONE)
			used[profile->events[i].thread] = true;
	for (size_t i = 0; i < profile->window_count; i++)
		if (is_span(&profile->windows[i]))
			used[profile->windows[i].thread] = true;
	*ret = used;
	return 0;
}
