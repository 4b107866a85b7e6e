/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datagrams: known numbers of datagrams over UDP on loopback: sent and received, sent to a socket
 * that has no room for all of them, and sent to a port where nobody listens. Logs what it counted.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "workload.h"

#define SENT    40
#define BYTES   300
#define FLOOD   400
#define NOBODY  9
#define REFUSED 5

static char bytes[BYTES];

static int open_at(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(*ret);

	*ret = (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (void *)ret, size) || getsockname(fd, (void *)ret, &size))
		die("bind");
	return fd;
}

static void send_all(int fd, const struct sockaddr_in *to, int count)
{
	for (int i = 0; i < count; i++)
		if (sendto(fd, bytes, BYTES, 0, (const void *)to, sizeof(*to)) != BYTES)
			die("sendto");
}

static int receive_all(int fd)
{
	int count = 0;

	while (recv(fd, bytes, BYTES, MSG_DONTWAIT) == BYTES)
		count++;
	return count;
}

/* Each error is that of the datagram before. */
static int be_refused(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), refused = 0;

	if (connect(fd, (const void *)to, sizeof(*to)))
		die("connect");
	for (int i = 0; i < 2 * REFUSED; i++)
		refused += send(fd, bytes, BYTES, 0) < 0 && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

int main(void)
{
	struct sockaddr_in here, flooded, nobody;
	int receiver = open_at(&here), small = open_at(&flooded), gone = open_at(&nobody);
	int sender = socket(AF_INET, SOCK_DGRAM, 0), least = 1, got, kept, refused;

	close(gone);
	setsockopt(small, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	send_all(sender, &here, SENT);
	got = receive_all(receiver);
	/* The drops of a socket count from when it is first seen. */
	send_all(sender, &flooded, 1);
	kept = receive_all(small);
	send_all(sender, &flooded, FLOOD);
	kept += receive_all(small);
	send_all(sender, &nobody, NOBODY);
	refused = be_refused(&nobody);
	log_line("{\"sent\": %d, \"received\": %d, \"dropped\": %d, \"unheard\": %d,"
		 " \"refused\": %d, \"port\": %d}\n",
		 SENT + 1 + FLOOD + NOBODY + 2 * REFUSED - refused, got + kept, FLOOD + 1 - kept,
		 NOBODY + 2 * REFUSED - refused, refused, ntohs(flooded.sin_port));
	return 0;
}
