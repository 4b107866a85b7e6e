/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/pace.h"

#include "base/map.h"

#define SECOND_NS    UINT64_C(1000000000)
#define FIRST_NS     SECOND_NS
#define MOST_NS      (300 * SECOND_NS)
#define MOST_DOUBLED 9
#define MOST_RETRY_S 3600
#define DRAIN_FACTOR 4
#define MINUTE_NS    (60 * SECOND_NS)

unsigned int pace__offset_s(const struct pace *pace)
{
	uint64_t hash = map__mix(map__mix(0, pace->options.host_id), 1);

	return pace->options.spread_s ? (unsigned int)(hash % pace->options.spread_s) : 0;
}

/* All agents of a fleet may start together, for example after an update. */
void pace__begin(struct pace *pace, const struct pace_options *options, uint64_t now_ns)
{
	*pace = (struct pace) { .options = *options };
	pace->not_before_ns = now_ns + pace__offset_s(pace) * SECOND_NS;
}

void pace__added(struct pace *pace, uint64_t minute_s)
{
	if (minute_s != pace->minute_s) {
		pace->minute_s = minute_s;
		pace->in_last = pace->in_minute;
		pace->in_minute = 0;
	}
	pace->in_minute++;
}

void pace__inserting(struct pace *pace, uint64_t now_ns)
{
	uint64_t normal = pace->in_minute > pace->in_last ? pace->in_minute : pace->in_last;

	pace->next_insert_ns = now_ns + MINUTE_NS / (DRAIN_FACTOR * (normal ? normal : 1));
}

void pace__succeeded(struct pace *pace)
{
	pace->failures = 0;
}

void pace__failed(struct pace *pace, uint64_t now_ns, uint64_t retry_after_s)
{
	unsigned int doubled = pace->failures < MOST_DOUBLED ? pace->failures : MOST_DOUBLED;
	uint64_t bound = FIRST_NS << doubled;
	uint64_t wait;

	if (bound > MOST_NS)
		bound = MOST_NS;
	if (retry_after_s > MOST_RETRY_S)
		retry_after_s = MOST_RETRY_S;
	/* The server may have told all hosts the same, so the random part is added to it. */
	wait = retry_after_s * SECOND_NS +
	       pace->options.random(pace->options.context) % (bound + 1);
	pace->failures++;
	pace->not_before_ns = now_ns + wait;
}

uint64_t pace__next_request_ns(const struct pace *pace)
{
	return pace->not_before_ns;
}

uint64_t pace__next_insert_ns(const struct pace *pace)
{
	return pace->not_before_ns > pace->next_insert_ns ? pace->not_before_ns
							  : pace->next_insert_ns;
}
