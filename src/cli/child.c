/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/child.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

/* Time between the request to end and the kill. */
#define PATIENCE_NS UINT64_C(5000000000)
#define LOOK_MS     20

/*
 * Drops ambient and inheritable capabilities. A service manager or container may have given them to
 * gapless that way, and they are not meant for the command.
 */
static void keep_no_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, sets))
		return;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].inheritable = 0;
	(void)syscall(SYS_capset, &head, sets);
}

static void become_command(char **command, int gate)
{
	char byte;
	int error;

	/* A byte is the permission to start; end of file means that the parent gave up or died. */
	if (read(gate, &byte, 1) != 1)
		_exit(CHILD_NOT_FOUND);
	keep_no_capabilities();
	limits__restore();
	execvp(command[0], command);
	error = errno;
	/* If nobody reads it, the exit status tells as well. */
	(void)!write(gate, &error, sizeof(error));
	_exit(child__status_of(error));
}

static int check_file(const char *path)
{
	struct stat info;

	if (stat(path, &info))
		return errno == EACCES ? -EACCES : -ENOENT;
	return S_ISREG(info.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

int child__check(const char *program)
{
	const char *folders = getenv("PATH"), *folder;
	size_t length;
	int err = -ENOENT;

	if (strchr(program, '/'))
		return check_file(program);
	for (folder = folders ? folders : "/bin:/usr/bin"; *program && folder && err;
	     folder = folder[length] ? folder + length + 1 : NULL) {
		char path[PATH_MAX];
		int found;

		length = strcspn(folder, ":");
		snprintf(path, sizeof(path), "%.*s/%s", length ? (int)length : 1,
			 length ? folder : ".", program);
		found = check_file(path);
		if (found != -ENOENT)
			err = found;
	}
	return err;
}

int child__status_of(int error)
{
	return error == ENOENT ? CHILD_NOT_FOUND : CHILD_CANNOT_RUN;
}

const char *child__signal_name(int number)
{
	static char names[4][16];
	static unsigned int next;
	const char *known = sigabbrev_np(number);
	char *name = names[next++ % 4];

	if (known)
		snprintf(name, sizeof(*names), "SIG%s", known);
	else
		snprintf(name, sizeof(*names), "signal %d", number);
	return name;
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
 * The gate is a socket, which can be written to without SIGPIPE: if the command died meanwhile,
 * gapless must not die too.
 */
void child__open_gate(struct child *child, bool go)
{
	if (!child->pid || child->gate < 0)
		return;
	if (go) {
		if (!child->is_open)
			send(child->gate, "g", 1, MSG_NOSIGNAL);
		child->is_open = true;
		return;
	}
	close(child->gate);
	child->gate = -1;
}

static void reap(struct child *child, int flags)
{
	int status, error;

	if (!child->pid || child->ended || waitpid(child->pid, &status, flags) != child->pid)
		return;
	child->ended = true;
	child->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (child->gate >= 0 &&
	    recv(child->gate, &error, sizeof(error), MSG_DONTWAIT) == (ssize_t)sizeof(error))
		child->run_error = error;
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child__look(struct child *child)
{
	reap(child, WNOHANG);
}

void child__terminate(struct child *child)
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
