/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outcomes COUNT: waits that end in a known way, COUNT of each, by threads named after it.
 *
 *   timeout-…  poll, a futex and a sleep, which only their time ends
 *   signal-…   a sleep and a read of an empty pipe that signals of "signaller" interrupt
 *   alarmed    a sleep that the signal of a timer interrupts
 *   event-…    a read of a pipe and a poll of one, ended by "writer"
 */
#include "workload.h"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

static int count;

static void *poll_in_vain(void *arg)
{
	set_name("timeout-poll");
	for (int i = 0; i < count; i++)
		if (poll(NULL, 0, 1))
			die("poll");
	return NULL;
}

static void *lock_in_vain(void *arg)
{
	const struct timespec limit = { 0, 1000000 };
	int word = 0;

	set_name("timeout-futex");
	for (int i = 0; i < count; i++)
		if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0) != -1 ||
		    errno != ETIMEDOUT)
			die("futex");
	return NULL;
}

static void *sleep_to_the_end(void *arg)
{
	const struct timespec time = { 0, 1000000 };

	set_name("timeout-sleep");
	for (int i = 0; i < count; i++)
		if (nanosleep(&time, NULL))
			die("nanosleep");
	return NULL;
}

static void ignore(int number)
{
}

/* A thread that signals interrupt until it has had enough of them. */
struct interrupted {
	const char *name;
	bool reads;
	pthread_t thread;
	atomic_bool is_done;
};

static void *be_interrupted(void *arg)
{
	const struct timespec time = { 10, 0 };
	struct interrupted *self = arg;
	int fds[2];
	char byte;

	set_name(self->name);
	make_pipe(fds);
	for (int i = 0; i < count; i++)
		if ((self->reads ? read(fds[0], &byte, 1) : nanosleep(&time, NULL)) != -1 ||
		    errno != EINTR)
			die(self->name);
	self->is_done = true;
	return NULL;
}

static void *interrupt(void *arg)
{
	struct interrupted *targets = arg;

	set_name("signaller");
	while (!targets[0].is_done || !targets[1].is_done) {
		sleep_ns(1 * MS);
		for (int i = 0; i < 2; i++)
			if (!targets[i].is_done)
				pthread_kill(targets[i].thread, SIGUSR1);
	}
	return NULL;
}

static void *be_alarmed(void *arg)
{
	const struct timespec time = { 10, 0 };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	const struct itimerspec often = { { 0, 2000000 }, { 0, 2000000 } };
	timer_t timer;

	set_name("alarmed");
	event._sigev_un._tid = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		die("timer_create");
	for (int i = 0; i < count; i++)
		if (nanosleep(&time, NULL) != -1 || errno != EINTR)
			die("alarmed");
	timer_delete(timer);
	return NULL;
}

static int pipes[2][2], turns[2];

static void *receive(void *arg)
{
	bool polls = arg != NULL;
	struct pollfd asked = { .fd = pipes[polls][0], .events = POLLIN };
	char byte;

	set_name(polls ? "event-poll" : "event-read");
	for (int i = 0; i < count; i++) {
		if (write(turns[1], "", 1) != 1 || (polls && poll(&asked, 1, -1) != 1) ||
		    read(pipes[polls][0], &byte, 1) != 1)
			die("read");
	}
	return NULL;
}

/* Writes to both pipes when both readers have had time to begin to wait. */
static void *send_all(void *arg)
{
	char byte;

	set_name("writer");
	for (int i = 0; i < count; i++) {
		if (read(turns[0], &byte, 1) != 1 || read(turns[0], &byte, 1) != 1)
			die("read");
		sleep_ns(1 * MS);
		if (write(pipes[0][1], "", 1) != 1 || write(pipes[1][1], "", 1) != 1)
			die("write");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct interrupted targets[] = { { .name = "signal-sleep" },
						{ .name = "signal-read", .reads = true } };
	const struct sigaction action = { .sa_handler = ignore };
	pthread_t others[7];
	int begun = 0;

	count = argc > 1 ? atoi(argv[1]) : 1;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	make_pipe(pipes[0]);
	make_pipe(pipes[1]);
	make_pipe(turns);
	others[begun++] = start_thread(poll_in_vain, NULL);
	others[begun++] = start_thread(lock_in_vain, NULL);
	others[begun++] = start_thread(sleep_to_the_end, NULL);
	others[begun++] = start_thread(be_alarmed, NULL);
	others[begun++] = start_thread(receive, NULL);
	others[begun++] = start_thread(receive, &count);
	others[begun++] = start_thread(send_all, NULL);
	for (int i = 0; i < 2; i++)
		targets[i].thread = start_thread(be_interrupted, &targets[i]);
	interrupt(targets);
	for (int i = 0; i < 2; i++)
		pthread_join(targets[i].thread, NULL);
	for (int i = 0; i < begun; i++)
		pthread_join(others[i], NULL);
	return 0;
}
