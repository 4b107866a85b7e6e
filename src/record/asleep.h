/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User stacks of threads that still wait when a recording ends. The kernel half cannot read the
 * memory of another thread. So it sends the registers, and the stacks are walked here, within about
 * a second.
 */
#pragma once

#include "ledger/reader/attach.h"
#include "record/samples.h"
#include "stacks/mapper.h"

/* Call this after ledger__freeze(). Also empties the rings of the ledger. */
int asleep__take(struct ledger *ledger, struct mapper *mapper, struct samples *samples);
