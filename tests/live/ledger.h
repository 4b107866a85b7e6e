/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the ledger's tests share: workloads, recordings of them, and questions to a report. Whatever
 * goes wrong fails the test that called.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "live.h"

#define MS                  1000000LL /* in nanoseconds */
#define WORKLOAD(name, ...) ((const char *const[]) { workload__path(name), ##__VA_ARGS__, NULL })
#define ARGS(...)           ((const char *const[]) { __VA_ARGS__, NULL })

int64_t now_ns(void);

/* Time that the hypervisor has taken from the CPUs. The scheduler does not count it as running. */
int64_t stolen_ns(void);
/* The most that can have been taken since then: /proc/stat counts whole ticks. 0 if never any. */
int64_t stolen_since(int64_t before_ns);

/* The path of a workload's program; one of a few static buffers. */
const char *workload__path(const char *name);

/* A workload that runs beside a recording. */
struct workload {
	pid_t pid;
	int go;    /* its stdin */
	FILE *log; /* its stdout */
};

struct workload workload__start(const char *const *argv);
/* Waits until it has said that it is set up. */
void workload__await_ready(struct workload *workload);
void workload__go(struct workload *workload);
/* Waits for its end; an array of what it logged. */
json_t *workload__end(struct workload *workload);
void workload__kill(struct workload *workload);

/* The phase that a thread of this name logged. Skips the test, with the reason, if it was skipped.
 */
json_t *log_phase(json_t *log, const char *phase, const char *comm);

/* A recording under way: `gapless record` as a child. */
struct trial {
	pid_t pid;
	FILE *err;
	char path[64];
};

/* Returns once it says that it records. The arguments are those behind `record`. */
struct trial trial__start(const char *const *args);
/* Ends it with this signal; its status as in struct output. The file stays. */
int trial__stop(struct trial *trial, int signal);
/* Ends it with SIGINT, which must go well; its report. The file goes. */
json_t *trial__end(struct trial *trial);
/* Records a command from its begin to its end; *ret_log is what the command logged. */
json_t *trial__record(const char *const *options, const char *const *command, json_t **ret_log);
/* The same; the file stays. */
void trial__record_at(const char *path, const char *const *options, const char *const *command,
		      json_t **ret_log);
/* Picks a path for a recording, and removes what is there. */
void trial__path(char *ret, size_t size);
/* Every recording that a test has made goes this way, so each is held to assert_waits_agree(). */
void trial__remove(const char *path);
json_t *trial__report(const char *path);
/* One number that an SQL query gives. */
int64_t trial__query(const char *path, const char *sql);
/* The same in this process, without `gapless query`: to start another one takes long in a VM. */
int64_t trial__ask(const char *path, const char *sql);
/*
 * The number of single events of a signal in a thread of this name whose stack has the function. On
 * an emulated machine, a short program ends before its unwind tables are made.
 */
int64_t trial__events_in(const char *path, const char *signal, const char *comm,
			 const char *function);

int64_t number_at(json_t *object, const char *key);
/* "" if there is none. */
const char *text_at(json_t *object, const char *key);
int64_t quality(json_t *report, const char *counter);

/* Sums over the threads of this name (NULL: all) in this state and cause (NULL: any). */
int64_t sum_ns(json_t *report, const char *comm, const char *state, const char *cause);
int64_t sum_count(json_t *report, const char *comm, const char *state, const char *cause);
size_t threads_named(json_t *report, const char *comm);
/* The only thread of this name. */
json_t *thread_named(json_t *report, const char *comm);
/* The longest wait of threads of this name for this cause. */
json_t *wait_of(json_t *report, const char *comm, const char *cause);
/* "" where nobody is known. */
const char *culprit_of(json_t *wait);
/* NULL if it was never called. */
json_t *syscall_named(json_t *report, const char *name);

/* Invariant: every thread's states add up to its life, and nothing was lost. */
void assert_closes(json_t *report);
/*
 * Invariant: for every thread, cause and kind, the rows of its waits add up to its account, to the
 * nanosecond, but for what is counted. Nothing is asked of a recording that is not complete.
 */
void assert_waits_agree(const char *path);
/* Not more than 0.01 % of the threads' time, but for what a short recording cannot help. */
void assert_explained(json_t *report);
/* Not asserted in an emulated machine. See slack_ns() for how near is near. */
void assert_near(const char *what, int64_t is_ns, int64_t should_ns);
/*
 * A time that was taken from outside holds what the thread waited, and not more than it waited, was
 * ready and ran altogether. That holds in an emulated machine too, by its own clock.
 */
void assert_waited(json_t *report, const char *comm, const char *cause, int64_t blocked_ns);
/* For a wait that a thread timed itself: how far it may be off. */
int64_t slack_ns(int64_t ns);
