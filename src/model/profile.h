/*
 * A recording's samples in memory, as the exporters want them: every table an array, every
 * reference an index. Loaded once, read only. Strings and arrays belong to the profile.
 *
 * A recording may come from anywhere, so what would break a format is settled here. Strings are
 * UTF-8 without control characters and of at most TEXTS_MOST bytes. Every index is valid.
 * Times are within the recording, weights are not negative, and their sum fits into 64 bits. A
 * stack has at most CODE_MOST_DEPTH functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/redact.h"
#include "model/code.h"
#include "model/texts.h"
#include "vocabulary/states.h"

#define PROFILE_NONE CODE_NONE /* an index that stands for "none" */
/* Nodes of a tree made from a profile: a small file can ask for more than any memory holds. */
#define PROFILE_MOST_NODES CODE_MOST_NODES

struct profile_process {
	int64_t id; /* in the recording */
	int pid;
	const char *comm;
};

struct profile_thread {
	int64_t id;       /* in the recording; samples refer to the index */
	uint32_t process; /* index, PROFILE_NONE: unknown */
	int tid;
	const char *comm;
	int64_t first_ns, last_ns; /* CLOCK_MONOTONIC, like every time here */
	bool is_own;               /* gapless itself */
	bool is_kernel;
};

struct profile_state {
	int id;
	const char *state; /* "run", "ready", "wait", "unseen" */
	const char *cause;
	const char *kind; /* NULL, or "delaying", "undecided", "idle" */
	bool is_run;
	enum ledger_slot look; /* whose colours it has, see states__look() */
};

/* What makes profile_sample.by the culprit of a wait. */
enum profile_evidence {
	PROFILE_WAKER,   /* it ended the wait */
	PROFILE_OWNER,   /* it held what was waited for */
	PROFILE_HANDED,  /* `first` held that first, `by` last */
	PROFILE_TIMEOUT, /* nobody: the wait's time was up, and `by` is PROFILE_NONE */
};

struct profile_sample {
	int64_t time_ns; /* a tick: when; a wait: its end, and it began wait_ns before */
	uint32_t thread, state;
	uint32_t stack;       /* PROFILE_NONE: no stack */
	uint32_t waker_stack; /* PROFILE_NONE: not known */
	uint32_t by, first;   /* threads that `evidence` is about, PROFILE_NONE: unknown */
	enum profile_evidence evidence;
	const char *object; /* what it waited for, NULL: nothing with a name */
	int64_t weight_ns, wait_ns;
	uint32_t count;
	bool is_tick;
	const char *none; /* why there is no user stack, in words; NULL: there is one */
	const char *end;  /* why the user stack is not whole, in words; NULL: it is */
};

/* An account row: what a thread spent in a state over slices. */
struct profile_account {
	uint32_t thread, state;
	int64_t begin_ns, end_ns; /* of the slices */
	int64_t ns;
};

/* What a signal had a row of its own for: slow operations, and what tells a story. */
struct profile_event {
	const char *signal, *name; /* "block", "block: write vda" */
	uint32_t thread;           /* PROFILE_NONE: unknown */
	int64_t time_ns;           /* its end */
	int64_t duration_ns;       /* 0: a moment */
	const char *object;        /* NULL: none */
	int error;                 /* errno, 0: none */
};

/* What was counted from begin_ns to end_ns. Those of a counter do not overlap. */
struct profile_point {
	int64_t begin_ns, end_ns, sum;
};

/* Something that signals or accounts count: how much of it a second. */
struct profile_counter {
	const char *name; /* "block read: size" */
	const char *unit; /* "bytes", "pages", "faults" */
	size_t first_point, point_count;
};

struct profile {
	struct profile_process *processes;
	struct profile_thread *threads;
	struct profile_state *states;
	struct code code;
	struct profile_sample *samples; /* in order of time */
	struct profile_account
		*accounts;            /* by thread, then time; only with profile_options.accounts */
	struct profile_event *events; /* likewise; by time */
	struct profile_counter *counters; /* likewise */
	struct profile_point *points;     /* of counters */
	size_t event_count, counter_count, point_total;
	size_t process_count, thread_count, state_count, sample_count, account_count;
	int64_t start_ns, end_ns, start_unix_ns;
	int64_t period_ns;   /* of ticks; 0: no stacks were taken */
	int64_t left_out_ns; /* waits of kind "idle" that profile_options.no_idle left out */
	const char *target, *version, *kernel, *command; /* "?" or "": unknown */
	struct texts texts;
};

struct profile_options {
	bool accounts;          /* load them too */
	bool with_own;          /* samples and accounts of gapless itself too */
	bool no_idle;           /* no samples of waits of kind "idle" */
	int64_t from_ns, to_ns; /* after the start; to_ns 0: the end */
	enum redact_args args;  /* of the command line */
};

/*
 * 0 or -errno as recording__open() has it; -ERANGE: the cut leaves nothing; -ENODATA: there are no
 * samples, and no accounts either if those were asked for. A tick belongs to a cut by its time, a
 * wait or an event by the part of it that is inside, and an account or a counter by the part of
 * its slices.
 */
int profile__load(const char *path, const struct profile_options *options, struct profile **ret);
void profile__free(struct profile *profile);
/* The pid of a thread's process; its tid if the process is not known. */
int profile__pid(const struct profile *profile, uint32_t thread);
