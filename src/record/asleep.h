/*
 * Threads that still wait when a recording ends. The kernel half cannot read another thread's
 * memory, so it delivers their registers, and their stacks are walked from here, within a second.
 */
#pragma once

#include "ledger/reader/attach.h"
#include "record/samples.h"
#include "stacks/mapper.h"

/* After ledger__freeze(), when the rings are empty. */
int asleep__take(struct ledger *ledger, struct mapper *mapper, struct samples *samples);
