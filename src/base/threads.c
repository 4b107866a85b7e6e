/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/threads.h"

#include <signal.h>

int threads__start(void *(*run)(void *context), void *context, pthread_t *ret)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(ret, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}
