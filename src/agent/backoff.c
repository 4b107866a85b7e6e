/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/backoff.h"

#define LONG_LIFE_NS (600 * UINT64_C(1000000000))
#define FIRST_S      1
#define MOST_S       30 /* half of the service manager's watchdog */

unsigned backoff__next_s(struct backoff *backoff, uint64_t life_ns)
{
	if (life_ns >= LONG_LIFE_NS || !backoff->last_s)
		backoff->last_s = FIRST_S;
	else
		backoff->last_s = backoff->last_s * 2 < MOST_S ? backoff->last_s * 2 : MOST_S;
	return backoff->last_s;
}
