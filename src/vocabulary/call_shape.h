/* How many syscalls there are, and what the kernel half looks at in their arguments. */
#pragma once

#include <linux/types.h>

#define CALL_NUMBERS 512
/* Stands for all calls of 32-bit programs: theirs is another table. */
#define CALL_32BIT 511

#define CALL_PATHS 2

/* What is worth looking at in a syscall's arguments; they count from 1, 0 is none. */
struct call_shape {
	__u8 fd;
	__u8 path[CALL_PATHS];
	__u8 idle; /* it waits by choice, or nobody can tell: only its time on a CPU can be slow */
};
