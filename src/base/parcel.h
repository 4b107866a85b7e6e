/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between two processes over a stream socket: bytes, a result and a descriptor. The peer
 * may be hostile: receivers check the size. Nothing here logs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum parcel_kind { PARCEL_ANSWER, PARCEL_REQUEST };

struct parcel_head {
	uint64_t size; /* of the bytes that follow */
	int32_t err;
	uint16_t has_fd;
	uint16_t kind; /* enum parcel_kind */
};

/* `fd` is -1 or stays the caller's. `size` must be that of `bytes`. 0 or -EPIPE. */
int parcel__send(int socket, const struct parcel_head *head, const void *bytes, int fd);

/*
 * The same without blocking. If the peer does not read, `wait` is called, which returns 0 to try
 * again, or an error, which is returned.
 */
int parcel__send_patiently(int socket, const struct parcel_head *head, const void *bytes, int fd,
			   int (*wait)(void *context), void *context);

/*
 * Receives some bytes, and a descriptor if one is attached, which replaces and closes *ret_fd. 0:
 * the peer has closed the socket. Or -1 and errno.
 */
ssize_t parcel__receive_some(int socket, void *to, size_t size, int *ret_fd);

/* Receives exactly `size` bytes; waits for them. 0 or -EPIPE. */
int parcel__receive_all(int socket, void *to, size_t size, int *ret_fd);
