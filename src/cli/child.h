/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measured command. It does not start until everything is attached. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The exit statuses of a shell for a command that cannot be executed or was not found. */
#define CHILD_CANNOT_RUN 126
#define CHILD_NOT_FOUND  127

struct child {
	pid_t pid;    /* 0: none */
	int gate;     /* writing a byte starts the command; closing it makes the command give up */
	bool is_open; /* the gate is open; an errno may come back through it */
	bool ended;
	int status;    /* if ended: the exit status, or 128 + signal */
	int signal;    /* if ended: the signal that ended it, or 0 */
	int run_error; /* if ended: the errno if it could not be executed at all, or 0 */
};

/*
 * Whether execvp() would find an executable program of this name: 0, -ENOENT or -EACCES. Other
 * failures, such as a format unknown to the kernel, show up later in run_error.
 */
int child__check(const char *program);

/* The exit status of a shell for a command that cannot be executed because of this errno. */
int child__status_of(int error);

/* "SIGSEGV"; the result is in one of a few static buffers. */
const char *child__signal_name(int number);

/* Creates the process, which waits at the gate. 0 or -errno. */
int child__start(char **command, struct child *ret);
/*
 * Lets the command start, or makes it give up if it has not started. Does nothing without a child.
 */
void child__open_gate(struct child *child, bool go);
/* Checks whether it has ended, and stores how. */
void child__look(struct child *child);
/* Sends SIGTERM and waits. Sends SIGKILL after some seconds, with a warning. */
void child__terminate(struct child *child);
