/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the states of the busiest groups developed: the accounts of each group and state, spread over
 * bins of equal length. A bin is never shorter than a slice, so that two bins are two observations.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HISTORY_MOST_GROUPS 24
#define HISTORY_MOST_BINS   200

struct model;
struct model_group;
struct sqlite3;

/* All zero: not loaded, or the recording is too short to have one. */
struct history {
	const struct model_group *groups[HISTORY_MOST_GROUPS];
	size_t group_count;
	size_t bins;
	int64_t bin_ns;
	double *ns; /* by group, state (as model.states) and bin */
};

/* Loads the history of the model's cut. Threads must be in groups. */
int history__load(struct model *model, struct sqlite3 *db);
void history__release(struct history *history);

/* The time that a group spent in a state, by its index in model.states: one value per bin. */
const double *history__state(const struct model *model, size_t group, size_t state);
