/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/slow_requests.h"

#include <string.h>

#include "findings/requests.h"

#define LEAST_MORE_NS 1000000 /* requests of less are hardly ever what somebody looks for */
#define LEAST_TIMES   2       /* as long as the fastest */

static bool is_kind(const struct windows_service *service, enum window_words_kind kind)
{
	return !strcmp(service->first->kind, window_words__kind(kind)->key);
}

static bool is_slow(const struct windows *windows, const struct windows_service *service,
		    struct requests_slow *ret)
{
	const struct windows_row *all = &service->all;
	int64_t fast_ns = model_windows__mean_ns(service, all, WINDOWS_FAST);
	int64_t slow_ns = model_windows__mean_ns(service, all, WINDOWS_SLOW);

	return requests_words__slow(windows, service, ret) && ret->reason_count &&
	       slow_ns >= LEAST_TIMES * fast_ns;
}

/* What the slowest of a service took longer, all of them together. */
static double lost_ns(const struct requests_slow *slow)
{
	return (double)slow->more_ns * (double)slow->service->bands[WINDOWS_SLOW].count;
}

/* Whether it answers only somebody whose requests are in the recording too, as far as that is
 * known. */
static bool is_behind_another(const struct windows *windows, const struct windows_service *service)
{
	for (size_t i = 0; i < windows->service_count; i++)
		if (is_kind(&windows->services[i], WORDS_KIND_CLIENT) && *service->first->service &&
		    !strcmp(windows->services[i].first->service, service->first->service))
			return true;
	return false;
}

static bool find_worst(const struct windows *windows, enum window_words_kind kind,
		       struct requests_slow *ret)
{
	bool found = false;

	for (size_t i = 0; i < windows->service_count; i++) {
		const struct windows_service *service = &windows->services[i];
		struct requests_slow slow;

		if (!is_kind(service, kind) || is_behind_another(windows, service) ||
		    !is_slow(windows, service, &slow) ||
		    (kind == WORDS_KIND_SERVER && slow.more_ns < LEAST_MORE_NS) ||
		    (found && lost_ns(&slow) <= lost_ns(ret)))
			continue;
		*ret = slow;
		found = true;
	}
	return found;
}

/* The service that the slowest waited for most, if that is why they are slow. */
static bool find_asked(const struct windows *windows, const struct requests_slow *by,
		       struct requests_slow *ret)
{
	const struct windows_service *last = by->service;
	const struct windows_row *main = by->reasons[0].row;
	const struct windows_class *asked = last->asked_count ? last->asked[0].class : NULL;

	if (!asked || !*asked->service ||
	    !model_windows__is_part(&windows->reasons[main->reason], WORDS_PART_DOWNSTREAM))
		return false;
	for (size_t i = 0; i < windows->service_count; i++)
		if (&windows->services[i] != last &&
		    is_kind(&windows->services[i], WORDS_KIND_SERVER) &&
		    !strcmp(windows->services[i].first->service, asked->service) &&
		    is_slow(windows, &windows->services[i], ret))
			return true;
	return false;
}

static void put(const struct requests_slow *slow, struct finding *ret)
{
	*ret = (struct finding) { .ns = (int64_t)lost_ns(slow), .of_ns = slow->service->length_ns };
	requests_words__say(slow, ret->text, sizeof(ret->text));
}

size_t slow_requests__put(const struct model *model, bool calls, struct finding *list, size_t most)
{
	enum window_words_kind kind = calls ? WORDS_KIND_CALL : WORDS_KIND_SERVER;
	struct requests_slow slow;
	bool found = find_worst(&model->windows, kind, &slow);
	size_t count = 0;

	while (found && count < most) {
		put(&slow, &list[count++]);
		found = !calls && find_asked(&model->windows, &slow, &slow);
	}
	return count;
}
