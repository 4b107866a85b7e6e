/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reuse: two processes, one after the other, with the same pid: clone3() lets root choose it. */
#include <linux/sched.h>
#include <sys/wait.h>

#include "workload.h"

#define LIFE_NS (100 * MS)

static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	if (pid) {
		args.set_tid = (uintptr_t)&pid;
		args.set_tid_size = 1;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static pid_t live(const char *comm, pid_t pid)
{
	pid_t child = fork_as(pid);

	if (!child) {
		struct phase phase = phase_begin("reuse", comm);

		call_begins(&phase);
		sleep_ns(LIFE_NS);
		call_ends(&phase);
		phase_end(&phase);
		_exit(0);
	}
	if (child > 0 && waitpid(child, NULL, 0) != child)
		die("waitpid");
	return child;
}

int main(void)
{
	pid_t pid = live("reuse-first", 0);

	if (live("reuse-second", pid) != pid) {
		phase_skip("reuse", "clone3");
		return 0;
	}
	return 0;
}
