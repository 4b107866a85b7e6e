/* The rows of meta that are known when a recording begins. */
#pragma once

#include <stdint.h>

#include "core/sessions.h"
#include "ledger/attach.h"
#include "ledger/run.h"

/* Commits, so that even a recording that is killed at once says what it is. */
int meta__write(struct recording *recording, struct ledger *ledger, struct sessions *sessions,
		const struct run_options *options, uint64_t start_ns);
