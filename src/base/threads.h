/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <pthread.h>

/* Starts a thread in which all signals are blocked: they are for the caller's thread. -errno. */
int threads__start(void *(*run)(void *context), void *context, pthread_t *ret);
