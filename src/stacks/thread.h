/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of the mapper's threads. */
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/threads.h"

#define THREAD_NICE (-15)

/* Starts a thread with all signals blocked: the main thread handles them. 0 or -errno. */
static inline int thread__start(pthread_t *thread, void *(*run)(void *), void *context)
{
	return threads__start(run, context, thread);
}

/* Raises the priority if permitted: a stack is complete only if mappings and rows are in time. */
static inline void thread__begins(const char *name)
{
	pthread_setname_np(pthread_self(), name);
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), THREAD_NICE);
}
