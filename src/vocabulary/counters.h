/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and meanings of the quality counters, from counters.def. */
#pragma once

#include <stdbool.h>

#include "vocabulary/counters.def"

#define COUNTER_OF(counter, ...) COUNTER_##counter,

enum counter {
	COUNTERS_LEDGER(COUNTER_OF) COUNTERS_WINDOWS(COUNTER_OF) COUNTERS_STACKS(COUNTER_OF)
		COUNTERS_AGENT(COUNTER_OF) COUNTER_SIGNALS,
	COUNTER_BEFORE_SIGNALS = COUNTER_SIGNALS - 1,
	COUNTERS_SIGNAL(COUNTER_OF) COUNTER_COUNT,
};

struct counter_words {
	const char *name;
	bool is_loss, is_fact;
	const char *bias, *remedy;
};

const struct counter_words *counters__words(enum counter counter);

/* Whether a counter is a loss, by its name in a recording. */
bool counters__is_loss(const char *name);
/* Whether it says nothing about what is missing, repaired or unknown. */
bool counters__is_fact(const char *name);

/* clang-format off */

/* counters__is_loss() as an SQL condition on the column `name`. */
#define COUNTERS_NAME_LOSS(name) "'" name "', "
#define COUNTERS_NAME_KEPT(name) ""
#define COUNTERS_NAME_FACT(name) ""
#define COUNTERS_END_LOSS(name) " OR name LIKE '%_" name "'"
#define COUNTERS_END_KEPT(name) ""
#define COUNTERS_NAME(counter, name, loss, ...) COUNTERS_NAME_##loss(name)
#define COUNTERS_END(counter, name, loss, ...) COUNTERS_END_##loss(name)
#define COUNTERS_IS_LOSS                                                                           \
	"(name IN (" COUNTERS_LEDGER(COUNTERS_NAME) COUNTERS_WINDOWS(COUNTERS_NAME)                \
	COUNTERS_STACKS(COUNTERS_NAME) "'')"                                                       \
	COUNTERS_SIGNAL(COUNTERS_END) ")"

/* clang-format on */
