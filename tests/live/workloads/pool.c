/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pool of two threads. JOBS jobs of a millisecond each are queued at once with pool_queue(job),
 * and pool_run(job) runs each. It logs how long they were queued by its own clock. At first, three
 * jobs are queued twice; at last, five that never run.
 */
#include "workload.h"

#include "usdt.h"

#define JOBS    100
#define THREADS 2
#define AGAIN   3
#define NEVER   5

struct job {
	uint64_t queued_ns, delay_ns;
};

static struct job jobs[JOBS + NEVER];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queued, taken;

void pool_queue(struct job *job);
void pool_run(struct job *job);

__attribute__((noinline)) void pool_queue(struct job *job)
{
	job->queued_ns = now_ns();
	USDT("pool", "queued", "0", "8@%%rdi", "D"(job));
	pthread_mutex_lock(&lock);
	queued++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

/* The probe's argument is in memory. */
__attribute__((noinline)) void pool_run(struct job *job)
{
	struct job *volatile kept = job;

	job->delay_ns = now_ns() - job->queued_ns;
	USDT("pool", "started", "0", "8@%0", "m"(kept));
	sleep_ns(1 * MS);
}

static void *work(void *unused)
{
	set_name("worker");
	for (;;) {
		struct job *job;

		pthread_mutex_lock(&lock);
		while (queued == taken && taken < JOBS)
			pthread_cond_wait(&changed, &lock);
		job = taken < JOBS ? &jobs[taken++] : NULL;
		if (taken == JOBS)
			pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		if (!job)
			return NULL;
		pool_run(job);
	}
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t delay_ns = 0;

	for (int i = 0; i < AGAIN; i++)
		pool_queue(&jobs[i]);
	queued = 0;
	for (int i = 0; i < THREADS; i++)
		threads[i] = start_thread(work, NULL);
	for (int i = 0; i < JOBS; i++)
		pool_queue(&jobs[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NEVER; i++)
		pool_queue(&jobs[JOBS + i]);
	for (int i = 0; i < JOBS; i++)
		delay_ns += jobs[i].delay_ns;
	log_line("{\"phase\": \"pool\", \"delay_ns\": %llu}\n", (unsigned long long)delay_ns);
	return 0;
}
