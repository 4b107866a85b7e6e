/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording's samples in memory, in the form that exporters need: every table is an array, every
 * reference is an index. Loaded once, then read-only. The profile owns strings and arrays.
 *
 * A recording may come from anywhere, so the loader removes everything that would break an output
 * format. Strings are UTF-8 without control characters and have at most TEXTS_MOST bytes. Every
 * index is valid. Times are within the recording, weights are not negative, and their sum fits into
 * 64 bits. A stack has at most CODE_MOST_DEPTH functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/redact.h"
#include "model/code.h"
#include "model/scope.h"
#include "model/texts.h"
#include "vocabulary/states.h"

#define PROFILE_NONE CODE_NONE /* an index that stands for "none" */
/*
 * Limit on the nodes of a tree made from a profile. Without it, a small file could ask for more
 * memory than any machine has.
 */
#define PROFILE_MOST_NODES CODE_MOST_NODES

struct profile_process {
	int64_t id; /* row id in the recording */
	int pid;
	const char *comm;
	const char *runtime; /* "CPython 3.11"; NULL: none was found */
};

struct profile_thread {
	int64_t id;       /* row id in the recording; samples refer to the index */
	uint32_t process; /* index, PROFILE_NONE: unknown */
	int tid;
	const char *comm;
	int64_t first_ns, last_ns; /* CLOCK_MONOTONIC, like all times here */
	bool is_own;               /* belongs to gapless */
	bool is_kernel;
	bool is_outside; /* not a thread of the target: has no samples and accounts here */
};

struct profile_state {
	int id;
	const char *state; /* "run", "ready", "wait", "unseen" */
	const char *cause;
	const char *kind; /* NULL, or "delaying", "undecided", "idle" */
	bool is_run;
	enum ledger_slot look; /* which state's colours it has, see states__look() */
};

/* Why profile_sample.by is the culprit of a wait. */
enum profile_evidence {
	PROFILE_WAKER,   /* `by` ended the wait */
	PROFILE_OWNER,   /* `by` held what the thread waited for */
	PROFILE_HANDED,  /* `first` held it first, `by` held it last */
	PROFILE_TIMEOUT, /* the wait timed out; `by` is PROFILE_NONE */
};

struct profile_sample {
	int64_t time_ns; /* of a tick, or the end of a wait, which began wait_ns earlier */
	uint32_t thread, state;
	uint32_t stack;       /* PROFILE_NONE: no stack */
	uint32_t waker_stack; /* PROFILE_NONE: unknown */
	uint32_t by, first;   /* threads, see `evidence`; PROFILE_NONE: unknown */
	enum profile_evidence evidence;
	const char *object; /* what the thread waited for; NULL: nothing with a name */
	int64_t weight_ns, wait_ns;
	uint32_t count;
	uint32_t window; /* that the thread worked for; PROFILE_NONE: none, or unknown */
	bool is_tick;
	bool is_after; /* it began when the window had ended: after the last byte of the answer */
	const char *none; /* why there is no user stack; NULL: there is one */
	const char *end;  /* why the user stack is incomplete; NULL: it is complete */
};

/* How long a window took among those of its service, see enum windows_bands. */
enum profile_band {
	PROFILE_FAST,   /* in the faster half */
	PROFILE_MIDDLE, /* in between */
	PROFILE_SLOW,   /* among the slowest */
	PROFILE_BANDS,
};

/* What windows of one class have in common. Texts are not NULL. */
struct profile_class {
	const char *kind, *protocol; /* keys of windows.def */
	const char *service;         /* "requests to nginx (HTTP, 127.0.0.1:8080)" */
	const char *address;         /* "127.0.0.1:8080"; of a call: its function */
	const char *name;            /* "GET /orders/" */
	const char *status;          /* a key of windows.def */
	const char *comm;
};

