/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signals counted, as rows of the outlets. The page has a histogram of the first value of each
 * signal and totals of the others, because series are few; the store has all histograms.
 */
#pragma once

#include "agent/signal_sums.h"
#include "metrics/totals.h"
#include "store/fact.h"

/* Adds a step to the totals. -ENOMEM. */
int outlet_signals__count(struct totals *totals, const struct signal_sums *step);

/* Rows for the store, and what they point to. */
struct outlet_signals_facts {
	struct fact_histogram *rows;
	size_t count;
	void **owned;
	size_t owned_count;
};

/*
 * The rows of a minute. *ret must be released even after a failure. -ENOMEM. The sums must outlive
 * the rows.
 */
int outlet_signals__facts(const struct signal_sums *minute, struct outlet_signals_facts *ret);
void outlet_signals__release(struct outlet_signals_facts *facts);
