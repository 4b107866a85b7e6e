/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thumbd: 60 images a second arrive, two threads `resizer` need 45 ms for each. */
#include "exam.h"

pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t queue_more = PTHREAD_COND_INITIALIZER;
static int queued;

NAMED void scale_rows(void)
{
	calculate(50000);
}

NAMED void resize_image(void)
{
	long end_ns = now_ns() + 45000000;

	while (now_ns() < end_ns)
		scale_rows();
}

static void *resize(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&queue_lock);
		while (queued == 0)
			pthread_cond_wait(&queue_more, &queue_lock);
		queued--;
		pthread_mutex_unlock(&queue_lock);
		resize_image();
	}
	return unused;
}

static void *receive(void *unused)
{
	for (;;) {
		usleep(16600);
		pthread_mutex_lock(&queue_lock);
		queued++;
		pthread_cond_signal(&queue_more);
		pthread_mutex_unlock(&queue_lock);
	}
	return unused;
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		start_thread_named("resizer", i, resize);
	start_thread_named("arrivals", -1, receive);
	for (;;) {
		sleep(1);
		printf("%d images wait\n", queued);
		fflush(stdout);
	}
}
