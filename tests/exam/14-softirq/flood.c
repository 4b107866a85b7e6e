/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flood ADDRESS PORT: sends as many small datagrams as it can. */
#include "exam.h"

int main(int argc, char **argv)
{
	enum { BATCH = 64 };
	struct sockaddr_in peer = loopback(argc == 3 ? atoi(argv[2]) : 0);
	struct iovec bytes = { .iov_base = "ping", .iov_len = 4 };
	struct mmsghdr batch[BATCH] = { 0 };
	int udp = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc != 3 || inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1)
		return 2;
	for (int i = 0; i < BATCH; i++)
		batch[i].msg_hdr = (struct msghdr) {
			.msg_name = &peer,
			.msg_namelen = sizeof(peer),
			.msg_iov = &bytes,
			.msg_iovlen = 1,
		};
	for (;;)
		sendmmsg(udp, batch, BATCH, 0);
}
