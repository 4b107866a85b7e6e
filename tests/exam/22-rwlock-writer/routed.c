/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routed: 6 threads look up routes, thread `reloader` rebuilds the table with the lock held. */
#include "exam.h"

pthread_rwlock_t routes_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Atomic long waited_ns;
static double routes[4096];

NAMED double lookup_route(int key)
{
	long start_ns = now_ns();
	double sum = 0;

	pthread_rwlock_rdlock(&routes_lock);
	waited_ns += now_ns() - start_ns;
	for (int i = 0; i < 2000; i++)
		sum += routes[(key + i) % 4096];
	pthread_rwlock_unlock(&routes_lock);
	return sum;
}

NAMED void rebuild_table(void)
{
	long end_ns = now_ns() + 80000000;

	while (now_ns() < end_ns)
		for (int i = 0; i < 4096; i++)
			routes[i] = routes[i] * 0.99 + i;
}

static void *look_up(void *unused)
{
	for (int key = 0;; key++) {
		calculated = lookup_route(key);
		usleep(500);
	}
	return unused;
}

static void *reload(void *unused)
{
	for (;;) {
		pthread_rwlock_wrlock(&routes_lock);
		rebuild_table();
		pthread_rwlock_unlock(&routes_lock);
		usleep(20000);
	}
	return unused;
}

int main(void)
{
	for (int i = 0; i < 6; i++)
		start_thread_named("lookup", i, look_up);
	start_thread_named("reloader", -1, reload);
	for (;;) {
		long before_ns = waited_ns;

		sleep(1);
		printf("in a second, 6 threads waited %.2f s\n", (waited_ns - before_ns) / 1e9);
		fflush(stdout);
	}
}
