/* SPDX-License-Identifier: GPL-2.0-or-later */
/* idle N: threads that wait for work which never comes, in the ways in which pools wait. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_more = PTHREAD_COND_INITIALIZER;
static sem_t queue_sem;
static int epoll, pair[2];

static void *take_from_queue(void *unused)
{
	pthread_mutex_lock(&queue_lock);
	for (;;)
		pthread_cond_wait(&queue_more, &queue_lock);
	return unused;
}

static void *take_from_semaphore(void *unused)
{
	for (;;)
		sem_wait(&queue_sem);
	return unused;
}

static void *serve_events(void *unused)
{
	struct epoll_event events[8];

	for (;;)
		epoll_wait(epoll, events, 8, -1);
	return unused;
}

static void *serve_pipe(void *unused)
{
	char byte;

	while (recv(pair[0], &byte, 1, 0) >= 0)
		continue;
	return unused;
}

static void *tick(void *unused)
{
	for (;;)
		sleep(1);
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const ways[])(void *) = { take_from_queue, take_from_semaphore, serve_events,
					  serve_pipe };
	int threads = argc > 1 ? atoi(argv[1]) : 25;
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t thread;

	sem_init(&queue_sem, 0, 0);
	epoll = epoll_create1(0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(0, 0), &event) != 0)
		return 1;
	for (int i = 1; i < threads; i++) {
		if (pthread_create(&thread, NULL, ways[i % 4], NULL) != 0)
			return 1;
	}
	puts("waiting");
	fflush(stdout);
	tick(NULL);
}
