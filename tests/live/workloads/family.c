/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family [UID]: three generations of processes, two of them with a second thread. All are there
 * before the test says go; then the youngest takes the UID, if there is one, and starts a last
 * child. Every thread logs its number.
 */
#include <sys/wait.h>

#include "workload.h"

#define GENERATIONS 3

static const char *const names[GENERATIONS] = { "family-main", "family-child", "family-grand" };
static int gate[2], ready[2];
static unsigned int uid;

static void say(const char *comm)
{
	log_line("{\"phase\": \"member\", \"comm\": \"%s\", \"tid\": %d}\n", comm, gettid());
}

/* Ends when the other end is closed everywhere. */
static void await_gate(void)
{
	char token;

	if (read(gate[0], &token, 1))
		die("gate");
}

static void *second_thread(void *arg)
{
	set_name("family-thread");
	send_token(ready[1]);
	await_gate();
	say("family-thread");
	return NULL;
}

static void await_child(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child || status)
		die("child");
}

static void be_last(void)
{
	pid_t child;

	/* The library's would change all threads; this is the only one. */
	if (uid && syscall(SYS_setuid, uid))
		die("setuid");
	child = fork();
	if (!child) {
		set_name("family-late");
		say("family-late");
		_exit(0);
	}
	await_child(child);
}

static void live(int generation)
{
	pid_t child = generation + 1 < GENERATIONS ? fork() : 0;
	pthread_t thread;

	if (!child && generation + 1 < GENERATIONS) {
		live(generation + 1);
		_exit(0);
	}
	set_name(names[generation]);
	if (generation + 1 < GENERATIONS)
		thread = start_thread(second_thread, NULL);
	if (generation) {
		close(gate[1]);
		send_token(ready[1]);
		await_gate();
	} else {
		/* Two threads and two processes besides this one. */
		for (int i = 0; i < GENERATIONS + 1; i++)
			await_token(ready[0]);
		await_go();
		close(gate[1]);
	}
	say(names[generation]);
	if (generation + 1 < GENERATIONS) {
		pthread_join(thread, NULL);
		await_child(child);
	} else {
		be_last();
	}
}

int main(int argc, char **argv)
{
	uid = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	make_pipe(gate);
	make_pipe(ready);
	live(0);
	return 0;
}
