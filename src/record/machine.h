/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of the machine and limits of this process that can make two recordings differ. */
#pragma once

#include "core/sessions.h"
#include "ledger/reader/attach.h"
#include "recording/recording.h"

/* Writes rows of meta. Texts that cannot be read are "". */
int machine__write(struct recording *recording);
/* Writes the sizes of the kernel halves' maps as meta.maps. */
int machine__write_maps(struct recording *recording, struct ledger *ledger);
