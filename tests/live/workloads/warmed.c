/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work in two phases, of which a recording with a warm-up has the second. They are told apart by
 * the test, which writes five bytes into the fifo PATH when the recording has begun.
 *
 *   warmed family PATH   a process, its thread, its child, an orphaned grandchild, which are there
 *                        in both phases, and a child that the orphan has in the second one. Each
 *                        makes 77 calls of getppid in the first phase, then 1,000 k, k from 1 to 5
 *   warmed chain PATH    processes that each end when they have started the next; the one that
 *                        finds the byte makes 1,000 calls of getppid
 */
#include "workload.h"

#include <poll.h>
#include <sys/wait.h>

#define EARLY_CALLS 77

static int go, done[2];

static void call_often(long count)
{
	while (count--)
		syscall(SYS_getppid);
}

/* One of the family, from its birth to its last call. */
static void live(const char *name, long k)
{
	set_name(name);
	call_often(EARLY_CALLS);
	await_token(go);
	call_often(1000 * k);
	send_token(done[1]);
}

static void *be_thread(void *unused)
{
	live("warm-thread", 2);
	return NULL;
}

static void be_orphan(void)
{
	if (fork())
		_exit(0);
	/* From here on its parent is somebody else. */
	live("warm-orphan", 4);
	if (!fork()) {
		set_name("warm-late");
		await_token(go);
		call_often(5000);
		send_token(done[1]);
	}
	_exit(0);
}

static void run_family(void)
{
	pthread_t thread = start_thread(be_thread, NULL);
	pid_t child = fork(), parent;

	if (!child) {
		live("warm-child", 3);
		_exit(0);
	}
	parent = fork();
	if (!parent)
		be_orphan();
	waitpid(parent, NULL, 0);
	live("warm-main", 1);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 5; i++)
		await_token(done[0]);
}

static void run_chain(void)
{
	struct pollfd token = { .fd = go, .events = POLLIN };
	pid_t first = fork();

	if (first) {
		waitpid(first, NULL, 0);
		await_token(done[0]);
		return;
	}
	set_name("warm-link");
	while (poll(&token, 1, 0) <= 0)
		if (fork())
			_exit(0);
	await_token(go);
	call_often(1000);
	send_token(done[1]);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	go = open(argv[2], O_RDONLY);
	if (go < 0)
		die(argv[2]);
	make_pipe(done);
	if (!strcmp(argv[1], "family"))
		run_family();
	else
		run_chain();
	return 0;
}
