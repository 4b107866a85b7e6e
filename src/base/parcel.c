/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parcel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int send_bytes(int socket, const char *bytes, size_t size)
{
	while (size) {
		ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -EPIPE;
		bytes += sent;
		size -= (size_t)sent;
	}
	return 0;
}

int parcel__send(int socket, const struct parcel_head *head, const void *bytes, int fd)
{
	struct parcel_head sent_head = *head;
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec first = { &sent_head, sizeof(sent_head) };
	struct msghdr message = { .msg_iov = &first, .msg_iovlen = 1 };
	ssize_t sent;

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
	do {
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent != sizeof(sent_head))
		return -EPIPE;
	return send_bytes(socket, bytes, head->size);
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
