/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for classes of objects, as the kernel half sums them up (ledger/kernel/classes.bpf.h). */
#pragma once

#include "ledger/ledger.h"

#define OBJECTS_NAME_BYTES 64

/* "tcp :5432", "futex", "syscall msync"; "" if there is no object. */
void objects__name(const struct ledger_key *wait, char ret[OBJECTS_NAME_BYTES]);
