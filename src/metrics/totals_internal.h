/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of totals share. */
#pragma once

#include "base/map.h"
#include "metrics/totals.h"

/* A cell: a state, its cause and its kind. Slots with the same words share the cells of the first
 * one. */
#define TOTALS_CELLS            ((size_t)SLOT_COUNT * KIND_COUNT)
#define TOTALS_CELL(slot, kind) ((size_t)(slot) * KIND_COUNT + (size_t)(kind))
#define TOTALS_CELL_SLOT(cell)  ((enum ledger_slot)((cell) / KIND_COUNT))
#define TOTALS_CELL_KIND(cell)  ((enum kind)((cell) % KIND_COUNT))
/* Groups of slots with the same word for the state: run, ready, wait, unseen. */
#define TOTALS_STATES 4
/* The series that an account has from the start: one for each state, threads, unexplained time and
 * "_other". */
#define TOTALS_ACCOUNT_SERIES (TOTALS_STATES + 3)
#define TOTALS_CALL_SERIES    3
/* Those of the agent: its rows, one "_other" each, and 14 others; some to spare. */
#define TOTALS_AGENT_SERIES    (TOTALS_AGENT_ROWS + TOTALS_PUSH_ROWS + 22)
#define TOTALS_CALL_NAME_BYTES 32

enum totals_place {
	CELL_ABSENT,
	CELL_OWN,
	CELL_FOLDED, /* shown as "_other" */
};

struct totals_calls {
	char name[TOTALS_CALL_NAME_BYTES];
	uint64_t count, errors, ns;
};

/* The totals of a service with a place. */
struct totals_account {
	uint64_t ns[TOTALS_CELLS];
	uint8_t places[TOTALS_CELLS]; /* enum totals_place */
	uint64_t transitions[TOTALS_STATES];
	uint64_t thread_ns; /* of the last step */
	uint64_t unexplained_ns;
	uint64_t quiet_ns; /* the last steps, without threads */
	uint64_t age_ns;   /* of the totals when it got its place */
	size_t series;
	struct totals_calls calls[TOTALS_CALLS];
	size_t call_count;
	struct totals_calls other_calls; /* the rest */
	bool calls_folded;
};

/* A service that is known by name; without a place it is forgotten after the step. */
struct totals_service {
	struct totals_service *next; /* with the same hash */
	char *namespace_name, *service;
	uint64_t step_ns; /* its time in this step */
	bool is_in_step;
	struct totals_account *account; /* NULL: its time goes to "_other" */
};

struct totals_series {
	struct totals_series *next; /* of the family */
	char *operation, *place;
	uint64_t number;
	struct bounds_histogram *histogram;
};

struct totals_family {
	char *name;
	enum totals_unit unit;
	struct totals_series *series; /* the first one is "_other" */
	uint64_t folded;              /* rows that went there */
};

struct totals {
	struct totals_options options;
	struct map services; /* of struct totals_service, by hash */
	struct totals_service *other;
	size_t placed;     /* services with a place, without "_other" */
	size_t unplaced;   /* services of the last step without one */
	size_t series;     /* used or reserved, of most_series */
	size_t calls_used; /* part of series, for syscalls */
	uint64_t step_ns;  /* length of the last step */
	uint64_t age_ns;   /* length of all steps */
	uint64_t ended_ns; /* of services that lost their place */
	struct bounds_histogram waits[SLOT_COUNT];
	uint32_t waits_before[SLOT_COUNT][HISTOGRAM_BUCKETS];
	bool has_waits[SLOT_COUNT];
	struct totals_family *families;
	size_t family_count;
	size_t signal_series;
	uint64_t signals_folded; /* rows of the last step */
};

/* The service of a workload by its names; NULL: nobody has seen it in this step. */
struct totals_service *totals__find(const struct totals *totals, const struct workload *workload);
void totals__free_families(struct totals *totals);
/* 0 for run, 1 ready, 2 wait, 3 unseen. */
unsigned int totals__state(enum ledger_slot slot);
