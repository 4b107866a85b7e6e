/* What of the machine, and of this process's rights on it, can make two recordings differ. */
#pragma once

#include "core/sessions.h"
#include "ledger/reader/attach.h"
#include "recording/recording.h"

/* As rows of meta. What cannot be read is "". */
int machine__write(struct recording *recording);
/* How many entries the maps of the kernel halves hold, as meta.maps. */
int machine__write_maps(struct recording *recording, struct ledger *ledger,
			const struct sessions *sessions);
