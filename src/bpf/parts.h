/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signals by number. The kernel half is one object: the ledger, and a part for each signal
 * (src/signals/NAME/NAME.bpf.h). What belongs to a part begins with the signal's name: its maps,
 * and the programs at hooks that it has for itself. Where several parts need the same hook, one
 * program of the ledger calls them.
 */
#pragma once

/* EACH_SIGNAL(X), from src/signals/list */
#include "signals_list.h"

#define PART_NUMBER(name) SIGNAL_##name,
enum signal_number { EACH_SIGNAL(PART_NUMBER) SIGNAL_COUNT };
