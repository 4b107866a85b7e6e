/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * floor [--empty] COMMAND ARGUMENT…: runs a command under the programs of floor.bpf.c. With
 * --empty, they do not read the clock.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floor.skel.h"

int main(int argc, char **argv)
{
	struct floor_bpf *skeleton = floor_bpf__open();
	int status = 0;
	pid_t child;

	if (skeleton && argc > 1 && !strcmp(argv[1], "--empty")) {
		skeleton->rodata->with_clock = 0;
		argv++;
		argc--;
	}
	if (argc < 2 || !skeleton || floor_bpf__load(skeleton) || floor_bpf__attach(skeleton)) {
		fprintf(stderr, "usage: floor [--empty] COMMAND ARGUMENT… (as root)\n");
		return 2;
	}
	child = fork();
	if (!child) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(child, &status, 0);
	floor_bpf__destroy(skeleton);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
