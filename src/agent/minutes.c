/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/minutes.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (MINUTES_LENGTH_S * SECOND_NS)

static void set(struct minutes *minutes, uint64_t now_ns, uint64_t offset_ns)
{
	uint64_t day_ns = now_ns + offset_ns;

	minutes->offset_ns = offset_ns;
	minutes->begin_s = day_ns / MINUTE_NS * MINUTES_LENGTH_S;
	minutes->begin_ns = now_ns;
}

void minutes__start(struct minutes *minutes, uint64_t now_ns, uint64_t offset_ns)
{
	uint64_t now_s = (now_ns + offset_ns) / SECOND_NS;

	set(minutes, now_ns, offset_ns);
	/* It may go on in the minute, and the second, in which it ended. */
	minutes->epoch = now_s > minutes->epoch ? now_s : minutes->epoch + 1;
}

uint64_t minutes__next(const struct minutes *minutes, uint64_t now_ns, uint64_t interval_ns)
{
	uint64_t day_ns = now_ns + minutes->offset_ns;

	return now_ns + interval_ns - day_ns % interval_ns;
}

uint64_t minutes__passed_ns(const struct minutes *minutes, uint64_t now_ns)
{
	return (now_ns + minutes->offset_ns) % MINUTE_NS;
}

bool minutes__is_over(const struct minutes *minutes, uint64_t now_ns)
{
	return now_ns + minutes->offset_ns >= (minutes->begin_s + MINUTES_LENGTH_S) * SECOND_NS;
}

void minutes__begin(struct minutes *minutes, uint64_t now_ns, uint64_t offset_ns)
{
	int64_t stepped_ns = (int64_t)(offset_ns - minutes->offset_ns);
	uint64_t now_s = (now_ns + offset_ns) / SECOND_NS, last_s = minutes->begin_s;

	set(minutes, now_ns, offset_ns);
	/* A small step can repeat a minute, too. */
	if (minutes->begin_s <= last_s || stepped_ns > (int64_t)SECOND_NS ||
	    stepped_ns < -(int64_t)SECOND_NS)
		minutes->epoch = now_s > minutes->epoch ? now_s : minutes->epoch + 1;
}

bool minutes__split_gap(const struct minutes *minutes, uint64_t *from_ns, uint64_t to_ns,
			struct minutes_gap *ret)
{
	uint64_t first = (*from_ns + minutes->offset_ns) / MINUTE_NS;
	uint64_t end_ns = (first + 1) * MINUTE_NS - minutes->offset_ns;

	if (first >= (to_ns + minutes->offset_ns) / MINUTE_NS)
		return false;
	*ret = (struct minutes_gap) { .begin_s = first * MINUTES_LENGTH_S,
				      .ns = end_ns - *from_ns };
	*from_ns = end_ns;
	return true;
}
