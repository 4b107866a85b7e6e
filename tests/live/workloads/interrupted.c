/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that signals break off, in known numbers: 20 pauses and 20 sleeps that come back with
 * EINTR, and 5 reads that go on by themselves (SA_RESTART) until a child writes.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BROKEN_OFF 20
#define GOING_ON   5

static void on_alarm(int number)
{
}

static void handle_alarm(int flags)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
}

static void alarm_in_us(int us)
{
	struct itimerval timer = { .it_value = { 0, us } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Read by a pipe that nobody has written to before the alarm. */
static void read_through_an_alarm(void)
{
	int ends[2];
	pid_t child;
	char byte;

	if (pipe(ends))
		exit(1);
	child = fork();
	if (!child) {
		usleep(60000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	alarm_in_us(20000);
	if (read(ends[0], &byte, 1) != 1)
		exit(1);
	close(ends[0]);
	close(ends[1]);
	waitpid(child, NULL, 0);
}

int main(void)
{
	struct timespec long_time = { .tv_sec = 10 };

	handle_alarm(0);
	for (int i = 0; i < BROKEN_OFF; i++) {
		alarm_in_us(10000);
		if (pause() != -1 || errno != EINTR)
			return 1;
		alarm_in_us(10000);
		if (nanosleep(&long_time, NULL) != -1 || errno != EINTR)
			return 1;
	}
	handle_alarm(SA_RESTART);
	for (int i = 0; i < GOING_ON; i++)
		read_through_an_alarm();
	return 0;
}
