/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From samples to answers: is a wait harmful, and whose fault is it? Internal to this room.
 *
 *   paths    what the functions of a stack tell (path.c, known.def)
 *   homes    where the threads of a group wait for work (home.c)
 *   verdicts one per sampled wait: held up, at home, unclear … and the evidence (judge.c)
 *   causes   held-up time of a group, merged by what it waited for (causes.c)
 *   chains   what the culprit of a wait did meanwhile (chain.c)
 *
 * Time is exact: the account of (thread, state) is shared out by the weights of its samples.
 */
#pragma once

#include "findings/known.h"
#include "model/model.h"

/* What is said about a wait. */
enum verdict {
	VERDICT_UNCLEAR,
	VERDICT_HELD,  /* it held the thread up */
	VERDICT_HOME,  /* the thread waited for work, at the place where it always does */
	VERDICT_QUIET, /* no event ended it: nothing is known to have been asked of the thread */
	VERDICT_PACED, /* only a timer ended it, always after the same time */
	VERDICT_SLEPT, /* it slept; whether it had work is not known */
	VERDICT_COUNT,
};

/* How we know, the strongest first. */
enum ground {
	GROUND_CAUSE,   /* disk, page fault, child, kernel lock: the cause itself */
	GROUND_OWNER,   /* the lock's memory names its owner */
	GROUND_SOCKET,  /* it asked on a connection and was not answered yet */
	GROUND_NAME,    /* a function in the stack */
	GROUND_COMMAND, /* the main thread of a command has no other work to wait for */
	GROUND_SIBLING, /* threads that wait at the same place end each other's waits */
	GROUND_REQUEST, /* it had read a request and not answered it */
	GROUND_HOME,    /* it waits elsewhere than where it waits for work: inferred */
	GROUND_TIMER,   /* a timer ended it */
	GROUND_NONE,
	GROUND_COUNT,
};

/* The user-space part of a stack, and what it tells. Index: a user-space node of hot.nodes. */
struct path {
	uint32_t depth;   /* functions from here to the root */
	uint32_t caller;  /* function that called the library; 0: none */
	uint32_t library; /* function of the library that it called; 0: none */
	const char *lock; /* as in struct known, of the innermost function that has it */
	const char *wait;
	unsigned int
		flags; /* enum known_flag of all functions: only CARRIER, SLEEP, COLLECTOR, LOOP */
	bool is_named; /* all of its functions have names */
	bool computed;
};

/* Verdict on a sampled interval of model->samples. */
struct judged {
	int64_t ns; /* its part of the account */
	enum verdict verdict;
	enum ground ground;
};

/* Sums of one thread. Index as in model->threads. */
struct working {
	int64_t run_ns, ready_ns, life_ns;
	int64_t verdict_ns[VERDICT_COUNT];
	uint32_t home; /* depth of its home path; 0: none */
	uint32_t home_node;
	bool foreground; /* the main thread of the command, or of what it started */
	bool started;    /* its process was started by another one of the target */
	size_t first_sample, sample_count; /* in analysis.order */
};

/* Sums of one group. Index as in model->groups. */
struct group_work {
	int64_t run_ns, ready_ns, verdict_ns[VERDICT_COUNT];
	int64_t busy_ns;      /* running, ready and held up */
	uint32_t first_place; /* + 1; 0: none */
	size_t idle_threads;
	int64_t ticks;         /* samples of running time */
	int64_t request_ticks; /* of these: while a thread worked for a request */
};

/* Waits of one group in one state with one user-space path. */
struct place {
	uint32_t group, node;
	const struct model_state *state;
	int64_t returns; /* how often an event ended such a wait */
	int64_t weight_ns, sibling_ns, timer_ns;
	int64_t request_ns; /* of weight_ns: while the thread worked for a request */
	bool asked;         /* waits for an answer, by the socket */
	bool is_cut;        /* at least one stack was not complete */
	bool hand_over;     /* threads that wait here end each other's waits */
	bool paced;         /* a timer ends the waits, always after the same time */
	bool candidate;     /* may be a home */
	bool home;          /* a home, or the inner end of one if its stacks are not complete */
	uint32_t next;      /* the next place of its group + 1; 0: none */
};

struct cause; /* causes.h */

struct analysis {
	const struct model *model;
	struct known *functions; /* index as in hot.functions */
	struct path *paths;      /* index as in hot.nodes */
	struct judged *judged;   /* index as in model.samples */
	struct place *places;
	size_t place_count;
	uint32_t *place_of; /* index as in model.samples: its place + 1; 0: not a wait */
	uint32_t *cause_of; /* likewise: its cause + 1; 0: none */
	uint32_t *order;    /* samples by thread, then by time */
	struct working *threads;
	struct group_work *groups;
	bool is_command; /* `record -- COMMAND` */
	bool has_turns;  /* the recording knows whose turn it was on sockets */
	int64_t wall_ns;
	struct cause *causes;
	size_t cause_count;
};

/* -ENOMEM. Release with analysis__release() in any case. */
int analysis__make(struct analysis *analysis, const struct model *model);
void analysis__release(struct analysis *analysis);

/*
 * Folds the library functions at the inner end of a user-space path. Returns the innermost named
 * function outside of libraries; a function of a program that runs on a runtime comes before
 * machine code and packages that it called. 0 if there is none. *ret_library becomes the outermost
 * named library function that it called; it is unchanged if there is none. `functions`: index as in
 * hot.functions.
 */
uint32_t path__caller(const struct hot *hot, const struct known *functions, uint32_t node,
		      uint32_t *ret_library);
/* What the user-space part of a sample's stack tells. */
const struct path *analysis__path(struct analysis *analysis, uint32_t node);
/* What the kernel functions of a stack tell: words for the wait, NULL if nothing. */
const char *analysis__kernel_wait(const struct analysis *analysis, uint32_t node);
/* Whether the thread waits until it can write or send. */
bool analysis__sends(const struct analysis *analysis, uint32_t node);

/* Finds the places of all waits. -ENOMEM. */
int place__find(struct analysis *analysis);
/* NULL if the sample is not a wait. */
const struct place *place__of(const struct analysis *analysis, const struct model_sample *sample);

/* Whether the thread slept: by the system call, or by a function of the stack. */
static inline bool is_sleep(enum ledger_slot slot, const struct path *path)
{
	return slot == SLOT_WAIT_SLEEP || path->flags & KNOWN_SLEEP;
}

/* Finds the homes of all threads. Places must have been found. */
void home__find(struct analysis *analysis);
#define HOME_SLACK 2 /* functions that a path may be deeper than the home and still be home */

/* Whether the cause alone decides: the thread needs what it waits for. */
bool judge__is_sure(enum ledger_slot slot);
/* How we know, if the cause alone decides. */
enum ground judge__ground(enum ledger_slot slot);
/* A word for the ground of a verdict: "owner", "socket". */
const char *judge__evidence(enum ground ground);
/* Judges every sampled wait and adds up. */
void judge__all(struct analysis *analysis);

static inline size_t thread_index(const struct analysis *analysis,
				  const struct model_thread *thread)
{
	return (size_t)(thread - analysis->model->threads);
}
static inline size_t group_index(const struct analysis *analysis, const struct model_group *group)
{
	return (size_t)(group - analysis->model->groups);
}
static inline bool is_wait(const struct model_state *state)
{
	return state->kind == KIND_DELAYING || state->kind == KIND_UNDECIDED ||
	       state->kind == KIND_IDLE;
}
