/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the recorder's budget changed. Above it, most calls are only counted, and the times of all
 * calls are estimated from those that were timed. Counts, waits and the sum of a thread's running
 * time stay exact. An estimate has a known variance; errors are two standard errors, as in hot.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct model_state;
struct model_syscall;

/* How many steps are kept. */
#define ESTIMATED_MOST_STEPS 1000

/* One change that the budget made, or the last one of its kind before the cut. */
struct estimated_step {
	int64_t time_ns;
	const char *what; /* "calls", "stacks", or the name of a signal */
	int64_t value;    /* one of so many is timed or taken; of a signal: 0 if it was stopped */
	int64_t threads;  /* of "calls": in how many threads */
};

struct estimated {
	bool has_budget;    /* the recording says what the budget was */
	int64_t budget_ppm; /* millionths of the target's CPU time; 0: none */
	int64_t calls;      /* 0 if only some threads were chosen */
	int64_t untimed;    /* those that were only counted */
	double variance;    /* of run.kernel, and of run.user, in ns² */
	struct estimated_step *steps;
	size_t step_count;
	int64_t all_steps; /* those that were not kept included */
};

void estimated__release(struct estimated *estimated);

/* Whether anything was changed to keep the budget. */
bool estimated__is_reached(const struct model *model);

/*
 * Whether the times of a syscall are estimates. Then a variance of 0 means that the error is not
 * known, because none of the calls that were timed stands for others.
 */
bool estimated__is_guessed(const struct model_syscall *call);

/* The error of an estimated time in nanoseconds. */
int64_t estimated__error_ns(double variance);
/* The same for a state with the variance of its thread, or of all; 0 if the state is exact. */
int64_t estimated__state_error_ns(const struct model_state *state, double variance);

/* As sentences; "" if there is nothing to say. Each begins with a small letter. */
void estimated__say_states(const struct model *model, char *text, size_t size);
/* Of the first `shown` syscalls. */
void estimated__say_calls(const struct model *model, size_t shown, char *text, size_t size);
void estimated__say_step(const struct model *model, size_t at, char *text, size_t size);
/* All of it in one clause. */
void estimated__say_in_short(const struct model *model, char *text, size_t size);
