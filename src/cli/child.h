/* The command to be measured, held back until everything is attached. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* It could not be run, or was not found; shells say so too. */
#define CHILD_CANNOT_RUN 126
#define CHILD_NOT_FOUND  127

struct child {
	pid_t pid;    /* 0: none */
	int gate;     /* one byte into it lets the command start; closed: it gives up */
	bool is_open; /* the gate is; what comes back through it is why it could not be run */
	bool ended;
	int status;    /* then: its exit status, or 128 + signal */
	int signal;    /* then: what ended it, or 0 */
	int run_error; /* then: the errno by which it could not be run at all, or 0 */
};

/*
 * Whether there is a program of this name to execute, as execvp() looks for it: 0, -ENOENT or
 * -EACCES. What it does not see, like a format that the kernel does not know, is in run_error.
 */
int child__check(const char *program);

/* The exit status of a shell for a command that cannot be run for this reason. */
int child__status_of(int error);

/* "SIGSEGV"; one of a few static buffers. */
const char *child__signal_name(int number);

/* Makes the process, which waits at the gate. 0 or -errno. */
int child__start(char **command, struct child *ret);
/* Lets it start; or has it give up, if it has not started. Without a child it does nothing. */
void child__open_gate(struct child *child, bool go);
/* Notes that it ended, if it did. */
void child__look(struct child *child);
/* Asks it to end and waits for that; after some seconds it is killed, with a warning. */
void child__end(struct child *child);
