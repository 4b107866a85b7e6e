/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phases that wait for another thread or process. The turns are taken over pipes, so that the only
 * futex that a waiter waits for is the one that the phase is about.
 */
#include <sys/wait.h>

#include "phases.h"

#define CHILD_NS (150 * MS)

struct turns {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int signalled;
	int begun[2];
	int ended[2];
};

static struct turns *turns_new(void)
{
	static struct turns turns;

	turns = (struct turns) { .mutex = PTHREAD_MUTEX_INITIALIZER,
				 .cond = PTHREAD_COND_INITIALIZER };
	make_pipe(turns.begun);
	make_pipe(turns.ended);
	return &turns;
}

static void play(struct turns *turns, void *(*first)(void *), void *(*second)(void *))
{
	pthread_t a = start_thread(first, turns), b = start_thread(second, turns);

	pthread_join(a, NULL);
	pthread_join(b, NULL);
	for (int i = 0; i < 2; i++) {
		close(turns->begun[i]);
		close(turns->ended[i]);
	}
}

static void *holder(void *arg)
{
	struct turns *turns = arg;
	struct phase phase = phase_begin("hold", "holder");

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&turns->mutex);
		send_token(turns->begun[1]);
		call_begins(&phase);
		sleep_ns(WAIT_NS);
		call_ends(&phase);
		pthread_mutex_unlock(&turns->mutex);
		await_token(turns->ended[0]);
	}
	phase_end(&phase);
	return NULL;
}

static void *waiter(void *arg)
{
	struct turns *turns = arg;
	struct phase phase = phase_begin("lock", "waiter");

	for (int i = 0; i < ROUNDS; i++) {
		await_token(turns->begun[0]);
		call_begins(&phase);
		pthread_mutex_lock(&turns->mutex);
		call_ends(&phase);
		pthread_mutex_unlock(&turns->mutex);
		send_token(turns->ended[1]);
	}
	phase_end(&phase);
	return NULL;
}

void phase_lock(void)
{
	play(turns_new(), holder, waiter);
}

/* Signals without the mutex, or the waiter would wait a second time, for that. */
static void *signaller(void *arg)
{
	struct turns *turns = arg;

	set_name("signaller");
	for (int i = 0; i < ROUNDS; i++) {
		await_token(turns->begun[0]);
		sleep_ns(WAIT_NS);
		pthread_mutex_lock(&turns->mutex);
		turns->signalled = 1;
		pthread_mutex_unlock(&turns->mutex);
		pthread_cond_signal(&turns->cond);
	}
	return NULL;
}

static void *cond_waiter(void *arg)
{
	struct turns *turns = arg;
	struct phase phase = phase_begin("cond", "cond-waiter");

	for (int i = 0; i < ROUNDS; i++) {
		send_token(turns->begun[1]);
		pthread_mutex_lock(&turns->mutex);
		call_begins(&phase);
		while (!turns->signalled)
			pthread_cond_wait(&turns->cond, &turns->mutex);
		call_ends(&phase);
		turns->signalled = 0;
		pthread_mutex_unlock(&turns->mutex);
	}
	phase_end(&phase);
	return NULL;
}

void phase_cond(void)
{
	play(turns_new(), signaller, cond_waiter);
}

static void *parent(void *arg)
{
	struct phase phase = phase_begin("child", "parent");
	pid_t child = fork();

	if (!child) {
		set_name("child-sleeper");
		sleep_ns(CHILD_NS);
		_exit(0);
	}
	call_begins(&phase);
	if (waitpid(child, NULL, 0) != child)
		die("waitpid");
	call_ends(&phase);
	phase_end(&phase);
	return NULL;
}

void phase_child(void)
{
	pthread_join(start_thread(parent, NULL), NULL);
}
