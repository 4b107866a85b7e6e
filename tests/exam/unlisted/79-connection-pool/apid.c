/* SPDX-License-Identifier: GPL-2.0-or-later */
/* apid PORT: 8 threads handle requests, each with a query to the database at PORT, to which there
 * are 2 connections. */
#include "exam.h"

enum { CONNECTIONS = 2, HANDLERS = 8 };

pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t pool_returned = PTHREAD_COND_INITIALIZER;
static int pool[CONNECTIONS], available;
static _Atomic long waited_ns, queried_ns;

NAMED int borrow_connection(void)
{
	long start_ns = now_ns();
	int connection;

	pthread_mutex_lock(&pool_lock);
	while (available == 0)
		pthread_cond_wait(&pool_returned, &pool_lock);
	connection = pool[--available];
	pthread_mutex_unlock(&pool_lock);
	waited_ns += now_ns() - start_ns;
	return connection;
}

NAMED void return_connection(int connection)
{
	pthread_mutex_lock(&pool_lock);
	pool[available++] = connection;
	pthread_cond_signal(&pool_returned);
	pthread_mutex_unlock(&pool_lock);
}

NAMED void run_query(int connection)
{
	long start_ns = now_ns();
	char rows[64];

	if (write(connection, "q\n", 2) != 2 ||
	    recv(connection, rows, sizeof(rows), MSG_WAITALL) != sizeof(rows))
		exit(1);
	queried_ns += now_ns() - start_ns;
}

static void *handle(void *unused)
{
	for (;;) {
		int connection = borrow_connection();

		run_query(connection);
		return_connection(connection);
		calculate(600000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = loopback(argc == 2 ? atoi(argv[1]) : 0);

	for (; available < CONNECTIONS; available++) {
		pool[available] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(pool[available], (struct sockaddr *)&address, sizeof(address)) != 0)
			return 1;
	}
	for (int i = 0; i < HANDLERS; i++)
		start_thread_named("handler", i, handle);
	for (;;) {
		long waited = waited_ns, queried = queried_ns;

		sleep(1);
		printf("in a second, handlers waited %.2f s for a connection and %.2f s for answers\n",
		       (waited_ns - waited) / 1e9, (queried_ns - queried) / 1e9);
		fflush(stdout);
	}
}
