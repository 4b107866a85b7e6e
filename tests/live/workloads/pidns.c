/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pidns PROGRAM ARGUMENT…: runs a program as process 1 of a new pid namespace. */
#include <sched.h>
#include <sys/wait.h>

#include "workload.h"

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: pidns PROGRAM ARGUMENT…\n");
		return 2;
	}
	set_name("pidns-outside");
	if (unshare(CLONE_NEWPID))
		die("unshare");
	child = fork();
	if (!child) {
		execv(argv[1], argv + 1);
		die(argv[1]);
	}
	if (waitpid(child, &status, 0) != child)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