/* What a window spent time on. */
struct profile_part {
	const char *key;   /* "own.run", "own.wait.lock", "queued.busy" */
	const char *words; /* "own: running" */
	int64_t ns;
	bool is_overlap; /* counted twice in the others: to be subtracted */
};

/* The parent is the client's half of a request, known by the ends of its connection. */
#define PROFILE_BY_ENDS "connection"

/* A request or a call that was kept, or that a sample belongs to. */
struct profile_window {
	int64_t id;
	uint32_t class;
	uint32_t thread;   /* PROFILE_NONE: unknown */
	uint32_t parent;   /* window; PROFILE_NONE: none, or it was not kept */
	int64_t parent_id; /* 0: none */
	enum profile_band band;
	int64_t begin_ns, end_ns;   /* the part within the profile */
	int64_t length_ns;          /* the whole */
	int64_t start_ns;           /* where the whole begins */
	int64_t read_ns, answer_ns; /* 0: unknown, or there is none */
	int64_t n, left;
	const char *text, *ends;                     /* NULL: unknown */
	const char *trace, *trace_span, *request_id; /* as in struct windows_one, but never "" */
	const char *evidence;          /* of the parent; PROFILE_BY_ENDS, or as in windows.def */
	bool has_details;              /* it was kept; only then it has parts */
	size_t first_part, part_count; /* only with profile_options.accounts */
};

/* A row of the accounts: the time that a thread spent in a state during some slices. */
struct profile_account {
	uint32_t thread, state;
	int64_t begin_ns, end_ns; /* of the slices */
	int64_t ns;
};

/* An event that a signal recorded on its own: a slow operation or a notable event. */
struct profile_event {
	const char *signal, *name; /* "block", "block: write vda" */
	uint32_t thread;           /* PROFILE_NONE: unknown */
	int64_t time_ns;           /* the end */
	int64_t duration_ns;       /* 0: has no duration */
	const char *object;        /* NULL: none */
	int error;                 /* errno, 0: none */
};

/* What was counted from begin_ns to end_ns. The points of one counter do not overlap. */
struct profile_point {
	int64_t begin_ns, end_ns, sum;
};

/* A quantity that signals or accounts count, shown as a rate per second. */
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
	struct profile_event *events; /* by time; only with profile_options.accounts */
	struct profile_counter *counters; /* only with profile_options.accounts */
	struct profile_point *points;     /* of counters */
	struct profile_class *classes;
	struct profile_window *windows; /* by id */
	struct profile_part *parts;     /* of windows; only with profile_options.accounts */
	size_t class_count, window_count, part_count;
	size_t event_count, counter_count, point_total;
	size_t process_count, thread_count, state_count, sample_count, account_count;
	int64_t start_ns, end_ns, start_unix_ns;
	int64_t period_ns;   /* of ticks; 0: the recording has no stacks */
	uint64_t sums_of;    /* samples are sums of this many; 0: each is one sample */
	int64_t left_out_ns; /* idle waits that profile_options.no_idle left out */
	const char *target, *version, *kernel, *command; /* "?" or "": unknown */
	struct texts texts;
};

struct profile_options {
	bool accounts; /* also load accounts, events and counters */
	bool with_own; /* include samples and accounts of gapless itself */
	bool no_idle;  /* leave out samples of waits of kind "idle" */
	struct scope scope;
	enum redact_args args; /* how to redact the command line */
};

/*
 * Returns 0 or an error of recording__open(), or: -ERANGE: the cut is empty; -ENODATA: there are no
 * samples, nor any accounts if `accounts` is set. A tick belongs to a cut if its time is inside. A
 * wait or an event counts by the part that is inside, an account or a counter by the part of its
 * slices.
 */
int profile__load(const char *path, const struct profile_options *options, struct profile **ret);
void profile__free(struct profile *profile);
/* The pid of a thread's process; the tid if the process is unknown. */
int profile__pid(const struct profile *profile, uint32_t thread);
