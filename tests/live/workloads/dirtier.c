/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dirtier FILE: two threads change known numbers of pages of FILE, one after the other; then all of
 * it is written by the kernel, not by them.
 */
#include "workload.h"

#define PAGE   4096UL
#define MUCH   1500UL /* pages */
#define LITTLE 500UL

static int file;

static void *change(void *arg)
{
	static const char page[PAGE];
	const char *name = arg;
	size_t from = *name == 'm' ? 0 : MUCH, to = *name == 'm' ? MUCH : MUCH + LITTLE;

	set_name(name);
	for (size_t i = from; i < to; i++)
		if (pwrite(file, page, PAGE, (off_t)(i * PAGE)) != (ssize_t)PAGE)
			die("pwrite");
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0)
		die(argv[1]);
	pthread_join(start_thread(change, "much"), NULL);
	pthread_join(start_thread(change, "little"), NULL);
	if (syncfs(file))
		die("syncfs");
	unlink(argv[1]);
	return 0;
}
