/* The command to be measured, held back until everything is attached. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* It could not be run; shells say so too. */
#define CHILD_NOT_FOUND 127

struct child {
	pid_t pid; /* 0: none */
	int gate;  /* one byte into it lets the command start; closed: it gives up */
	bool ended;
	int status; /* then: its exit status, or 128 + signal */
};

/* Makes the process, which waits at the gate. 0 or -errno. */
int child__start(char **command, struct child *ret);
/* Lets it start, or has it give up. Without a child, or once the gate is open, it does nothing. */
void child__open_gate(struct child *child, bool go);
/* Notes that it ended, if it did. */
void child__look(struct child *child);
/* Asks it to end and waits for that; after some seconds it is killed, with a warning. */
void child__end(struct child *child);
