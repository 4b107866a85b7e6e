/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the names of functions tell, by the tables in known.def. */
#pragma once

#include "model/hot.h"

/* Words for functions of the kernel that are called at the memory limit of a cgroup. */
#define KNOWN_MEMORY_LIMIT "memory reclaim at the limit of its cgroup"

enum known_flag {
	KNOWN_CARRIER = 1,    /* a thread of a runtime without a task */
	KNOWN_SLEEP = 2,      /* a sleep */
	KNOWN_ROOT = 4,       /* where a thread or program begins */
	KNOWN_TAIL = 8,       /* a library's function: its caller is more telling */
	KNOWN_COLLECTOR = 16, /* garbage collection */
	KNOWN_WEAK = 32,      /* `lock` counts only if no other function of a library has one */
	KNOWN_LIBRARY = 64,   /* of a package: a function of the program is more telling */
	KNOWN_ENTRY = 128,    /* code of a program outside of all its functions */
	KNOWN_LOOP = 256,     /* an event loop */
};

struct known {
	unsigned int flags; /* enum known_flag */
	const char *lock;   /* the lock that a thread in this function waits for; NULL: none */
	const char *wait;   /* what a thread in this function waits for; NULL: unknown */
	const char *module; /* file name of the module; "" if unknown */
};

/*
 * Looks up a function of hot.functions. The name of a managed function is whatever its programmer
 * chose, so only its file and the names of libraries and of event loops with their files tell. For
 * a kernel function, only `wait` and `lock` are set; the latter if a thread waits there until it
 * can write or send.
 */
struct known known__find(const struct hot_function *function);
