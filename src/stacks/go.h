/*
 * Go's own table of functions (.gopclntab), which every Go program has, stripped or not. Never
 * logs; what it reads is foreign and may be hostile.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdint.h>

#include "stacks/cfi.h"

/*
 * Adds a span for every function of the table. -ENODATA, with nothing added: not a table of
 * Go 1.16 or later, or where the code begins cannot be told. -EFBIG, -ENOMEM.
 * `text` and `entry`: where .text and the program begin. Go from 1.26 on leaves out the former.
 */
int go__read(const Elf_Data *table, uint64_t text, uint64_t entry, struct frames *frames);
