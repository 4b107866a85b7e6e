/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shopd PORT: eight threads handle requests, each with one of two connections to a database. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t pool_free;
static int pool[2], pool_used;
static double pool_ms;
static long requests;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

__attribute__((noinline)) static int take_connection(void)
{
	double began = now_ms();
	int connection;

	sem_wait(&pool_free);
	pthread_mutex_lock(&pool_lock);
	connection = pool[pool_used++];
	pool_ms += now_ms() - began;
	requests++;
	pthread_mutex_unlock(&pool_lock);
	return connection;
}

static void return_connection(int connection)
{
	pthread_mutex_lock(&pool_lock);
	pool[--pool_used] = connection;
	pthread_mutex_unlock(&pool_lock);
	sem_post(&pool_free);
}

__attribute__((noinline)) static void query(int connection)
{
	char row;

	if (write(connection, "q", 1) != 1 || read(connection, &row, 1) != 1)
		exit(1);
}

static void *handle_requests(void *unused)
{
	for (;;) {
		int connection = take_connection();

		query(connection);
		return_connection(connection);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	pthread_t thread;

	address.sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "0"));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sem_init(&pool_free, 0, 2);
	for (int i = 0; i < 2; i++) {
		pool[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(pool[i], (void *)&address, sizeof(address)))
			return 1;
	}
	for (int i = 0; i < 8; i++) {
		pthread_create(&thread, NULL, handle_requests, NULL);
		pthread_setname_np(thread, "request");
	}
	for (;;) {
		sleep(1);
		pthread_mutex_lock(&pool_lock);
		printf("pool_ms=%.0f\n", pool_ms / (requests ? requests : 1));
		fflush(stdout);
		pthread_mutex_unlock(&pool_lock);
	}
}
