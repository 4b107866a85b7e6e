/* How the mapper's threads begin. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREAD_NICE (-15)

/* With all signals blocked: they are for the main thread. 0 or -errno. */
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

/* Ahead of others, where we may: a sample is whole only if mappings and rows are in time. */
static inline void thread__begins(const char *name)
{
	pthread_setname_np(pthread_self(), name);
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), THREAD_NICE);
}
