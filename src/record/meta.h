/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metadata of a recording: the machine, the options, the hooks in use. */
#pragma once

#include <stdint.h>

#include "core/sessions.h"
#include "ledger/reader/attach.h"
#include "record/run.h"

int meta__write(struct recording *recording, struct ledger *ledger, const struct sessions *sessions,
		const struct run_options *options, uint64_t start_ns);
/* The measured cost of hooks. Written at the start and, maybe corrected, again at the end. */
int meta__write_calibration(struct recording *recording, const struct ledger *ledger);
