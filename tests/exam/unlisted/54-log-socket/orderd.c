/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orderd SOCKET: handles orders and logs a line about each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

__attribute__((noinline)) static void handle_order(void)
{
	for (unsigned long i = 0; i < 500000; i++)
		sink += i;
}

__attribute__((noinline)) static void log_line(int fd)
{
	char line[200] = "order handled";

	if (send(fd, line, sizeof(line), 0) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	double spent_ms = 0;

	if (argc != 2)
		return 2;
	strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
	if (connect(fd, (void *)&address, sizeof(address)))
		return 1;
	for (long i = 1;; i++) {
		double began;

		handle_order();
		began = now_ms();
		log_line(fd);
		spent_ms += now_ms() - began;
		if (i % 25)
			continue;
		printf("log_ms=%.0f\n", spent_ms / 25);
		fflush(stdout);
		spent_ms = 0;
	}
}
