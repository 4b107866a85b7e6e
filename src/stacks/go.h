/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's own function table (.gopclntab), which every Go program has, even a stripped one. Never
 * logs. The input is untrusted and may be hostile.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdint.h>

#include "stacks/cfi.h"

/*
 * Adds a span for every function of the table. -ENODATA, with nothing added: not a table of Go 1.16
 * or later, or the start of the code is unknown. -EFBIG, -ENOMEM.
 * `text`: the address of .text, which the tables since Go 1.26 do not contain. `entry`: the entry
 * point.
 */
int go__read(const Elf_Data *table, uint64_t text, uint64_t entry, struct frames *frames);
