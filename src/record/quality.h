/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes what was lost, repaired, cut or unknown into the recording. Each call updates the rows. */
#pragma once

#include "ledger/reader/attach.h"
#include "record/allocations.h"
#include "record/collect.h"
#include "record/fiber_ledger.h"
#include "record/languages.h"
#include "record/samples.h"
#include "recording/recording.h"
#include "stacks/mapper.h"
#include "vocabulary/counters.h"

int quality__write(struct recording *recording, enum counter counter, int64_t value);

int quality__write_ledger(struct recording *recording, const struct ledger *ledger,
			  const struct collect *collect);
/* Of requests and calls. */
int quality__write_windows(struct recording *recording, const struct ledger *ledger);
int quality__write_stacks(struct recording *recording, const struct ledger *ledger,
			  const struct samples *samples, const struct languages *languages,
			  const struct fiber_ledger *fibers, const struct allocations *allocations);
/* Our own CPU time for unwind tables and names, and the memory of the tables. */
int quality__write_stack_cost(struct recording *recording, const struct samples *samples,
			      struct mapper *mapper);
