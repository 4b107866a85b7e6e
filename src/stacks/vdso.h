/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows for a vDSO without descriptions of frames: arm64's has none since Linux 5.8. Its functions
 * that read clocks use no stack and call nobody, so the return address stays in the link register.
 */
#pragma once

#include <gelf.h>

#include "stacks/cfi.h"

/* Adds what can be told from the code itself. -EFBIG, -ENOMEM. */
int vdso__read(Elf *elf, struct frames *frames);
