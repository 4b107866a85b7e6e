/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A signal that ends the old process ends the new one too (PR_SET_PDEATHSIG), so no signals are
 * passed on.
 */
#include "guard/split.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parcel.h"

static int own_socket = -1;

/* What the old process has open is not for the new one, except for standard input and output. */
static int close_others(void)
{
	unsigned first = STDERR_FILENO + 1, own = (unsigned)own_socket;

	/* Linux before 5.9, or the filter of a container. */
	if (close_range(own + 1, ~0U, 0))
		return errno == ENOSYS || errno == EPERM ? 0 : -errno;
	return own > first && close_range(first, own - 1, 0) ? -errno : 0;
}

static int begin_work(enum guard_role role, int socket, pid_t parent)
{
	int err;

	own_socket = socket;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	err = close_others();
	return err ? err : guard__drop(role, NULL);
}

/* Answers one request. false: the new process has ended, or breaks the protocol. */
static bool serve_one(int socket, split_provide *provide, void *context)
{
	struct split_reply reply = { .fd = -1 };
	struct parcel_head head;
	char request[SPLIT_MOST_BYTES];
	cleanup(close_p) int fd = -1;
	bool ok;

	if (parcel__receive_all(socket, &head, sizeof(head), &fd) || head.size > sizeof(request) ||
	    parcel__receive_all(socket, request, head.size, &fd))
		return false;
	head.err = provide(context, request, head.size, &reply);
	/* What is refused must not be passed on all the same. */
	if (head.err) {
		close_p(&reply.fd);
		reply = (struct split_reply) { .fd = -1 };
	}
	head.size = reply.size;
	ok = !parcel__send(socket, &head, reply.bytes, reply.fd);
	close_p(&reply.fd);
	return ok;
}

int split__begin(enum guard_role role, split_provide *provide, void *context, int *ret_status)
{
	pid_t parent = getpid(), pid;
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	err = pid < 0 ? -errno : 0;
	close(ends[pid > 0 || err ? 1 : 0]);
	if (!pid)
		return begin_work(role, ends[1], parent);
	while (!err && serve_one(ends[0], provide, context))
		;
	close(ends[0]);
	if (err)
		return err;
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 1;
}

int split__ask(const void *request, size_t size, struct split_reply *ret)
{
	struct parcel_head head = { .size = size, .kind = PARCEL_REQUEST };
	struct split_reply reply = { .fd = -1 };

	if (parcel__send(own_socket, &head, request, -1) ||
	    parcel__receive_all(own_socket, &head, sizeof(head), &reply.fd) ||
	    head.size > sizeof(reply.bytes) ||
	    parcel__receive_all(own_socket, reply.bytes, head.size, &reply.fd)) {
		close_p(&reply.fd);
		return -EPIPE;
	}
	if (!head.err && head.has_fd && reply.fd < 0)
		head.err = -EMFILE; /* the kernel dropped the descriptor */
	if (head.err) {
		close_p(&reply.fd);
		return head.err;
	}
	reply.size = head.size;
	*ret = reply;
	return 0;
}
