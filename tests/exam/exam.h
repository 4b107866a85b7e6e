/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of the cases share. A function that the report should name is NAMED. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NAMED __attribute__((noinline, noclone, unused)) static

static volatile double calculated __attribute__((unused));

static inline long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* About 1 ms of CPU time for 300,000 rounds. */
__attribute__((always_inline)) static inline void calculate(int rounds)
{
	double sum = 1;

	for (int i = 0; i < rounds; i++)
		sum = sum * 0.999999 + i;
	calculated = sum;
}

/* Starts a thread called NAME-0, NAME-1 and so on, or NAME if the number is below 0. */
static inline void start_thread_named(const char *name, int number, void *(*run)(void *))
{
	pthread_t thread;
	char title[16];

	if (number < 0)
		snprintf(title, sizeof(title), "%s", name);
	else
		snprintf(title, sizeof(title), "%s-%d", name, number);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		exit(1);
	pthread_setname_np(thread, title);
}

static inline struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}
