/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The windows of the kernel half: its records, exact sums and counters. */
#pragma once

#include "ledger/reader/attach.h"
#include "ledger/windows/windows.h"

/* False: windows are off, or this kernel refused them. */
bool ledger_windows__are_on(const struct ledger *ledger);
/* Whether the begin of a request is the time at which its first byte was readable. */
bool ledger_windows__sees_readable(const struct ledger *ledger);

/*
 * Of one CPU: WINDOW_BANDS sums. They are mapped from the kernel and grow while the recording runs.
 * Band 0 has what found no room.
 */
const struct window_band *ledger_windows__bands(const struct ledger *ledger, int cpu);
/* The class and bucket of a band. False: there is no such band yet. */
bool ledger_windows__band(const struct ledger *ledger, uint32_t band, uint32_t *ret_class,
			  uint32_t *ret_bucket);

/*
 * A new period begins: `slow_ns` has for each of WINDOW_CLASSES classes how long a window has to be
 * to be sent as a slow one.
 */
void ledger_windows__next_period(struct ledger *ledger, const uint64_t *slow_ns);

/*
 * Ends the windows whose last known byte came before `before_ns`, and that nothing has followed
 * since. UINT64_MAX: all that were answered; the others are counted as open.
 */
int ledger_windows__sweep(struct ledger *ledger, uint64_t before_ns);

uint64_t ledger_windows__count(const struct ledger *ledger, enum window_count which);
