/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/ending.h"

#include <time.h>

#include "base/clock.h"
#include "base/threads.h"

#define SECOND_NS UINT64_C(1000000000)

static void *run(void *context)
{
	struct ending *ending = context;

	ending->end(ending->thing);
	return NULL;
}

void ending__begin(struct ending *ending, void (*end)(void *thing), void *thing)
{
	ending->end = end;
	ending->thing = thing;
	ending->is_running = !threads__start(run, ending, &ending->thread);
	if (!ending->is_running)
		end(thing);
}

bool ending__is_over(struct ending *ending, uint64_t most_ns)
{
	uint64_t until_ns = clock__read_ns(CLOCK_REALTIME) + most_ns;
	struct timespec until = { (time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS) };

	if (ending->is_running)
		ending->is_running = pthread_timedjoin_np(ending->thread, NULL, &until) != 0;
	return !ending->is_running;
}
