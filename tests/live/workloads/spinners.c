/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spinners SECONDS THREADS [NAME [CGROUP]]: threads that spin on CPU 0, in a cgroup if one is
 * named. A "neighbour" has a higher priority than others, and says when it is there.
 */
#include "workload.h"

#include <sched.h>

#define MOST_THREADS 16

static uint64_t end_ns;

static void *spin(void *unused)
{
	spin_until(end_ns);
	return NULL;
}

static void join_cgroup(const char *folder)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die(path);
	close(fd);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	const char *name = argc > 3 ? argv[3] : "spinner";
	pthread_t others[MOST_THREADS];
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (threads < 1 || threads > MOST_THREADS || sched_setaffinity(0, sizeof(first), &first))
		die("sched_setaffinity");
	if (argc > 4)
		join_cgroup(argv[4]);
	set_name(name);
	if (!strcmp(name, "neighbour")) {
		if (setpriority(PRIO_PROCESS, 0, -5))
			die("setpriority");
		log_line("{\"ready\": %d}\n", getpid());
	}
	end_ns = now_ns() + strtoul(argv[1], NULL, 10) * 1000 * MS;
	for (int i = 1; i < threads; i++)
		others[i] = start_thread(spin, NULL);
	spin(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
