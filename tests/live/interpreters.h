/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tests of language runtimes share: interpreters, classes of Java, and programs whose stacks
 * are known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stacks.h"

/* The interpreter that the environment names, else this one. Skips the test if there is none. */
const char *interpreters__path(const char *variable, const char *path);
/* The number that the environment has, else the usual one. */
int interpreters__number(const char *variable, int usual);

/*
 * The folder of the classes of the workload NAME.java, which is compiled once. Skips the test if
 * there is no compiler.
 */
const char *interpreters__classes(const char *name);
/* To be called once, after all tests. */
int interpreters__remove_classes(void **state);

/* How many processes of the recording have this runtime, and a version of it that is known. */
int64_t interpreters__known(const char *path, const char *language);

/* The sum of `what`, "ns" or "count", of a thread's waits for which the condition holds. */
int64_t interpreters__waits(const char *path, const char *what, const char *waiter,
			    const char *condition);
/* In Locks.java: the waiter has waited for most of 3 seconds, for this object and its owner. */
void assert_java_owner(const char *path, const char *waiter, const char *owner, const char *object);

/* The sum of the waits of threads of CPython for which the condition holds. */
int64_t interpreters__gil_ns(const char *path, const char *condition);
/* More than 100 ms in all, and so many percent of it. */
void assert_share(const char *what, int64_t part, int64_t all, int percent);
/* In hog.py, all other threads wait for the main thread. */
void assert_gil_of_main_thread(const char *path);

/*
 * The functions of a program with the lines at which they call the next one, and which threads are
 * its own. One of ten calls goes through the interpreter, one through its library.
 */
struct known_program {
	const char *file;
	const char *top, *down, *last; /* last: where `down` calls what runs and waits */
	const char *tenth[2], *fifth[2];
	const char *comm; /* NULL: all threads */
	bool is_main;
	const char *loop; /* the cause of waits in the interpreter's own loop */
};

extern const struct known_program python_program, java_program; /* stacks.py, Stacks.java */

/* The stacks of a program, in ticks or waits: so many of 1,000 are whole, and right. */
void assert_known_stacks(const struct stacks_recording *recording,
			 const struct known_program *program, bool ticks, int permille);
