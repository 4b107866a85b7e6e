#include "cli/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* From a request to end to a kill. */
#define PATIENCE_NS UINT64_C(5000000000)
#define LOOK_MS     20

static void become_command(char **command, int gate)
{
	char byte;

	/* A byte is the word to go; the end of file means that the parent gave up or died. */
	if (read(gate, &byte, 1) != 1)
		_exit(CHILD_NOT_FOUND);
	close(gate);
	execvp(command[0], command);
	log_error("cannot run '%s': %s", command[0], strerror(errno));
	_exit(CHILD_NOT_FOUND);
}

int child__start(char **command, struct child *ret)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int err = -errno;

		close(ends[0]);
		close(ends[1]);
		return err;
	}
	if (!pid) {
		close(ends[1]);
		become_command(command, ends[0]);
	}
	close(ends[0]);
	*ret = (struct child) { .pid = pid, .gate = ends[1] };
	return 0;
}

/*
 * A command that died meanwhile is no reason to die too: hence a socket, which can be written to
 * without a signal.
 */
void child__open_gate(struct child *child, bool go)
{
	if (!child->pid || child->gate < 0)
		return;
	if (go)
		send(child->gate, "g", 1, MSG_NOSIGNAL);
	close(child->gate);
	child->gate = -1;
}

static void reap(struct child *child, int flags)
{
	int status;

	if (!child->pid || child->ended || waitpid(child->pid, &status, flags) != child->pid)
		return;
	child->ended = true;
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child__look(struct child *child)
{
	reap(child, WNOHANG);
}

void child__end(struct child *child)
{
	uint64_t until_ns = clock__now_ns() + PATIENCE_NS;

	child__look(child);
	if (!child->pid || child->ended)
		return;
	kill(child->pid, SIGTERM);
	while (!child->ended && clock__now_ns() < until_ns) {
		(void)poll(NULL, 0, LOOK_MS);
		child__look(child);
	}
	if (child->ended)
		return;
	log_warning("the command does not end when it is asked to; it is killed");
	kill(child->pid, SIGKILL);
	while (!child->ended)
		reap(child, 0);
}
