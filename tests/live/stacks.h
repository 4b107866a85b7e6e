/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of stacks share: a recording's samples with their stacks as lines of names. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger.h"

struct sample_row {
	int64_t thread;
	char comm[16];
	char state[16], cause[16];
	int64_t weight_ns, wait_ns, period_ns, count;
	bool is_tick;
	char none[32], end[32]; /* "": there is a user stack, and it is whole */
	/*
	 * ";main;middle;leaf;": user functions from the outermost in, inlined ones too. It belongs
	 * to the recording.
	 */
	const char *line;
	const char *kernel; /* the same for the kernel's */
	const char *waker;  /* … and for the user's of who ended the wait */
	/* ";main service.py:12;": the frames of runtimes alone, with file and line. */
	const char *places;
	bool is_main; /* of the main thread of a process */
};

struct stacks_recording {
	char path[64];
	json_t *log;       /* what the command logged; NULL if none was recorded */
	json_t *report;    /* as in trial__report() */
	int64_t stolen_ns; /* as in stolen_since(): ticks come late meanwhile */
	sqlite3 *db;
	struct sample_row *samples;
	size_t count;
	struct stack_lines *lines;
};

/* Records a command from its begin to its end. What goes wrong fails the test. */
struct stacks_recording stacks__record(const char *const *options, const char *const *command);
/* A recording that is there already; takes the file over. */
struct stacks_recording stacks__open(const char *path);
/* The file goes too. */
void stacks__release(struct stacks_recording *recording);

/* Samples of a thread of this name (NULL: of any) and state (NULL: any). */
bool sample__is_of(const struct sample_row *sample, const char *comm, const char *state);
bool sample__is_whole(const struct sample_row *sample);

struct share {
	int64_t whole, all;
};
/* By number, not by weight. */
struct share stacks__whole(const struct stacks_recording *recording, const char *comm);
/*
 * At least this many samples, and at least this part of them whole; prints the figure, and the
 * reasons for the rest.
 */
void assert_whole(const struct stacks_recording *recording, const char *comm, int64_t least_samples,
		  int percent);
/* The weights of these samples; those whose line has this function, if one is named. */
int64_t stacks__weight(const struct stacks_recording *recording, const char *comm,
		       const char *state, const char *function);
/*
 * Law 2: for every thread and cause, the weights of the samples and the sum in the ledger differ by
 * not more than four times what drawing makes of it.
 */
void assert_unbiased(const struct stacks_recording *recording);
