/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parcel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What to do after a failed call: 0: try again. */
static int after_failure(int (*wait)(void *context), void *context)
{
	if (errno == EINTR)
		return 0;
	return errno == EAGAIN && wait ? wait(context) : -EPIPE;
}

int parcel__send_patiently(int socket, const struct parcel_head *head, const void *bytes, int fd,
			   int (*wait)(void *context), void *context)
{
	const int flags = MSG_NOSIGNAL | (wait ? MSG_DONTWAIT : 0);
	struct parcel_head sent_head = *head;
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec first = { &sent_head, sizeof(sent_head) };
	struct msghdr message = { .msg_iov = &first, .msg_iovlen = 1 };
	const char *at = bytes;
	size_t left = head->size;
	ssize_t sent;
	int err = 0;

	sent_head.has_fd = fd >= 0;
	if (fd >= 0) {
		struct cmsghdr *part;

		message.msg_control = control.room;
		message.msg_controllen = sizeof(control.room);
		part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &fd, sizeof(int));
	}
	while ((sent = sendmsg(socket, &message, flags)) < 0 && !err)
		err = after_failure(wait, context);
	if (!err && sent != sizeof(sent_head))
		err = -EPIPE;
	while (left && !err) {
		sent = send(socket, at, left, flags);
		if (sent < 0)
			err = after_failure(wait, context);
		at += sent > 0 ? sent : 0;
		left -= sent > 0 ? (size_t)sent : 0;
	}
	return err;
}

int parcel__send(int socket, const struct parcel_head *head, const void *bytes, int fd)
{
	return parcel__send_patiently(socket, head, bytes, fd, NULL, NULL);
}

ssize_t parcel__receive_some(int socket, void *to, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec bytes = { to, size };
	/* Room for one descriptor: with CMSG_SPACE() there would be some for a second. */
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *part = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
	    part->cmsg_len == CMSG_LEN(sizeof(int))) {
		if (*ret_fd >= 0)
			close(*ret_fd);
		memcpy(ret_fd, CMSG_DATA(part), sizeof(int));
	}
	return got;
}

int parcel__receive_all(int socket, void *to, size_t size, int *ret_fd)
{
	char *at = to;

	while (size) {
		ssize_t got = parcel__receive_some(socket, at, size, ret_fd);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EPIPE;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}
