/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * retried: calls that signals break off, and what becomes of them, in known numbers.
 *
 * Each of eight calls ends with EINTR 60 times, and the program makes it again: the same call at
 * the same place. Then 20 calls of readv that the kernel makes again: 10 with a handler that calls
 * it as well (the log says how often), 10 through a stop and a continuation. Last, 5 calls of
 * recvmsg that a handler leaves by a jump.
 */
#include "workload.h"

#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define BROKEN_OFF 60
#define MADE_AGAIN 10
#define JUMPED     5
#define PERIOD_US  2000

static int ends[2], empty[2], sockets[2];
static uint32_t word;
static sigjmp_buf place;
static volatile sig_atomic_t alarms;

static long read_vector(int fd)
{
	char byte;

	return readv(fd, &(struct iovec) { &byte, 1 }, 1);
}

static void do_nothing(int number)
{
}

/* A read of its own while the other one is broken off. */
static void read_too(int number)
{
	alarms++;
	if (read_vector(empty[0]) != -1 || errno != EAGAIN)
		_exit(1);
}

static void jump(int number)
{
	siglongjmp(place, 1);
}

static void on_alarm(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
}

static void alarm_every(int us, int first_us)
{
	struct itimerval timer = { .it_interval = { 0, us }, .it_value = { 0, first_us } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

static long do_read(void)
{
	char byte;

	return read(ends[0], &byte, 1);
}

static long do_poll(void)
{
	return poll(&(struct pollfd) { ends[0], POLLIN, 0 }, 1, -1);
}

static long do_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	return syscall(SYS_pselect6, ends[0] + 1, &set, NULL, NULL, NULL, NULL);
}

static long do_sleep(void)
{
	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec) { 9, 0 }, NULL);
}

static long do_receive(void)
{
	char byte;

	return recv(sockets[0], &byte, 1, 0);
}

static long do_futex(void)
{
	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static long do_pause(void)
{
	return pause();
}

static long do_suspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

static void retry(long (*call)(void))
{
	alarm_every(PERIOD_US, PERIOD_US);
	for (int i = 0; i < BROKEN_OFF; i++)
		if (call() != -1 || errno != EINTR)
			die("a call");
	alarm_every(0, 0);
}

/* A child that writes the byte, once the read was broken off. */
static pid_t start_writer(pid_t stopped)
{
	pid_t child = fork();

	if (child)
		return child;
	sleep_ns(10 * MS);
	if (stopped) {
		kill(stopped, SIGSTOP);
		sleep_ns(5 * MS);
		kill(stopped, SIGCONT);
	}
	sleep_ns(5 * MS);
	_exit(write(ends[1], "x", 1) != 1);
}

static void call_made_again(bool stopped)
{
	pid_t self = getpid();

	for (int i = 0; i < MADE_AGAIN; i++) {
		pid_t child = start_writer(stopped ? self : 0);

		if (!stopped)
			alarm_every(PERIOD_US, PERIOD_US);
		if (read_vector(ends[0]) != 1)
			die("readv");
		alarm_every(0, 0);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

static void call_and_jump(void)
{
	volatile int left = JUMPED;

	while (left-- > 0) {
		if (sigsetjmp(place, 1))
			continue;
		alarm_every(0, 50000); /* late enough to be in the call by then */
		recvmsg(sockets[0], &(struct msghdr) {}, 0);
		die("recvmsg");
	}
}

int main(void)
{
	make_pipe(ends);
	make_pipe(empty);
	if (fcntl(empty[0], F_SETFL, O_NONBLOCK) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		die("sockets");
	on_alarm(do_nothing, 0);
	retry(do_read);
	retry(do_poll);
	retry(do_select);
	retry(do_sleep);
	retry(do_receive);
	retry(do_futex);
	retry(do_pause);
	retry(do_suspend);
	on_alarm(read_too, SA_RESTART);
	call_made_again(false);
	call_made_again(true);
	on_alarm(jump, SA_RESTART);
	call_and_jump();
	log_line("{\"alarms\": %d}\n", (int)alarms);
	return 0;
}
