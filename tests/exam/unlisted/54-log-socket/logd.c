/* SPDX-License-Identifier: GPL-2.0-or-later */
/* logd SOCKET: takes lines from a datagram socket and forwards each, which takes 20 ms. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

__attribute__((noinline)) static void forward_line(void)
{
	usleep(20000);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char line[512];

	if (argc != 2)
		return 2;
	strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
	unlink(argv[1]);
	if (bind(fd, (void *)&address, sizeof(address)))
		return 1;
	while (recv(fd, line, sizeof(line), 0) >= 0)
		forward_line();
	return 1;
}
