/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rpc serve PORT: answers each request of 4 + 100 bytes.
 * rpc call PORT COUNT [nodelay]: sends requests, header and body in a write each.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD 4
#define BODY 100

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void answer(int client)
{
	char buffer[256];
	size_t pending = 0;
	ssize_t got;

	while ((got = read(client, buffer, sizeof(buffer))) > 0)
		for (pending += (size_t)got; pending >= HEAD + BODY; pending -= HEAD + BODY)
			if (write(client, "ok", 2) != 2)
				return;
}

__attribute__((noinline)) static void send_request(int server)
{
	char head[HEAD] = "", body[BODY] = "", reply[2];

	if (write(server, head, HEAD) != HEAD || write(server, body, BODY) != BODY ||
	    read(server, reply, 2) != 2)
		exit(1);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, count;
	double began;

	if (argc < 3)
		return 2;
	address.sin_port = htons((uint16_t)atoi(argv[2]));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!strcmp(argv[1], "serve")) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (void *)&address, sizeof(address)) || listen(fd, 5))
			return 1;
		for (int client; (client = accept(fd, NULL, NULL)) >= 0; close(client))
			answer(client);
		return 1;
	}
	if (argc < 4 || connect(fd, (void *)&address, sizeof(address)))
		return 1;
	if (argc > 4)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	count = atoi(argv[3]);
	began = now_ms();
	for (int i = 0; i < count; i++)
		send_request(fd);
	printf("ms_per_request=%.2f\n", (now_ms() - began) / count);
	return 0;
}
