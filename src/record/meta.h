/* What a recording says of itself: the machine, the options, the hooks that are in use. */
#pragma once

#include <stdint.h>

#include "core/sessions.h"
#include "ledger/reader/attach.h"
#include "record/run.h"

int meta__write(struct recording *recording, struct ledger *ledger, const struct sessions *sessions,
		const struct run_options *options, uint64_t start_ns);
/* What hooks cost, as measured at the start; once more at the end, when it may have been corrected.
 */
int meta__write_calibration(struct recording *recording, const struct ledger *ledger);
