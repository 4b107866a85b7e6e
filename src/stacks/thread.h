/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of the mapper's threads. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREAD_NICE (-15)

/* Starts a thread with all signals blocked: the main thread handles them. 0 or -errno. */
static inline int thread__start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

/* Raises the priority if permitted: a stack is complete only if mappings and rows are in time. */
static inline void thread__begins(const char *name)
{
	pthread_setname_np(pthread_self(), name);
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), THREAD_NICE);
}
