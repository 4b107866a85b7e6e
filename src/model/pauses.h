/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What language runtimes did on their own, by process and by thread: collections, stops of all
 * threads, compilation; and how much of the running time was theirs. From the signal of
 * ROLE_RUNTIMES, and from the names of threads that do nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct model_runtime;
struct model_thread;

struct pauses_sum {
	int64_t count, ns;
	int64_t max_ns;     /* of the whole recording, even in a cut */
	int64_t running_ns; /* of the thread that ran them */
};

/* What a thread asked for; in runtimes where the asker does it itself, also what it ran. */
struct pauses_thread {
	const struct model_thread *thread;
	struct pauses_sum gc, marking, compile;
};

struct pauses_process {
	const struct model_thread *main;     /* its main thread, or the first one that is known */
	const struct model_runtime *runtime; /* NULL: not known */
	bool stops_all; /* a collection stops all of its threads, not only the one that asked */
	struct pauses_sum gc;
	struct pauses_sum marking; /* by the collector, between or beside its pauses */
	struct pauses_sum stops;   /* of all threads; with HotSpot, those for collections too */
	struct pauses_sum compile; /* as far as it was seen to begin and to end */
	int64_t life_ns;           /* inside the cut, of its longest-lived thread */
	int64_t run_ns;            /* running time of all its threads */
	int64_t gc_run_ns;         /* the part of it that is for collections, at least */
	int64_t compile_run_ns;    /* likewise, for compilation */
	const struct pauses_thread *asker; /* who asked for most time of collections; NULL: none */
	const char *kind;                  /* most time of collections: "generation 2"; "": plain */
	int64_t kind_ns;
};

struct pauses {
	struct pauses_process *processes; /* most time of collections first */
	size_t process_count;
	struct pauses_thread *threads; /* by id */
	size_t thread_count;
};

/* Fills model->pauses. Threads and signals must be loaded and added up. -ENOMEM. */
int pauses__make(struct model *model);
void pauses__release(struct pauses *pauses);

/* NULL: nothing is known of the thread. */
const struct pauses_thread *pauses__of_thread(const struct pauses *pauses,
					      const struct model_thread *thread);
/*
 * "of the running time of java (pid 12), 81 % was garbage collection and 2.0 % compilation". False,
 * and an empty text: neither is worth mentioning.
 */
bool pauses__say_share(const struct pauses_process *process, char *text, size_t size);
