/* SPDX-License-Identifier: GPL-2.0-or-later */
/* many THREADS SECONDS: so many threads that wake once a second each, spread over the second. */
#include "workload.h"

#define STACK_BYTES (32 * 1024)
#define SECOND_NS   (1000 * MS)

static unsigned long threads, seconds;
static uint64_t begin_ns;

static void *seldom(void *arg)
{
	uint64_t offset_ns = (uintptr_t)arg * (SECOND_NS / threads);

	set_name("many");
	for (unsigned long i = 1; i <= seconds; i++)
		sleep_until(begin_ns + i * SECOND_NS + offset_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t *all;

	if (argc != 3) {
		fprintf(stderr, "usage: many THREADS SECONDS\n");
		return 2;
	}
	threads = strtoul(argv[1], NULL, 10);
	seconds = strtoul(argv[2], NULL, 10);
	all = calloc(threads, sizeof(*all));
	set_name("many-main");
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	/* Time to start them all. */
	begin_ns = now_ns() + threads * 100000;
	for (uintptr_t i = 0; i < threads; i++) {
		errno = pthread_create(&all[i], &attributes, seldom, (void *)i);
		if (errno)
			die("pthread_create");
	}
	log_line("{\"ready\": %d, \"threads\": %lu}\n", getpid(), threads);
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	free(all);
	return 0;
}
