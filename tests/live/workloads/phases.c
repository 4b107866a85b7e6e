/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * phases [--file PATH] [PHASE…]: threads with known names that spend known times in known ways, one
 * phase after the other; all of them if none is named. Each thread logs what its own clock says.
 */
#include "phases.h"

#define SPIN_NS    (300 * MS)
#define CALLS      200000
#define SLEEPS     5
#define SLEEP_NS   (40 * MS)
#define CROWD_NS   (400 * MS)
#define MOST_CROWD 64

const char *disk_path;

static void *spinner(void *arg)
{
	struct phase phase = phase_begin("spin", "spinner");

	spin_until(phase.begin_ns + SPIN_NS);
	phase.count = 1;
	phase_end(&phase);
	return NULL;
}

void phase_spin(void)
{
	pthread_join(start_thread(spinner, NULL), NULL);
}

static void *caller(void *arg)
{
	struct phase phase = phase_begin("calls", "caller");

	for (phase.count = 0; phase.count < CALLS; phase.count++)
		syscall(SYS_getppid);
	phase_end(&phase);
	return NULL;
}

void phase_calls(void)
{
	pthread_join(start_thread(caller, NULL), NULL);
}

static void *sleeper(void *arg)
{
	struct phase phase = phase_begin("sleep", "sleeper");

	for (int i = 0; i < SLEEPS; i++) {
		call_begins(&phase);
		sleep_ns(SLEEP_NS);
		call_ends(&phase);
	}
	phase_end(&phase);
	return NULL;
}

void phase_sleep(void)
{
	pthread_join(start_thread(sleeper, NULL), NULL);
}

static void *crowd_member(void *arg)
{
	char name[16];
	struct phase phase;

	snprintf(name, sizeof(name), "crowd-%d", (int)(intptr_t)arg);
	phase = phase_begin("crowd", name);
	spin_until(phase.begin_ns + CROWD_NS);
	phase.count = 1;
	phase_end(&phase);
	return NULL;
}

/* Two threads more than CPUs, so that somebody is always ready and not running. */
void phase_crowd(void)
{
	pthread_t threads[MOST_CROWD];
	long count = sysconf(_SC_NPROCESSORS_ONLN) + 2;

	if (count > MOST_CROWD)
		count = MOST_CROWD;
	for (long i = 0; i < count; i++)
		threads[i] = start_thread(crowd_member, (void *)(intptr_t)i);
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} phases[] = {
	{ "spin", phase_spin },     { "calls", phase_calls }, { "sleep", phase_sleep },
	{ "crowd", phase_crowd },   { "lock", phase_lock },   { "cond", phase_cond },
	{ "child", phase_child },   { "tcp", phase_tcp },     { "unix", phase_unix },
	{ "accept", phase_accept }, { "pipe", phase_pipe },   { "poll", phase_poll },
	{ "epoll", phase_epoll },   { "disk", phase_disk },   { "fault", phase_fault },
};

#define PHASES (sizeof(phases) / sizeof(*phases))

static int run_phase(const char *name)
{
	int found = 0;

	for (size_t i = 0; i < PHASES; i++) {
		if (name && strcmp(name, phases[i].name))
			continue;
		phases[i].run();
		found = 1;
	}
	return found;
}

int main(int argc, char **argv)
{
	int first = 1;

	if (argc > 2 && !strcmp(argv[1], "--file")) {
		disk_path = argv[2];
		first = 3;
	}
	if (first == argc)
		run_phase(NULL);
	for (int i = first; i < argc; i++) {
		if (!run_phase(argv[i])) {
			fprintf(stderr, "no phase '%s'\n", argv[i]);
			return 2;
		}
	}
	return 0;
}
