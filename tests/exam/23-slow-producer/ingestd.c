/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingestd PORT: thread `producer` asks the feed for records, 4 workers wait for them and need 1 ms
 * for each. */
#include "exam.h"

pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t queue_more = PTHREAD_COND_INITIALIZER;
static int feed, queued;
static _Atomic long waited_ns;

NAMED void fetch_record(void)
{
	long start_ns = now_ns();
	char record[64];

	if (write(feed, "n", 1) != 1 ||
	    recv(feed, record, sizeof(record), MSG_WAITALL) != sizeof(record))
		exit(1);
	waited_ns += now_ns() - start_ns;
}

static void *produce(void *unused)
{
	for (;;) {
		fetch_record();
		pthread_mutex_lock(&queue_lock);
		queued++;
		pthread_cond_signal(&queue_more);
		pthread_mutex_unlock(&queue_lock);
	}
	return unused;
}

NAMED void take_record(void)
{
	pthread_mutex_lock(&queue_lock);
	while (queued == 0)
		pthread_cond_wait(&queue_more, &queue_lock);
	queued--;
	pthread_mutex_unlock(&queue_lock);
}

NAMED void process_record(void)
{
	calculate(300000);
}

static void *work(void *unused)
{
	for (;;) {
		take_record();
		process_record();
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = loopback(argc == 2 ? atoi(argv[1]) : 0);

	feed = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(feed, (struct sockaddr *)&address, sizeof(address)) != 0)
		return 1;
	for (int i = 0; i < 4; i++)
		start_thread_named("worker", i, work);
	start_thread_named("producer", -1, produce);
	for (;;) {
		long before_ns = waited_ns;

		sleep(1);
		printf("in a second, the producer waited %.2f s\n", (waited_ns - before_ns) / 1e9);
		fflush(stdout);
	}
}
