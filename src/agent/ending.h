/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends something in a thread of its own, because ending it may take long: joining a thread that
 * reads /proc waits for whoever has the mmap_lock of that process. One thread only may call these.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* All zeroes: nothing ends. */
struct ending {
	pthread_t thread;
	bool is_running;
	void (*end)(void *thing);
	void *thing;
};

/* Nothing else may be ending. Without a thread, it calls `end` itself. */
void ending__begin(struct ending *ending, void (*end)(void *thing), void *thing);
/* Whether nothing ends any more, after at most_ns. */
bool ending__is_over(struct ending *ending, uint64_t most_ns);
